// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program of the guest linux32 without frame pointers, but with .eh_frame.
 *
 *   cfi32    _start -> main -> run -+- left -> spin
 *                                   `- calls -> __kernel_vsyscall -> clock_gettime()    of the vDSO
 *
 *   cfi32: heartbeat 12 left 104823 calls 70221
 *
 * On Arm it has .debug_frame, and calls the kernel itself.
 */
#include "program.h"

#define AUX_SYSINFO 32 /* Linux include/uapi/linux/auxvec.h: where __kernel_vsyscall is */
#define CALLS       60

#ifndef __arm__
static const char *vsyscall;
#endif

/* The system call takes the same registers as int 0x80. */
WORK void now(void)
{
	struct timespec64 time;
#ifdef __arm__
	call3(CALL_CLOCK_GETTIME64, CLOCK_THREAD_CPUTIME_ID, &time, 0);
#else
	int result;

	asm volatile("call *%1"
		     : "=a"(result)
		     : "m"(vsyscall), "0"(CALL_CLOCK_GETTIME64), "b"(CLOCK_THREAD_CPUTIME_ID),
		       "c"(&time)
		     : "memory");
#endif
}

WORK void left(void)
{
	for (unsigned i = 0; i < 3; i++)
		spin(UNIT);
	asm volatile("");
}

WORK void calls(void)
{
	for (unsigned i = 0; i < CALLS; i++)
		now();
	asm volatile("");
}

int main(const char *const *stack)
{
	static const char *const names[] = { "cfi32", "left", "calls" };
	static void (*const work[])(void) = { left, calls };

#ifdef __arm__
	(void)stack;
#else
	for (stack++; *stack; stack++)
		;
	for (stack++; *stack; stack++)
		;
	for (stack++; *stack; stack += 2)
		if (*stack == (const char *)AUX_SYSINFO)
			vsyscall = stack[1];
#endif
	run(names, work);
	return 0;
}
