/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples become stacks of the profile; see fold.h. */
#include "config.h"

#include "profile/fold.h"

#include <stdlib.h>
#include <string.h>

#include "xtop/base/work.h"

#define FOLD_MAX_MARKS   4    /* [truncated] in one stack */
#define FOLD_MORE_FRAMES 1024 /* further frames that found_by gets room for, when it grows */

_Static_assert(UNWIND_MAX_FRAMES + 2 + FOLD_MAX_MARKS <= SNAPSHOT_MAX_DEPTH,
	       "the deepest walk, with process and thread, fits into a stack of the profile");
_Static_assert(N_UNWIND_BYS <= 8, "found_by has a byte for each frame");

/* --- whose code the sample ran ---------------------------------------------------------------- */

/*
 * Finds the address spaces of the kernel and of the process. Where no known system runs, or nobody
 * looks inside the guest, the files of -k name all code: the kernel's and that of the only program.
 * False: the sample was taken too early (os_is_early()).
 */
static bool fold_find_spaces(struct fold *fold, const struct sample_vcpu *vcpu)
{
	const struct space *given = symbols_space(fold->settings.symbols);
	struct os *os = fold->settings.os;

	fold->kernel = fold->user = given;
	fold->user_whole = false;
	fold->task = (struct os_task){ 0 };
	if (!os)
		return true;
	os_update(os, vcpu, fold->time_ns);
	if (!os_is_known(os) || vcpu->state < VCPU_RUNNABLE)
		return true;
	os_find_task(os, vcpu, fold->time_ns, &fold->task);
	fold->kernel = os_get_kernel(os);
	fold->user = fold->task.user;
	fold->user_whole = fold->task.user;
	return !os_is_early(os, vcpu, fold->time_ns);
}

/*
 * Whether the vCPU was idle: the idle task ran, and nothing had interrupted the task. If something
 * had, a frame further out was entered by an interrupt.
 */
static bool fold_is_idle(const struct fold *fold)
{
	const struct unwind_stack *stack = &fold->stack;

	if (!fold->task.idle)
		return false;
	for (unsigned i = 1; i < stack->n_frames; i++)
		if (!(stack->frames[i].flags & FRAME_RETURN))
			return false;
	return true;
}

/* --- what the sampler learns ------------------------------------------------------------------ */

/*
 * The piece of stack that was too short when the walk of a part ended in UNWIND_CUT: the piece in
 * which the walk ended. If the next frame lies beyond all copied bytes, as a frame with a large
 * array may, it is the outermost piece that was used. -1: none.
 */
static int fold_cut_piece(const struct unwind_part_end *end)
{
	if (end->stop != UNWIND_CUT)
		return -1;
	if (end->last_piece >= 0)
		return end->last_piece;
	return end->pieces ? 31 - __builtin_clz(end->pieces) : -1;
}

/*
 * Tells the sampler how far the stacks of one part are live. A complete part tells where each of
 * its stacks ends. A part that was cut short needs twice as much of one stack, and a page more:
 * without that page, guesses for a stack pointer close to a wrong end would approach the true end
 * in very small steps. A part that ended early for another reason gives a first guess. The guess
 * may be too short for the next chain; then that chain is cut short, and the guess grows.
 */
static void fold_learn_part(const struct fold *fold, const struct sample_vcpu *vcpu, uint64_t space,
			    const struct unwind_part_end *end)
{
	const struct sample_stack *piece = sample_first_stack(vcpu);
	struct control *control = fold->settings.control;

	for (int i = 0; i < vcpu->n_stacks; i++, piece = sample_next_stack(piece)) {
		uint8_t cut = piece->kind == STACK_USER ? vcpu->user_cut : vcpu->stack_cut;
		bool used = end->pieces >> i & 1;

		if (used && end->stop == UNWIND_COMPLETE)
			control_set_stack_top(control, space, piece->address,
					      fold->stack.reached[i]);
		else if (used && end->stop != UNWIND_CUT)
			control_guess_stack_top(control, space, piece->address,
						fold->stack.reached[i]);
		else if (cut == CUT_LIMIT && fold_cut_piece(end) == i)
			control_set_stack_top(control, space, piece->address,
					      piece->address + 2 * (uint64_t)piece->size_bytes +
						      GUEST_PAGE_SIZE);
	}
}

/* Whether the process runs no Go. A C thread of a Go program has complete chains without Go. */
static bool fold_is_without_go(const struct fold *fold)
{
	return fold->stack.parts[UNWIND_USER].stop == UNWIND_COMPLETE && fold->user &&
	       !space_has_go(fold->user);
}

/*
 * Tells the sampler whether the process runs Go. The page tables may have belonged to a process
 * that ran Go and has ended, so the sampler is also told of a process without Go.
 */
static void fold_learn_go(const struct fold *fold, uint64_t space)
{
	const struct unwind_stack *stack = &fold->stack;
	struct control *control = fold->settings.control;

	if (!stack->parts[UNWIND_USER].walked)
		return;
	if (stack->go_stacks || (control_has_go(control) && fold_is_without_go(fold)))
		control_set_go_stacks(control, space, stack->go_stacks, stack->go_callback);
}

static void fold_learn(const struct fold *fold, const struct sample_vcpu *vcpu)
{
	uint64_t space;

	if (!fold->settings.control)
		return;
	space = sample_get_user_space(vcpu);
	fold_learn_go(fold, space);
	for (unsigned i = 0; i < N_UNWIND_PARTS; i++)
		if (fold->stack.parts[i].walked)
			fold_learn_part(fold, vcpu, space, &fold->stack.parts[i]);
}

/* --- counts ----------------------------------------------------------------------------------- */

static void fold_count_state(struct fold *fold, struct snapshot_vcpu *states, enum vcpu_state state)
{
	fold->counts.states[state] += fold->ticks;
	states->states[state] += fold->ticks;
}

static void fold_count_stack(struct fold *fold)
{
	const struct unwind_stack *stack = &fold->stack;
	struct resolver_counts *counts = &fold->counts;
	bool cut = false;

	counts->stops[stack->stop]++;
	if (stack->stop != UNWIND_COMPLETE)
		counts->weight_truncated += fold->ticks;
	for (unsigned i = 0; i < N_UNWIND_PARTS; i++) {
		const struct unwind_part_end *end = &stack->parts[i];

		if (!end->walked)
			continue;
		counts->parts[i]++;
		counts->parts_complete[i] += end->stop == UNWIND_COMPLETE;
		if (end->stop == UNWIND_CUT && !cut)
			counts->cuts[end->cut]++;
		cut |= end->stop != UNWIND_COMPLETE; /* only the innermost incomplete part counts */
	}
}

static void fold_count_name(struct fold *fold, const struct name_answer *innermost)
{
	struct resolver_counts *counts = &fold->counts;

	switch (innermost->quality) {
	case NAME_SYMBOL:
		return;
	case NAME_FUNCTION:
		counts->samples_function++;
		counts->weight_function += fold->ticks;
		break;
	case NAME_UNKNOWN:
		counts->samples_unknown++;
		counts->weight_unknown += fold->ticks;
		break;
	case NAME_OFFSET:
		counts->samples_offset++;
		counts->weight_offset += fold->ticks;
		break;
	}
	counts->unknown_causes[innermost->cause]++;
}

/* --- frames ----------------------------------------------------------------------------------- */

/* Notes that BY told where the frame ID is. Best effort: without memory nothing is noted. */
static void fold_note_found_by(struct fold *fold, uint32_t id, enum unwind_by by)
{
	struct fold_found_by *found = fold->settings.found_by;

	if (!found)
		return;
	if (id >= found->n) {
		uint32_t n = frames_count(fold->settings.frames) + FOLD_MORE_FRAMES;
		uint8_t *more = realloc(found->by, n);

		if (!more)
			return;
		memset(more + found->n, 0, n - found->n);
		found->by = more;
		found->n = n;
	}
	found->by[id] |= (uint8_t)(1 << by);
}

/* Names one entry of a stack. The answer is valid until the next call. */
static inline const struct name_answer *fold_frame(struct fold *fold,
						   const struct unwind_frame *frame)
{
	bool user = frame->flags & FRAME_USER;
	const struct name_answer *answer;

	answer = names_find(fold->settings.names, user ? fold->user : fold->kernel,
			    unwind_frame_code(frame),
			    user ? FRAME_KIND_USERLAND : FRAME_KIND_KERNEL,
			    user && fold->user_whole, fold->ticks);
	fold->counts.frames_unknown += answer->quality == NAME_UNKNOWN;
	if (user && !fold->has_user_name)
		fold->has_user_name = answer->quality != NAME_UNKNOWN;
	fold->counts.frames_by[frame->by]++;
	fold_note_found_by(fold, answer->frame, frame->by);
	return answer;
}

/* The process, and below it the thread if the thread has another name. Returns how many. */
static size_t fold_push_task(struct fold *fold)
{
	const struct os_task *task = &fold->task;
	struct frames *frames = fold->settings.frames;
	uint32_t process;

	if (!task->process)
		return 0;
	process = frames_intern_process(frames, task->process, task->cgroup);
	fold->frames[0] = process;
	if (!task->thread || strcmp(task->process, task->thread) == 0)
		return 1;
	fold->frames[1] = frames_intern_thread(frames, task->thread, process);
	return 2;
}

/* Adds the sample to the log, with the first N of fold->frames as its stack. */
static void fold_log(struct fold *fold, const struct sample_vcpu *vcpu, size_t n)
{
	struct logged_sample sample = { .time_ns = fold->time_ns,
					.ticks = fold->ticks,
					.pid = fold->task.tgid,
					.tid = fold->task.pid,
					.vcpu = vcpu->vcpu };

	sample_log_add(fold->settings.log, &sample, fold->frames, n);
}

/* All unnamed functions of a module count as one function, as in a table of functions. */
static uint32_t fold_group(const struct fold *fold, uint32_t frame)
{
	return frames_get(fold->settings.frames, frame)->group;
}

/* Counts the functions of the sample, to tell how much their shares vary. N is not 0. */
static void fold_measure(const struct fold *fold, size_t n)
{
	struct batches *self = fold->settings.self, *children = fold->settings.children;

	batches_begin(self, fold->time_ns, fold->ticks);
	batches_count(self, fold_group(fold, fold->frames[n - 1]));
	if (!children)
		return;
	batches_begin(children, fold->time_ns, fold->ticks);
	for (size_t i = 0; i < n; i++)
		batches_count(children, fold_group(fold, fold->frames[i]));
}

/* --- instructions of sampled functions -------------------------------------------------------- */

/* Reads the code of FRAME, the function that the sample ended in. */
static void fold_read_code(struct fold *fold, const struct sample_vcpu *vcpu, uint32_t frame,
			   const struct name_answer *answer)
{
	const struct unwind_frame *innermost = &fold->stack.frames[0];
	struct os *os = fold->settings.os;
	bool user = innermost->flags & FRAME_USER;
	struct memory_root root;
	struct seen_sample sample = {
		.frame = frame,
		.name = answer,
		.address = innermost->address,
		.page = sample_get_code_frame(vcpu),
		.time_ns = fold->time_ns,
		.kernel = !user,
		.word_bytes = registers_word_bytes(&vcpu->regs, user),
		.memory = os ? os_get_memory(os) : NULL,
	};

	if (!sample.memory)
		return;
	if (user || !os_get_kernel_root(os, &root))
		root = walk_root(&vcpu->regs);
	sample.root = root;
	seen_code_add(fold->settings.code, &sample);
}

/* Counts the sample at its instruction. */
static void fold_count_address(struct fold *fold, const struct sample_vcpu *vcpu, uint32_t frame,
			       const struct name_answer *answer)
{
	frame = frame_get_function(frames_get(fold->settings.frames, frame), frame);
	if (!fold->settings.code || frame < N_FRAME_IDS || name_is_jit(answer) ||
	    fold->stack.frames[0].flags & FRAME_RETURN)
		return;
	addresses_add(fold->settings.addresses, frame, answer->distance, fold->time_ns,
		      fold->ticks);
	fold_read_code(fold, vcpu, frame, answer);
}

/* --- interpreted programs --------------------------------------------------------------------- */

/* The frame of the interpreter's loop, if only an address in it is known; otherwise FRAME_NONE. */
static uint32_t fold_find_loop(struct fold *fold)
{
	if (!fold->program.loop)
		return FRAME_NONE;
	return names_find(fold->settings.names, fold->user, fold->program.loop, FRAME_KIND_USERLAND,
			  true, 0)
		->frame;
}

/* Whether the frame ID is an interpreter's loop: LOOP, or one by its name. */
static bool fold_is_loop(const struct fold *fold, uint32_t id, uint32_t loop)
{
	const struct frame *frame = frames_get(fold->settings.frames, id);

	return frame->loop || frame_get_function(frame, id) == loop;
}

/*
 * Where the functions begin that the LOOP-th call of the interpreter's loop runs. 0 is the
 * innermost call. The call after the last one has no functions: the outermost call runs all that
 * are left.
 */
static size_t fold_find_program_start(const struct fold *fold, unsigned loop, unsigned n_loops)
{
	size_t at = 0;

	if (loop >= n_loops)
		return fold->program.n;
	for (; loop && at < fold->program.n; at++)
		loop -= fold->program.frames[at].outermost;
	return at;
}

/*
 * Pushes the program's functions from END - 1 down to START, outermost first; the innermost ones if
 * not all have room. N_LEFT frames of the stack come later. Returns how many frames there are then.
 */
static size_t fold_push_program(struct fold *fold, size_t n, size_t start, size_t end,
				unsigned n_left)
{
	size_t taken = n + n_left + FOLD_MAX_MARKS;
	size_t room = taken < SNAPSHOT_MAX_DEPTH ? SNAPSHOT_MAX_DEPTH - taken : 0;

	if (end - start > room)
		end = start + room;
	while (end > start)
		fold->frames[n++] = fold->program.frames[--end].frame;
	return n;
}

/* Pushes the functions that the LOOP-th call runs, as fold_push_program() does. */
static size_t fold_push_loop(struct fold *fold, size_t n, unsigned loop, unsigned n_loops,
			     unsigned n_left)
{
	return fold_push_program(fold, n, fold_find_program_start(fold, loop, n_loops),
				 fold_find_program_start(fold, loop + 1, n_loops), n_left);
}

/* Pushes ID, the frame I of the stack. Returns how many frames there are then. */
static size_t fold_push_one(struct fold *fold, size_t n, unsigned i, uint32_t id)
{
	fold->frames[n++] = id;
	if (fold->stack.frames[i].flags & FRAME_BROKEN)
		fold->frames[n++] = FRAME_TRUNCATED;
	return n;
}

/*
 * Names and pushes all frames of the stack, outermost first. Returns how many frames there are.
 * *ANSWER becomes that of the innermost frame, and stays as it is if the stack has none.
 */
static size_t fold_push_stack(struct fold *fold, size_t n, struct name_answer *answer)
{
	const struct name_answer *innermost = answer;

	for (unsigned i = fold->stack.n_frames; i > 0; i--) {
		innermost = fold_frame(fold, &fold->stack.frames[i - 1]);
		n = fold_push_one(fold, n, i - 1, innermost->frame);
	}
	*answer = *innermost;
	return n;
}

/* Names all frames of the stack, outermost first. *ANSWER: as for fold_push_stack(). */
static void fold_name_frames(struct fold *fold, struct name_answer *answer)
{
	const struct name_answer *innermost = answer;

	for (unsigned i = fold->stack.n_frames; i > 0; i--) {
		innermost = fold_frame(fold, &fold->stack.frames[i - 1]);
		fold->named[i - 1] = innermost->frame;
	}
	*answer = *innermost;
}

/*
 * Does what fold_push_stack() does, but pushes the program's functions in place of the
 * interpreter's loop. If the walk did not reach a loop, they are further out than all frames of the
 * walk. Frames of the kernel and of functions that the program called stay as they are.
 */
static size_t fold_push_merged(struct fold *fold, size_t n, struct name_answer *answer)
{
	uint32_t found = fold_find_loop(fold);
	unsigned n_loops = 0, loop;
	bool pushed = false;

	fold_name_frames(fold, answer);
	for (unsigned i = 0; i < fold->stack.n_frames; i++)
		n_loops += fold_is_loop(fold, fold->named[i], found);
	loop = n_loops;
	if (!n_loops)
		n = fold_push_loop(fold, n, 0, 1, fold->stack.n_frames);
	for (unsigned i = fold->stack.n_frames; i > 0; i--) {
		size_t before = n;

		pushed = fold_is_loop(fold, fold->named[i - 1], found);
		if (pushed)
			n = fold_push_loop(fold, n, --loop, n_loops, i - 1);
		pushed &= n > before;
		if (!pushed)
			n = fold_push_one(fold, n, i - 1, fold->named[i - 1]);
	}
	fold->ends_in_program = pushed;
	return n;
}

/*
 * Does what fold_push_stack() does, but pushes the program's functions in place of the frames that
 * run them. Other frames of the interpreter, such as one that runs a single instruction of a
 * function, are left out.
 */
static size_t fold_push_native(struct fold *fold, size_t n, struct name_answer *answer)
{
	size_t end = fold->program.n;
	bool pushed = false;

	fold_name_frames(fold, answer);
	for (unsigned i = fold->stack.n_frames; i > 0; i--) {
		size_t start = end - fold->program.counts[i - 1];
		uint32_t id = fold->named[i - 1];

		if (start < end)
			n = fold_push_program(fold, n, start, end, i - 1);
		else if (!pushed || !fold_is_loop(fold, id, FRAME_NONE))
			n = fold_push_one(fold, n, i - 1, id);
		pushed = start < end || (pushed && fold_is_loop(fold, id, FRAME_NONE));
		end = start;
	}
	fold->ends_in_program = pushed;
	return n;
}

/*
 * Names the stack: writes process, thread and functions to fold->frames, outermost first. The
 * functions are below [truncated] if the outermost one was not reached. Another [truncated] is
 * wherever frames in between are missing. Functions of an interpreted program take the place of the
 * interpreter's loop. Returns how many frames there are. *ANSWER belongs to the innermost one.
 */
static size_t fold_name_stack(struct fold *fold, struct name_answer *answer)
{
	const struct unwind_stack *stack = &fold->stack;
	size_t n = fold_push_task(fold);

	*answer = (struct name_answer){ .quality = NAME_UNKNOWN, .cause = UNKNOWN_NO_FRAME };
	fold->ends_in_program = false;
	if (!unwind_is_rooted(stack))
		fold->frames[n++] = FRAME_TRUNCATED;
	if (!fold->program.n)
		n = fold_push_stack(fold, n, answer);
	else if (fold->program.counts)
		n = fold_push_native(fold, n, answer);
	else
		n = fold_push_merged(fold, n, answer);
	if (fold->ends_in_program)
		answer->quality = NAME_SYMBOL;
	fold->counts.frames += stack->n_frames;
	fold_count_name(fold, answer);
	return n;
}

/* The entry of FRAME, or a free one, or the one with fewest ticks, which becomes free. */
static struct snapshot_call *fold_find_call(struct snapshot_calls *calls, uint32_t frame)
{
	struct snapshot_call *least = &calls->calls[0];

	for (unsigned i = 0; i < SNAPSHOT_MAX_CALLS; i++) {
		struct snapshot_call *call = &calls->calls[i];

		if (!(call->ticks > 0) || call->frame == frame)
			return call;
		if (call->ticks < least->ticks)
			least = call;
	}
	least->ticks = 0;
	return least;
}

/* The frame that names the hypercall at the stack's end: the last of N frames, or its caller. */
static uint32_t fold_name_call(const struct fold *fold, size_t n)
{
	const struct frames *frames = fold->settings.frames;

	if (n > 1 && frame_is_any_hypercall(frames_get(frames, fold->frames[n - 1])) &&
	    frame_is_function(frames_get(frames, fold->frames[n - 2])))
		return fold->frames[n - 2];
	return fold->frames[n - 1];
}

static void fold_count_call(struct fold *fold, unsigned vcpu)
{
	struct snapshot_call *call;
	size_t n = fold->n_frames;
	uint32_t frame;

	if (!n || !frames_get(fold->settings.frames, fold->frames[n - 1])->hypercall)
		return;
	frame = fold_name_call(fold, n);
	call = fold_find_call(&fold->calls[vcpu], frame);
	call->frame = frame;
	call->ticks += fold->ticks;
}

static void fold_add_stack(struct fold *fold, const struct sample_vcpu *vcpu,
			   struct snapshot_vcpu *states)
{
	const struct unwind_stack *stack = &fold->stack;
	struct name_answer answer;
	size_t n;

	if (fold->has_program && stack->parts[UNWIND_USER].walked)
		runtimes_find(fold->settings.runtimes, &fold->program);
	n = fold_name_stack(fold, &answer);
	fold->n_frames = n;
	states->last_frame = n > 0 ? fold->frames[n - 1] : FRAME_ROOT;
	fold_count_call(fold, vcpu->vcpu);
	profile_add(fold->settings.profile, fold->frames, n, fold->time_ns, 1, fold->ticks);
	if (fold->settings.log)
		fold_log(fold, vcpu, n);
	if (n)
		fold_measure(fold, n);
	if (stack->n_frames && !fold->ends_in_program && !(stack->frames[0].flags & FRAME_BROKEN))
		fold_count_address(fold, vcpu, fold->frames[n - 1], &answer);
}

/* --- samples ---------------------------------------------------------------------------------- */

/*
 * Finds whether the vCPU's user code runs an interpreted program. Only fold->user_whole says that a
 * system inside the guest has told whose code that is.
 */
static void fold_begin_program(struct fold *fold, const struct sample_vcpu *vcpu, bool asleep)
{
	struct memory *memory = fold->settings.os ? os_get_memory(fold->settings.os) : NULL;

	fold->program.n = 0;
	fold->has_program = false;
	if (!fold->user_whole || !fold->settings.runtimes || !memory)
		return;
	fold->running = (struct runtimes_sample){ .vcpu = vcpu,
						  .stack = &fold->stack,
						  .space = fold->user,
						  .memory = memory,
						  .root = sample_get_user_root(vcpu),
						  .time_ns = fold->time_ns,
						  .tgid = fold->task.tgid,
						  .thread_pointer = fold->task.thread_pointer,
						  .asleep = asleep,
						  .counts = &fold->counts,
						  .control = fold->settings.control };
	fold->has_program = runtimes_begin(fold->settings.runtimes, &fold->running);
}

static void fold_unwind(struct fold *fold, const struct sample_vcpu *vcpu)
{
	const struct unwind_program *program =
		fold->has_program ? runtimes_for_unwind(fold->settings.runtimes) : NULL;
	const struct unwind_spaces spaces = { .kernel = space_for_unwind(fold->kernel),
					      .user = space_for_unwind(fold->user),
					      .user_whole = fold->user_whole,
					      .user_ended = fold->task.ended,
					      .program = program };

	unwind_stack(vcpu, &spaces, fold->settings.how, &fold->stack);
}

/*
 * Whether a replay needs no more stack bytes than this walk has read. Not in a Linux guest: its
 * stacks also tell which task runs. Not after a guess: a replay may walk again with better tables.
 */
static bool fold_is_walked_whole(const struct fold *fold)
{
	const struct unwind_stack *stack = &fold->stack;
	const struct os *os = fold->settings.os;

	if (stack->stop != UNWIND_COMPLETE || !symbols_count(fold->settings.symbols) ||
	    (os && os_is_known(os)))
		return false;
	for (unsigned i = 0; i < stack->n_frames; i++)
		if (stack->frames[i].by == UNWIND_BY_GUESS || stack->frames[i].flags & FRAME_BROKEN)
			return false;
	return true;
}

/* Adds a vCPU that ran, or wanted to run. Returns what fold_add() does. */
static bool fold_add_busy(struct fold *fold, const struct sample_vcpu *vcpu)
{
	struct snapshot_vcpu *states = &fold->vcpus[vcpu->vcpu];
	struct resolver_counts *counts = &fold->counts;

	fold_begin_program(fold, vcpu, false);
	fold_unwind(fold, vcpu);
	if (work_is_over(fold->settings.work))
		return false;
	fold->walked_whole = fold_is_walked_whole(fold);
	fold_learn(fold, vcpu);
	if (fold_is_idle(fold)) {
		counts->idle++;
		fold_count_state(fold, states, VCPU_BLOCKED);
		return true;
	}
	fold_count_state(fold, states, vcpu->state);
	counts->samples++;
	counts->weight += fold->ticks;
	counts->user += vcpu->user;
	if (vcpu->user && vcpu->state == VCPU_RUNNING)
		states->user += fold->ticks;
	fold_count_stack(fold);
	fold_add_stack(fold, vcpu, states);
	return true;
}

bool fold_add(struct fold *fold, const struct sample_vcpu *vcpu, uint64_t time_ns, double ticks)
{
	if (vcpu->vcpu >= fold->n_vcpus)
		fold->n_vcpus = vcpu->vcpu + 1U;
	fold->walked_whole = false;
	fold->n_frames = 0;
	fold->time_ns = time_ns;
	fold->ticks = ticks;
	if (!fold_find_spaces(fold, vcpu)) {
		fold->counts.early++;
		return true;
	}
	if (vcpu->state >= VCPU_RUNNABLE)
		return fold_add_busy(fold, vcpu);
	fold_count_state(fold, &fold->vcpus[vcpu->vcpu], vcpu->state);
	return true;
}

bool fold_prepare(struct fold *fold, const struct sample_vcpu *vcpu, uint64_t now_ns)
{
	fold->time_ns = now_ns;
	if (vcpu->state < VCPU_RUNNABLE || !fold_find_spaces(fold, vcpu) || !fold->user_whole)
		return false;
	fold_begin_program(fold, vcpu, false);
	return true;
}

size_t fold_find_frames(struct fold *fold, const struct os_task *task,
			const struct sample_vcpu *vcpu, double ticks)
{
	struct name_answer answer;

	fold->ticks = ticks;
	fold->task = *task;
	fold->kernel = os_get_kernel(fold->settings.os);
	fold->user = task->user;
	fold->user_whole = task->user;
	fold_begin_program(fold, vcpu, true);
	fold_unwind(fold, vcpu);
	fold_count_stack(fold);
	if (fold->has_program && fold->stack.parts[UNWIND_USER].walked)
		runtimes_find(fold->settings.runtimes, &fold->program);
	return fold_name_stack(fold, &answer);
}

const uint64_t *fold_get_reached(const struct fold *fold)
{
	return fold->walked_whole ? fold->stack.reached : NULL;
}

void fold_reset(struct fold *fold)
{
	fold->counts = (struct resolver_counts){ 0 };
	memset(fold->vcpus, 0, fold->n_vcpus * sizeof(fold->vcpus[0]));
	memset(fold->calls, 0, fold->n_vcpus * sizeof(fold->calls[0]));
	fold->n_vcpus = 0;
}
