/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compares the functions that xtop reads in the memory of a live program with those that the program
 * has printed: a line for each, innermost first, "[py] function file first-line line" or the
 * beginning of that, and then a line END. After that the program waits.
 */
#ifndef TOLD_STACK_H
#define TOLD_STACK_H

#include <stdlib.h>
#include <unistd.h>

#include "language/language_ops.h"
#include "tests/support/live_process.h"
#include "tests/support/tape.h"
#include "tests/support/tap.h"

#define TOLD_N_WORDS ((SAMPLE_STACK_LIMIT_BYTES + 4096) / sizeof(uint64_t))

/* Whether TOLD is the beginning of the line SEEN, up to the end of a word; * is any word. */
static inline bool told_is_line(const char *told, const char *seen)
{
	for (; *told && *told != '\n'; told++) {
		if (*told == '*') {
			seen += strcspn(seen, " \n");
			continue;
		}
		if (*told != *seen)
			return false;
		seen++;
	}
	return *seen == ' ' || *seen == '\n';
}

/* Whether each line of TOLD is the same line of SEEN. */
static inline bool told_is_same(const char *told, const char *seen)
{
	while (*told && *seen) {
		if (!told_is_line(told, seen))
			return false;
		told += strcspn(told, "\n") + 1;
		seen += strcspn(seen, "\n") + 1;
	}
	return !*told && !*seen;
}

/*
 * Makes VCPU's piece, whose nodes have N_WORDS, one of an old recording: with the first N_BEFORE
 * words of each node.
 */
static inline void told_make_old(const struct sample_vcpu *vcpu, size_t n_words, size_t n_before)
{
	struct sample_stack *piece = (struct sample_stack *)sample_first_stack(vcpu);
	uint64_t *words = (uint64_t *)(piece + 1);
	size_t n = piece->size_bytes / (n_words * sizeof(*words));

	for (size_t i = 0; i < n; i++)
		memmove(words + i * n_before, words + i * n_words, n_before * sizeof(*words));
	piece->size_bytes = (uint32_t)(n * n_before * sizeof(*words));
	piece->address = 0;
}

/* Whether an old recording with the piece of VCPU has these N FRAMES. */
static inline bool told_is_same_in_old(const struct runtime_process *process,
				       const struct sample_vcpu *vcpu,
				       const struct runtime_frame *frames, size_t n)
{
	const struct language_ops *ops = process->runtime->ops;
	static struct runtime_frame old[RUNTIME_MAX_FRAMES];

	told_make_old(vcpu, ops->n_words, ops->n_words_before ? ops->n_words_before : ops->n_words);
	if (runtime_read_frames(process, vcpu, old) != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (old[i].code != frames[i].code || old[i].outermost != frames[i].outermost ||
		    (old[i].position && old[i].position != frames[i].position))
			return false;
	return true;
}

static inline void told_check_stack(struct live_process *live, const char *version,
				    const char *told)
{
	struct runtime_process process = { .runtime = live->runtime,
					   .bias = live->bias,
					   .memory = live->memory,
					   .root = live->root };
	static uint64_t buffer[TOLD_N_WORDS];
	static struct runtime_frame frames[RUNTIME_MAX_FRAMES];
	static struct runtime_frame followed[RUNTIME_MAX_FRAMES];
	const struct sample_vcpu *vcpu;
	struct recipe recipe;
	char seen[8192] = "";
	size_t n, n_followed, length = 0, named = 0;

	if (!check(live->runtime, "%s: its program or a library has the runtime", version))
		return;
	if (!check(runtime_find_recipe(&process, live->thread_pointer, &recipe),
		   "%s: the thread has a recipe", version))
		return;
	check(recipe_check(&recipe), "%s: the sampler would follow the recipe", version);
	vcpu = live_process_copy(live, &recipe, buffer);
	n = runtime_read_frames(&process, vcpu, frames);
	for (size_t i = 0; i < n; i++) {
		struct runtime_name name = { .line = 0 };
		uint64_t word;

		named += runtime_check_code(&process, &frames[i], &word) &&
			 runtime_read_name(&process, &frames[i], &name);
		length += (size_t)snprintf(seen + length, sizeof(seen) - length, "%s %s %u %u\n",
					   name.function, name.file, name.line,
					   runtime_read_line(&process, &frames[i]));
	}
	check(named == n, "%s: all %zu frames have a name", version, n);
	n_followed = runtime_follow_frames(&process, &recipe, live->thread_pointer, followed);
	for (size_t i = 0; i < n && n_followed == n; i++)
		if (followed[i].code != frames[i].code || followed[i].owner != frames[i].owner ||
		    followed[i].outermost != frames[i].outermost)
			n_followed = 0;
	check(told_is_same_in_old(&process, vcpu, frames, n),
	      "%s: an old recording has the same frames", version);
	check(n_followed == n, "%s: a look at the sleeping thread finds the same frames", version);
	check(n > 0 && frames[n - 1].outermost, "%s: the outermost frame is an entry", version);
	if (!check(told_is_same(told, seen), "%s: all functions are the program's", version))
		printf("# seen:\n%s# told:\n%s", seen, told);
}

/*
 * Starts ARGV, and reads into TOLD what it prints up to its END; live_process_end() ends it. False:
 * there is no such program, or it has not come so far and was ended.
 */
static inline bool told_start(struct live_process *live, char *const argv[], char *told,
			      size_t capacity)
{
	if (!live_process_start(live, argv))
		return false;
	if (live_process_await(live, told, capacity))
		return true;
	printf("# %s: not on this machine\n", argv[0]);
	live_process_end(live);
	return false;
}

typedef void told_check_fn(struct live_process *live, const char *version, const char *told);

/*
 * Starts ARGV, and lets CHECK_STACK compare its stack. VERSION is for the labels. False: there is no
 * such program.
 */
static inline bool told_check_program_by(told_check_fn *check_stack, char *const argv[],
					 const char *version)
{
	struct live_process live;
	char told[8192];

	if (!told_start(&live, argv, told, sizeof(told)))
		return false;
	check_stack(&live, version, told);
	live_process_end(&live);
	return true;
}

/* told_check_stack(), and writes a tape of what it reads to the folder XTOP_TAPES. */
static inline void told_make_tape(struct live_process *live, const char *version, const char *told)
{
	struct tape *tape = live->runtime ? tape_start(live) : NULL;

	told_check_stack(live, version, told);
	if (tape)
		tape_stop(tape, live, getenv("XTOP_TAPES"), version, told);
}

/* told_check_program_by() for a language whose frames a recipe copies. */
static inline bool told_check_program(char *const argv[], const char *version)
{
	return told_check_program_by(getenv("XTOP_TAPES") ? told_make_tape : told_check_stack, argv,
				     version);
}

/* Whether a folder of PATH has the program NAME. */
static inline bool told_is_installed(const char *name)
{
	const char *folder = getenv("PATH");
	char path[512];

	while (folder && *folder) {
		size_t n = strcspn(folder, ":");

		snprintf(path, sizeof(path), "%.*s/%s", (int)n, folder, name);
		if (access(path, X_OK) == 0)
			return true;
		folder += n + (folder[n] == ':');
	}
	return false;
}

/*
 * The end of a test whose usual program is NAME: it was tried if it is installed. Without it, as
 * where thread pointers are not read, the test is skipped.
 */
static inline int told_done(const char *name)
{
	if (!tap_points && !(told_is_installed(name) && LIVE_PROCESS_WORKS)) {
		printf("1..0 # SKIP no %s that can be read here\n", name);
		return 0;
	}
	check(tap_points > 0, "%s was tried", name);
	return tap_done();
}

#endif
