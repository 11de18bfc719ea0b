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
	GO_MCALL,      /* its caller does not go on behind the call */
	GO_MORESTACK,  /* the same */
	GO_ASMCGOCALL, /* Go calls C */
	GO_CALLBACK,   /* cgocallback(): C calls Go */
	GO_MARK,       /* systemstack_switch(): not a return address, where Go calls C */
	GO_CROSSCALL,  /* crosscall2(), which calls cgocallback(): changes nothing itself */
	GO_VDSO,       /* time.now() ...: call the vDSO on g0's stack */
	GO_SIGRETURN,  /* what a signal handler returns to */
};

#define GO_MAX_SWITCHES 16

struct go_switch {
	uint64_t start, end;
	enum go_switch_kind kind;
};

struct go_switches {
	size_t n;
	uint64_t start, end; /* all of them lie there */
	struct go_switch all[GO_MAX_SWITCHES];
};

/* Adds FUNCTION if it changes stacks. False: it does not, or there is no room. */
bool go_switches_add(struct go_switches *switches, const struct go_function *function);
/* The function at ADDRESS, in the image, if it changes stacks; else NULL. */
const struct go_switch *go_switches_find(const struct go_switches *switches, uint64_t address);

/*
 * Steps out of ONE of SWITCHES. ROWS are those of the whole program. For functions that change
 * stacks they hold on the stack that the function was called on. STEP_NOT_COVERED: ROWS hold here.
 */
enum unwind_step go_switch_x86_step(const struct go_switches *switches, const struct go_switch *one,
				    struct cfi *rows, uint64_t bias, struct cursor *cursor);
/* The same for a cursor of arm64. */
enum unwind_step go_switch_arm64_step(const struct go_switches *switches,
				      const struct go_switch *one, struct cfi *rows, uint64_t bias,
				      struct cursor *cursor);

/* --- for these steps -------------------------------------------------------------------------- */

/* The arguments of a step. */
struct go_leave {
	const struct go_switches *switches;
	struct cfi *rows;
	uint64_t bias;
	struct cursor *cursor;
	uint64_t depth; /* of the frame, on the stack that was called on */
};

/* Finds the other stack among the pieces, once for each walk. */
void go_switches_find_other(struct cursor *cursor);
/* The rule for the code before the return address WORD; NULL: no code of this program. */
const struct cfi_rule *go_rule_before(const struct go_leave *leave, uint64_t word);
/* The walk goes to the other stack; where it is now becomes the other. False: too often. */
bool go_switches_change(struct cursor *cursor);
/* Whether WORD is a return address into what calls a callback's switch. */
bool go_is_crosscall(const struct go_leave *leave, uint64_t word);

#endif
