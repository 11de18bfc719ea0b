/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the files in dom0 that have source lines of a Linux kernel and its modules (--lines).
 * Resolver's thread.
 */
#ifndef LINUX_KERNEL_DEBUG_FILES_H
#define LINUX_KERNEL_DEBUG_FILES_H

#include "xtop/os/os_ops.h"
#include "xtop/symbol/image.h"

/* A symbol at the start of a kernel's code, and its address in the guest. */
struct kernel_start {
	const char *symbol;
	uint64_t address;
};

struct kernel_debug_files;

/*
 * Borrows GUEST. RELEASE is the guest's release: "6.1.0-37-amd64". Returns NULL if memory is out.
 */
struct kernel_debug_files *kernel_debug_files_create(const struct os_guest *guest,
						     const char *release);
void kernel_debug_files_destroy(struct kernel_debug_files *files); /* NULL allowed */
/* Finds the lines of the kernel's IMAGE. Call it before IMAGE is added to a space. */
void kernel_debug_files_find_kernel(struct kernel_debug_files *files, struct image *image,
				    const struct kernel_start *start);
/* Finds the lines of a module's IMAGE. Call it before IMAGE is added to a space. */
void kernel_debug_files_find_module(struct kernel_debug_files *files, struct image *image);
/*
 * Requests the debug files of images with sampled functions, and uses those that have arrived.
 * Returns true if an image has got lines: earlier lookups in its space are out of date.
 */
bool kernel_debug_files_poll(struct kernel_debug_files *files);

#endif
