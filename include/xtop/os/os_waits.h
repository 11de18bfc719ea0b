/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tasks that do not run: what an operating system reports about them (os_ops.h), one task after the
 * other. The resolver makes a profile of waits from the reports (snapshot.h). Resolver's thread;
 * the counts are plain data.
 *
 * All tasks are looked at in passes, and each pass runs in turns. A look at a task represents the
 * time since the pass before, so weights are time however long a pass takes.
 */
#ifndef XTOP_OS_WAITS_H
#define XTOP_OS_WAITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xtop/base/types.h"
#include "xtop/os/os_locks.h"

struct os_task;
struct sample_vcpu;

#define OS_WAITS_MIN_HZ 1
#define OS_WAITS_MAX_HZ 10

#define OS_NO_TIMER UINT64_MAX /* used instead of a time if the vCPU has no timer set */

enum os_wait_state {
	OS_WAIT_RUNNABLE, /* R: waits for a CPU */
	OS_WAIT_SLEEPING, /* S: a signal wakes it */
	OS_WAIT_BLOCKED,  /* D: no signal wakes it, or only a fatal one */
	OS_WAIT_IDLE,     /* I: a kernel thread without work; waits as in state D */
	OS_WAIT_STOPPED,  /* T: stopped by a signal or a tracer; a parked kernel thread */
};
#define N_OS_WAIT_STATES 5

/* The letter that ps shows for STATE. */
static inline char os_wait_letter(enum os_wait_state state)
{
	static const char letters[N_OS_WAIT_STATES] = {
		[OS_WAIT_RUNNABLE] = 'R', [OS_WAIT_SLEEPING] = 'S', [OS_WAIT_BLOCKED] = 'D',
		[OS_WAIT_IDLE] = 'I',     [OS_WAIT_STOPPED] = 'T',
	};

	return letters[state];
}

/* One task at one look. */
struct os_wait {
	/*
	 * Registers and stacks at the time when the task left its CPU; passed sample_check(). NULL
	 * if nothing has changed since the last look; *KEPT then belongs to this stack.
	 */
	const struct sample_vcpu *vcpu;
	const struct os_task *task; /* NULL if VCPU is NULL */
	enum os_wait_state state;
	uint64_t waited_ns; /* length of the wait until now */
	uint64_t weight_ns; /* time that this look represents */
	/*
	 * Memory from malloc() in which the sink keeps data about this wait. *KEPT is NULL with a
	 * new VCPU. The system frees it when the wait is over. If it stays NULL, the next look
	 * brings the stack again.
	 */
	void **kept;
	/*
	 * With a new VCPU, *LOCK is OS_LOCK_NONE, and the sink sets it to the kind of lock that the
	 * functions on the stack wait for.
	 */
	enum os_lock_kind *lock;
};

/* The receiver of tasks. */
struct os_waits_sink {
	void (*add)(void *context, const struct os_wait *wait);
	/* The wait to which KEPT belongs is over. It took WAITED_NS. */
	void (*end)(void *context, void *kept, uint64_t waited_ns);
	/*
	 * Called in each pass, after all tasks were added, for each task that waits for a lock. The
	 * member is NULL if the sink never sets a kind of lock.
	 */
	void (*lock)(void *context, const struct os_lock_wait *wait);
	void *context;
};

/* Progress of a pass. */
enum os_waits_turn {
	OS_WAITS_NONE,  /* the system has no list of tasks */
	OS_WAITS_MORE,  /* the pass goes on with the next turn */
	OS_WAITS_WHOLE, /* the pass has seen all tasks */
};

/* Counters since the system was found. */
struct os_waits_counts {
	uint64_t passes;
	uint64_t looks;      /* looks at tasks */
	uint64_t running;    /* looks at a task that was on a CPU */
	uint64_t stacks;     /* stacks that were read */
	uint64_t retried;    /* stacks that were read again because the task had moved meanwhile */
	uint64_t left_out;   /* looks without a stack because the task moved again and again */
	uint64_t unreadable; /* looks that found no readable task, mostly because it had ended */
	uint64_t no_room;    /* looks at tasks beyond the limit: their stacks are read each time */
	uint64_t locks;      /* looks for the holder of a lock */
	/* looks at locks that were given up because the waiter had moved on */
	uint64_t locks_moved;
	/* waits for a lock whose address is known, or is not known */
	uint64_t locks_found, locks_unknown;
	uint64_t locks_cpu_ns; /* CPU time for finding locks, holders and names */
	uint64_t tasks;        /* now: tasks seen in the last whole pass */
	uint64_t interval_ns;  /* now: time that a look of this pass represents */
};

#endif
