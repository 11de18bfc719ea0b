/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the depth that Go's table has for an instruction to the rule that finds the caller. One file
 * for each architecture. Resolver's thread; pure functions.
 */
#ifndef XTOP_UNWIND_GO_RULES_H
#define XTOP_UNWIND_GO_RULES_H

#include "unwind/cfi_table.h"
#include "xtop/unwind/go.h"

#define GO_IS_ONE_OF(function, names) go_is_one_of(function, names, sizeof(names) / sizeof(*names))
bool go_is_one_of(const struct go_function *function, const char *const *names, size_t n);
/* What the kernel calls for a signal. It returns to the first byte of sigreturn(). */
bool go_handles_signals(const struct go_function *function);
bool go_is_assembly(const struct go_function *function);

/* RULE_NONE: DEPTH cannot be right. */
struct cfi_rule go_x86_rule(const struct go_function *function, int64_t depth);
struct cfi_rule go_arm64_rule(const struct go_function *function, int64_t depth);

#endif
