/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program for tests/unwind/steps: contexts and signals that have stacks of their own. */
#include <signal.h>
#include <stdio.h>
#include <ucontext.h>

static ucontext_t main_context, other;
static char signal_stack[65536], context_stack[65536];
static volatile int sum;

__attribute__((noinline)) static void print(int n)
{
	char text[50];

	snprintf(text, sizeof(text), "%d", n);
	sum += text[0];
}

static void on_signal(int number)
{
	print(number);
	sum += number;
}

__attribute__((noinline)) static int go_down(int n)
{
	int below;

	if (n) {
		below = go_down(n - 1);
		print(n);
		return below + 1;
	}
	raise(SIGUSR1);
	swapcontext(&other, &main_context);
	print(3);
	return 1;
}

static void run(void)
{
	sum += go_down(4);
}

int main(void)
{
	const stack_t stack = { .ss_sp = signal_stack, .ss_size = sizeof(signal_stack) };
	const struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	getcontext(&other);
	other.uc_stack.ss_sp = context_stack;
	other.uc_stack.ss_size = sizeof(context_stack);
	other.uc_link = &main_context;
	makecontext(&other, run, 0);
	swapcontext(&main_context, &other);
	raise(SIGUSR1);
	swapcontext(&main_context, &other);
	print(6);
	printf("%d\n", sum);
	return 0;
}
