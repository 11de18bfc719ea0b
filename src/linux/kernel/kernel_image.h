/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The address of a Linux kernel in memory, and the search for kallsyms in its read-only data. */
#ifndef XTOP_LINUX_KERNEL_KERNEL_IMAGE_H
#define XTOP_LINUX_KERNEL_KERNEL_IMAGE_H

#include "linux/kernel/kallsyms.h"
#include "xtop/memory/memory.h"
#include "xtop/sample/sample.h"

struct kernel_image;

/*
 * Finds the ranges that are mapped at the addresses of kernels, under one of the page tables to
 * which REGS may refer. NULL if nothing there can be a Linux kernel, or if memory is out.
 */
struct kernel_image *kernel_image_find(struct memory *memory, const struct registers *regs);
/* Finds these ranges under the page tables at ROOT. */
struct kernel_image *kernel_image_open(struct memory *memory, struct memory_root root);
void kernel_image_destroy(struct kernel_image *image); /* NULL allowed */
struct memory_root kernel_image_root(const struct kernel_image *image);
uint64_t kernel_image_text(const struct kernel_image *image); /* start of the code: _text */
/* The ranges from the code on, ascending. *NP is their number. They live as long as IMAGE. */
const struct memory_range *kernel_image_ranges(const struct kernel_image *image, size_t *np);
/* Returns false if the image has no tables: then it is no Linux, or one without kallsyms. */
bool kernel_image_find_kallsyms(struct kernel_image *image, struct kallsyms **kallsymsp);

#endif
