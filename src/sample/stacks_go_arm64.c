/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The registers of a thread of Go on arm64; see stacks_go.h. Xen does not tell the thread pointer,
 * but Go's code has g in x28 (Go src/cmd/compile/abi-internal.md), and functions of C preserve x28
 * (AAPCS64 §6.1.1). While a function of C uses x28 itself, the thread is not found: nothing leads
 * from x28 to a struct m that leads back (stacks_go.c). Sampler's thread.
 */
#include "config.h"

#include "sample/stacks_go.h"

static uint64_t go_arm64_read_g(struct copy *copy, const struct go_stacks *at)
{
	(void)at; /* GO_G_IN_REGISTER */
	return stacks_read_go_register(copy, PT_ARM64_X0 + REGISTER_ARM64_GO_G,
				       copy->regs->arm64.x[REGISTER_ARM64_GO_G]);
}

static uint64_t go_arm64_read_frame_pointer(struct copy *copy)
{
	return stacks_read_go_register(copy, PT_ARM64_X29, copy->regs->arm64.x[REGISTER_ARM64_FP]);
}

static uint64_t go_arm64_read_pc(struct copy *copy)
{
	return stacks_read_go_register(copy, PT_ARM64_PC, copy->regs->arm64.pc);
}

static uint64_t go_arm64_thread_pointer(const struct copy *copy)
{
	(void)copy;
	return 0;
}

const struct go_machine go_machine_arm64 = {
	.usual = { .g = GO_G_IN_REGISTER, .gsignal = 80, .curg = 192 },
	.heap = 0x40,
	.ucontext_sp = 416, /* Linux arch/arm64/include/uapi/asm/ucontext.h, sigcontext.h */
	.keeps_pc = true,
	.read_g = go_arm64_read_g,
	.read_frame_pointer = go_arm64_read_frame_pointer,
	.read_pc = go_arm64_read_pc,
	.thread_pointer = go_arm64_thread_pointer,
};
