/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The functions of a kernel of i386 that run first. Its instructions are not read, so no table
 * tells that they have no caller. Resolver's thread.
 */
#ifndef XTOP_UNWIND_FIRST_CODE_H
#define XTOP_UNWIND_FIRST_CODE_H

#include "unwind/cursor.h"
#include "xtop/unwind/code.h"

struct first_code;

/* SOURCE finds the bounds of its entries. NULL: they are not known, or out of memory. */
struct first_code *first_code_create(const struct code_source *source);
void first_code_destroy(struct first_code *code); /* NULL allowed */
size_t first_code_memory_bytes(const struct first_code *code);
/* STEP_OUTERMOST in such a function. BIAS: address in the guest - address in the image. */
enum unwind_step first_code_step(const struct first_code *code, uint64_t bias,
				 struct cursor *cursor);

#endif
