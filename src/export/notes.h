/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines that a reader of a profile needs besides the stacks: the guest, how it was sampled, and
 * what was lost, cut short or has no name. Each format has a place for such lines.
 */
#ifndef EXPORT_NOTES_H
#define EXPORT_NOTES_H

#include "xtop/export/export.h"

#define NOTES_MAX        17
#define NOTES_LINE_BYTES 256

/* Lines such as "samples: 2187"; clean. */
struct notes {
	size_t n;
	char lines[NOTES_MAX][NOTES_LINE_BYTES];
};

void notes_build(const struct snapshot *snapshot, const struct export_settings *settings,
		 struct notes *notes);

#endif
