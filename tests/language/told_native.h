/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * told_stack.h for languages whose functions run on the threads' own stacks: the process's stack is
 * unwound, and each of its frames may be functions of the program. A process of another language
 * must be asleep.
 */
#ifndef TOLD_NATIVE_H
#define TOLD_NATIVE_H

#include <dirent.h>

#include "profile/runtimes.h"
#include "tests/language/told_stack.h"
#include "tests/support/live_stack.h"
#include "tests/support/must.h"
#include "xtop/base/clock.h"

#define TOLD_LOOKS 100

/* What reads the functions of a process's threads. */
struct told_native {
	struct space *space;
	struct runtimes *runtimes;
	struct frames *frames;
	struct unwind_stack stack; /* the stack that was copied last */
	struct program_stack program;
	const struct sample_vcpu *vcpu;
	uint64_t stopped_ns;                /* time when the stack was copied; 0: now */
	struct runtime_process running;     /* what lines are asked of */
	uint32_t lines[RUNTIME_MAX_FRAMES]; /* that the functions execute; 0: not known */
};

/* The thread that runs the main() of a Java program: the launcher makes it first. */
static inline pid_t told_find_main_thread(pid_t pid)
{
	char path[64];
	struct dirent *entry;
	pid_t least = 0;
	DIR *stream;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	stream = opendir(path);
	while (stream && (entry = readdir(stream))) {
		pid_t thread = atoi(entry->d_name);

		if (thread > pid && (!least || thread < least))
			least = thread;
	}
	if (stream)
		closedir(stream);
	return least;
}

static inline void told_native_init(struct told_native *native, const struct live_process *live)
{
	native->space = live_stack_create_space(live);
	must(frames_create(NULL, &native->frames));
	must(runtimes_create(native->frames, RUNTIMES_NO_LINES, &native->runtimes));
	native->running = (struct runtime_process){ .runtime = live->runtime,
						    .bias = live->bias,
						    .memory = live->memory,
						    .root = live->root };
}

static inline void told_native_deinit(struct told_native *native)
{
	free(native->running.state);
	runtimes_destroy(native->runtimes);
	frames_destroy(native->frames);
	space_destroy(native->space);
}

/* What a language is asked about frame I of the stack. */
static inline struct runtime_native told_native_frame(const struct told_native *native, unsigned i)
{
	const struct unwind_frame *frame = &native->stack.frames[i];
	const struct mapping *mapping = space_find(native->space, unwind_frame_code(frame));

	return (struct runtime_native){
		.vcpu = native->vcpu,
		.address = frame->address,
		.frame_pointer = frame->frame_pointer,
		.interrupted = !(frame->flags & FRAME_RETURN),
		.compiled = mapping && mapping->kind == MAPPING_ANONYMOUS,
		.linked = true,
	};
}

/* Reads the line of each function. */
static inline void told_native_read_lines(struct told_native *native)
{
	static struct runtime_frame found[RUNTIME_MAX_FRAMES];
	size_t n = 0;

	if (!native->running.state && !runtime_prepare(&native->running))
		return;
	for (unsigned i = 0; i < native->stack.n_frames && n < native->program.n; i++) {
		struct runtime_native place = told_native_frame(native, i);

		if (!native->program.counts[i])
			continue;
		runtime_read_native(&native->running, &place, found, native->program.counts[i]);
		for (unsigned k = 0; k < native->program.counts[i]; k++)
			native->lines[n++] = runtime_read_line(&native->running, &found[k]);
	}
}

/* Finds the functions of the stack that VCPU has copied. */
static inline bool told_native_follow(struct told_native *native, const struct live_process *live,
				      const struct sample_vcpu *vcpu)
{
	struct resolver_counts counts = { 0 };
	const struct runtimes_sample sample = { .vcpu = vcpu,
						.stack = &native->stack,
						.space = native->space,
						.memory = live->memory,
						.root = live->root,
						.thread_pointer = live->thread_pointer,
						.time_ns = native->stopped_ns ? native->stopped_ns
									      : clock_now_ns(),
						.tgid = (uint32_t)live->pid,
						.asleep = !runtime_is_native(live->runtime),
						.counts = &counts };
	struct unwind_spaces spaces = { .user = space_for_unwind(native->space),
					.user_whole = true };

	native->vcpu = vcpu;
	native->program.n = 0;
	if (!vcpu || !runtimes_begin(native->runtimes, &sample))
		return false;
	spaces.program = runtimes_for_unwind(native->runtimes);
	unwind_stack(vcpu, &spaces, UNWIND_AUTO, &native->stack);
	runtimes_find(native->runtimes, &native->program);
	return true;
}

/* Copies the stack of THREAD, and finds its functions. False: it cannot be copied. */
static inline bool told_native_look(struct told_native *native, const struct live_process *live,
				    pid_t thread)
{
	static uint64_t buffer[LIVE_STACK_BYTES / sizeof(uint64_t)];
	const struct sample_vcpu *vcpu = live_stack_copy(live, thread, buffer);

	memory_refresh(live->memory);
	return told_native_follow(native, live, vcpu);
}

/* Writes "NAME FILE FIRST-LINE LINE" for each function whose name has NEEDED in it. */
static inline void told_native_write(const struct told_native *native, const char *needed,
				     char *text, size_t capacity)
{
	size_t length = 0;

	*text = '\0';
	for (size_t i = 0; i < native->program.n && length < capacity; i++) {
		const struct frame *frame =
			frames_get(native->frames, native->program.frames[i].frame);

		if (!strstr(frame->name, needed))
			continue;
		length += (size_t)snprintf(text + length, capacity - length, "%s %s %llu %u\n",
					   frame->name, frame->module,
					   (unsigned long long)frame->address, native->lines[i]);
	}
}

/*
 * Compares the functions of THREAD whose names have NEEDED in them. Looks again for a while, until
 * the thread has come to the function in which it stays.
 */
static inline void told_check_thread(struct live_process *live, pid_t thread, const char *needed,
				     const char *version, const char *told)
{
	static struct told_native native;
	char seen[8192] = "";
	bool looked = false, is_same = false;

	told_native_init(&native, live);
	for (unsigned i = 0; i < TOLD_LOOKS && !is_same; i++) {
		if (i)
			usleep(50000);
		looked = told_native_look(&native, live, thread);
		told_native_read_lines(&native);
		told_native_write(&native, needed, seen, sizeof(seen));
		is_same = told_is_same(told, seen);
	}
	check(looked, "%s: its stack was copied", version);
	check(native.stack.stop == UNWIND_COMPLETE, "%s: its stack is whole", version);
	if (!check(is_same, "%s: all functions are the program's", version))
		printf("# seen:\n%s# told:\n%s", seen, told);
	told_native_deinit(&native);
}

static inline void told_check_native(struct live_process *live, const char *version,
				     const char *told)
{
	told_check_thread(live, live->pid, "", version, told);
}

/*
 * Describes the frames of the stack that have the first N_OWN functions whose names have NEEDED in
 * them. *N_FUNCTIONS becomes how many functions these frames have.
 */
static inline size_t told_list_frames(const struct told_native *native, size_t n_own,
				      const char *needed,
				      struct runtime_native frames[UNWIND_MAX_FRAMES],
				      size_t *n_functions)
{
	const struct program_frame *function = native->program.frames;
	size_t n = 0;

	*n_functions = 0;
	for (unsigned i = 0; i < native->stack.n_frames && native->program.n; i++) {
		unsigned count = native->program.counts[i];

		if (count && strstr(frames_get(native->frames, function->frame)->name, needed)) {
			if (*n_functions + count > n_own)
				break;
			*n_functions += count;
			frames[n++] = told_native_frame(native, i);
		}
		function += count;
	}
	return n;
}

/* Compares the functions of the FRAMES of a tape. */
static inline void told_check_tape(const struct live_process *live,
				   const struct runtime_native *frames, size_t n,
				   const char *version, const char *told)
{
	static struct runtime_frame found[RUNTIME_MAX_FRAMES];
	struct runtime_process process = { .runtime = live->runtime,
					   .bias = live->bias,
					   .memory = live->memory,
					   .root = live->root };
	struct runtime_name name;
	char seen[8192] = "";
	size_t length = 0;

	check(runtime_prepare(&process), "%s: it is prepared", version);
	for (size_t i = 0; i < n; i++) {
		size_t n_found =
			runtime_read_native(&process, &frames[i], found, RUNTIME_MAX_FRAMES);

		for (size_t k = 0; k < n_found; k++)
			if (runtime_read_name(&process, &found[k], &name))
				length += (size_t)snprintf(seen + length, sizeof(seen) - length,
							   "%s %s %u %u\n", name.function,
							   name.file, name.line,
							   runtime_read_line(&process, &found[k]));
	}
	if (!check(told_is_same(told, seen), "%s: all functions are the program's", version))
		printf("# seen:\n%s# told:\n%s", seen, told);
	free(process.state);
}

/* How many lines of TOLD are of the program's own text, or of functions of V8. */
static inline size_t told_count_own(const char *told)
{
	size_t n = 0;

	for (; *told; told += strcspn(told, "\n") + 1, n++)
		if (!told_is_line("* * [eval] *", told) && !told_is_line("* * [eval]", told) &&
		    !told_is_line("* * ", told))
			break;
	return n;
}

/*
 * Writes a tape of the first N_OWN functions of THREAD whose names have NEEDED in them to the folder
 * XTOP_TAPES.
 */
static inline void told_make_thread_tape(struct live_process *live, pid_t thread, size_t n_own,
					 const char *needed, const char *version, const char *told)
{
	static struct runtime_native frames[UNWIND_MAX_FRAMES];
	static struct told_native native;
	size_t n_functions = 0, n = 0, length = 0;
	struct tape *tape;
	char own[8192];

	told_native_init(&native, live);
	if (told_native_look(&native, live, thread))
		n = told_list_frames(&native, n_own, needed, frames, &n_functions);
	for (size_t i = 0; i < n_functions; i++)
		length += strcspn(told + length, "\n") + 1;
	snprintf(own, sizeof(own), "%.*s", (int)length, told);
	tape = tape_start(live);
	if (n)
		tape_keep_stack(tape, native.vcpu, frames[n - 1].frame_pointer + 16, frames, n);
	told_check_tape(live, frames, n, version, own);
	told_native_deinit(&native);
	tape_stop(tape, live, getenv("XTOP_TAPES"), version, own);
}

static inline void told_make_native_tape(struct live_process *live, const char *version,
					 const char *told)
{
	told_make_thread_tape(live, live->pid, told_count_own(told), "", version, told);
}

#endif
