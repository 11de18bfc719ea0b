/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The code through which a Linux kernel calls Xen. */
#ifndef XTOP_LINUX_KERNEL_HYPERCALLS_H
#define XTOP_LINUX_KERNEL_HYPERCALLS_H

#include "linux/kernel/linux_guest.h"

/*
 * Adds Xen's stubs to ORC, the kernel's table, if the kernel has such stubs. Their code depends on
 * the guest type of this boot, so the result must not go into the cache of known kernels.
 */
void hypercalls_add(const struct linux_guest *guest, struct orc *orc);

#endif
