/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What -r names: a recording of raw samples, or a profile that was made before. The content tells
 * which one it is, so a file may come through a pipe. Main's thread.
 */
#ifndef PIPELINE_REPLAY_SOURCE_H
#define PIPELINE_REPLAY_SOURCE_H

#include "xtop/import/import.h"
#include "xtop/recording/recording.h"

struct replay_source {
	struct recording_reader *reader; /* of a recording; NULL: it is a profile */
	struct frames *frames;           /* of a profile */
	struct import *import;           /* the profile, read to its end */
	struct snapshot *baseline;       /* with FRAMES; NULL: none */
};

/*
 * Opens PATH. A recording is read up to its first sample; its symbols go into SYMBOLS. BASELINE is
 * what a profile is compared with; NULL: nothing. Errors name PATH.
 */
struct xtop_error *replay_source_open(const char *path, struct symbols *symbols,
				      const struct snapshot *baseline,
				      struct replay_source *replayed);
void replay_source_close(struct replay_source *replayed);

#endif
