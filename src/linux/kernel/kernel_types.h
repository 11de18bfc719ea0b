/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the types of a kernel's BTF out of the guest: at first only as much as names of processes'
 * functions need, 1.4 of 4.7 MB in Debian's 6.12. A kernel that lacks a struct which is looked for,
 * or has it late, is read whole (6.1). Until all is read, the guest's layout is partial. Resolver's
 * thread.
 */
#ifndef XTOP_LINUX_KERNEL_KERNEL_TYPES_H
#define XTOP_LINUX_KERNEL_KERNEL_TYPES_H

#include "linux/kernel/linux_guest.h"

/*
 * Fills in GUEST's layout, and whether it has one. If types are left to be read, GUEST has them in
 * `types`, and may not move until kernel_types_destroy().
 */
void kernel_types_begin(struct linux_guest *guest);
/*
 * Reads what is left, if anything is. If that fails, the layout stays partial, and the next call
 * tries again. The layout is a part of what is known, not of what a reader changes: so those call
 * this, too, who only read GUEST.
 */
void kernel_types_end(const struct linux_guest *guest);
void kernel_types_destroy(struct linux_guest *guest); /* nothing is left to be read then */

#endif
