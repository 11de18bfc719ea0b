/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A walk of user code whose stack has nothing but return addresses: unwinders read code for it. */
#ifndef TESTS_FUZZ_USER_STACK_H
#define TESTS_FUZZ_USER_STACK_H

#include "fuzz.h"
#include "xtop/sample/sample.h"
#include "xtop/symbol/image.h"
#include "xtop/unwind/unwind.h"

#define USER_STACK_WORDS 16

/* RIP and CALLER lie in SPACE. */
static inline void fuzz_walk_user_stack(const struct space *space, uint64_t rip, uint64_t caller)
{
	static struct {
		struct sample_vcpu vcpu;
		struct sample_stack piece;
		uint64_t words[USER_STACK_WORDS];
	} record;
	static struct unwind_stack stack;
	struct unwind_spaces spaces = { .user = space_for_unwind(space), .user_whole = true };

	record.vcpu = (struct sample_vcpu){
		.size_bytes = sizeof(record), .state = VCPU_RUNNING, .user = 1, .n_stacks = 1
	};
	record.vcpu.regs.rip = rip;
	record.vcpu.regs.rsp = record.piece.address = 0x7ffff0000000;
	record.piece.size_bytes = sizeof(record.words);
	record.piece.kind = STACK_FIRST;
	for (unsigned i = 0; i < USER_STACK_WORDS; i++)
		record.words[i] = caller;
	unwind_stack(&record.vcpu, &spaces, UNWIND_AUTO, &stack);
	fuzz_must(stack.n_frames >= 1 && stack.n_frames <= UNWIND_MAX_FRAMES, "some frames");
}

#endif
