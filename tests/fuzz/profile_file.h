/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the fuzzers of profile files share: reads a file, and looks at the snapshot. */
#ifndef FUZZ_PROFILE_FILE_H
#define FUZZ_PROFILE_FILE_H

#include <math.h>

#include "fuzz.h"
#include "tests/fuzz/host.h"
#include "tests/support/program.h"
#include "xtop/import/code_names.h"
#include "xtop/import/import.h"
#include "xtop/supervise/host_files.h"
#include "xtop/symbol/symbol.h"

static void write_host_file(const char *path, const void *bytes, size_t size_bytes)
{
	FILE *file = fopen(path, "w");

	fuzz_must(file && fwrite(bytes, size_bytes, 1, file) == 1 && !fclose(file), "dom0 has room");
}

/* The files of -k: a program, whose build-id has eight bytes of 1, and symbols of a kernel. */
static const struct code_names *profile_names(void)
{
	static const char symbols[] = "0000000000001000 T early\nffffffff81000000 T start\n";
	static char paths[2][64];
	static struct code_names *names;
	struct host_files files = { 0 };
	struct program program;

	if (names)
		return names;
	host_make();
	strcpy(paths[0], host_path("/program"));
	strcpy(paths[1], host_path("/vmlinux"));
	program_make(&program, 0, "function", 1);
	write_host_file(paths[0], &program, sizeof(program));
	write_host_file(paths[1], symbols, sizeof(symbols) - 1);
	fuzz_succeed(inputs_create(&files.inputs));
	fuzz_succeed(code_names_create(&names));
	for (unsigned i = 0; i < 2; i++) {
		fuzz_succeed(inputs_add(files.inputs, paths[i]));
		fuzz_succeed(code_names_add_file(names, &files, paths[i]));
	}
	inputs_destroy(files.inputs);
	return names;
}

/* The tree adds up. */
static inline void check_snapshot(const struct snapshot *snapshot)
{
	double self = 0;

	for (size_t i = 0; i < snapshot->n_nodes; i++) {
		const struct snapshot_node *node = &snapshot->nodes[i];

		fuzz_must(node->frame < snapshot->n_frames, "a frame is there");
		fuzz_must(node->self_ticks >= 0, "a weight is not negative");
		self += node->self_ticks;
	}
	fuzz_must(fabs(self - snapshot->total_weight) <= 1e-9 * self, "weights add up");
	fuzz_must(snapshot->resolver.samples > 0, "there are samples");
}

/* Reads a file of HEAD and the SIZE_BYTES bytes at BYTES, through a pipe's eyes: without its start. */
static inline void read_profile_file(const char *head, const uint8_t *bytes, size_t size_bytes)
{
	size_t n_head = strlen(head), n = n_head + size_bytes, taken = n < 8 ? n : 8;
	struct import *import = NULL;
	struct snapshot *snapshot;
	struct frames *frames;
	struct xtop_error *error;
	char *all = malloc(n + 1);
	FILE *file;

	if (!all)
		abort();
	memcpy(all, head, n_head);
	memcpy(all + n_head, bytes, size_bytes);
	file = fmemopen(all, n ? n : 1, "r");
	if (!file || fseek(file, (long)taken, SEEK_SET))
		abort();
	fuzz_succeed(frames_create(symbol_demangle, &frames));
	error = import_read(
		file, all, taken,
		&(struct import_settings){ .frames = frames, .names = profile_names() }, &import);
	if (!error) {
		fuzz_succeed(import_snapshot(import, &snapshot));
		check_snapshot(snapshot);
		snapshot_destroy(snapshot);
	}
	error_destroy(error);
	import_destroy(import);
	frames_destroy(frames);
	fclose(file);
	free(all);
}

#endif
