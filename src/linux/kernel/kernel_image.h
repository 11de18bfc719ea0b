/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a Linux kernel lies in memory, and its read-only data as kallsyms_find() wants it. */
#ifndef XTOP_OS_KERNEL_IMAGE_H
#define XTOP_OS_KERNEL_IMAGE_H

#include "linux/kernel/kallsyms.h"
#include "xtop/memory.h"
#include "xtop/sample.h"

struct kernel_image;

/*
 * What is mapped in the kernel's window under one of the page-table roots REGS can mean. NULL: nothing
 * there that could be a Linux kernel, or no memory.
 */
struct kernel_image *kernel_image_locate(struct memory *memory, const struct registers *regs);
void kernel_image_destroy(struct kernel_image *image); /* NULL allowed */
struct memory_root kernel_image_root(const struct kernel_image *image);
uint64_t kernel_image_text(const struct kernel_image *image); /* where its code starts: _text */
const struct memory_range *kernel_image_ranges(const struct kernel_image *image, size_t *np); /* ascending */
/* False: no tables in it: not Linux, or one without them. */
bool kernel_image_find_kallsyms(struct kernel_image *image, struct kallsyms **kallsymsp);

#endif
