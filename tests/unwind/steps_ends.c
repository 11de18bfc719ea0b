/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program for tests/unwind/steps: functions that never return, main() among them. Compilers put
 * many instructions before their frames, and nothing after their last calls.
 */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static jmp_buf back;
static volatile int sum;
static volatile double doubles[8];
static char words[8][40];

__attribute__((noinline)) static void leave(int n, const char *word, double number)
{
	volatile char bytes[40];

	bytes[n] = word[0];
	sum += bytes[n];
	doubles[1] = number;
	longjmp(back, n);
}

/* All arguments are used before the call. */
__attribute__((noinline)) static void go_far(int a, int b, int c, int d, int e, int f)
{
	sum += a * b + c * d - e * f;
	doubles[a & 7] = doubles[b & 7] * d + doubles[c & 7] * e;
	leave(a + 3, words[b & 7], doubles[c & 7] * 1.5);
}

__attribute__((noinline)) static void choose(int n)
{
	char text[64];

	snprintf(text, sizeof(text), "%d %s", n, words[n]);
	if (n == 3)
		go_far(n, 2, 3, 4, 5, 6);
	snprintf(text, sizeof(text), "%d", n);
	leave(n, text, 2.5);
}

__attribute__((cold)) static void fail(int n, const char *word)
{
	printf("%s %d\n", word, n);
	choose(n);
}

__attribute__((noinline)) static int check(const int *values, int n)
{
	int all = 0;

	for (int i = 0; i < n; i++) {
		if (values[i] < 0)
			fail(3, "below");
		if (values[i] > 100)
			fail(4, "above");
		all += sum ^ values[i];
	}
	return all + (int)strlen(words[2]);
}

int main(void)
{
	int values[8] = { 1, 2, -3, 4, 5, 6, 7, 8 };

	if (!setjmp(back))
		check(values, 8);
	values[2] = 101;
	if (!setjmp(back))
		check(values, 8);
	values[2] = 1;
	sum += check(values, 8);
	for (int i = 0; i < 10; i++)
		printf("%d %g\n", sum, doubles[i & 7]);
	exit(0);
}
