/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A snapshot in the frames of another run: all ids of frames are translated. */
#include "config.h"

#include <stdlib.h>

#include "tests/support/tap.h"
#include "xtop/profile/snapshot.h"

#define N_OTHERS 50 /* functions that only the other run has */

static uint32_t intern(struct frames *frames, const char *name)
{
	return frames_intern(frames, FRAME_KIND_KERNEL, name, "[kernel]", 0x1000);
}

static struct frames *create_frames(void)
{
	struct frames *frames;

	if (frames_create(NULL, &frames))
		exit(1);
	return frames;
}

/* A snapshot of one function, which has a source line and exits to Xen. */
static struct snapshot *build(const struct frames *frames, uint32_t function, uint32_t line)
{
	struct snapshot *snapshot = snapshot_create(1);

	snapshot->nodes[0] = (struct snapshot_node){ .frame = FRAME_ROOT, .end = 1 };
	snapshot->frames = frames;
	snapshot->n_frames = frames_count(frames);
	snapshot->sources = malloc(snapshot->n_frames * sizeof(*snapshot->sources));
	for (uint32_t i = 0; i < snapshot->n_frames; i++)
		snapshot->sources[i] = i == function ? line : FRAME_NONE;
	snapshot->run = calloc(1, sizeof(*snapshot->run));
	snapshot->run->exits = exits_table_create(1, 1, 1);
	snapshot->run->exits->rows[0].frame = FRAME_NONE;
	snapshot->run->exits->causes[0].place =
		(struct exits_place){ .frame = function, .process = FRAME_ROOT };
	return snapshot;
}

int main(void)
{
	struct frames *frames = create_frames(), *others = create_frames();
	uint32_t function = intern(frames, "tcp_sendmsg"), line = intern(frames, "tcp.c:1478");
	struct snapshot *snapshot = build(frames, function, line), *translated = NULL;
	const struct exits_table *exits;
	char name[16];

	for (unsigned i = 0; i < N_OTHERS; i++) {
		snprintf(name, sizeof(name), "other_%u", i);
		intern(others, name);
	}
	if (!check(!snapshot_translate(snapshot, others, &translated), "a snapshot is translated"))
		return tap_done();
	check(strcmp(snapshot_source(translated, intern(others, "tcp_sendmsg")), "tcp.c:1478") == 0,
	      "a function keeps its source line");
	check(snapshot_source(translated, translated->n_frames - N_OTHERS)[0] == '\0',
	      "a function of the other run has no source line");
	exits = translated->run->exits;
	check_u64(exits->causes[0].place.frame, intern(others, "tcp_sendmsg"),
		  "the function that exits");
	check_u64(exits->causes[0].place.process, FRAME_ROOT, "an unknown process of an exit");
	check_u64(exits->rows[0].frame, FRAME_NONE, "a reason without a frame");
	snapshot_destroy(translated);
	snapshot_destroy(snapshot);
	frames_destroy(others);
	frames_destroy(frames);
	return tap_done();
}
