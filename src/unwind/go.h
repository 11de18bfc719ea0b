/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwinding Go's code by Go's own tables (xtop/unwind/go.h), which are exact at every instruction.
 * .eh_frame is not needed. The depths of all functions are compiled once into the rows of a struct
 * cfi, so a step costs as much as a CFI step. Resolver's thread; a step is a pure function of its
 * input.
 */
#ifndef XTOP_UNWIND_GO_H
#define XTOP_UNWIND_GO_H

#include "unwind/cursor.h"
#include "xtop/base/error.h"
#include "xtop/unwind/go.h"

struct go;

/* *GOP is NULL if no function has rows. Error: out of memory. */
struct xtop_error *go_compile(const struct go_table *table, struct go **gop);
void go_destroy(struct go *go); /* NULL allowed */
size_t go_memory_bytes(const struct go *go);

/* BIAS: address in the guest - address in the image. */
enum unwind_step go_step(struct go *go, uint64_t bias, struct cursor *cursor);

#endif
