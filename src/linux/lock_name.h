/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of locks of a Linux guest, by where they lie. Resolver's thread. */
#ifndef XTOP_LINUX_LOCK_NAME_H
#define XTOP_LINUX_LOCK_NAME_H

#include "linux/locks.h"

/*
 * What the lock is, "mmap_lock" or "i_rwsem of access.log", as far as memory tells: raw bytes, with
 * a NUL. MM: of a task that waits.
 */
void lock_name_read(const struct linux_guest *guest, const struct lock_wait *wait, uint64_t mm,
		    char name[OS_LOCK_NAME_BYTES]);

#endif
