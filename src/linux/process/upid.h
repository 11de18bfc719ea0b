/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a task is called in a pid namespace: its struct upid. Resolver's thread. */
#ifndef XTOP_LINUX_UPID_H
#define XTOP_LINUX_UPID_H

#include "linux/kernel/linux_guest.h"

/*
 * The address of the struct upid that the struct pid at PID has at LEVEL of the namespaces; 0: the
 * kernel's types do not tell, or there is no such level.
 */
uint64_t upid_find(const struct linux_guest *guest, uint64_t pid, uint32_t level);

#endif
