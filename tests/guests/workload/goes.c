/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See goes.h. Built with -O2, without frame pointers. */
#include "goes.h"

#include "_cgo_export.h"

static volatile unsigned long sum;

__attribute__((noipa)) void goes_spin(unsigned long n)
{
	unsigned long x = sum;

	for (unsigned long i = 0; i < n; i++)
		x = x * 6364136223846793005 + 1442695040888963407;
	sum = x;
}

__attribute__((noipa)) void goes_call_back(int n)
{
	char room[64 * n]; /* this frame is found by rbp */

	room[0] = (char)n;
	__asm__ volatile("" : : "r"(room) : "memory");
	goesCalledBack(room[0]);
	goes_spin(5000);
}

void goes_handle(int signal);

/* Not static: the program is stripped, but has dynamic symbols. */
void goes_handle(int signal)
{
	(void)signal;
	goes_spin(10000);
	sum++; /* otherwise goes_spin() takes the place of this function on the stack */
}

void goes_raise(void)
{
	raise(GOES_SIGNAL);
	sum++;
}

/* After Go's own handlers are in place. A program of Go asks for SA_ONSTACK. */
void goes_init(void)
{
	struct sigaction action = { .sa_handler = goes_handle, .sa_flags = SA_ONSTACK };

	sigaction(GOES_SIGNAL, &action, NULL);
}
