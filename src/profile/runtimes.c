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
#include <string.h>

#include "xtop/base/hash.h"
#include "xtop/unwind/disassemble.h"

#define RUNTIMES_RETRY_NS     100000000ULL  /* time between two searches for a recipe */
#define RUNTIMES_MAX_ASLEEP   64            /* sleeping tasks of a process that are searched */
#define RUNTIMES_MAX_RETRY_NS 3000000000ULL /* the longest time, after several failures */
#define RUNTIMES_ASK_NS       5000000000ULL /* time between looks at the sampler's recipe */
#define RUNTIMES_LINE_NS      1000000000ULL /* time until a line that was not known is read again */
#define RUNTIMES_EPOCH_NS       10000000ULL   /* time between two looks at a process's epoch */
#define RUNTIMES_WAYS         8             /* places of a set; a process can take any of them */
#define RUNTIMES_SETS         (RUNTIMES_MAX_PROCESSES / RUNTIMES_WAYS)

struct runtimes_process {
	uint64_t generation;            /* the space's; 0: the place is free */
	uint64_t tables;                /* number of the address space */
	uint32_t tgid;                  /* 0: not known */
	struct runtime_process running; /* running.runtime is NULL if the process runs none */
	struct runtime *runtime; /* running.runtime; a reference, as the process may end; or NULL */
	uint64_t loop; /* an address in the interpreter's loop; 0: not known */
	bool ready;    /* the process has a recipe, or has been prepared */
	bool in_sampler;   /* the sampler got the recipe */
	uint64_t asked_ns; /* time of the last look whether the sampler still has the recipe */
	uint64_t epoch;    /* runtime_read_epoch() at the last look; 0: not looked at, or none */
	uint64_t epoch_ns; /* time when `epoch` was first seen; 0: it has not changed yet */
	uint64_t looked_ns; /* time of the last look at the epoch */
	unsigned n_asleep; /* sleeping tasks that were searched for a recipe */
	uint64_t used;     /* runtimes.clock when the process last had a sample */
	struct recipe recipe;
	uint64_t due_ns, delay_ns; /* time of the search's next try, and the delay after it */
};

struct runtimes_code {
	uint64_t generation, code, owner; /* generation 0: the place is free */
	uint64_t position;                /* a place in the function */
	uint64_t check, name_hash;
	uint64_t witnesses[RUNTIME_WITNESSES], witnessed; /* places of words, and the words' hash */
	uint64_t seen_ns; /* time when the name was read; 0: not known */
	uint32_t frame;
};

/* The line that a frame of a function executes. */
struct runtimes_line {
	uint64_t generation, code, position; /* generation 0: the place is free */
	uint64_t due_ns;                     /* time to ask again if the line was not known */
	uint32_t function, frame;            /* the function's frame, and that of its line */
};

struct runtimes {
	struct unwind_program unwind; /* first: runtimes_find_caller() is given a pointer to it */
	struct frames *frames;
	bool hidden;                          /* interpreted functions are not wanted now */
	enum runtimes_lines lines_wanted;
	const struct runtimes_sample *sample; /* the current sample */
	struct runtimes_process *process;     /* the sample's process */
	struct runtimes_process processes[RUNTIMES_MAX_PROCESSES]; /* a hash table of sets */
	uint64_t clock;                                            /* number of samples */
	struct runtime_frame found[RUNTIME_MAX_FRAMES];
	struct program_frame named[RUNTIME_MAX_FRAMES];
	bool unsure[RUNTIME_MAX_FRAMES]; /* whether a function was first read after the stop */
	uint16_t counts[UNWIND_MAX_FRAMES];
	struct runtimes_code codes[RUNTIMES_MAX_CODES];
	struct runtimes_line lines[RUNTIMES_MAX_LINES];
};

static bool runtimes_find_caller(const struct unwind_program *unwind,
				 const struct runtime_native *native, struct runtime_caller *caller)
{
	const struct runtimes *runtimes = (const struct runtimes *)unwind;

	return runtime_find_caller(&runtimes->process->running, native, caller);
}

static struct runtime_step runtimes_decode(const uint8_t *bytes, size_t n, uint64_t address)
{
	struct code code = { bytes, n, address, .word_bytes = sizeof(uint64_t), .arch = ARCH_X86 };
	struct code_step step = disassemble_x86_step(&code);
	bool call = step.flow == CODE_CALL;

	return (struct runtime_step){ .jump = call ? 0 : step.target,
				      .size_bytes = step.bad ? 0 : step.length,
				      .call = call,
				      .ends = step.flow == CODE_JUMP || step.flow == CODE_RETURN };
}

struct xtop_error *runtimes_create(struct frames *frames, enum runtimes_lines lines,
				   struct runtimes **runtimesp)
{
	struct runtimes *runtimes = calloc(1, sizeof(*runtimes));

	if (!runtimes)
		return error_create("out of memory");
	runtimes->unwind.find_caller = runtimes_find_caller;
	runtimes->frames = frames;
	runtimes->lines_wanted = lines;
	*runtimesp = runtimes;
	return NULL;
}

static void runtimes_forget_process(struct runtimes_process *process)
{
	free(process->running.state);
	runtime_destroy(process->runtime);
	*process = (struct runtimes_process){ .generation = 0 };
}

void runtimes_forget(struct runtimes *runtimes)
{
	for (size_t i = 0; i < RUNTIMES_MAX_PROCESSES; i++)
		runtimes_forget_process(&runtimes->processes[i]);
	runtimes->process = NULL;
}

void runtimes_destroy(struct runtimes *runtimes)
{
	if (runtimes)
		runtimes_forget(runtimes);
	free(runtimes);
}

/* --- processes -------------------------------------------------------------------------------- */

/*
 * The place of the process with GENERATION, or else the one that it can take: that of the process
 * in its set which had no sample for the longest time. Never NULL.
 */
static struct runtimes_process *runtimes_find_place(struct runtimes *runtimes, uint64_t generation)
{
	size_t set = hash_slot(generation, RUNTIMES_SETS);
	struct runtimes_process *places = &runtimes->processes[set * RUNTIMES_WAYS];
	struct runtimes_process *oldest = places;

	for (unsigned i = 0; i < RUNTIMES_WAYS; i++) {
		if (places[i].generation == generation)
			return &places[i];
		if (places[i].used < oldest->used)
			oldest = &places[i];
	}
	return oldest;
}

static struct runtimes_process *runtimes_find_process(struct runtimes *runtimes,
						      const struct runtimes_sample *sample)
{
	uint64_t generation = space_generation(sample->space);
	uint64_t tables = sample_get_user_space(sample->vcpu);
	struct runtimes_process *process = runtimes_find_place(runtimes, generation);
	const struct mapping *mapping;

	runtimes->clock++;
	/* A task that is asleep need not have the page tables with which it runs. */
	if (process->generation == generation && (process->tables == tables || sample->asleep)) {
		process->used = runtimes->clock;
		return process;
	}
	runtimes_forget_process(process);
	process->used = runtimes->clock;
	process->generation = generation;
	process->tables = tables;
	mapping = space_find_runtime(sample->space);
	if (mapping) {
		process->runtime = runtime_ref(mapping->image->runtime);
		process->running = (struct runtime_process){ .runtime = mapping->image->runtime,
							     .bias = mapping->bias,
							     .decode = runtimes_decode };
	}
	return process;
}

static bool runtimes_find_recipe(struct runtimes_process *process,
				 const struct runtimes_sample *sample)
{
	bool found = runtime_find_recipe(&process->running, sample->thread_pointer,
					 &process->recipe) &&
		     recipe_check(&process->recipe);

	sample->counts->recipes_refused += !found;
	return found;
}

/* Whether to try now. The first tasks that are asleep are tried at once. */
static bool runtimes_is_due(struct runtimes_process *process, const struct runtimes_sample *sample)
{
	if (sample->asleep)
		return process->n_asleep++ < RUNTIMES_MAX_ASLEEP;
	if (sample->time_ns < process->due_ns)
		return false;
	process->delay_ns = process->delay_ns ? 2 * process->delay_ns : RUNTIMES_RETRY_NS;
	if (process->delay_ns > RUNTIMES_MAX_RETRY_NS)
		process->delay_ns = RUNTIMES_MAX_RETRY_NS;
	process->due_ns = sample->time_ns + process->delay_ns;
	return true;
}

/* Prepares the process, or searches for a recipe, if that is due. */
static void runtimes_try(struct runtimes_process *process, const struct runtimes_sample *sample)
{
	if (!runtimes_is_due(process, sample))
		return;
	process->ready = runtime_is_native(process->running.runtime)
				 ? runtime_prepare(&process->running)
				 : runtimes_find_recipe(process, sample);
}

/* Whether the sampler still has PROCESS's recipe: those of others may have pushed it out. */
static bool runtimes_has_recipe(struct runtimes_process *process,
				const struct runtimes_sample *sample)
{
	struct recipe recipe;

	if (sample->time_ns < process->asked_ns + RUNTIMES_ASK_NS)
		return true;
	process->asked_ns = sample->time_ns;
	return control_get_recipe(sample->control, process->tables, &recipe);
}

static void runtimes_update(struct runtimes *runtimes, struct runtimes_process *process,
			    const struct runtimes_sample *sample)
{
	bool native = runtime_is_native(process->running.runtime);

	if (!process->ready)
		runtimes_try(process, sample);
	if (!process->ready || native || !sample->control || runtimes->hidden ||
	    (process->in_sampler && runtimes_has_recipe(process, sample)))
		return;
	control_set_recipe(sample->control, process->tables, &process->recipe);
	sample->counts->recipes += !process->in_sampler;
	process->in_sampler = true;
	process->asked_ns = sample->time_ns;
}

/* Looks at the process's epoch, and notes since when it has been what it is. */
static void runtimes_look_at_epoch(struct runtimes_process *process)
{
	uint64_t epoch = runtime_read_epoch(&process->running);

	if (!epoch)
		return;
	process->looked_ns = memory_now_ns(process->running.memory);
	if (process->epoch && epoch != process->epoch)
		process->epoch_ns = process->looked_ns;
	process->epoch = epoch;
}

bool runtimes_begin(struct runtimes *runtimes, const struct runtimes_sample *sample)
{
	struct runtimes_process *process = runtimes_find_process(runtimes, sample);

	runtimes->sample = sample;
	runtimes->process = process;
	if (!process->running.runtime)
		return false;
	process->running.memory = sample->memory;
	process->running.root = sample->root;
	if (sample->tgid)
		process->tgid = sample->tgid;
	runtimes_update(runtimes, process, sample);
	if (process->ready && sample->time_ns >= process->looked_ns + RUNTIMES_EPOCH_NS)
		runtimes_look_at_epoch(process);
	return true;
}

void runtimes_set_shown(struct runtimes *runtimes, bool shown)
{
	runtimes->hidden = !shown;
}

const struct unwind_program *runtimes_for_unwind(const struct runtimes *runtimes)
{
	const struct runtimes_process *process = runtimes->process;

	return process->ready && runtime_is_native(process->running.runtime) ? &runtimes->unwind
									     : NULL;
}

/* --- names ------------------------------------------------------------------------------------ */

/* The frame for code whose name cannot be read, or has changed since the sample's stop. */
static uint32_t runtimes_intern_unreadable(struct runtimes *runtimes)
{
	runtimes->sample->counts->program_frames_unknown++;
	return frames_intern(runtimes->frames, FRAME_KIND_USERLAND, "[interpreted]", "", 0);
}

/* A hash of the words at WITNESSES. */
static uint64_t runtimes_read_witnesses(const struct runtime_process *running,
					const uint64_t witnesses[RUNTIME_WITNESSES])
{
	uint64_t words[RUNTIME_WITNESSES] = { 0 };

	for (unsigned i = 0; i < RUNTIME_WITNESSES && witnesses[i]; i++)
		memory_read_u64(running->memory, running->root, witnesses[i], &words[i]);
	return hash_bytes(0, words, sizeof(words));
}

/* Whether CODE was read before the sample's stop, or needs no proof that the stop saw it. */
static bool runtimes_was_there(const struct runtimes *runtimes, const struct runtimes_code *code)
{
	return !runtimes->process->epoch || runtimes->sample->asleep ||
	       code->seen_ns < runtimes->sample->time_ns;
}

/* The frame of the function I that was found; unsure[I] becomes whether it may be another one. */
static uint32_t runtimes_name(struct runtimes *runtimes, size_t i)
{
	const struct runtime_frame *frame = &runtimes->found[i];
	const struct runtime_process *running = &runtimes->process->running;
	uint64_t generation = runtimes->process->generation, check;
	struct runtimes_code *code = &runtimes->codes[hash_slot(
		frame->code ^ frame->owner << 1 ^ generation << 32, RUNTIMES_MAX_CODES)];
	struct runtime_name name;

	runtimes->unsure[i] = false;
	if (!runtime_check_code(running, frame, &check))
		return runtimes_intern_unreadable(runtimes);
	if (code->generation == generation && code->code == frame->code &&
	    code->owner == frame->owner && code->check == check &&
	    code->name_hash == frame->name_hash &&
	    code->witnessed == runtimes_read_witnesses(running, code->witnesses)) {
		runtimes->unsure[i] = !runtimes_was_there(runtimes, code);
		return code->frame;
	}
	if (!runtime_read_name(running, frame, &name))
		return runtimes_intern_unreadable(runtimes);
	*code = (struct runtimes_code){
		.generation = generation,
		.code = frame->code,
		.owner = frame->owner,
		.position = frame->position,
		.check = check,
		.name_hash = frame->name_hash,
		.witnesses = { name.witnesses[0], name.witnesses[1], name.witnesses[2] },
		.witnessed = runtimes_read_witnesses(running, name.witnesses),
		.seen_ns = runtimes->process->epoch ? memory_now_ns(running->memory) : 0,
		.frame = frames_intern(runtimes->frames, FRAME_KIND_USERLAND, name.function,
				       name.file, name.line),
	};
	runtimes->unsure[i] = !runtimes_was_there(runtimes, code);
	return code->frame;
}

/*
 * The frame of the line that FRAME executes, which runs FUNCTION; FUNCTION if the line is unknown,
 * or if lines are not shown.
 */
static uint32_t runtimes_find_line(struct runtimes *runtimes, const struct runtime_frame *frame,
				   uint32_t function)
{
	uint64_t generation = runtimes->process->generation;
	struct runtimes_line *line = &runtimes->lines[hash_slot(
		frame->code ^ frame->position << 1 ^ generation << 32, RUNTIMES_MAX_LINES)];
	uint32_t number;

	if (line->generation == generation && line->code == frame->code &&
	    line->position == frame->position && line->function == function &&
	    runtimes->sample->time_ns < line->due_ns)
		return line->frame;
	*line = (struct runtimes_line){ .generation = generation,
					.code = frame->code,
					.position = frame->position,
					.function = function,
					.frame = function };
	number = runtime_read_line(&runtimes->process->running, frame);
	line->due_ns = number ? UINT64_MAX : runtimes->sample->time_ns + RUNTIMES_LINE_NS;
	if (number && runtimes->lines_wanted == RUNTIMES_SHOW_LINES)
		line->frame =
			frames_intern_line(runtimes->frames, function, FRAME_LINE_KNOWN, number);
	return line->frame;
}

/* --- functions on the thread's own stack ------------------------------------------------------ */

/*
 * Describes the frame I of the stack. Returns false if the code is neither the runtime's nor
 * compiled at run time, or has a name that the process has written to its perf map.
 */
static bool runtimes_get_native(const struct runtimes *runtimes, unsigned i,
				struct runtime_native *native)
{
	const struct space *space = runtimes->sample->space;
	const struct unwind_stack *stack = runtimes->sample->stack;
	const struct unwind_frame *frame = &stack->frames[i];
	uint64_t code = unwind_frame_code(frame);
	const struct mapping *mapping = space_find(space, code);
	struct symtab_entry entry;

	if (!(frame->flags & FRAME_USER) || !mapping)
		return false;
	*native = (struct runtime_native){
		.vcpu = runtimes->sample->vcpu,
		.address = frame->address,
		.frame_pointer = frame->frame_pointer,
		.interrupted = !(frame->flags & FRAME_RETURN),
		.compiled = mapping->kind == MAPPING_ANONYMOUS,
		.linked =
			i + 1 == stack->n_frames || frame[1].frame_pointer != frame->frame_pointer,
	};
	if (!native->compiled)
		return mapping->image &&
		       mapping->image->runtime == runtimes->process->running.runtime;
	return !mapping->image || !space_find_symbol(space, code, &entry, &mapping);
}

/* Finds the functions in each frame of the user's stack. */
static size_t runtimes_read_native(struct runtimes *runtimes)
{
	struct runtime_native native;
	size_t n = 0;

	for (unsigned i = 0; i < runtimes->sample->stack->n_frames; i++) {
		runtimes->counts[i] = 0;
		if (!runtimes_get_native(runtimes, i, &native))
			continue;
		runtimes->counts[i] =
			(uint16_t)runtime_read_native(&runtimes->process->running, &native,
						      runtimes->found + n, RUNTIME_MAX_FRAMES - n);
		n += runtimes->counts[i];
	}
	return n;
}

/* Takes the names of functions that may have come to others' places since the sample's stop. */
static void runtimes_drop_unsure(struct runtimes *runtimes, size_t n)
{
	if (!memchr(runtimes->unsure, true, n))
		return;
	runtimes_look_at_epoch(runtimes->process);
	for (size_t i = 0; i < n && runtimes->process->epoch_ns > runtimes->sample->time_ns; i++)
		if (runtimes->unsure[i])
			runtimes->named[i].frame = runtimes_intern_unreadable(runtimes);
}

void runtimes_find(struct runtimes *runtimes, struct program_stack *program)
{
	struct runtimes_process *process = runtimes->process;

	*program = (struct program_stack){ .frames = runtimes->named };
	if (runtimes->hidden)
		return;
	if (runtime_is_native(process->running.runtime)) {
		program->n = process->ready ? runtimes_read_native(runtimes) : 0;
		program->counts = runtimes->counts;
	} else if (runtimes->sample->asleep) {
		program->n = process->ready
				     ? runtime_follow_frames(&process->running, &process->recipe,
							     runtimes->sample->thread_pointer,
							     runtimes->found)
				     : 0;
	} else {
		program->n = runtime_read_frames(&process->running, runtimes->sample->vcpu,
						 runtimes->found);
	}
	for (size_t i = 0; i < program->n; i++) {
		runtimes->named[i].outermost = runtimes->found[i].outermost;
		runtimes->named[i].frame = runtimes_name(runtimes, i);
		if (runtimes->lines_wanted != RUNTIMES_NO_LINES)
			runtimes->named[i].frame = runtimes_find_line(runtimes, &runtimes->found[i],
								      runtimes->named[i].frame);
	}
	runtimes_drop_unsure(runtimes, program->n);
	runtimes->sample->counts->program_frames += program->n;
	if (program->n && !process->loop)
		process->loop = runtime_find_loop(&process->running, &runtimes->found[0]);
	program->loop = process->loop;
}

/* --- files ------------------------------------------------------------------------------------ */

/* The process that CODE is in; NULL: it is not known any more. */
static const struct runtimes_process *runtimes_find_owner(struct runtimes *runtimes,
							  const struct runtimes_code *code)
{
	const struct runtimes_process *process = runtimes_find_place(runtimes, code->generation);

	return process->generation == code->generation && process->running.memory ? process : NULL;
}

static bool runtimes_read_source(struct runtimes *runtimes, const struct runtimes_code *code,
				 struct runtimes_source *source)
{
	const struct runtimes_process *process = runtimes_find_owner(runtimes, code);
	const struct runtime_frame frame = { .code = code->code,
					     .position = code->position,
					     .owner = code->owner,
					     .name_hash = code->name_hash };
	uint64_t check;

	if (!process || !process->tgid || !runtime_check_code(&process->running, &frame, &check) ||
	    check != code->check)
		return false;
	source->tgid = process->tgid;
	runtime_read_path(&process->running, &frame, source->path);
	return *source->path;
}

bool runtimes_find_source(struct runtimes *runtimes, uint32_t frame,
			  struct runtimes_source *source)
{
	for (size_t i = 0; i < RUNTIMES_MAX_CODES; i++) {
		const struct runtimes_code *code = &runtimes->codes[i];

		if (code->generation && code->frame == frame &&
		    runtimes_read_source(runtimes, code, source))
			return true;
	}
	return false;
}
