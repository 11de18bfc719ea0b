/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the ORC tables of a running kernel and of its modules in guest memory. Only kernels of
 * x86-64 have ORC tables (orc_tables_x86.c).
 */
#ifndef XTOP_LINUX_KERNEL_ORC_TABLES_H
#define XTOP_LINUX_KERNEL_ORC_TABLES_H

#include "linux/kernel/linux_guest.h"
#include "xtop/symbol/symbol.h"

/*
 * Reads the kernel's own tables, with the guest's addresses. Returns NULL if there are no tables,
 * or if the tables cannot be right. SYMTAB has the kernel's symbols, which tell what code the
 * tables leave out. Sets GUEST->orc_layout.
 */
struct orc *orc_read_kernel(struct linux_guest *guest, const struct symtab *symtab);
/*
 * Reads the N entries of the module whose struct module is at MODULE and whose code is [START,
 * END). Returns NULL if there are no entries, or if the entries cannot be right.
 */
struct orc *orc_read_module(const struct linux_guest *guest, uint64_t module, size_t n,
			    uint64_t start, uint64_t end);

#endif
