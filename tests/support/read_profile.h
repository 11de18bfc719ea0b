/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For tests of import/: a profile is read out of bytes, and written as a folded file. */
#ifndef TESTS_READ_PROFILE_H
#define TESTS_READ_PROFILE_H

#include <stdio.h>
#include <stdlib.h>

#include "tests/support/exported.h"
#include "xtop/import/import.h"
#include "xtop/symbol/symbol.h"

struct read {
	struct frames *frames;
	struct import *import;
	struct snapshot *snapshot; /* NULL after an error */
	struct xtop_error *error;
};

/* N_HEAD bytes, at most 16, are read before the import begins, as pipeline/ does. */
static inline struct read read_profile(const void *bytes, size_t n, size_t n_head,
				       struct import_settings settings)
{
	FILE *file = tmpfile();
	struct read read = { .frames = NULL };
	char head[16];

	if (!file || fwrite(bytes, 1, n, file) != n)
		abort();
	rewind(file);
	n_head = fread(head, 1, n_head, file);
	must(frames_create(symbol_demangle, &read.frames));
	settings.frames = read.frames;
	read.error = import_read(file, head, n_head, &settings, &read.import);
	if (!read.error)
		must(import_snapshot(read.import, &read.snapshot));
	fclose(file);
	return read;
}

static inline void read_close(struct read *read)
{
	error_destroy(read->error);
	snapshot_destroy(read->snapshot);
	import_destroy(read->import);
	frames_destroy(read->frames);
}

static inline char *folded_text(const struct snapshot *snapshot, bool addresses)
{
	return exported_text(snapshot, &(struct export_settings){ .addresses = addresses },
			     export_folded);
}

#endif
