/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the resolver takes for the functions of one stack whose names it knows: the stacks that
 * tests/language/tapes has, of programs whose functions run on the thread's own stack. For each
 * frame its caller and its functions are found, and each function is checked to be the known one. The
 * pages that are read have been copied before.
 *
 *	make bench, or tests/bench/bench_languages [TAPE...]
 *	valgrind --tool=callgrind --toggle-collect=bench_stack tests/bench/bench_languages TAPE
 */
#include "config.h"

#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/tape.h"
#include "xtop/base/clock.h"

#define TURNS 1000

/* Does what the resolver does for a stack. Returns the number of its functions. */
__attribute__((noinline)) static size_t bench_stack(const struct runtime_process *process,
						    const struct runtime_native *frames, size_t n)
{
	static struct runtime_frame found[RUNTIME_MAX_FRAMES];
	struct runtime_caller caller;
	size_t n_functions = 0;
	uint64_t check;

	for (size_t i = 0; i < n; i++)
		runtime_find_caller(process, &frames[i], &caller);
	for (size_t i = 0; i < n; i++) {
		size_t n_found =
			runtime_read_native(process, &frames[i], found, RUNTIME_MAX_FRAMES);

		for (size_t k = 0; k < n_found; k++)
			n_functions += runtime_check_code(process, &found[k], &check);
	}
	return n_functions;
}

static void bench_tape(const char *path)
{
	const struct runtime_native *frames;
	struct runtime_process process;
	struct live_process live;
	uint64_t best_ns = UINT64_MAX;
	size_t n, n_functions = 0;
	struct tape *tape;

	if (!tape_open(path, &live, &tape)) {
		fprintf(stderr, "%s is no tape\n", path);
		return;
	}
	n = tape_frames(tape, &frames);
	process = (struct runtime_process){ .runtime = live.runtime,
					    .bias = live.bias,
					    .memory = live.memory,
					    .root = live.root };
	if (n && runtime_prepare(&process)) {
		for (unsigned i = 0; i < TURNS; i++) {
			uint64_t start_ns = clock_now_ns(), spent_ns;

			n_functions = bench_stack(&process, frames, n);
			spent_ns = clock_now_ns() - start_ns;
			if (spent_ns < best_ns)
				best_ns = spent_ns;
		}
		printf("%-20s %3zu frames, %3zu functions: %7.2f us\n", tape_program(tape), n,
		       n_functions, (double)best_ns / 1000);
	}
	free(process.state);
	tape_close(tape, &live);
}

int main(int argc, char **argv)
{
	const char *top = getenv("top_srcdir");
	char pattern[512];
	glob_t found;

	for (int i = 1; i < argc; i++)
		bench_tape(argv[i]);
	if (argc > 1)
		return 0;
	snprintf(pattern, sizeof(pattern), "%s/tests/language/tapes/*.tape", top ? top : ".");
	if (glob(pattern, 0, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc; i++)
			bench_tape(found.gl_pathv[i]);
	globfree(&found);
	return 0;
}
