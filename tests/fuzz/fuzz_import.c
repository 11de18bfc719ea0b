/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Profiles made elsewhere: folded stacks and pprof, compressed or not. */
#include "config.h"

#include "fuzz.h"
#include "xtop/import/import.h"
#include "xtop/symbol/symbol.h"

/* The tree adds up. */
static void check_snapshot(const struct snapshot *snapshot)
{
	double self = 0;

	for (size_t i = 0; i < snapshot->n_nodes; i++) {
		const struct snapshot_node *node = &snapshot->nodes[i];

		fuzz_must(node->frame < snapshot->n_frames, "a frame is there");
		fuzz_must(node->self_ticks >= 0, "a weight is not negative");
		self += node->self_ticks;
	}
	fuzz_must(self == snapshot->total_weight, "weights add up");
	fuzz_must(snapshot->resolver.samples > 0, "there are samples");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
	size_t n_head = size_bytes < 8 ? size_bytes : 8;
	struct import *import = NULL;
	struct snapshot *snapshot;
	struct frames *frames;
	struct xtop_error *error;
	FILE *file = fmemopen((void *)bytes, size_bytes ? size_bytes : 1, "r");

	if (!file || fseek(file, (long)n_head, SEEK_SET))
		abort();
	fuzz_succeed(frames_create(symbol_demangle, &frames));
	error = import_read(file, bytes, n_head, &(struct import_settings){ .frames = frames },
			    &import);
	if (!error) {
		fuzz_succeed(import_snapshot(import, &snapshot));
		check_snapshot(snapshot);
		snapshot_destroy(snapshot);
	}
	error_destroy(error);
	import_destroy(import);
	frames_destroy(frames);
	fclose(file);
	return 0;
}
