/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From one vCPU of a sample to one stack of the profile:
 *
 *   address spaces ─► unwind ─► frame ids (names, cached by address) ─► profile_add
 *                       └► how far up the stack was live ─► control, for the sampler's next copy
 *
 * Resolver's thread.
 */
#ifndef PROFILE_FOLD_H
#define PROFILE_FOLD_H

#include "profile/addresses.h"
#include "profile/names.h"
#include "profile/seen_code.h"
#include "xtop/batches.h"
#include "xtop/control.h"
#include "xtop/os.h"
#include "xtop/profile.h"
#include "xtop/sample.h"
#include "xtop/sample_log.h"
#include "xtop/symbol.h"
#include "xtop/unwind.h"

/* All pointers outlive the fold. */
struct fold_settings {
	struct frames *frames;
	struct names *names;
	struct profile *profile;
	struct addresses *addresses;
	struct seen_code *code;
	const struct symbols *symbols; /* the files of -k, or the recording's symbols */
	struct os *os;                 /* what runs inside the guest; NULL: nobody looks */
	enum unwind_how how;
	struct batches *self;          /* innermost functions */
	struct batches *children;      /* all functions of a stack; NULL: nobody asks */
	struct control *control;       /* gets what was learned of stacks; NULL: nobody samples */
	struct sample_log *log;        /* keeps each sample; NULL: nobody wants them */
};

struct fold {
	struct fold_settings settings;
	struct resolver_counts counts;
	struct snapshot_vcpu vcpus[GUEST_MAX_VCPUS];
	struct snapshot_calls calls[GUEST_MAX_VCPUS];
	/* The current sample. */
	uint64_t time_ns;
	double ticks; /* that it stands for */
	const struct space *kernel, *user;
	bool user_whole; /* `user` has all code that there is */
	struct os_task task;
	struct unwind_stack stack;
	bool walked_whole; /* see fold_get_reached() */
	uint32_t frames[SNAPSHOT_MAX_DEPTH]; /* outermost first */
	size_t n_frames; /* 0: the vCPU added nothing to the profile */
};

/*
 * VCPU is of SAMPLE. False: the end of work came first (xtop/work.h). The guest's memory could not
 * be read to the end, so what was found may be wrong, and nothing was added.
 */
bool fold_add(struct fold *fold, const struct sample *sample, const struct sample_vcpu *vcpu);
/*
 * The stack of TASK, which does not run: VCPU has registers and stacks as it left its CPU. The
 * frames go to fold->frames, outermost first; returns how many. Nothing is added to the profile;
 * TICKS is the weight for the counts. settings.os is a known system.
 */
size_t fold_find_frames(struct fold *fold, const struct os_task *task,
			const struct sample_vcpu *vcpu, double ticks);
/*
 * How far the walk of the vCPU that was added last has read each of its stacks, as in struct
 * unwind_stack. NULL: another walk may need more. That is so unless the walk reached the outermost
 * function of a guest that has no operating system to be known, and the files of -k were there.
 */
const uint64_t *fold_get_reached(const struct fold *fold);
/* Forgets all counts. */
void fold_reset(struct fold *fold);

#endif
