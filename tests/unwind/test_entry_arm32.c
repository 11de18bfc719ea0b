/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the kernel's part to the user's, in Linux of 32-bit Arm: the user's registers lie at the end
 * of the task's stack. There are no tables, so each part has one frame.
 */
#include "config.h"

#include <string.h>

#include "tests/support/tap.h"
#include "unwind/cursor_arm32.h"
#include "xtop/unwind/unwind.h"

#define STACK_END   UINT32_C(0xc880e000)
#define STACK_WORDS 64
#define REGS        (STACK_END - 8 - PT_ARM32_BYTES)
#define USER_SP     UINT32_C(0xbec3a000)
#define USER_PC     UINT32_C(0x00008020)
#define KERNEL_PC   UINT32_C(0xc0400180)

static struct {
	struct sample_vcpu vcpu;
	struct sample_stack stack;
	uint32_t words[STACK_WORDS];
	struct sample_stack user;
	uint32_t user_words[4];
} made;

static uint32_t *saved(unsigned i)
{
	return &made.words[STACK_WORDS - (STACK_END - REGS) / 4 + i];
}

static void begin(uint32_t sp)
{
	memset(&made, 0, sizeof(made));
	made.vcpu = (struct sample_vcpu){ .size_bytes = sizeof(made),
					  .state = VCPU_RUNNING,
					  .n_stacks = 2,
					  .stack_cut = CUT_LIMIT,
					  .user_cut = CUT_LIMIT,
					  .regs = { .arch = ARCH_ARM64 } };
	made.vcpu.regs.arm64.pstate = PSTATE_ARM64_AARCH32 | ARM32_MODE_SVC;
	made.vcpu.regs.arm64.pc = KERNEL_PC;
	made.vcpu.regs.arm64.x[19] = sp;
	made.stack = (struct sample_stack){ .address = STACK_END - sizeof(made.words),
					    .size_bytes = sizeof(made.words) };
	made.user = (struct sample_stack){ .address = USER_SP,
					   .size_bytes = sizeof(made.user_words),
					   .kind = STACK_USER };
	*saved(PT_ARM32_SP) = USER_SP;
	*saved(PT_ARM32_PC) = USER_PC;
	*saved(PT_ARM32_CPSR) = ARM32_MODE_USR;
}

static void check_user(bool found, bool whole, const char *what)
{
	const struct unwind_spaces spaces = { 0 };
	static struct unwind_stack stack;
	const struct unwind_frame *frame = &stack.frames[1];

	unwind_stack(&made.vcpu, &spaces, UNWIND_AUTO, &stack);
	check(stack.n_frames == (found ? 2U : 1U) &&
		      (!found || (frame->address == USER_PC && frame->flags & FRAME_USER &&
				  !(frame->flags & FRAME_BROKEN) == whole &&
				  (stack.parts[UNWIND_KERNEL].stop == UNWIND_COMPLETE) == whole)),
	      "%s: %u frames, flags %#x, stop %d", what, stack.n_frames, frame->flags,
	      stack.parts[UNWIND_KERNEL].stop);
}

int main(void)
{
	begin(REGS);
	check_user(true, true, "a kernel part that ends in the entry code is complete");
	begin(REGS - 8);
	check_user(true, true, "with two arguments of a system call");
	begin(REGS - 12);
	check_user(true, false, "a kernel part that ends early marks the user part as broken");
	begin(REGS);
	made.vcpu.user_cut = CUT_NONE;
	check_user(false, false, "a kernel thread");
	begin(REGS);
	*saved(PT_ARM32_CPSR) = ARM32_MODE_SVC;
	check_user(false, false, "pt_regs with a kernel mode give no user part");
	begin(REGS);
	*saved(PT_ARM32_PC) = KERNEL_PC;
	check_user(false, false, "pt_regs with a kernel address give no user part");
	begin(REGS);
	made.stack.size_bytes -= 4;
	check_user(false, false, "the end of the stack was not copied");
	begin(STACK_END - 8);
	*saved(PT_ARM32_PC) = USER_PC + 0x100;
	made.vcpu.regs.arm64.x[18] = USER_PC;
	made.vcpu.regs.arm64.x[REGISTER_ARM32_SP] = USER_SP;
	made.vcpu.regs.arm64.spsr_el1 = ARM32_MODE_USR;
	check_user(true, true, "a system call that begins or ends");
	made.vcpu.regs.arm64.spsr_el1 = ARM32_MODE_SVC;
	made.vcpu.regs.arm64.x[18] = 0;
	*saved(PT_ARM32_PC) = USER_PC;
	check_user(
		true, false,
		"a vCPU that was interrupted in the kernel is not at a system call's begin or end");
	return tap_done();
}
