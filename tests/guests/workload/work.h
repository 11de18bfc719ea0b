/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by the programs of the workload guest:
 *
 *   run.c       runs phases, measures each by the thread's CPU time, prints the sums on the console
 *   user.c      phases in user mode: sort, deep, signal, clock, shared
 *   kernel.c    phases that work in the kernel: zero, hash, pipe, tcp
 *   shared.c    the library libwork.so; in a static program a part of the program
 *   names.cc    a separate program in C++: functions with long names
 *   work.c      main() of the C programs
 *   jit.c       a separate program that generates code; it runs only with the word jit on the
 *               kernel's command line
 *   phases.c    a separate program that runs alone, with the word phases: equal times on all CPUs
 *               and on one
 *   goes.go     a separate program in Go, with C in it; it runs alone, with the word goes
 *   bare.c      a static program with neither symbols nor unwind tables; it runs alone, with the
 *               word bare
 *   i386.c      a static program of 32 bits; it runs alone, with the word i386
 *   tell.c      not a workload: prints what the guest knows about itself
 *
 * Every phase is a function phase_NAME. run_phase() calls it again and again until it has used its
 * part of the round. Chains begin with  _start;...;main;run_round;run_phase;phase_NAME;...  in the
 * first thread, and with  ...;worker;run_round;run_phase;phase_NAME;...  in the second.
 */
#ifndef WORK_H
#define WORK_H

#include <stdint.h>

/* The compiler must keep each of these functions, and call it as written. Then, together with
   -fno-optimize-sibling-calls, chains are whole. */
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
	void (*unit)(void);		/* does at most about a millisecond of work */
	unsigned int percent;           /* least share of the round's CPU time */
	uint64_t spent_ns;		/* the thread's CPU time in this phase since the start */
	unsigned int units;		/* calls between two looks at the clock; 0: not known yet */
};

/* One for each thread. `phases` ends with a NULL name. */
struct work {
	const char *name;		/* the name that heartbeats begin with */
	struct phase *phases;
	uint64_t rounds;
	uint64_t printed_ns;		/* time of the last heartbeat, CLOCK_MONOTONIC */
};

/* run.c */
void run_init(const char *program);
void run_ready(const char *program);	/* creates /run/PROGRAM: the program is ready */
void run_round(struct work *work);
void run_print(const char *line, int length);	/* on the console */
void spin(unsigned long iterations);	/* about 3 ns each */

/* user.c, kernel.c: prepare the first round. A failure ends the program. */
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
