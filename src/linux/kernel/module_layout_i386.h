/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a kernel of i386 without BTF has what modules.c reads. Resolver's thread. */
#ifndef XTOP_LINUX_KERNEL_MODULE_LAYOUT_I386_H
#define XTOP_LINUX_KERNEL_MODULE_LAYOUT_I386_H

#include "linux/kernel/linux_guest.h"

/*
 * Sets MODULE_STATE, _LIST, _NAME, _CORE_* or _MEM*, _KALLSYMS and MOD_KALLSYMS_* of GUEST's
 * layout by one of the modules that are loaded; needs LINUX_MODULES. False: none of the first
 * eight confirms them, or none is loaded; *GUEST is untouched.
 */
bool module_layout_i386_find(struct linux_guest *guest);

#endif
