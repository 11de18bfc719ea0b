// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * /init of a guest that switches tasks all the time: three processes hand a byte around, by pipes. Each
 * computes a little, and has functions of its own, whose names begin with the process's. All have the
 * same code at the same addresses, and stacks at the same addresses, so a stack that is read out of
 * another process's memory has the other's functions.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define WORK __attribute__((noinline, noclone))

static int pipes[3][2];
static volatile unsigned long sum;

static WORK void compute(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		sum += i * i;
}

/* The process NAME reads from the pipe FROM and writes to the pipe TO. No call is a jump. */
#define PROCESS(NAME, FROM, TO, ROUNDS)                                                            \
	static WORK void NAME##_read(void)                                                         \
	{                                                                                          \
		char byte;                                                                         \
                                                                                                   \
		if (read(pipes[FROM][0], &byte, 1) != 1)                                           \
			_exit(1);                                                                  \
		__asm__ volatile("");                                                              \
	}                                                                                          \
	static WORK void NAME##_write(void)                                                        \
	{                                                                                          \
		if (write(pipes[TO][1], "x", 1) != 1)                                              \
			_exit(1);                                                                  \
		__asm__ volatile("");                                                              \
	}                                                                                          \
	static WORK void NAME##_once(void)                                                         \
	{                                                                                          \
		NAME##_read();                                                                     \
		compute(ROUNDS);                                                                   \
		NAME##_write();                                                                    \
		__asm__ volatile("");                                                              \
	}                                                                                          \
	static WORK void NAME##_loop(void)                                                         \
	{                                                                                          \
		prctl(PR_SET_NAME, #NAME);                                                         \
		for (;;)                                                                           \
			NAME##_once();                                                             \
	}

PROCESS(alpha, 0, 1, 300)
PROCESS(beta, 1, 2, 500)
PROCESS(gamma, 2, 0, 400)

int main(void)
{
	mkdir("/dev", 0755);
	if (mount("dev", "/dev", "devtmpfs", 0, NULL) || dup2(open("/dev/console", O_RDWR), 1) < 0 ||
	    pipe(pipes[0]) || pipe(pipes[1]) || pipe(pipes[2]))
		return 1;
	printf("busy: ring on 1 vCPU\n");
	fflush(stdout);
	if (!fork())
		alpha_loop();
	if (!fork())
		beta_loop();
	if (!fork())
		gamma_loop();
	if (write(pipes[0][1], "x", 1) != 1)
		return 1;
	for (;;)
		pause();
}
