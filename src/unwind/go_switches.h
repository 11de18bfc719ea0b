/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The functions of Go's runtime that change stacks (go_stacks.h). Resolver's thread.
 */
#ifndef XTOP_UNWIND_GO_SWITCHES_H
#define XTOP_UNWIND_GO_SWITCHES_H

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

#endif
