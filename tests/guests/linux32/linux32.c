// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The /init of a guest with a 32-bit kernel. It needs no C library (program.h). Nine processes run on
 * one vCPU, and have names of their own:
 *
 *   user32      _start -> main -> run -+- left -> spin     three units in a round
 *                                      `- right -> spin    two
 *   kernel32    _start -> main -> run -+- random: getrandom()    fills 32 KiB
 *                                      `- map: mmap()            of 1 MiB, whose pages are made at once
 *   module32    _start -> main -> run -+- rmd160: write()    hashes 16 KiB, in a module of the kernel
 *                                      `- md4: write()       the same in another one
 *   jit32       _start -> main -> run -+- three -> jit_three    code that it has written; its names are
 *                                      `- two -> jit_two        in /tmp/perf-PID.map
 *   wait32, 4   _start -> main -> rest -+- nap: nanosleep()     6 ms
 *                                       `- look: poll()         2 ms
 *   cfi32       another program (cfi32.c)
 *
 * user32 is in the control group /shop.slice/user32.service. wait32 measures by the time that passes.
 * On Arm there are user32, kernel32 and cfi32 alone, and no group.
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
#ifdef __arm__
	int address = call6(CALL_MMAP, 0, MAP_BYTES, PROT_RW, MAP_NOW, -1, 0);
#else
	/* The first form of mmap() takes its six arguments from memory, and leaves ebp alone. */
	static const int arguments[6] = { 0, MAP_BYTES, PROT_RW, MAP_NOW, -1, 0 };
	int address = call3(CALL_MMAP, (int)arguments, 0, 0);
#endif

	call3(CALL_MUNMAP, address, (const void *)MAP_BYTES, 0);
}

#ifdef __arm__

static void make_groups(void) {}
static void join_group(void) {}
static void fork_others(void) {}

#else

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

static int hashes[2]; /* sockets that hash what is written to them */

static void load(const char *file)
{
	int fd = call3(CALL_OPEN, (int)file, 0, 0);

	call3(CALL_FINIT_MODULE, fd, "", 0);
}

/* socketcall() takes its arguments from memory. */
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

/* --- code that a process writes --------------------------------------------------------------- */

#define MAP_OWN       0x22 /* private, anonymous */
#define PROT_RWX      7
#define OPEN_TO_WRITE 0101 /* O_CREAT, O_WRONLY */
#define JIT_APART     64 /* bytes from one function to the next */

/* A function that counts down from COUNT, with a frame pointer. */
static void put_code(uint8_t *at, uint32_t count)
{
	/* push %ebp; mov %esp, %ebp; mov $COUNT, %ecx; 2 imul %eax, %eax; dec %ecx; jnz; pop; ret */
	static const uint8_t code[] = { 0x55, 0x89, 0xe5, 0xb9, 0,    0,    0,    0,    0x0f, 0xaf, 0xc0,
					0x0f, 0xaf, 0xc0, 0x49, 0x75, 0xf7, 0x5d, 0xc3 };

	for (unsigned i = 0; i < sizeof(code); i++)
		at[i] = code[i];
	for (unsigned i = 0; i < sizeof(count); i++)
		at[4 + i] = (uint8_t)(count >> 8 * i);
}

static uint8_t *jit;

static void put_hex(uint32_t number)
{
	for (int shift = 28; shift >= 0; shift -= 4) {
		char digit[2] = { "0123456789abcdef"[number >> shift & 15], 0 };

		put_text(digit);
	}
}

static void put_map_line(const uint8_t *at, const char *name)
{
	put_hex((uint32_t)at);
	put_text(" 40 ");
	put_text(name);
	put_text("\n");
}

static void write_jit(void)
{
	static const int arguments[6] = { 0, 4096, PROT_RWX, MAP_OWN, -1, 0 };
	char file[32];
	int fd;

	jit = (uint8_t *)call3(CALL_MMAP, (int)arguments, 0, 0);
	put_code(jit, 3 * UNIT);
	put_code(jit + JIT_APART, 2 * UNIT);
	length = 0;
	put_text("/tmp/perf-");
	put_number((uint32_t)call3(CALL_GETPID, 0, 0, 0));
	put_text(".map");
	for (unsigned i = 0; i <= length; i++)
		file[i] = i < length ? line[i] : 0;
	length = 0;
	put_map_line(jit, "jit_three");
	put_map_line(jit + JIT_APART, "jit_two");
	fd = call3(CALL_OPEN, (int)file, (const void *)OPEN_TO_WRITE, 0644);
	call3(CALL_WRITE, fd, line, (int)length);
}

WORK void three(void)
{
	((void (*)(void))jit)();
	asm volatile("");
}

WORK void two(void)
{
	((void (*)(void))(jit + JIT_APART))();
	asm volatile("");
}

/* --- waits ------------------------------------------------------------------------------------ */

WORK void nap(void)
{
	static const int32_t time[2] = { 0, 6000000 };

	call3(CALL_NANOSLEEP, (int)time, 0, 0);
	asm volatile("");
}

WORK void look(void)
{
	call3(CALL_POLL, 0, 0, 2);
	asm volatile("");
}

WORK void rest(const char *const names[3], void (*const work[2])(void))
{
	run_by(CLOCK_MONOTONIC, names, work);
}

/* --- control groups --------------------------------------------------------------------------- */

/* A system call with all arguments but the one in ebp. */
static int call5(int number, int a, const void *b, int c, int d, int e)
{
	int result;

	asm volatile("int $0x80"
		     : "=a"(result)
		     : "0"(number), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e)
		     : "memory");
	return result;
}

static void make_groups(void)
{
	call3(CALL_MKDIR, (int)"/groups", (const void *)0755, 0);
	call5(CALL_MOUNT, (int)"none", "/groups", (int)"cgroup2", 0, 0);
	call3(CALL_MKDIR, (int)"/groups/shop.slice", (const void *)0755, 0);
	call3(CALL_MKDIR, (int)"/groups/shop.slice/user32.service", (const void *)0755, 0);
}

static void join_group(void)
{
	int fd = call3(CALL_OPEN, (int)"/groups/shop.slice/user32.service/cgroup.procs", (const void *)1, 0);

	call3(CALL_WRITE, fd, "0", 1);
}

/* --- what only i386 has ----------------------------------------------------------------------- */

static void fork_others(void)
{
	static const char *const module[] = { "module32", "rmd160", "md4" };
	static void (*const module_work[])(void) = { rmd160, md4 };
	static const char *const jitted[] = { "jit32", "three", "two" };
	static void (*const jitted_work[])(void) = { three, two };
	static const char *const waits[] = { "wait32", "nap", "look" };
	static void (*const waits_work[])(void) = { nap, look };

	if (!call3(CALL_FORK, 0, 0, 0)) {
		write_jit();
		run(jitted, jitted_work);
	}
	for (unsigned i = 0; i < 4; i++)
		if (!call3(CALL_FORK, 0, 0, 0))
			rest(waits, waits_work);
	if (!call3(CALL_FORK, 0, 0, 0)) {
		open_hashes();
		run(module, module_work);
	}
}

#endif

/* --- all processes ---------------------------------------------------------------------------- */

int main(void)
{
	static const char *const user[] = { "user32", "left", "right" };
	static const char *const kernel[] = { "kernel32", "random", "map" };
	static void (*const user_work[])(void) = { left, right };
	static void (*const kernel_work[])(void) = { random, map };
	static const char *const arguments[] = { "cfi32", 0 };

	call3(CALL_MKDIR, (int)"/tmp", (const void *)0777, 0);
	make_groups();
	if (!call3(CALL_FORK, 0, 0, 0)) {
		join_group();
		run(user, user_work);
	}
	fork_others();
	if (!call3(CALL_FORK, 0, 0, 0))
		call3(CALL_EXECVE, (int)"/cfi32", arguments, 0);
	run(kernel, kernel_work);
	return 0;
}
