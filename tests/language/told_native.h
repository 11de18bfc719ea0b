/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * told_stack.h for languages whose functions run on the threads' own stacks: the process's stack is
 * unwound, and each of its frames may be functions of the program.
 */
#ifndef TOLD_NATIVE_H
#define TOLD_NATIVE_H

#include "profile/runtimes.h"
#include "tests/language/told_stack.h"
#include "tests/support/live_stack.h"
#include "tests/support/must.h"

static inline void told_check_native(struct live_process *live, const char *version,
				     const char *told)
{
	static uint64_t buffer[LIVE_STACK_BYTES / sizeof(uint64_t)];
	static struct unwind_stack stack;
	const struct sample_vcpu *vcpu = live_stack_copy(live, buffer);
	struct space *space = live_stack_create_space(live);
	const struct unwind_spaces spaces = { .user = space_for_unwind(space), .user_whole = true };
	struct resolver_counts counts = { 0 };
	const struct runtimes_sample sample = { .vcpu = vcpu,
						.stack = &stack,
						.space = space,
						.memory = live->memory,
						.root = live->root,
						.counts = &counts };
	struct program_stack program = { .n = 0 };
	struct runtimes *runtimes;
	struct frames *frames;
	char seen[8192] = "";
	size_t length = 0;

	must(frames_create(NULL, &frames));
	must(runtimes_create(frames, &runtimes));
	if (check(vcpu, "%s: its stack was copied", version)) {
		unwind_stack(vcpu, &spaces, UNWIND_AUTO, &stack);
		check(stack.stop == UNWIND_COMPLETE, "%s: its stack is whole", version);
		if (runtimes_begin(runtimes, &sample))
			runtimes_find(runtimes, &program);
	}
	for (size_t i = 0; i < program.n; i++) {
		const struct frame *frame = frames_get(frames, program.frames[i].frame);

		length += (size_t)snprintf(seen + length, sizeof(seen) - length, "%s %s %llu\n",
					   frame->name, frame->module,
					   (unsigned long long)frame->address);
	}
	if (!check(told_is_same(told, seen), "%s: all functions are the program's", version))
		printf("# seen:\n%s# told:\n%s", seen, told);
	runtimes_destroy(runtimes);
	frames_destroy(frames);
	space_destroy(space);
}

#endif
