/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The functions of an i386 kernel that run first. They have no caller. No table says so, because
 * computed.h does not read code of i386. Resolver's thread.
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
/* STEP_OUTERMOST in a first function. BIAS: address in the guest - address in the image. */
enum unwind_step first_code_step(const struct first_code *code, uint64_t bias,
				 struct cursor *cursor);

#endif
