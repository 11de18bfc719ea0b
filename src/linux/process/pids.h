/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Converts between the number of a task, its struct pid and the task. A task has a number in its
 * own pid namespace and in each enclosing namespace. Resolver's thread. All data is hostile, so a
 * result is an address that may lead nowhere.
 */
#ifndef XTOP_PROCESS_PIDS_H
#define XTOP_PROCESS_PIDS_H

#include "linux/kernel/linux_guest.h"

/*
 * The address of the struct upid for LEVEL in the struct pid at PID; 0 if the kernel's types are
 * unknown, or if there is no such level.
 */
uint64_t pids_find_upid(const struct linux_guest *guest, uint64_t pid, uint32_t level);
/*
 * The struct pid of NUMBER in the namespace at NS; 0 if there is none. Numbers begin at 1 (Linux
 * kernel/pid.c, alloc_pid()).
 */
uint64_t pids_find(const struct linux_guest *guest, uint64_t ns, uint32_t number);
/* The task of the struct pid at PID; 0 if there is none. */
uint64_t pids_get_task(const struct linux_guest *guest, uint64_t pid);
/* The namespace of the task with the struct pid at PID; 0 if unknown. */
uint64_t pids_get_namespace(const struct linux_guest *guest, uint64_t pid);

#endif
