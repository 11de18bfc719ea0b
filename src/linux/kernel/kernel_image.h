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
 * which REGS may refer. Returns NULL if no range can be a Linux kernel, or if memory is out.
 */
struct kernel_image *kernel_image_find(struct memory *memory, const struct registers *regs);
/*
 * Finds the ranges that are mapped at the addresses of kernels, under the page tables at ROOT.
 * Returns NULL if no range can be a Linux kernel, or if memory is out.
 */
struct kernel_image *kernel_image_open(struct memory *memory, struct memory_root root);
void kernel_image_destroy(struct kernel_image *image); /* NULL allowed */
struct memory_root kernel_image_root(const struct kernel_image *image);
/* The start of the executable range: _text, or at most head_bytes (arch.h) after _text. */
uint64_t kernel_image_text(const struct kernel_image *image);
/* Returns the *NP ranges from the code on, in ascending order. They live as long as IMAGE. */
const struct memory_range *kernel_image_ranges(const struct kernel_image *image, size_t *np);
/*
 * Returns false if the image has no tables of symbols: the image is no Linux kernel, or a kernel
 * that was built without kallsyms.
 */
bool kernel_image_find_kallsyms(struct kernel_image *image, struct kallsyms **kallsymsp);

#endif
