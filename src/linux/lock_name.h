/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of locks of a Linux guest, by where they lie. Resolver's thread. */
#ifndef XTOP_LINUX_LOCK_NAME_H
#define XTOP_LINUX_LOCK_NAME_H

#include "linux/kernel/data_names.h"
#include "linux/lock_finder.h"

/*
 * What the lock is as far as memory tells, "cgroup_mutex", "mmap_lock of 4711" or "i_rwsem of
 * /var/log/access.log": raw bytes, with a NUL; "": not known. MM: of a task that waits, which has
 * the process TGID.
 */
void lock_name_read(struct data_names *names, const struct lock_wait *wait, uint64_t mm,
		    uint32_t tgid, char name[OS_LOCK_NAME_BYTES]);

#endif
