// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The /init of a guest with a 32-bit kernel. It needs no C library (program.h). Four processes run on
 * one vCPU, and have names of their own:
 *
 *   user32      _start -> main -> run -+- left -> spin     three units in a round
 *                                      `- right -> spin    two
 *   kernel32    _start -> main -> run -+- random: getrandom()    fills 32 KiB
 *                                      `- map: mmap()            of 1 MiB, whose pages are made at once
 *   module32    _start -> main -> run -+- rmd160: write()    hashes 16 KiB, in a module of the kernel
 *                                      `- md4: write()       the same in another one
 *   cfi32       another program (cfi32.c)
 *
 * Each process measures both by its CPU time, and prints the sums every two seconds, in microseconds:
 *
 *   user32: heartbeat 12 left 104823 right 70221
 *   kernel32: heartbeat 12 random 98712 map 54112
 *   module32: heartbeat 12 rmd160 98712 md4 54112
 */
#include "program.h"

#define MAP_NOW      0x8022 /* private, anonymous, populated */
#define PROT_RW      3
#define MAP_BYTES    (1U << 20)
#define RANDOM_BYTES (32U << 10)

#define HASH_BYTES   (16U << 10)

static char bytes[RANDOM_BYTES];

/* --- user code -------------------------------------------------------------------------------- */

WORK void left(void)
{
	for (unsigned i = 0; i < 3; i++)
		spin(UNIT);
	asm volatile("");
}

WORK void right(void)
{
	for (unsigned i = 0; i < 2; i++)
		spin(UNIT);
	asm volatile("");
}

/* --- kernel code ------------------------------------------------------------------------------ */

WORK void random(void)
{
	call3(CALL_GETRANDOM, (int)bytes, (const void *)sizeof(bytes), 0);
}

WORK void map(void)
{
	/* The old call takes its six arguments from memory, and leaves ebp alone. */
	static const int arguments[6] = { 0, MAP_BYTES, PROT_RW, MAP_NOW, -1, 0 };
	int address = call3(CALL_MMAP, (int)arguments, 0, 0);

	call3(CALL_MUNMAP, address, (const void *)MAP_BYTES, 0);
}

/* --- code of modules -------------------------------------------------------------------------- */

#define ALG_FAMILY 38 /* AF_ALG, Linux include/linux/socket.h */
#define SEQPACKET  5

enum { SOCKET = 1, BIND = 2, ACCEPT = 5 }; /* include/uapi/linux/net.h: SYS_ */

/* Linux include/uapi/linux/if_alg.h */
struct address {
	uint16_t family;
	char type[14];
	uint32_t features, mask;
	char name[64];
};

static int hashes[2]; /* sockets: what is written to them is hashed */

static void load(const char *file)
{
	int fd = call3(CALL_OPEN, (int)file, 0, 0);

	call3(CALL_FINIT_MODULE, fd, "", 0);
}

/* The old call takes its arguments from memory. */
static int call_socket(int call, int a, const void *b, int c)
{
	const int arguments[3] = { a, (int)b, c };

	return call3(CALL_SOCKETCALL, call, arguments, 0);
}

static int open_hash(const char *name)
{
	struct address address = { .family = ALG_FAMILY, .type = "hash" };
	int fd = call_socket(SOCKET, ALG_FAMILY, (const void *)SEQPACKET, 0);

	for (unsigned i = 0; name[i]; i++)
		address.name[i] = name[i];
	call_socket(BIND, fd, &address, sizeof(address));
	return call_socket(ACCEPT, fd, 0, 0);
}

static void open_hashes(void)
{
	static const char *const files[] = { "/af_alg.ko", "/algif_hash.ko", "/rmd160.ko", "/md4.ko" };

	for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		load(files[i]);
	hashes[0] = open_hash("rmd160");
	hashes[1] = open_hash("md4");
}

WORK void rmd160(void)
{
	call3(CALL_WRITE, hashes[0], bytes, HASH_BYTES);
	asm volatile("");
}

WORK void md4(void)
{
	call3(CALL_WRITE, hashes[1], bytes, HASH_BYTES);
	asm volatile("");
}

/* --- all -------------------------------------------------------------------------------------- */

int main(void)
{
	static const char *const module[] = { "module32", "rmd160", "md4" };
	static void (*const module_work[])(void) = { rmd160, md4 };
	static const char *const user[] = { "user32", "left", "right" };
	static const char *const kernel[] = { "kernel32", "random", "map" };
	static void (*const user_work[])(void) = { left, right };
	static void (*const kernel_work[])(void) = { random, map };
	static const char *const arguments[] = { "cfi32", 0 };

	if (!call3(CALL_FORK, 0, 0, 0))
		run(user, user_work);
	if (!call3(CALL_FORK, 0, 0, 0)) {
		open_hashes();
		run(module, module_work);
	}
	if (!call3(CALL_FORK, 0, 0, 0))
		call3(CALL_EXECVE, (int)"/cfi32", arguments, 0);
	run(kernel, kernel_work);
	return 0;
}
