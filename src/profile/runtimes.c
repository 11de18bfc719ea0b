/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions of interpreted programs; see runtimes.h. A process is known by the page tables of its
 * samples and the generation of its space: a new program in the same address space has another
 * generation, and is looked at anew.
 *
 * A name is kept by process and address of the code object, with a check of the object's words. The
 * words are read again for each sample, because another object may lie there now.
 */
#include "config.h"

#include "profile/runtimes.h"

#include <stdlib.h>

#include "xtop/base/hash.h"

#define RUNTIMES_RETRY_NS     100000000ULL  /* time between two searches for a recipe */
#define RUNTIMES_MAX_RETRY_NS 3000000000ULL /* the longest time, after several failures */

struct runtimes_process {
	uint64_t generation;           /* the space's; 0: the place is free */
	uint64_t tables;               /* number of the address space */
	const struct runtime *runtime; /* NULL: the process runs none */
	uint64_t bias;
	uint64_t loop; /* an address in the interpreter's loop; 0: not known */
	bool has_recipe;
	uint64_t due_ns,
		delay_ns; /* when a recipe is searched for again, and how long after that */
};

struct runtimes_code {
	uint64_t generation, code; /* generation 0: the place is free */
	uint64_t check;
	uint32_t frame;
};

struct runtimes {
	struct frames *frames;
	struct runtimes_process processes[RUNTIMES_MAX_PROCESSES];
	struct runtime_frame found[RUNTIME_MAX_FRAMES];
	struct program_frame named[RUNTIME_MAX_FRAMES];
	struct runtimes_code codes[RUNTIMES_MAX_CODES];
};

struct xtop_error *runtimes_create(struct frames *frames, struct runtimes **runtimesp)
{
	struct runtimes *runtimes = calloc(1, sizeof(*runtimes));

	if (!runtimes)
		return error_create("out of memory");
	runtimes->frames = frames;
	*runtimesp = runtimes;
	return NULL;
}

void runtimes_destroy(struct runtimes *runtimes)
{
	free(runtimes);
}

/* --- processes -------------------------------------------------------------------------------- */

static struct runtimes_process *runtimes_find_process(struct runtimes *runtimes,
						      const struct runtimes_sample *sample)
{
	uint64_t generation = space_generation(sample->space);
	uint64_t tables = sample_get_user_space(sample->vcpu);
	struct runtimes_process *process =
		&runtimes->processes[hash_slot(generation, RUNTIMES_MAX_PROCESSES)];
	const struct mapping *mapping;

	if (process->generation == generation && process->tables == tables)
		return process;
	mapping = space_find_runtime(sample->space);
	*process = (struct runtimes_process){ .generation = generation,
					      .tables = tables,
					      .runtime = mapping ? mapping->image->runtime : NULL,
					      .bias = mapping ? mapping->bias : 0 };
	return process;
}

/* Searches for a recipe if that is due. */
static void runtimes_update_recipe(struct runtimes_process *process,
				   const struct runtime_process *running,
				   const struct runtimes_sample *sample)
{
	struct recipe recipe;

	if (process->has_recipe || !sample->control || sample->time_ns < process->due_ns)
		return;
	process->delay_ns = process->delay_ns ? 2 * process->delay_ns : RUNTIMES_RETRY_NS;
	if (process->delay_ns > RUNTIMES_MAX_RETRY_NS)
		process->delay_ns = RUNTIMES_MAX_RETRY_NS;
	process->due_ns = sample->time_ns + process->delay_ns;
	process->has_recipe = runtime_find_recipe(running, sample->vcpu->regs.fs_base, &recipe);
	if (process->has_recipe)
		control_set_recipe(sample->control, process->tables, &recipe);
}

/* --- names ------------------------------------------------------------------------------------ */

/* The frame for code whose name cannot be read, or was another one's a moment ago. */
static uint32_t runtimes_intern_unreadable(struct runtimes *runtimes)
{
	return frames_intern(runtimes->frames, FRAME_KIND_USERLAND, "[interpreted]", "", 0);
}

static uint32_t runtimes_intern(struct runtimes *runtimes, const struct runtime_process *running,
				const struct runtime_frame *frame)
{
	struct runtime_name name;

	if (!runtime_read_name(running, frame, &name))
		return runtimes_intern_unreadable(runtimes);
	return frames_intern(runtimes->frames, FRAME_KIND_USERLAND, name.function, name.file,
			     name.line);
}

static uint32_t runtimes_name(struct runtimes *runtimes, uint64_t generation,
			      const struct runtime_process *running,
			      const struct runtime_frame *frame)
{
	struct runtimes_code *code =
		&runtimes->codes[hash_slot(frame->code ^ generation << 32, RUNTIMES_MAX_CODES)];
	uint64_t check;

	if (!runtime_check_code(running, frame, &check))
		return runtimes_intern_unreadable(runtimes);
	if (code->generation != generation || code->code != frame->code || code->check != check)
		*code = (struct runtimes_code){ .generation = generation,
						.code = frame->code,
						.check = check,
						.frame =
							runtimes_intern(runtimes, running, frame) };
	return code->frame;
}

void runtimes_find(struct runtimes *runtimes, const struct runtimes_sample *sample,
		   struct program_stack *program)
{
	struct runtimes_process *process = runtimes_find_process(runtimes, sample);
	struct runtime_process running = { .runtime = process->runtime,
					   .bias = process->bias,
					   .memory = sample->memory,
					   .root = sample->root };

	*program = (struct program_stack){ .n = 0 };
	if (!process->runtime)
		return;
	runtimes_update_recipe(process, &running, sample);
	program->frames = runtimes->named;
	program->n = runtime_read_frames(&running, sample->vcpu, runtimes->found);
	for (size_t i = 0; i < program->n; i++) {
		runtimes->named[i].outermost = runtimes->found[i].outermost;
		runtimes->named[i].frame =
			runtimes_name(runtimes, process->generation, &running, &runtimes->found[i]);
	}
	if (program->n && !process->loop)
		process->loop = runtime_find_loop(&running, &runtimes->found[0]);
	program->loop = process->loop;
}
