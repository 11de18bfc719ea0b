/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The registers of a thread of Go on x86-64; see stacks_go.h. Code of C may change every register,
 * so g is in a thread-local word. Sampler's thread.
 */
#include "config.h"

#include "sample/stacks_go.h"
#include "xtop/base/registers_x86.h"

static uint64_t go_x86_read_g(struct copy *copy, const struct go_stacks *at)
{
	uint64_t g;

	if (piece_writer_read(&copy->writer, copy->own,
			      copy->regs->fs_base + (uint64_t)(int64_t)at->g, &g) != CUT_NONE)
		return 0;
	return g;
}

static uint64_t go_x86_read_frame_pointer(struct copy *copy)
{
	return stacks_read_go_register(copy, PT_REGS_RBP, copy->regs->rbp);
}

static uint64_t go_x86_read_pc(struct copy *copy)
{
	return stacks_read_go_register(copy, PT_REGS_RIP, copy->regs->rip);
}

static uint64_t go_x86_thread_pointer(const struct copy *copy)
{
	return copy->regs->fs_base;
}

const struct go_machine go_machine_x86 = {
	.usual = { .g = -8, .gsignal = 80, .curg = 192 },
	.heap = 0xc0,
	.ucontext_sp = 144, /* Linux arch/x86/include/uapi/asm/sigcontext.h */
	.read_g = go_x86_read_g,
	.read_frame_pointer = go_x86_read_frame_pointer,
	.read_pc = go_x86_read_pc,
	.thread_pointer = go_x86_thread_pointer,
};
