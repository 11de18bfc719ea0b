/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Locks and their holders in one pass over a guest's tasks. The resolver knows from a task's stack
 * which kind of lock it waits for. Here the thread's name tells: it is one of those in
 * tests/guests/workload/waits.c. All that comes after is xtop's own code.
 */
#include "config.h"

#include "inside_locks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "linux/sleepers.h"
#include "tests/support/must.h"
#include "xtop/os_ops.h"

#define SECOND 1000000000ULL

struct inside_locks {
	const struct linux_guest *guest;
	void (*put)(void *context, const char *line);
	void *context;
};

/* The waiters of waits.c. A futex with priority inheritance is found as a futex. */
static const struct {
	const char *thread;
	enum os_lock_kind kind;
} waiters[] = {
	{ "mutex", OS_LOCK_MUTEX },     { "rwsem", OS_LOCK_RWSEM },
	{ "dir", OS_LOCK_RWSEM },       { "futex", OS_LOCK_FUTEX },
	{ "pi", OS_LOCK_FUTEX },        { "rtmutex", OS_LOCK_RT_MUTEX },
	{ "sema", OS_LOCK_SEMAPHORE },  { "percpu", OS_LOCK_PERCPU_RWSEM },
	{ "abba", OS_LOCK_FUTEX },      { "baab", OS_LOCK_FUTEX },
};

static void locks_add(void *context, const struct os_wait *wait)
{
	(void)context;
	if (!wait->vcpu || !wait->task || !wait->task->thread)
		return;
	for (size_t i = 0; i < sizeof(waiters) / sizeof(waiters[0]); i++)
		if (strcmp(wait->task->thread, waiters[i].thread) == 0)
			*wait->lock = waiters[i].kind;
	*wait->kept = calloc(1, 1);
}

static void locks_end(void *context, const void *kept, uint64_t waited_ns)
{
	(void)context;
	(void)kept;
	(void)waited_ns;
}

static void locks_read_comm(const struct linux_guest *guest, const struct os_lock_task *task,
			    char comm[17])
{
	memset(comm, 0, 17);
	if (task->pid)
		memory_read(guest->memory, guest->root,
			    task->address + layout_offset(&guest->layout, TASK_COMM), comm, 16);
	if (!comm[0])
		strcpy(comm, "-");
}

static void locks_put(void *context, const struct os_lock_wait *wait)
{
	static const char *const kinds[N_OS_LOCK_KINDS] = {
		[OS_LOCK_NONE] = "none",           [OS_LOCK_MUTEX] = "mutex",
		[OS_LOCK_RWSEM] = "rwsem",         [OS_LOCK_PERCPU_RWSEM] = "percpu",
		[OS_LOCK_RT_MUTEX] = "rt_mutex",   [OS_LOCK_SEMAPHORE] = "semaphore",
		[OS_LOCK_FUTEX] = "futex",         [OS_LOCK_FUTEX_PI] = "pi",
		[OS_LOCK_SPINLOCK] = "spinlock",
	};
	static const char *const certainties[N_OS_HOLDERS] = {
		[OS_HOLDER_UNKNOWN] = "unknown", [OS_HOLDER_EXACT] = "exact",
		[OS_HOLDER_LAST] = "last",       [OS_HOLDER_GUESS] = "guess",
		[OS_HOLDER_NO_TASK] = "no-task",
	};
	const struct inside_locks *locks = context;
	char waiter[17], holder[17], line[256];

	if (wait->is_over)
		return;
	locks_read_comm(locks->guest, &wait->waiter, waiter);
	locks_read_comm(locks->guest, &wait->holder, holder);
	snprintf(line, sizeof(line), "%s %s %s %s %s", waiter, kinds[wait->kind],
		 certainties[wait->certainty], holder, wait->name[0] ? wait->name : "-");
	locks->put(locks->context, line);
}

void inside_read_locks(const struct linux_guest *guest, struct tasks *tasks,
		       struct processes *processes, void (*put)(void *context, const char *line),
		       void *context)
{
	struct inside_locks locks = { guest, put, context };
	const struct os_waits_sink sink = {
		.add = locks_add, .end = locks_end, .lock = locks_put, .context = &locks
	};
	struct sleepers *sleepers;

	if (!sleepers_can_read(guest)) {
		put(context, "no list of tasks");
		return;
	}
	must_or_die(sleepers_create(guest, tasks, processes, &sleepers));
	while (sleepers_read(sleepers, SECOND, SECOND / 10, &sink) == OS_WAITS_MORE)
		;
	sleepers_destroy(sleepers);
}
