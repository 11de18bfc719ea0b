/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the thread and the process of a sample, by the address of the task_struct. They are read
 * after the stop, while the guest runs. Resolver's thread.
 */
#ifndef XTOP_PROCESS_TASKS_H
#define XTOP_PROCESS_TASKS_H

#include <stdbool.h>
#include <stdint.h>

#include "linux/process/cgroup.h"
#include "linux/process/script.h"
#include "xtop/base/error.h"
#include "xtop/base/limit.h"

#define TASK_NAME_BYTES 16              /* Linux's TASK_COMM_LEN, which counts the NUL */
#define TASK_PROCESS_BYTES (TASK_NAME_BYTES + SCRIPT_NAME_BYTES) /* "python3 app.py" */
#define TASKS_MAX       LIMIT(4096, 32) /* number kept; the least recently used is replaced first */
/* a task read so lately is not read again if it is unchanged */
#define TASKS_FRESH_NS 100000000ULL

struct task {
	uint64_t address;              /* address of the task_struct */
	char comm[TASK_NAME_BYTES];    /* the thread's name: raw bytes, with a NUL */
	/* name of the group leader, and the program that it interprets: raw, with a NUL */
	char process[TASK_PROCESS_BYTES];
	bool named_as_process; /* its name is that of the group leader */
	/* what cgroup_shorten() makes of it; "" if there is none, or if it is unknown */
	char cgroup[CGROUP_NAME_BYTES];
	uint32_t pid, tgid;
	uint32_t exec_id; /* changes with each exec(); 0 if unknown */
	/*
	 * ns on the guest's clock; 0 if unknown. Another task in the same task_struct has another
	 * start time
	 */
	uint64_t start_time;
	/* address of the mm_struct; 0 for a kernel thread, or if the task is about to end */
	uint64_t mm;
	uint64_t stack; /* address of the kernel stack's first byte; 0 if unknown */
	bool kernel_thread;
	bool idle;                     /* pid 0 */
};

/* The name to show for TASK's thread: a thread that is named as its process has that name. */
static inline const char *task_thread_name(const struct task *task)
{
	return task->named_as_process ? task->process : task->comm;
}

struct tasks_counts {
	uint64_t reads;
	uint64_t unreadable; /* a page was not there */
	uint64_t refused;    /* no task is there: it has ended, or never was one */
	uint64_t evicted;
	uint64_t cgroups_unreadable; /* control groups that could not be read */
	unsigned kept;
};

struct tasks;

/* GUEST outlives the tasks. Error: out of memory, or BTF lacks members. */
struct xtop_error *tasks_create(const struct linux_guest *guest, struct tasks **tasksp);
void tasks_destroy(struct tasks *tasks); /* NULL allowed */
/*
 * The task whose task_struct is at ADDRESS; NULL if it cannot be read or is no task. The pointer is
 * valid until the next call of tasks_find() or tasks_invalidate().
 */
const struct task *tasks_find(struct tasks *tasks, uint64_t address, uint64_t now_ns);
/*
 * The address of the kept task that has the address SP on its kernel stack; if there are several,
 * the one that was found last. 0 if there is none. That task may have ended since, and its stack
 * may belong to another task.
 */
uint64_t tasks_find_on_stack(const struct tasks *tasks, uint64_t sp);
/*
 * The address of the next kept task of the process TGID, from *SLOT on, which is 0 at first; 0: no
 * other one is kept. That task may have ended.
 */
uint64_t tasks_find_of_process(const struct tasks *tasks, uint32_t tgid, size_t *slot);
/* Whether the address SP lies on TASK's kernel stack. */
bool tasks_is_on_stack(const struct tasks *tasks, const struct task *task, uint64_t sp);
/* Call this if the task at ADDRESS has changed: the next tasks_find() reads it again. */
void tasks_invalidate(struct tasks *tasks, uint64_t address);
struct tasks_counts tasks_counts(const struct tasks *tasks);

#endif
