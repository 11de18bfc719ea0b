/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the lock that a sleeping task of a Linux guest waits for, from the contents of its stack.
 * Everything is read while the guest runs, and is hostile: lists are followed for a bounded number
 * of steps. Resolver's thread.
 */
#ifndef XTOP_LINUX_LOCK_FINDER_H
#define XTOP_LINUX_LOCK_FINDER_H

#include "linux/kernel/linux_guest.h"
#include "linux/lock_task.h"
#include "xtop/base/limit.h"

#define LOCK_FINDER_MAX_STEPS LIMIT(1024, 32) /* steps along the list of a lock's waiters */

/*
 * Finds the lock that TASK waits for. KIND is what the functions on TASK's stack wait for:
 * OS_LOCK_PERCPU_RWSEM may stand for the lock or for its readers, OS_LOCK_FUTEX for any futex.
 * Returns false and leaves *WAIT untouched if the lock cannot be determined, or if the futex is not
 * a lock.
 */
bool lock_finder_find(const struct linux_guest *guest, const struct lock_task *task,
		      enum os_lock_kind kind, struct lock_wait *wait);

#endif
