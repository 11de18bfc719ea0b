/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Determines who holds the locks that tasks of a Linux guest wait for, after a pass has seen all
 * tasks. The lock's owner is read, and then the waiter's state again. If the state is unchanged,
 * the task has waited for that lock all the time. So if tasks wait for each other in a circle, they
 * do so at the same time: none of them can have released its lock. Resolver's thread.
 */
#ifndef XTOP_LINUX_LOCK_HOLDERS_H
#define XTOP_LINUX_LOCK_HOLDERS_H

#include "linux/kernel/data_names.h"
#include "linux/kernel/linux_guest.h"
#include "linux/sleeper.h"

/* Where locks and tasks are looked up. All pointers outlive it. */
struct lock_holders {
	const struct linux_guest *guest;
	struct task_state_reader *reader;
	const struct sleeper_list *pass; /* all tasks of this pass */
	struct data_names *names;
};

/*
 * Fills in WAIT with the lock that SLEEPER waits for, and its holder. A lock's name is read only
 * once. If the task has moved on since the pass looked at it, wait->is_over is set.
 */
void lock_holders_read(const struct lock_holders *holders, struct sleeper *sleeper,
		       uint64_t now_ns, struct os_lock_wait *wait);

#endif
