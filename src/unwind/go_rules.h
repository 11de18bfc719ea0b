/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes the rule that finds the caller at an instruction, from the stack depth that Go's table has
 * for the instruction. Each architecture has a file. Resolver's thread; pure functions.
 */
#ifndef XTOP_UNWIND_GO_RULES_H
#define XTOP_UNWIND_GO_RULES_H

#include "unwind/cfi_table.h"
#include "xtop/unwind/go.h"

#define GO_IS_ONE_OF(function, names) go_is_one_of(function, names, sizeof(names) / sizeof(*names))
bool go_is_one_of(const struct go_function *function, const char *const *names, size_t n);
/* Whether FUNCTION is the kernel's entry for signals, which returns to sigreturn()'s first byte. */
bool go_handles_signals(const struct go_function *function);
bool go_is_assembly(const struct go_function *function);

/* Whether FUNCTION has no caller. */
bool go_is_outermost(const struct go_function *function);

/* The rule where the stack has DEPTH. Its kind is RULE_NONE if DEPTH cannot be right. */
struct cfi_rule go_x86_rule(const struct go_function *function, int64_t depth);
struct cfi_rule go_arm64_rule(const struct go_function *function, int64_t depth);

#endif
