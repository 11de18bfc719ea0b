/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a Linux kernel lies in memory, and its read-only data as kallsyms_find() wants it. */
#ifndef XTOP_OS_KERNEL_IMAGE_H
#define XTOP_OS_KERNEL_IMAGE_H

#include "os/kallsyms.h"
#include "xtop/memory.h"
#include "xtop/sample.h"

/*
 * The tables found in the image that lies under one of the page-table roots REGS can mean. False: no
 * Linux kernel there. *ROOT is the one; *PRESENT_BYTES how much was read.
 */
bool kernel_image_find(struct memory *memory, const struct registers *regs,
		       struct kallsyms **kallsymsp, struct memory_root *root);

#endif
