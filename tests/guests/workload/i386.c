// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A static program of 32 bits, below a 64-bit kernel. It needs no C library: system calls by int 0x80
 * (Linux arch/x86/entry/syscalls/syscall_32.tbl). It is built twice: i386-fp with frame pointers and
 * without .eh_frame, i386-cfi the other way round. They run alone, with the word i386.
 *
 *   _start -> main -+- left -> inner -> spin     three units in a round
 *                   `- right -> spin             two
 *
 * Each program measures both by its CPU time, and prints the sums every two seconds, in microseconds:
 *
 *   i386-fp: heartbeat 12 left 104823 right 70221
 */
#include <stdint.h>

#define WORK __attribute__((noipa))

enum { CALL_WRITE = 4, CALL_OPEN = 5, CALL_CLOSE = 6, CALL_CLOCK_GETTIME64 = 403 };
enum { CLOCK_MONOTONIC = 1, CLOCK_THREAD_CPUTIME_ID = 3 };

#define OPEN_WRITE  1
#define OPEN_CREATE 0100
#define BEAT_US     2000000
#define UNIT        20000

#ifndef NAME
#define NAME "i386"
#endif

struct timespec64 {
	int64_t seconds;
	int32_t nanoseconds, unused;
};

static int console;
static char line[128];
static unsigned length;

static int call(int number, int a, const void *b, int c)
{
	int result;

	asm volatile("int $0x80" : "=a"(result) : "0"(number), "b"(a), "c"(b), "d"(c) : "memory");
	return result;
}

static int open_file(const char *path, int flags)
{
	return call(CALL_OPEN, (int)path, (const void *)flags, 0644);
}

static uint32_t now_us(int clock)
{
	struct timespec64 now;

	call(CALL_CLOCK_GETTIME64, clock, &now, 0);
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

/* As an operand of asm it gives a function its frame, also where gcc would leave that out. */
register unsigned stack_pointer asm("esp");

WORK void spin(unsigned iterations)
{
	unsigned product = iterations;

	while (iterations--)
		asm volatile("imull %0, %0\n	imull %0, %0" : "+r"(product), "+r"(stack_pointer) : : "cc");
}

/* Besides calling spin() both keep values across the call: registers are saved. */
WORK unsigned inner(unsigned n)
{
	volatile unsigned values[6] = { n, n + 1 };

	spin(UNIT);
	return values[n % 6] + n;
}

WORK unsigned left(unsigned n)
{
	unsigned sum = n;

	for (unsigned i = 0; i < 3; i++)
		sum += inner(i) * n;
	return sum;
}

WORK unsigned right(unsigned n)
{
	for (unsigned i = 0; i < 2; i++) {
		spin(UNIT);
		n = n * 3 + i;
	}
	return n;
}

WORK void print_heartbeat(uint32_t rounds, uint32_t left_us, uint32_t right_us)
{
	length = 0;
	put_text(NAME ": heartbeat ");
	put_number(rounds);
	put_text(" left ");
	put_number(left_us);
	put_text(" right ");
	put_number(right_us);
	put_text("\n");
	call(CALL_WRITE, console, line, (int)length);
}

int main(void)
{
	uint32_t left_us = 0, right_us = 0, rounds = 0, printed = now_us(CLOCK_MONOTONIC);
	unsigned value = 1;

	console = open_file("/dev/console", OPEN_WRITE);
	call(CALL_CLOSE, open_file("/run/" NAME, OPEN_WRITE | OPEN_CREATE), 0, 0);
	for (;; rounds++) {
		uint32_t before = now_us(CLOCK_THREAD_CPUTIME_ID), between, after;

		for (unsigned i = 0; i < 20; i++)
			value = left(value);
		between = now_us(CLOCK_THREAD_CPUTIME_ID);
		for (unsigned i = 0; i < 20; i++)
			value = right(value);
		after = now_us(CLOCK_THREAD_CPUTIME_ID);
		left_us += between - before;
		right_us += after - between;
		if (now_us(CLOCK_MONOTONIC) - printed < BEAT_US)
			continue;
		printed = now_us(CLOCK_MONOTONIC);
		print_heartbeat(rounds, left_us, right_us);
	}
}

asm("	.globl _start\n"
    "	.type _start, @function\n"
    "_start:\n"
    "	.cfi_startproc\n"
    "	.cfi_undefined eip\n"
    "	xorl %ebp, %ebp\n"
    "	call main\n"
    "	ud2\n"
    "	.cfi_endproc\n"
    "	.size _start, . - _start\n");
