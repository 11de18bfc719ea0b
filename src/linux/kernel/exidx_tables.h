/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The unwind tables of a running kernel of 32-bit Arm (exidx.h). Resolver's thread. */
#ifndef XTOP_LINUX_KERNEL_EXIDX_TABLES_H
#define XTOP_LINUX_KERNEL_EXIDX_TABLES_H

#include "linux/kernel/linux_guest.h"
#include "xtop/symbol/image.h"

/*
 * Gives the kernel's IMAGE its unwind tables, and access to its code for interrupted functions.
 * GUEST->memory outlives IMAGE's unwinding. IMAGE stays unchanged if there are no tables, or if
 * memory is out.
 */
void exidx_read_kernel(const struct linux_guest *guest, struct image *image);

#endif
