/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of one process under made-up page tables of x86-64, for code that reads a guest's
 * process.
 */
#ifndef TESTS_LIVE_MEMORY_H
#define TESTS_LIVE_MEMORY_H

#include "xtop/memory/memory.h"

/* Copies the page number PAGE of the process to BYTES. False: there is no such page. */
typedef bool live_read_page_fn(void *context, uint64_t page, void *bytes);

/* *ROOT becomes the root of the page tables. CONTEXT outlives *MEMORYP. */
struct xtop_error *live_memory_create(live_read_page_fn *read_page, void *context,
				      struct memory **memoryp, struct memory_root *root);

#endif
