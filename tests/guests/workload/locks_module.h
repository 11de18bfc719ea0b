/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests of /proc/xtop-locks: which lock is to be held (locks_module.c, waits.c). */
#ifndef LOCKS_MODULE_H
#define LOCKS_MODULE_H

#define LOCKS_SEMAPHORE    0x4c01
#define LOCKS_RT_MUTEX     0x4c02
#define LOCKS_PERCPU_READ  0x4c03
#define LOCKS_PERCPU_WRITE 0x4c04
#define LOCKS_RTNL         0x4c05
#define LOCKS_MMAP_WRITE   0x4c06

#endif
