/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whose code a sample ran: thread and process of a task_struct, read after the stop, while the
 * guest goes on. Resolver's thread.
 */
#ifndef XTOP_OS_TASKS_H
#define XTOP_OS_TASKS_H

#include <stdbool.h>
#include <stdint.h>

#include "linux/kernel/linux.h"
#include "xtop/error.h"
#include "xtop/limit.h"

#define TASK_NAME_BYTES 16         /* TASK_COMM_LEN */
#define TASKS_MAX       LIMIT(4096, 32) /* kept; the one unused for longest makes room */
#define TASKS_FRESH_NS  100000000ULL /* a task read so lately is not read again */

struct task {
	uint64_t address;              /* of its task_struct */
	char comm[TASK_NAME_BYTES];    /* the thread's name, as the guest has it: not clean */
	char process[TASK_NAME_BYTES]; /* that of its group's leader */
	uint32_t pid, tgid;
	uint64_t start_time;           /* 0: not known. Tells tasks apart that share a task_struct in turn */
	uint64_t mm;                   /* 0: a kernel thread, or one that is about to end */
	uint64_t stack;                /* the kernel's, its first byte; 0: not known */
	bool kernel_thread;
	bool idle;                     /* pid 0 */
};

struct tasks_counts {
	uint64_t finds, reads;
	uint64_t unreadable; /* a page was not there */
	uint64_t refused;    /* what stood there is no task: it has ended, or never was one */
	uint64_t evicted;
	unsigned kept;
};

struct tasks;

/* LINUX_GUEST outlives the tasks. */
struct xtop_error *tasks_create(const struct linux_guest *linux_guest, struct tasks **tasksp);
void tasks_destroy(struct tasks *tasks); /* NULL allowed */
/* NULL: it cannot be read, or is none. What is returned holds until the next call. */
const struct task *tasks_find(struct tasks *tasks, uint64_t address, uint64_t now_ns);
/*
 * The task on whose kernel stack RSP is, among those found before; the address of the one found last,
 * 0: none. It may have ended since, and another one may have its stack.
 */
uint64_t tasks_on_stack(const struct tasks *tasks, uint64_t rsp);
bool tasks_is_on_stack(const struct tasks *tasks, const struct task *task, uint64_t rsp);
/* It is not what it was: to be read anew. */
void tasks_forget(struct tasks *tasks, uint64_t address);
struct tasks_counts tasks_counts(const struct tasks *tasks);

#endif
