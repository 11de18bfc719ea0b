/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A kernel's hypercall page, into which Xen writes stubs of 32 bytes, one for each hypercall. In
 * the kernel's file the page is empty, so neither the file's tables nor its instructions describe
 * the stubs. Resolver's thread; steps are pure functions.
 */
#ifndef XTOP_UNWIND_STUBS_H
#define XTOP_UNWIND_STUBS_H

#include "unwind/cursor.h"

struct stubs {
	uint64_t page; /* start of the page, an address in the image */
};

void stubs_destroy(struct stubs *stubs); /* NULL allowed */
size_t stubs_memory_bytes(const struct stubs *stubs);
/* BIAS: address in the guest - address in the image. */
enum unwind_step stubs_step(const struct stubs *stubs, uint64_t bias, struct cursor *cursor);
/* The bounds of the stub at ADDRESS; all in the image. Returns false if ADDRESS is in no stub. */
bool stubs_find_function(const struct stubs *stubs, uint64_t address, uint64_t *start,
			 uint64_t *end);

/* A step from a PV guest's stub, OFFSET bytes after the start of the page. */
enum unwind_step stubs_step_pv(struct cursor *cursor, uint64_t offset);

#endif
