/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The frame of a function of Go on arm64; see go_rules.h. (Go src/cmd/internal/obj/arm64/obj7.go,
 * src/cmd/compile/abi-internal.md.)
 *
 *   sp + depth   the caller's stack pointer
 *   sp           the return address, if the depth is not 0; else it is in x30
 *   sp - 8       the caller's x29, which points there: below the stack pointer
 *
 * The sampler copies a stack from its pointer on, so the innermost x29 is not there. Nothing of Go
 * needs it, and it is not read. The first instruction of a function saves x30 and moves the stack
 * pointer at once.
 */
#include "config.h"

#include "unwind/go_rules.h"

#include <string.h>

#include "unwind/cursor_arm64.h"

#define GO_ARM64_WORD       8
#define GO_ARM64_MAX_DEPTH  (INT16_MAX * GO_ARM64_WORD) /* what cfi_rule.low has room for */
#define GO_ARM64_KNOWN      (1U << REG_PC | 1U << REG_SP)

struct cfi_rule go_arm64_rule(int64_t depth)
{
	struct cfi_rule rule = { .kind = RULE_CFA_ARM64,
				 .reg = REG_SP,
				 .low = (int16_t)(-depth / GO_ARM64_WORD),
				 .n_words = depth ? 1 : 0,
				 .saved = GO_ARM64_KNOWN,
				 .kept = GO_ARM64_KNOWN,
				 .offset = (int32_t)depth };

	if (depth < 0 || depth > GO_ARM64_MAX_DEPTH || depth % GO_ARM64_WORD)
		return (struct cfi_rule){ .kind = RULE_NONE };
	memset(rule.slot, CFI_RULE_WORDS, sizeof(rule.slot));
	if (depth)
		rule.slot[KEPT_RETURN] = 0;
	else
		rule.kept |= 1U << REG_ARM64_FP;
	return rule;
}
