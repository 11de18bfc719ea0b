/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who holds a lock of a Linux guest, by what the lock itself says. It is read while the guest runs,
 * and is hostile. Resolver's thread.
 */
#ifndef XTOP_LINUX_LOCK_OWNER_H
#define XTOP_LINUX_LOCK_OWNER_H

#include "linux/lock_finder.h"

/* Who holds a lock: a task, or a thread id that user code wrote. */
struct lock_owner {
	enum os_holder certainty;
	uint64_t task; /* address; 0: none */
	uint32_t tid;  /* OS_HOLDER_GUESS: in the waiter's pid namespace */
};

/* USER: the page tables of a futex's process; NULL: not known. */
struct lock_owner lock_owner_read(const struct linux_guest *guest, const struct lock_wait *wait,
				  const struct memory_root *user);

#endif
