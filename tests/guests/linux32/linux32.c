// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The /init of a guest with a 32-bit kernel. It needs no C library (program.h). Three processes run on
 * one vCPU, and have names of their own:
 *
 *   user32      _start -> main -> run -+- left -> spin     three units in a round
 *                                      `- right -> spin    two
 *   kernel32    _start -> main -> run -+- random: getrandom()    fills 32 KiB
 *                                      `- map: mmap()            of 1 MiB, whose pages are made at once
 *   cfi32       another program (cfi32.c)
 *
 * Each process measures both by its CPU time, and prints the sums every two seconds, in microseconds:
 *
 *   user32: heartbeat 12 left 104823 right 70221
 *   kernel32: heartbeat 12 random 98712 map 54112
 */
#include "program.h"

#define MAP_NOW      0x8022 /* private, anonymous, populated */
#define PROT_RW      3
#define MAP_BYTES    (1U << 20)
#define RANDOM_BYTES (32U << 10)

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

/* --- both ------------------------------------------------------------------------------------- */

int main(void)
{
	static const char *const user[] = { "user32", "left", "right" };
	static const char *const kernel[] = { "kernel32", "random", "map" };
	static void (*const user_work[])(void) = { left, right };
	static void (*const kernel_work[])(void) = { random, map };
	static const char *const arguments[] = { "cfi32", 0 };

	if (!call3(CALL_FORK, 0, 0, 0))
		run(user, user_work);
	if (!call3(CALL_FORK, 0, 0, 0))
		call3(CALL_EXECVE, (int)"/cfi32", arguments, 0);
	run(kernel, kernel_work);
	return 0;
}
