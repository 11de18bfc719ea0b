/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tasks that do not run: what an operating system tells of them (os_ops.h), one task after the
 * other, and what the resolver makes of that (snapshot.h). Resolver's thread; the counts are
 * plain data.
 *
 * All tasks are looked at in passes, and a pass in turns. A look stands for the time from the pass
 * before to its own, so weights are time however long a pass takes.
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

#define OS_NO_TIMER UINT64_MAX /* instead of a time: the vCPU has no timer set */

enum os_wait_state {
	OS_WAIT_RUNNABLE, /* R: waits for a CPU */
	OS_WAIT_SLEEPING, /* S: a signal wakes it */
	OS_WAIT_BLOCKED,  /* D: no signal does, or only one that ends it */
	OS_WAIT_IDLE,     /* I: a kernel thread without work, as D */
	OS_WAIT_STOPPED,  /* T: by a signal or a tracer; parked kernel threads */
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
	 * Registers and stacks as the task left its CPU; passed sample_check(). NULL: nothing has
	 * changed since the last look, and *KEPT is of this stack.
	 */
	const struct sample_vcpu *vcpu;
	const struct os_task *task; /* NULL as VCPU is */
	enum os_wait_state state;
	uint64_t waited_ns; /* until now */
	uint64_t weight_ns; /* the time that this look stands for */
	/*
	 * What the sink keeps with this wait, from malloc(); NULL with a new VCPU. The system frees
	 * it when the wait is over. When it stays NULL, the next look brings the stack again.
	 */
	void **kept;
	/*
	 * With a new VCPU the sink sets the kind of lock that the functions on the stack wait for.
	 * It is OS_LOCK_NONE before.
	 */
	enum os_lock_kind *lock;
};

/* Who gets the tasks. */
struct os_waits_sink {
	void (*add)(void *context, const struct os_wait *wait);
	/* The wait that KEPT belongs to is over. It took WAITED_NS. */
	void (*end)(void *context, void *kept, uint64_t waited_ns);
	/*
	 * Called in each pass for each task that waits for a lock, after all tasks were added.
	 * NULL: the sink never sets a kind of lock.
	 */
	void (*lock)(void *context, const struct os_lock_wait *wait);
	void *context;
};

/* How far a pass is. */
enum os_waits_turn {
	OS_WAITS_NONE,  /* the system has no list of tasks */
	OS_WAITS_MORE,  /* the pass goes on with the next turn */
	OS_WAITS_WHOLE, /* the pass has seen all tasks */
};

/* Since the system was found. */
struct os_waits_counts {
	uint64_t passes;
	uint64_t looks;      /* at tasks */
	uint64_t running;    /* of those looks: at a task on a CPU */
	uint64_t stacks;     /* that were read */
	uint64_t retried;    /* stacks that were read again, as the task moved meanwhile */
	uint64_t left_out;   /* looks without a stack: the task moved again and again */
	uint64_t unreadable; /* looks at tasks that were not there any more, or at none */
	uint64_t no_room;    /* looks at more tasks than can be kept: these are read each time */
	uint64_t locks;      /* looks at who holds a lock */
	uint64_t locks_moved; /* looks at locks without a holder: the waiter had moved on */
	uint64_t locks_found, locks_unknown; /* waits for a lock whose address is known, or not */
	uint64_t locks_cpu_ns; /* that finding locks, holders and names took */
	uint64_t tasks;      /* now: seen in the last whole pass */
	uint64_t interval_ns; /* now: that a look of this pass stands for */
};

#endif
