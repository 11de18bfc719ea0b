/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The thread and the process that a sample belongs to, by the address of the task_struct. They are
 * read after the stop, while the guest goes on. Resolver's thread.
 */
#ifndef XTOP_PROCESS_TASKS_H
#define XTOP_PROCESS_TASKS_H

#include <stdbool.h>
#include <stdint.h>

#include "linux/process/cgroup.h"
#include "xtop/base/error.h"
#include "xtop/base/limit.h"

#define TASK_NAME_BYTES 16              /* with the NUL: Linux TASK_COMM_LEN */
#define TASKS_MAX       LIMIT(4096, 32) /* kept; the least recently used makes room */
#define TASKS_FRESH_NS  100000000ULL    /* read so lately: not again, if it is the same task */

struct task {
	uint64_t address;              /* of its task_struct */
	char comm[TASK_NAME_BYTES];    /* the thread's name: raw bytes, with a NUL */
	char process[TASK_NAME_BYTES]; /* the name of the group leader, same */
	char cgroup[CGROUP_NAME_BYTES]; /* by cgroup_shorten(); "": none, or not known */
	uint32_t pid, tgid;
	uint32_t exec_id;              /* another one after each exec(); 0: not known */
	uint64_t start_time;           /* ns on the guest's clock; 0: not known. Another task in the
					* same task_struct has another start time */
	uint64_t mm;                   /* the mm_struct; 0: a kernel thread, or about to end */
	uint64_t stack;                /* address of the kernel stack's first byte; 0: not known */
	bool kernel_thread;
	bool idle;                     /* pid 0 */
};

struct tasks_counts {
	uint64_t reads;
	uint64_t unreadable; /* a page was not there */
	uint64_t refused;    /* no task is there: it has ended, or never was one */
	uint64_t evicted;
	uint64_t cgroups_unreadable; /* control groups that could not be read */
	unsigned kept;
};

struct tasks;

/* LINUX_GUEST outlives the tasks. Error: out of memory, or BTF lacks what is needed. */
struct xtop_error *tasks_create(const struct linux_guest *linux_guest, struct tasks **tasksp);
void tasks_destroy(struct tasks *tasks); /* NULL allowed */
/*
 * The task whose task_struct is at ADDRESS. NULL: it cannot be read, or is none. Valid until the
 * next call of tasks_find() or tasks_invalidate().
 */
const struct task *tasks_find(struct tasks *tasks, uint64_t address, uint64_t now_ns);
/*
 * The address of the task that has the address SP on its kernel stack, among the tasks that are
 * kept; of several the one that was found last. 0: none. That task may have ended since, and its
 * stack may belong to another task.
 */
uint64_t tasks_find_on_stack(const struct tasks *tasks, uint64_t sp);
/* Whether the address SP lies on TASK's kernel stack. */
bool tasks_is_on_stack(const struct tasks *tasks, const struct task *task, uint64_t sp);
/* The task at ADDRESS has changed: the next tasks_find() reads it. */
void tasks_invalidate(struct tasks *tasks, uint64_t address);
struct tasks_counts tasks_counts(const struct tasks *tasks);

#endif
