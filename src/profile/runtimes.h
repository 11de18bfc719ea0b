/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The functions of interpreted programs in samples (language.h): which processes run a runtime,
 * recipes for the sampler, and the frames that code objects have in the profile. Resolver's thread.
 */
#ifndef PROFILE_RUNTIMES_H
#define PROFILE_RUNTIMES_H

#include "xtop/base/limit.h"
#include "xtop/language/language.h"
#include "xtop/memory/memory.h"
#include "xtop/profile/frames.h"
#include "xtop/profile/snapshot.h"
#include "xtop/sample/control.h"
#include "xtop/symbol/image.h"
#include "xtop/unwind/unwind.h"

#define RUNTIMES_MAX_PROCESSES 256              /* processes that are known */
#define RUNTIMES_MAX_CODES     LIMIT(16384, 64) /* code objects whose names are kept */
#define RUNTIMES_MAX_LINES     LIMIT(16384, 64) /* places in functions whose lines are kept */

struct runtimes;

/* What is done with the lines that functions execute. */
enum runtimes_lines {
	RUNTIMES_NO_LINES,
	RUNTIMES_READ_LINES, /* lines are read for a recording, whose replay may show them */
	RUNTIMES_SHOW_LINES, /* each line of a function is a frame */
};

struct xtop_error *runtimes_create(struct frames *frames, enum runtimes_lines lines,
				   struct runtimes **runtimesp);
void runtimes_destroy(struct runtimes *runtimes); /* NULL allowed */
/* Forgets all processes, before the guest's memory becomes another one. */
void runtimes_forget(struct runtimes *runtimes);

/* A sample of user code. */
struct runtimes_sample {
	const struct sample_vcpu *vcpu;
	const struct unwind_stack *stack; /* the frames of the vCPU's stack */
	const struct space *space; /* the process's code */
	struct memory *memory;
	struct memory_root root; /* sample_get_user_root() */
	uint64_t time_ns;
	uint64_t thread_pointer;        /* 0: not known */
	uint32_t tgid;                  /* the process's number; 0: not known */
	bool asleep;                    /* the task is on no CPU, so its frames are read now */
	struct resolver_counts *counts; /* its members for programs and recipes are raised */
	struct control *control;        /* takes the recipe to the sampler; NULL: nobody samples */
};

/* A function of an interpreted program on a stack. */
struct program_frame {
	uint32_t frame;
	bool outermost; /* the outermost frame that one call of the interpreter's loop runs */
};

struct program_stack {
	const struct program_frame *frames; /* innermost first */
	size_t n;                           /* number of frames, RUNTIME_MAX_FRAMES or fewer */
	/* how many functions each frame of the stack runs; NULL: the stack's frames run none */
	const uint16_t *counts;
	uint64_t loop; /* an address in the interpreter's loop; 0: the loop has a symbol */
};

/*
 * Finds whether the process of SAMPLE runs an interpreted program. SAMPLE lives until the last call
 * about it. Its stack need not be walked yet.
 */
bool runtimes_begin(struct runtimes *runtimes, const struct runtimes_sample *sample);
/* SHOWN false: runtimes_find() finds no functions, so stacks show the interpreter's functions. */
void runtimes_set_shown(struct runtimes *runtimes, bool shown);
/* What unwinding has to know about the program's frames; NULL: nothing. */
const struct unwind_program *runtimes_for_unwind(const struct runtimes *runtimes);
/*
 * Finds the functions of the sample's program, innermost first. PROGRAM->n is 0 also while the
 * sampler has no recipe yet. The frames live until the next call.
 */
void runtimes_find(struct runtimes *runtimes, struct program_stack *program);

/* A file of a process's program. */
struct runtimes_source {
	uint32_t tgid;
	char path[RUNTIME_FILE_BYTES]; /* the path that the process knows */
};

/*
 * Finds the file that has the function FRAME, in a process that ran it. False: no such process is
 * known any more, or the file is not known.
 */
bool runtimes_find_source(struct runtimes *runtimes, uint32_t frame,
			  struct runtimes_source *source);

#endif
