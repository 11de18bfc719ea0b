/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The unwind tables of a running kernel of 32-bit Arm (exidx.h). Resolver's thread. */
#ifndef XTOP_LINUX_KERNEL_EXIDX_TABLES_H
#define XTOP_LINUX_KERNEL_EXIDX_TABLES_H

#include "linux/kernel/linux_guest.h"
#include "xtop/symbol/image.h"

/*
 * Gives IMAGE, the kernel's, its unwind tables, and reads of its code for the functions that are
 * interrupted. GUEST->memory outlives IMAGE's unwinding. Without tables, or memory for them, IMAGE
 * is as before.
 */
void exidx_read_kernel(const struct linux_guest *guest, struct image *image);

#endif
