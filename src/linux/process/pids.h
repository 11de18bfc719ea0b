/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers of tasks: from a number to the struct pid and to the task, and back. A task has a number
 * in its own pid namespace and in each one around that. Resolver's thread; everything read is
 * hostile, so an answer is an address that may lead nowhere.
 */
#ifndef XTOP_PROCESS_PIDS_H
#define XTOP_PROCESS_PIDS_H

#include "linux/kernel/linux_guest.h"

/*
 * The address of the struct upid that the struct pid at PID has at LEVEL of the namespaces; 0: the
 * kernel's types do not tell, or there is no such level.
 */
uint64_t pids_find_upid(const struct linux_guest *guest, uint64_t pid, uint32_t level);
/*
 * The struct pid of NUMBER in the namespace at NS; 0: none. Numbers begin at 1 (Linux kernel/pid.c,
 * alloc_pid()).
 */
uint64_t pids_find(const struct linux_guest *guest, uint64_t ns, uint32_t number);
/* The task that the struct pid at PID belongs to; 0: none. */
uint64_t pids_get_task(const struct linux_guest *guest, uint64_t pid);
/* The namespace in which the task of the struct pid at PID knows others; 0: not known. */
uint64_t pids_get_namespace(const struct linux_guest *guest, uint64_t pid);

#endif
