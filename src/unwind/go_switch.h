/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Steps through the functions of Go's runtime that change stacks (go_switches.h). Resolver's
 * thread.
 */
#ifndef XTOP_UNWIND_GO_SWITCH_H
#define XTOP_UNWIND_GO_SWITCH_H

#include "unwind/cursor.h"
#include "unwind/go_rows.h"

/*
 * Steps out of the function ONE, which ROWS have found. ROWS are the rows of the whole program. In
 * a function that changes stacks, ROWS hold while it runs on the stack that it was called on.
 * STEP_NOT_COVERED: step by ROWS.
 */
enum unwind_step go_switch_x86_step(const struct go_switch *one, struct go_rows *rows,
				    uint64_t bias, struct cursor *cursor);
/* go_switch_x86_step() for a cursor of arm64. */
enum unwind_step go_switch_arm64_step(const struct go_switch *one, struct go_rows *rows,
				      uint64_t bias, struct cursor *cursor);

/* --- what these steps share ------------------------------------------------------------------- */

/* A step out of a function that changes stacks. */
struct go_leave {
	struct go_rows *rows;
	uint64_t bias;
	struct cursor *cursor;
	uint64_t depth; /* depth of the function's frame on the stack that it was called on */
};

/* Finds the other stack among the copied pieces, once for each walk. */
void go_switches_find_other(struct cursor *cursor);
/* The rule for the code before the return address WORD; NULL if WORD is not in this program. */
const struct cfi_rule *go_rule_before(const struct go_leave *leave, uint64_t word);
/* Moves the walk to the other stack. Returns false if the walk has changed stacks too often. */
bool go_switches_change(struct cursor *cursor);
/* Whether WORD is a return address into crosscall2(). */
bool go_is_crosscall(const struct go_leave *leave, uint64_t word);

#endif
