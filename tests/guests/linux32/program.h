// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the programs of this guest have in common: system calls by int 0x80 (Linux
 * arch/x86/entry/syscalls/syscall_32.tbl), two functions that are measured, and _start.
 */
#include <stdint.h>

#define WORK __attribute__((noipa))

enum {
	CALL_FORK = 2,
	CALL_WRITE = 4,
	CALL_OPEN = 5,
	CALL_EXECVE = 11,
	CALL_GETPID = 20,
	CALL_MOUNT = 21,
	CALL_MKDIR = 39,
	CALL_MMAP = 90,
	CALL_MUNMAP = 91,
	CALL_SOCKETCALL = 102,
	CALL_NANOSLEEP = 162,
	CALL_POLL = 168,
	CALL_PRCTL = 172,
	CALL_FINIT_MODULE = 350,
	CALL_GETRANDOM = 355,
	CALL_CLOCK_GETTIME64 = 403,
};
enum { CLOCK_MONOTONIC = 1, CLOCK_THREAD_CPUTIME_ID = 3 };

#define PR_SET_NAME 15
#define BEAT_US     2000000
#define UNIT        20000

struct timespec64 {
	int64_t seconds;
	int32_t nanoseconds, unused;
};

static char line[128];
static unsigned length;

static int call3(int number, int a, const void *b, int c)
{
	int result;

	asm volatile("int $0x80" : "=a"(result) : "0"(number), "b"(a), "c"(b), "d"(c) : "memory");
	return result;
}

static uint32_t now_us(int clock)
{
	struct timespec64 now;

	call3(CALL_CLOCK_GETTIME64, clock, &now, 0);
	return (uint32_t)now.seconds * 1000000 + (uint32_t)now.nanoseconds / 1000;
}

static void put_text(const char *text)
{
	while (*text && length < sizeof(line))
		line[length++] = *text++;
}

static void put_number(uint32_t number)
{
	char digits[11], *first = &digits[10];

	*first = '\0';
	do
		*--first = (char)('0' + number % 10);
	while (number /= 10);
	put_text(first);
}

static void print_heartbeat(const char *const names[3], uint32_t rounds, const uint32_t us[2])
{
	length = 0;
	put_text(names[0]);
	put_text(": heartbeat ");
	put_number(rounds);
	for (int i = 0; i < 2; i++) {
		put_text(" ");
		put_text(names[1 + i]);
		put_text(" ");
		put_number(us[i]);
	}
	put_text("\n");
	call3(CALL_WRITE, 1, line, (int)length);
}

/* --- work ------------------------------------------------------------------------------------- */

WORK void spin(unsigned iterations)
{
	unsigned product = iterations;

	while (iterations--)
		asm volatile("imull %0, %0\n	imull %0, %0" : "+r"(product) : : "cc");
}

/* CLOCK measures the work. */
static inline __attribute__((always_inline)) void run_by(int clock, const char *const names[3],
							 void (*const work[2])(void))
{
	uint32_t us[2] = { 0, 0 }, rounds = 0, printed = now_us(CLOCK_MONOTONIC);

	call3(CALL_PRCTL, PR_SET_NAME, names[0], 0);
	for (;; rounds++) {
		for (int i = 0; i < 2; i++) {
			uint32_t before = now_us(clock);

			for (int n = 0; n < 20; n++)
				work[i]();
			us[i] += now_us(clock) - before;
		}
		if (now_us(CLOCK_MONOTONIC) - printed < BEAT_US)
			continue;
		printed = now_us(CLOCK_MONOTONIC);
		print_heartbeat(names, rounds, us);
	}
}

WORK void run(const char *const names[3], void (*const work[2])(void))
{
	run_by(CLOCK_THREAD_CPUTIME_ID, names, work);
}

/* main() gets the stack as the kernel made it: the number of arguments, these, variables, auxv. */
asm("	.globl _start\n"
    "	.type _start, @function\n"
    "_start:\n"
    "	xorl %ebp, %ebp\n"
    "	pushl %esp\n"
    "	call main\n"
    "	ud2\n"
    "	.size _start, . - _start\n");
