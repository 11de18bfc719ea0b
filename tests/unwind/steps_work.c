/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program for tests/unwind/steps: leaves, recursion, libraries, a signal, a jump out of calls. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile int sum;
static jmp_buf back;

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void on_signal(int number)
{
	sum += number;
}

__attribute__((noinline)) static int go_down(int n)
{
	volatile char bytes[40];

	bytes[n % 40] = 1;
	if (!n)
		longjmp(back, 1);
	return go_down(n - 1) + bytes[3];
}

/* A frame whose size is only known at run time. */
__attribute__((noinline)) static int use_array(int n)
{
	char bytes[n];

	memset(bytes, n, (size_t)n);
	return bytes[n / 2] + snprintf(bytes, (size_t)n, "%d", n);
}

/* A frame that is aligned to more than the stack is. */
__attribute__((noinline)) static int use_aligned(int n)
{
	volatile int __attribute__((aligned(64))) values[16];

	for (int i = 0; i < 16; i++)
		values[i] = n + i;
	return use_array(values[3] + 20);
}

int main(void)
{
	int (*volatile indirect)(int) = use_aligned;
	int values[20];
	void *block;

	for (int i = 0; i < 20; i++)
		values[i] = i * 7919 % 101;
	qsort(values, 20, sizeof(values[0]), compare);
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	if (!setjmp(back))
		sum += go_down(7);
	sum += indirect(30);
	block = malloc(5000);
	printf("%d %g\n", sum + values[3], 1.5 * values[4]);
	free(block);
	return 0;
}
