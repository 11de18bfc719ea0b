/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source lines of a Linux kernel and of its modules (--lines): which file of dom0 has them.
 * Resolver's thread.
 */
#ifndef LINUX_KERNEL_DEBUG_FILES_H
#define LINUX_KERNEL_DEBUG_FILES_H

#include "xtop/os/os_ops.h"
#include "xtop/symbol/image.h"

/* A symbol at the beginning of a kernel's code, and where it is in the guest. */
struct kernel_start {
	const char *symbol;
	uint64_t address;
};

struct kernel_debug_files;

/* GUEST is the caller's. RELEASE is the guest's: "6.1.0-37-amd64". NULL: out of memory. */
struct kernel_debug_files *kernel_debug_files_create(const struct os_guest *guest,
						     const char *release);
void kernel_debug_files_destroy(struct kernel_debug_files *lines); /* NULL allowed */
/* IMAGE of the kernel, before a space has it. */
void kernel_debug_files_find_kernel(struct kernel_debug_files *lines, struct image *image,
				    const struct kernel_start *start);
/* IMAGE of a module, before a space has it. */
void kernel_debug_files_find_module(struct kernel_debug_files *lines, struct image *image);
/*
 * Asks for the debug files of images in which functions were met, and takes those that have come.
 * True: an image has lines now. What was looked up in its space is out of date.
 */
bool kernel_debug_files_poll(struct kernel_debug_files *lines);

#endif
