// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the programs of this guest have in common: system calls (Linux
 * arch/x86/entry/syscalls/syscall_32.tbl by int 0x80, arch/arm/tools/syscall.tbl by svc), two
 * functions that are measured, and _start. On Arm clang makes them.
 */
#include <stdint.h>

#ifdef __clang__
#define WORK __attribute__((noinline))
#else
#define WORK __attribute__((noipa))
#endif

enum {
	CALL_FORK = 2,
	CALL_WRITE = 4,
	CALL_OPEN = 5,
	CALL_EXECVE = 11,
	CALL_GETPID = 20,
	CALL_MOUNT = 21,
	CALL_MKDIR = 39,
	CALL_MUNMAP = 91,
	CALL_SOCKETCALL = 102,
	CALL_NANOSLEEP = 162,
	CALL_POLL = 168,
	CALL_PRCTL = 172,
#ifdef __arm__
	CALL_MMAP = 192, /* with the offset in pages */
	CALL_GETRANDOM = 384,
#else
	CALL_MMAP = 90,
	CALL_FINIT_MODULE = 350,
	CALL_GETRANDOM = 355,
#endif
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

#ifdef __arm__
static int call6(int number, int a, int b, int c, int d, int e, int f)
{
	register int r0 asm("r0") = a, r1 asm("r1") = b, r2 asm("r2") = c, r3 asm("r3") = d;
	register int r4 asm("r4") = e, r5 asm("r5") = f, r7 asm("r7") = number;

	asm volatile("svc #0"
		     : "+r"(r0)
		     : "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5), "r"(r7)
		     : "memory");
	return r0;
}

static int call3(int number, int a, const void *b, int c)
{
	return call6(number, a, (int)b, c, 0, 0, 0);
}
#else
static int call3(int number, int a, const void *b, int c)
{
	int result;

	asm volatile("int $0x80" : "=a"(result) : "0"(number), "b"(a), "c"(b), "d"(c) : "memory");
	return result;
}
#endif

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
#ifdef __arm__
		asm volatile("mul %0, %0, %0\n	mul %0, %0, %0" : "+r"(product));
#else
		asm volatile("imull %0, %0\n	imull %0, %0" : "+r"(product) : : "cc");
#endif
}

/* Runs both works for ever, and prints every BEAT_US how much CLOCK each took. */
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
#ifdef __arm__
asm("	.globl _start\n"
    "	.type _start, %function\n"
    "_start:\n"
    "	.cfi_sections .debug_frame\n"
    "	.cfi_startproc\n"
    "	.cfi_undefined lr\n"
    "	mov r11, #0\n"
    "	mov lr, #0\n"
    "	mov r0, sp\n"
    "	bl main\n"
    "	udf #0\n"
    "	.cfi_endproc\n"
    "	.size _start, . - _start\n");
#else
asm("	.globl _start\n"
    "	.type _start, @function\n"
    "_start:\n"
    "	xorl %ebp, %ebp\n"
    "	pushl %esp\n"
    "	call main\n"
    "	ud2\n"
    "	.size _start, . - _start\n");
#endif
