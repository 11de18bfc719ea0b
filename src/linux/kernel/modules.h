/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The modules of a running Linux kernel, which are loaded and unloaded. Resolver's thread. */
#ifndef XTOP_LINUX_KERNEL_MODULES_H
#define XTOP_LINUX_KERNEL_MODULES_H

#include "linux/kernel/linux_guest.h"
#include "xtop/base/limit.h"
#include "xtop/symbol/image.h"
#include "xtop/symbol/symbol.h"

#define MODULES_MAX            LIMIT(4096, 32)
/* limit for the symbols of all modules; Debian's have 0.3 MiB */
#define MODULES_MAX_KEPT_BYTES (32U << 20)

struct modules;

struct modules_counts {
	size_t n;          /* modules that are known now */
	size_t cut;        /* modules with incomplete symbols or tables, as far as they were read */
	size_t kept_bytes; /* size of the symbols that were read */
};

/* GUEST and SPACE are borrowed. Modules are added to SPACE and removed from it. */
struct xtop_error *modules_create(const struct linux_guest *guest, struct space *space,
				  struct modules **modulesp);
/* IS_NEW is called for the image of each module that will be mapped. */
typedef void modules_image_fn(void *context, struct image *image);
void modules_set_new(struct modules *modules, modules_image_fn *is_new, void *context);
void modules_destroy(struct modules *modules); /* leaves SPACE as it is; NULL allowed */
/*
 * Reads the kernel's list of modules. Adds new modules to the space, and removes unloaded modules
 * from the space. Nothing changes if the list cannot be read to its end.
 */
void modules_poll(struct modules *modules);
/*
 * Finds the module's variable that contains ADDRESS. Returns false if no variable is known there.
 * The names are read at the first request, and again after modules came or went.
 */
bool modules_find_data(struct modules *modules, uint64_t address, struct symtab_entry *entry);
struct modules_counts modules_counts(const struct modules *modules);

#endif
