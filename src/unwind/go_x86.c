/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The frame of a function of Go on x86-64; see go_rules.h. (Go src/cmd/internal/obj/x86/obj6.go,
 * src/cmd/compile/abi-internal.md.)
 *
 *   rsp + depth + 8   the caller's stack pointer
 *   rsp + depth       the return address
 *   rsp + depth - 8   the caller's rbp, in every function of Go that has a frame
 */
#include "config.h"

#include "unwind/go_rules.h"

#include <string.h>

#define GO_MAX_DEPTH (1 << 30)

/*
 * DEPTH: from rsp to the return address. RBP_SAVED: the caller's rbp is below the return address.
 */
static struct cfi_rule go_make_rule(int64_t depth, bool rbp_saved)
{
	struct cfi_rule rule = { .kind = RULE_CFA,
				 .reg = REG_RSP,
				 .low = rbp_saved ? -2 : -1,
				 .n_words = rbp_saved ? 2 : 1,
				 .saved = 1U << REG_RIP,
				 .unchanged = 1U << REG_RIP | 1U << REG_RSP | 1U << REG_RBP,
				 .offset = (int32_t)depth + 8 };

	memset(rule.slot, CFI_RULE_WORDS, sizeof(rule.slot));
	rule.slot[PRESERVED_RETURN] = rule.n_words - 1;
	if (rbp_saved) {
		rule.slot[PRESERVED_RBP] = 0;
		rule.saved |= 1U << REG_RBP;
	}
	return rule;
}

/*
 * crosscall2() saves all registers that a C function preserves (Go src/runtime/cgo/abi_amd64.h,
 * since 1.17). The depth is largest after these saves: 24 bytes of arguments, the words of enum
 * CROSSCALL_*, floating-point registers, flags, and since 1.21 rbp.
 */
#define GO_CROSSCALL_ARGUMENTS 24
#define GO_CROSSCALL_DEPTH     256
enum {
	CROSSCALL_RBP = 2, CROSSCALL_RBX, CROSSCALL_R12, CROSSCALL_R13, CROSSCALL_R14, CROSSCALL_R15
};

static bool go_saves_all(const struct go_function *function, int64_t depth)
{
	static const char *const names[] = { "crosscall2" };

	return (depth == GO_CROSSCALL_DEPTH || depth == GO_CROSSCALL_DEPTH + 8) &&
	       GO_IS_ONE_OF(function, names);
}

static struct cfi_rule go_make_crosscall_rule(int64_t depth)
{
	static const uint8_t words[N_CFI_PRESERVED] = {
		[PRESERVED_RBX] = CROSSCALL_RBX, [PRESERVED_RBP] = CROSSCALL_RBP,
		[PRESERVED_R12] = CROSSCALL_R12, [PRESERVED_R13] = CROSSCALL_R13,
		[PRESERVED_R14] = CROSSCALL_R14, [PRESERVED_R15] = CROSSCALL_R15,
	};
	int first = GO_CROSSCALL_ARGUMENTS / 8 + CROSSCALL_RBP;
	struct cfi_rule rule = go_make_rule(depth, false);

	rule.low = (int8_t)(first - (int)depth / 8 - 1);
	rule.n_words = (uint8_t)-rule.low;
	for (unsigned i = 0; i < N_CFI_PRESERVED; i++) {
		rule.slot[i] = i == PRESERVED_RETURN ? rule.n_words - 1 : words[i] - CROSSCALL_RBP;
		rule.saved |= 1U << cfi_preserved_registers[i];
	}
	return rule;
}

/* In assembly a frame need not contain rbp, and the depth may be any number. */
struct cfi_rule go_x86_rule(const struct go_function *function, int64_t depth)
{
	bool assembly = go_is_assembly(function), rbp_saved = depth >= 8 && !assembly;
	struct cfi_rule rule;

	if (depth < 0 || depth > GO_MAX_DEPTH)
		return (struct cfi_rule){ .kind = RULE_NONE };
	if (go_saves_all(function, depth))
		return go_make_crosscall_rule(depth);
	rule = go_make_rule(depth, rbp_saved);
	if (depth && assembly)
		rule.unchanged &= ~(1U << REG_RBP);
	rule.signal = go_handles_signals(function);
	return rule;
}
