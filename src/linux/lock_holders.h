/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who holds what the tasks of a Linux guest wait for, asked when a pass has seen all of them: the
 * lock's owner is read, then the look at the task that waits is repeated. If it is the same, the
 * task has waited for that lock all the time. So if tasks wait for each other in a circle, they do
 * so at one time: none of them can have given its lock away. Resolver's thread.
 */
#ifndef XTOP_LINUX_LOCK_HOLDERS_H
#define XTOP_LINUX_LOCK_HOLDERS_H

#include "linux/kernel/data_names.h"
#include "linux/kernel/linux_guest.h"
#include "linux/sleeper.h"

/* What is asked. All pointers outlive it. */
struct lock_holders {
	const struct linux_guest *guest;
	struct task_state_reader *reader;
	const struct sleeper_list *pass; /* all tasks, as this pass has seen them */
	struct data_names *names;
};

/*
 * SLEEPER waits for a lock, whose name is read once. If the task has moved on since it was looked
 * at, *WAIT is over.
 */
void lock_holders_read(const struct lock_holders *holders, struct sleeper *sleeper,
		       uint64_t now_ns, struct os_lock_wait *wait);

#endif
