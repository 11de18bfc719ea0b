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
#include "profile/runtimes.h"
#include "profile/seen_code.h"
#include "xtop/os/os.h"
#include "xtop/profile/batches.h"
#include "xtop/profile/profile.h"
#include "xtop/profile/sample_log.h"
#include "xtop/sample/control.h"
#include "xtop/sample/sample.h"
#include "xtop/symbol/symbol.h"
#include "xtop/unwind/unwind.h"

/* One per frame; bit i: enum unwind_by i told where the frame is. Frames beyond N: no bit. */
struct fold_found_by {
	uint8_t *by;
	uint32_t n;
};

/* All pointers outlive the fold. */
struct fold_settings {
	struct frames *frames;
	struct names *names;
	struct profile *profile;
	struct addresses *addresses;
	struct seen_code *code;
	struct runtimes *runtimes;     /* NULL: functions of interpreted programs are not wanted */
	const struct symbols *symbols; /* the files of -k, or the recording's symbols */
	struct work *work;             /* NULL: never broken off */
	struct os *os;                 /* the system inside the guest; NULL: not looked at */
	enum unwind_how how;
	struct batches *self;          /* counts innermost functions */
	struct batches *children;      /* counts all functions of a stack; NULL: not wanted */
	struct fold_found_by *found_by; /* NULL: not wanted */
	struct control *control;       /* told how far stacks are live; NULL: nobody samples */
	struct sample_log *log;        /* keeps each sample; NULL: not wanted */
};

struct fold {
	struct fold_settings settings;
	struct resolver_counts counts;
	unsigned n_vcpus; /* VCPUS and CALLS have nothing for higher vCPUs */
	struct snapshot_vcpu vcpus[GUEST_MAX_VCPUS];
	struct snapshot_calls calls[GUEST_MAX_VCPUS];
	bool has_user_name; /* some function of a process had a name so far */
	/* The current sample. */
	uint64_t time_ns;
	double ticks; /* the sample's weight */
	const struct space *kernel, *user;
	bool user_whole; /* the space USER is one process's, not a unikernel's */
	struct os_task task;
	struct unwind_stack stack;
	bool walked_whole; /* see fold_get_reached() */
	bool has_program;  /* the user code runs an interpreted program */
	struct runtimes_sample running;      /* the sample for runtimes_find(), if has_program */
	struct program_stack program;        /* functions that the stack's interpreter runs */
	bool ends_in_program;                /* the innermost frame is one of these functions */
	uint32_t named[UNWIND_MAX_FRAMES];   /* the frames of the stack, innermost first */
	uint32_t frames[SNAPSHOT_MAX_DEPTH]; /* outermost first */
	size_t n_frames; /* 0: the vCPU added nothing to the profile */
};

/*
 * Adds VCPU, which was sampled at TIME_NS and stands for TICKS. False: the thread's work was over
 * before the end of the walk (work.h). Then guest memory could no longer be read and the stack may
 * be wrong, so nothing was added.
 */
bool fold_add(struct fold *fold, const struct sample_vcpu *vcpu, uint64_t time_ns, double ticks);
/*
 * Finds out what the process of VCPU runs, whose sample is added later, so that the sampler gets a
 * recipe for the next samples. NOW_NS: the time of the sample that is added next. False: the vCPU
 * ran no process that can be found.
 */
bool fold_prepare(struct fold *fold, const struct sample_vcpu *vcpu, uint64_t now_ns);
/*
 * Names the stack of TASK, which does not run. VCPU has its registers and stacks as TASK left its
 * CPU. Writes the frames to fold->frames, outermost first, and returns how many there are. Adds
 * nothing to the profile; TICKS is the weight for the counts. settings.os must be a known system.
 */
size_t fold_find_frames(struct fold *fold, const struct os_task *task,
			const struct sample_vcpu *vcpu, double ticks);
/*
 * How far fold_add() has read each stack of the vCPU that it added last, as in struct unwind_stack.
 * A replay needs no more bytes. NULL: another walk may need more. The answer is not NULL only if
 * the walk reached the outermost function, without a guess, in a guest without a known system, and
 * -k gave symbols.
 */
const uint64_t *fold_get_reached(const struct fold *fold);
/* Forgets all counts. */
void fold_reset(struct fold *fold);

#endif
