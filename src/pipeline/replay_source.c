/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens what -r names; see replay_source.h. */
#include "config.h"

#include "pipeline/replay_source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xtop/base/cleanup.h"
#include "xtop/base/unpack.h"
#include "xtop/supervise/host_files.h"

#define REPLAY_SOURCE_HEAD_BYTES 8 /* bytes that tell whether the file is a recording */

/* Puts the baseline's frames into the table first, as resolver_translate_baseline() does. */
static struct xtop_error *replay_source_take_baseline(const struct snapshot *baseline,
						      struct replay_source *replay)
{
	if (!baseline)
		return NULL;
	frames_set_identity(replay->frames, FRAMES_BY_NAME);
	return snapshot_translate(baseline, replay->frames, &replay->baseline);
}

static struct xtop_error *replay_source_read_names(const struct replay_settings *settings,
						   struct replay_source *replay)
{
	struct xtop_error *error = NULL;

	if (settings->n_symbols)
		error = code_names_create(&replay->names);
	for (size_t i = 0; i < settings->n_symbols && !error; i++)
		error = code_names_add_file(replay->names, settings->files, settings->symbols[i]);
	return error;
}

static struct xtop_error *replay_source_import(FILE *file, const char *head, size_t n_head,
					       const struct replay_settings *settings,
					       struct replay_source *replay)
{
	const struct import_settings import = { .frames = replay->frames,
						.strict = settings->strict,
						.value = settings->value,
						.names = replay->names };

	replay->n_reads++;
	return import_read(file, head, n_head, &import, &replay->import);
}

static struct xtop_error *replay_source_read_profile(FILE *file, const char *head, size_t n_head,
						     const struct replay_settings *settings,
						     struct replay_source *replay)
{
	struct xtop_error *error = frames_create(symbol_demangle, &replay->frames);

	if (!error)
		error = replay_source_take_baseline(settings->baseline, replay);
	if (!error)
		error = replay_source_read_names(settings, replay);
	return error ? error : replay_source_import(file, head, n_head, settings, replay);
}

struct xtop_error *replay_source_read_next_value(const char *path,
						 const struct replay_settings *settings,
						 struct replay_source *replay)
{
	const char *next = import_next_value(replay->import);
	_cleanup_free_ char *value = next ? strdup(next) : NULL;
	_cleanup_close_ int fd = inputs_open(settings->files->inputs, path);
	_cleanup_fclose_ FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	struct import *before = replay->import;
	struct replay_settings again = *settings;
	char head[REPLAY_SOURCE_HEAD_BYTES];
	struct xtop_error *error;
	size_t n;

	if (file)
		fd = -1;
	if (!next)
		return error_create("the profile has no other values");
	if (!file)
		return error_create_errno(errno, "cannot read '%s'", path);
	if (fseek(file, 0, SEEK_SET) < 0)
		return error_create("the profile came through a pipe: choose values with --value");
	if (!value)
		return error_create("out of memory");
	again.value = value;
	n = fread(head, 1, sizeof(head), file);
	error = replay_source_import(file, head, n, &again, replay);
	if (error)
		return error;
	import_destroy(before);
	free(replay->value);
	replay->value = no_cleanup_ptr(value);
	return NULL;
}

/*
 * If the file is a packed recording, replaces *FILEP by a stream of the unpacked recording, and
 * HEAD by its first bytes. Readers of profiles unpack for themselves.
 */
static void replay_source_unpack(FILE **filep, char head[REPLAY_SOURCE_HEAD_BYTES])
{
	_cleanup_fclose_ FILE *unpacked = unpack_open(fileno(*filep));
	char unpacked_head[REPLAY_SOURCE_HEAD_BYTES];

	if (!unpacked ||
	    fread(unpacked_head, 1, sizeof(unpacked_head), unpacked) < sizeof(unpacked_head) ||
	    !recording_is_head(unpacked_head, sizeof(unpacked_head)))
		return;
	memcpy(head, unpacked_head, sizeof(unpacked_head));
	fclose(*filep);
	*filep = no_cleanup_ptr(unpacked);
}

struct xtop_error *replay_source_open(const char *path, struct symbols *symbols,
				      const struct replay_settings *settings,
				      struct replay_source *replay)
{
	_cleanup_close_ int fd = inputs_open(settings->files->inputs, path);
	_cleanup_fclose_ FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	char head[REPLAY_SOURCE_HEAD_BYTES];
	size_t n;

	if (!file)
		return error_create_errno(errno, "cannot read '%s'", path);
	fd = -1;
	n = fread(head, 1, sizeof(head), file);
	if (ferror(file))
		return error_create_errno(errno, "cannot read '%s'", path);
	replay_source_unpack(&file, head);
	if (recording_is_head(head, n))
		return error_wrap(recording_reader_adopt(no_cleanup_ptr(file), head, n, symbols,
							 &replay->reader),
				  "recording '%s'", path);
	return error_wrap(replay_source_read_profile(file, head, n, settings, replay), "'%s'",
			  path);
}

void replay_source_close(struct replay_source *replay)
{
	recording_reader_close(replay->reader);
	snapshot_destroy(replay->baseline);
	import_destroy(replay->import);
	code_names_destroy(replay->names);
	free(replay->value);
	frames_destroy(replay->frames);
}
