/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to sample/: the stacks of a thread that runs Go (go_stacks.h). stacks_go.c chooses
 * what is copied; what differs between processors is in stacks_go_x86.c and stacks_go_arm64.c.
 * Sampler's thread, also while the guest is stopped.
 */
#ifndef SAMPLE_STACKS_GO_H
#define SAMPLE_STACKS_GO_H

#include "sample/stacks.h"
#include "xtop/sample/go_stacks.h"

/*
 * Bytes to copy of a user stack that is neither a thread's nor a program's first stack, until the
 * resolver knows it: a goroutine's before the process is known to run Go, or another coroutine's.
 * In a web server written in Go four of ten goroutines had more than 4,096 bytes on their stacks,
 * and none had 10,000.
 */
#define STACKS_COROUTINE_BYTES (16 << 10)

/*
 * If the vCPU runs a thread of a Go program: copies the stack at ADDRESS as a piece of KIND, and
 * the thread's other stacks that led there. *CUT: why the first piece ends. The offsets of Go's
 * structures come from the resolver or, on a stack that is new, are the usual ones. Returns false
 * if there is no such thread; nothing was copied then.
 */
bool stacks_copy_go(struct copy *copy, enum sample_stack_kind kind, uint64_t address,
		    enum sample_cut *cut);

/* The user's register at WORD of struct pt_regs. In user mode: OWN, the vCPU's register. */
static inline uint64_t stacks_read_go_register(struct copy *copy, unsigned word, uint64_t own)
{
	if (copy->user_regs && !stacks_read(copy, copy->user_regs + sizeof(own) * word, &own))
		return 0;
	return own;
}

/*
 * What differs between processors. The functions read what the user code has, or had, in its
 * registers; 0 if that cannot be read.
 */
struct go_machine {
	struct go_stacks usual; /* offsets in programs of Go 1.19 and 1.24 */
	uint64_t heap;          /* bits 63..32 of Go's heap (Go src/runtime/malloc.go) */
	uint64_t ucontext_sp;   /* bytes from uc_stack.ss_sp to the sp in struct ucontext */
	bool keeps_pc;          /* mcall() has its return address in g.sched.pc, on no stack */
	uint64_t (*read_g)(struct copy *copy, const struct go_stacks *at);
	uint64_t (*read_frame_pointer)(struct copy *copy);
	uint64_t (*read_pc)(struct copy *copy);
	uint64_t (*thread_pointer)(const struct copy *copy);
};
extern const struct go_machine go_machine_x86, go_machine_arm64;

#endif
