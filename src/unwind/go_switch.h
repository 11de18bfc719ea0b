/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The functions of Go's runtime that change stacks (go_stacks.h), and the steps through them.
 * Resolver's thread.
 */
#ifndef XTOP_UNWIND_GO_SWITCH_H
#define XTOP_UNWIND_GO_SWITCH_H

#include "unwind/cfi_table.h"
#include "unwind/cursor.h"
#include "xtop/unwind/go.h"

enum go_switch_kind {
	GO_SYSTEMSTACK,
	GO_MCALL,      /* mcall() never returns to its caller */
	GO_MORESTACK,  /* morestack() never returns to its caller */
	GO_ASMCGOCALL, /* asmcgocall(): Go calls C */
	GO_CALLBACK,   /* cgocallback(): C calls Go */
	GO_MARK,       /* systemstack_switch(): its address is a mark on the stack, not a return */
	GO_CROSSCALL,  /* crosscall2() calls cgocallback(), and changes no stack itself */
	GO_VDSO,       /* time.now() and others call the vDSO on g0's stack */
	GO_SIGRETURN,  /* sigreturn(): a signal handler returns there */
	N_GO_SWITCH_KINDS,
};

#define GO_MAX_SWITCHES 16

struct go_switch {
	uint64_t start, end;
	enum go_switch_kind kind;
};

struct go_switches {
	size_t n;
	uint64_t start, end; /* a range that includes all functions */
	struct go_switch all[GO_MAX_SWITCHES];
};

/* Adds FUNCTION if it changes stacks. Returns false if it does not, or if there is no room. */
bool go_switches_add(struct go_switches *switches, const struct go_function *function);
/* The function that changes stacks at ADDRESS, in the image; NULL if there is none. */
const struct go_switch *go_switches_find(const struct go_switches *switches, uint64_t address);

/*
 * Steps out of the function ONE, which is in SWITCHES. ROWS are the rows of the whole program. In a
 * function that changes stacks, ROWS hold while it runs on the stack that it was called on.
 * STEP_NOT_COVERED: step by ROWS.
 */
enum unwind_step go_switch_x86_step(const struct go_switches *switches, const struct go_switch *one,
				    struct cfi *rows, uint64_t bias, struct cursor *cursor);
/* go_switch_x86_step() for a cursor of arm64. */
enum unwind_step go_switch_arm64_step(const struct go_switches *switches,
				      const struct go_switch *one, struct cfi *rows, uint64_t bias,
				      struct cursor *cursor);

/* --- for these steps -------------------------------------------------------------------------- */

/* A step out of a function that changes stacks. */
struct go_leave {
	const struct go_switches *switches;
	struct cfi *rows;
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
