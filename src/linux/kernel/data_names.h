/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of static data of a Linux kernel and its modules: the variable at an address. The tables of
 * names that xtop keeps in memory and in the cache have only code. So the kernel's own tables are
 * read again at the first request: for Linux 6.1 some 2,000 pages and 0.2 s of CPU, once, and 35
 * bytes for each variable. Resolver's thread.
 */
#ifndef XTOP_LINUX_KERNEL_DATA_NAMES_H
#define XTOP_LINUX_KERNEL_DATA_NAMES_H

#include "linux/kernel/linux_guest.h"
#include "linux/kernel/modules.h"
#include "xtop/symbol/symbol.h"

/* The caller zeroes all members but GUEST and MODULES, which outlive the struct. */
struct data_names {
	const struct linux_guest *guest;
	struct modules *modules; /* NULL if only the kernel's own data needs names */
	struct symtab *tab;      /* NULL before the first request, or if the kernel names no data */
	bool is_read;            /* the first request has tried to read the names */
};

void data_names_deinit(struct data_names *names);
/* Finds the variable that contains ADDRESS. Returns false if no variable is known there. */
bool data_names_find(struct data_names *names, uint64_t address, struct symtab_entry *entry);

#endif
