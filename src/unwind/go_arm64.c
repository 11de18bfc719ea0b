/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The frame of a function of Go on arm64; see go_rules.h. (Go src/cmd/internal/obj/arm64/obj7.go,
 * src/cmd/compile/abi-internal.md.)
 *
 *   sp + depth   the caller's stack pointer
 *   sp           the return address; if the depth is 0, the return address is in x30
 *   sp - 8       the caller's x29; this function's x29 points here, below the stack pointer
 *
 * The sampler copies a stack from its stack pointer on, so the innermost x29 was not copied. Go's
 * frames do not need x29, and it is not read. The first instruction of a function saves x30 and
 * moves the stack pointer in one step.
 */
#include "config.h"

#include "unwind/go_rules.h"

#include <string.h>

#include "unwind/cfi_arm64.h"
#include "unwind/cursor_arm64.h"

#define GO_ARM64_WORD       8
#define GO_ARM64_MAX_DEPTH  (INT16_MAX * GO_ARM64_WORD) /* cfi_rule.low has 16 bits */
#define GO_ARM64_KNOWN      (1U << REG_PC | 1U << REG_SP)

/*
 * crosscall2() saves all registers that a C function preserves (Go src/runtime/cgo/abi_arm64.h,
 * asm_arm64.s): x19 to x28 from the fifth word on, floating-point registers, x29, x30. The return
 * address is at the end of the frame.
 */
#define GO_CROSSCALL_DEPTH 192
#define GO_CROSSCALL_FIRST 4 /* the word of x19 */
#define GO_CROSSCALL_FP    22

static bool go_saves_all(const struct go_function *function, int64_t depth)
{
	static const char *const names[] = { "crosscall2" };

	return depth == GO_CROSSCALL_DEPTH && GO_IS_ONE_OF(function, names);
}

static struct cfi_rule go_make_crosscall_rule(void)
{
	const struct cfi_machine *machine = &cfi_machine_arm64;
	struct cfi_rule rule = { .kind = RULE_CFA_ARM64,
				 .reg = REG_SP,
				 .low = GO_CROSSCALL_FIRST - GO_CROSSCALL_DEPTH / GO_ARM64_WORD,
				 .n_words = GO_CROSSCALL_DEPTH / GO_ARM64_WORD - GO_CROSSCALL_FIRST,
				 .saved = GO_ARM64_KNOWN,
				 .unchanged = GO_ARM64_KNOWN,
				 .offset = GO_CROSSCALL_DEPTH };

	for (unsigned i = 0; i < machine->n_preserved; i++) {
		unsigned number = machine->preserved_numbers[i];
		unsigned word = number < CFI_ARM64_FP
					? number - CFI_ARM64_FIRST_PRESERVED + GO_CROSSCALL_FIRST
					: number - CFI_ARM64_FP + GO_CROSSCALL_FP;

		rule.slot[i] = (uint8_t)(word - GO_CROSSCALL_FIRST);
		rule.saved |= 1U << machine->preserved_registers[i];
	}
	return rule;
}

/*
 * A signal handler pushes x30 and makes the interrupted code call one of these functions, at any
 * instruction (Go src/runtime/signal_arm64.go, pushCall()). So the frame has 16 bytes more.
 */
#define GO_PUSHED_BYTES 16

static bool go_is_injected(const struct go_function *function)
{
	static const char *const names[] = { "runtime.asyncPreempt", "runtime.sigpanic" };

	return GO_IS_ONE_OF(function, names);
}

struct cfi_rule go_arm64_rule(const struct go_function *function, int64_t depth)
{
	struct cfi_rule rule = { .kind = RULE_CFA_ARM64,
				 .reg = REG_SP,
				 .low = (int16_t)(-depth / GO_ARM64_WORD),
				 .n_words = depth ? 1 : 0,
				 .saved = GO_ARM64_KNOWN,
				 .unchanged = GO_ARM64_KNOWN,
				 .offset = (int32_t)depth };

	if (depth < 0 || depth > GO_ARM64_MAX_DEPTH || depth % GO_ARM64_WORD)
		return (struct cfi_rule){ .kind = RULE_NONE };
	if (go_saves_all(function, depth))
		return go_make_crosscall_rule();
	if (go_is_injected(function)) {
		rule.offset += GO_PUSHED_BYTES;
		rule.low -= GO_PUSHED_BYTES / GO_ARM64_WORD;
		rule.signal = true;
	}
	memset(rule.slot, CFI_RULE_WORDS, sizeof(rule.slot));
	if (depth)
		rule.slot[PRESERVED_RETURN] = 0;
	else
		rule.unchanged |= 1U << REG_ARM64_FP;
	return rule;
}
