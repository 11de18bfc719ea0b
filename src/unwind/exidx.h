/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwinding 32-bit Arm code by its own tables (exidx.h), for programs without .debug_frame.
 * Resolver's thread.
 *
 * The tables are right only at calls, which is enough for exceptions. They do not tell how much of
 * its frame an interrupted function has made. In ARM code, the function's instructions tell this
 * (frames_arm32.h). In Thumb code, the instructions tell only whether lr still has the return
 * address (links_arm32.h): then nothing was pushed yet, or all was popped. So in Thumb code a
 * caller is missed between the push and the last instruction that makes room for locals, and at the
 * end of a function.
 */
#ifndef XTOP_UNWIND_EXIDX_H
#define XTOP_UNWIND_EXIDX_H

#include "unwind/cfi_table.h"
#include "unwind/cursor.h"
#include "xtop/base/error.h"
#include "xtop/unwind/exidx.h"

struct exidx;
struct links;

/* *EXIDXP is NULL if SECTIONS have no usable entry. Error: out of memory. */
struct xtop_error *exidx_compile(const struct exidx_sections *sections, struct exidx **exidxp);
void exidx_destroy(struct exidx *exidx); /* NULL allowed */
size_t exidx_memory_bytes(const struct exidx *exidx);
/* LINKS must outlive EXIDX, or be replaced by another call; NULL: no instructions are read. */
void exidx_set_links(struct exidx *exidx, struct links *links);

/* BIAS: address in the guest - address in the image. */
enum unwind_step exidx_step(struct exidx *exidx, uint64_t bias, struct cursor *cursor);

/* --- exidx_program.c -------------------------------------------------------------------------- */

/*
 * The rule for N bytes of unwinding instructions: RULE_CFA_ARM32 or RULE_REGISTERS_ARM32. RULE_NONE
 * if no rule can express them.
 */
struct cfi_rule exidx_rule(const uint8_t *bytes, size_t n);

#endif
