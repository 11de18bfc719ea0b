/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file of -r: a recording of raw samples, or a profile that was made before. The content tells
 * which one it is, so a file may come through a pipe. Main's thread.
 */
#ifndef PIPELINE_REPLAY_SOURCE_H
#define PIPELINE_REPLAY_SOURCE_H

#include "xtop/import/code_names.h"
#include "xtop/import/import.h"
#include "xtop/recording/recording.h"

struct host_files;

struct replay_source {
	struct recording_reader *reader; /* reads the recording; NULL if the file is a profile */
	struct frames *frames;           /* the profile's table of names */
	struct import *import;           /* the profile, read to its end */
	struct snapshot *baseline;       /* the older run, with frames of `frames`; NULL: none */
	struct code_names *names;        /* the profile's files of -k; NULL: none */
	char *value;                     /* type of the values read last; NULL: n_reads is 1 */
	uint64_t n_reads;                /* how often the profile was read */
};

/* How a profile is read. */
struct replay_settings {
	const struct host_files *files;  /* borrowed */
	const struct snapshot *baseline; /* the older run, for comparison; NULL: none */
	bool strict;                     /* the value of --strict */
	const char *value;               /* type of values, by --value; NULL: the default */
	const char *const *symbols;      /* files of -k */
	size_t n_symbols;
};

/*
 * Opens PATH. A recording is read up to its first sample; its symbols go into SYMBOLS. Errors name
 * PATH.
 */
struct xtop_error *replay_source_open(const char *path, struct symbols *symbols,
				      const struct replay_settings *settings,
				      struct replay_source *replay);
/* Reads the profile in PATH again, with its next values. Error: nothing has changed. */
struct xtop_error *replay_source_read_next_value(const char *path,
						 const struct replay_settings *settings,
						 struct replay_source *replay);
void replay_source_close(struct replay_source *replay);

#endif
