/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the members that modules.c reads in a kernel of i386 without BTF. Resolver's thread. */
#ifndef XTOP_LINUX_KERNEL_MODULE_LAYOUT_I386_H
#define XTOP_LINUX_KERNEL_MODULE_LAYOUT_I386_H

#include "linux/kernel/linux_guest.h"

/*
 * Sets MODULE_STATE, _LIST, _NAME, _CORE_* or _MEM*, _KALLSYMS and MOD_KALLSYMS_* of GUEST's layout
 * by the contents of a loaded module. Precondition: GUEST has LINUX_MODULES. Returns false and
 * leaves *GUEST untouched if none of the first eight modules confirms the offsets.
 */
bool module_layout_i386_find(struct linux_guest *guest);

#endif
