/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of a Linux guest's locks, found from their addresses. Resolver's thread. */
#ifndef XTOP_LINUX_LOCK_NAME_H
#define XTOP_LINUX_LOCK_NAME_H

#include "linux/kernel/data_names.h"
#include "linux/lock_task.h"

/*
 * Writes the lock's name to NAME: "cgroup_mutex", "mmap_lock of 4711" or "i_rwsem of
 * /var/log/access.log". The bytes are raw and end with a NUL; NAME is "" if the lock is unknown. MM
 * and TGID are the memory and the process of a task that waits for the lock.
 */
void lock_name_read(struct data_names *names, const struct lock_wait *wait, uint64_t mm,
		    uint32_t tgid, char name[OS_LOCK_NAME_BYTES]);

#endif
