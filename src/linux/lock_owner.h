/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The owner of a Linux guest's lock, read from the lock itself. The lock is read while the guest
 * runs, and is hostile. Resolver's thread.
 */
#ifndef XTOP_LINUX_LOCK_OWNER_H
#define XTOP_LINUX_LOCK_OWNER_H

#include "linux/kernel/linux_guest.h"
#include "linux/lock_task.h"

/* The owner of a lock: a task, or a thread id that user code wrote. */
struct lock_owner {
	enum os_holder certainty;
	uint64_t task; /* address; 0 if there is none */
	uint32_t tid;  /* OS_HOLDER_GUESS: a thread id in the waiter's pid namespace */
};

/* USER has the page tables of a futex's process; NULL if unknown. */
struct lock_owner lock_owner_read(const struct linux_guest *guest, const struct lock_wait *wait,
				  const struct memory_root *user);

#endif
