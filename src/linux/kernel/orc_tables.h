/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ORC tables of a running kernel and of its modules, out of guest memory. */
#ifndef XTOP_OS_ORC_TABLES_H
#define XTOP_OS_ORC_TABLES_H

#include "linux/kernel/linux.h"
#include "xtop/symbol.h"

/*
 * Of the kernel itself; NULL: it has none, or none that can be right. SYMTAB, of the same image,
 * tells which code the tables are silent about. Addresses are the guest's.
 */
struct orc *orc_read_kernel(struct linux_guest *guest, const struct symtab *symtab);
/* Of the module whose struct module is at MODULE and whose code is [start, end): N entries. */
struct orc *orc_read_module(const struct linux_guest *guest, uint64_t module, size_t n,
			    uint64_t start, uint64_t end);

#endif
