/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The programs of the workload guest: what their files share.
 *
 *   run.c       runs phases, measures each by the thread's CPU time, tells the sums on the console
 *   user.c      phases in user mode: sort, deep, signal, clock, shared
 *   kernel.c    phases that work in the kernel: zero, hash, pipe, tcp
 *   shared.c    the library libwork.so, or a part of the program where it is static
 *   names.cc    a program of its own, in C++: functions with long names
 *   work.c      main() of the C programs
 *   jit.c       a program of its own, with the word jit on the kernel's command line: code made as it runs
 *   tell.c      not a workload: prints what the guest knows of itself
 *
 * Every phase is a function phase_NAME, called by run_phase() again and again until it has had its
 * part of the round. Chains begin  _start;...;main;run_round;run_phase;phase_NAME;...  in the
 * first thread, and  ...;worker;run_round;run_phase;phase_NAME;...  in the second.
 */
#ifndef WORK_H
#define WORK_H

#include <stdint.h>

/* The compiler must keep each of these a function of its own, called as written; together with
   -fno-optimize-sibling-calls that makes chains whole. */
#ifdef __clang__
#define WORK __attribute__((noinline))
#else
#define WORK __attribute__((noipa))
#endif

#ifdef __cplusplus
extern "C" {
#endif

struct phase {
	const char *name;
	void (*unit)(void);		/* about a millisecond of work or less */
	unsigned int percent;		/* of the round's CPU time, at least */
	uint64_t spent_ns;		/* the thread's CPU time in it since the start */
	unsigned int units;		/* run between two looks at the clock; 0: not known yet */
};

/* One a thread. `phases` ends with a NULL name. */
struct work {
	const char *name;		/* as told on the console */
	struct phase *phases;
	uint64_t rounds;
	uint64_t told_ns;		/* when, CLOCK_MONOTONIC */
};

/* run.c */
void run_init(const char *program);
void run_ready(const char *program);	/* all is set up: /run/PROGRAM says so */
void run_round(struct work *work);
void spin(unsigned long iterations);	/* some 3 ns each */

/* user.c, kernel.c: what must be there before the first round. Ends the program if it cannot. */
void user_init(void);
void kernel_init(void);

void phase_sort(void);
void phase_deep(void);
void phase_signal(void);
void phase_clock(void);
void phase_shared(void);
void phase_zero(void);
void phase_hash(void);
void phase_pipe(void);
void phase_tcp(void);

/* shared.c */
unsigned long shared_checksum(const unsigned char *bytes, unsigned long length);

#ifdef __cplusplus
}
#endif
#endif
