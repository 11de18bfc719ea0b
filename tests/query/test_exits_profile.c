/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Exits as a profile: functions, below them reasons, weights in nanoseconds. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/exported.h"
#include "tests/support/tap.h"
#include "xtop/query/exits_profile.h"

static char *written(const struct snapshot *profile, export_write_fn *write)
{
	return exported_text(profile, &(struct export_settings){ 0 }, write);
}

int main(void)
{
	struct exits_row rows[2] = { 0 };
	struct exits_cause causes[] = {
		{ .row = 0, .total = { 3, 7200.4 }, .live = { 2, 5000 } },
		{ .row = 0, .total = { 1, 2400 } },
		{ .row = 1, .total = { 9, 1e10 } },
		{ .row = 1, .total = { 5, 0 } }, /* entries of a PV guest */
		{ .row = 1, .total = { 5, 80 }, .place.frame = 1000 },
		{ .row = 0, .total = { 2, 600 } }, /* code of a process */
		{ .row = 1, .total = { 2, 500 } },
	};
	struct exits_table table = { .n_rows = 2, .rows = rows, .n_causes = 7, .causes = causes };
	struct snapshot_run run = { .exits = &table };
	struct snapshot snapshot = { .run = &run }, *profile = NULL;
	uint32_t alpha, beta, web, reasons[2];
	struct frames *frames;
	struct xtop_error *error;
	char *text;

	must(frames_create(NULL, &frames));
	alpha = frames_intern(frames, FRAME_KIND_KERNEL, "alpha", "tiny", 1);
	beta = frames_intern(frames, FRAME_KIND_KERNEL, "beta", "tiny", 2);
	web = frames_intern_process(frames, "web", NULL);
	reasons[0] = frames_intern(frames, FRAME_KIND_MARK, "[exit CPUID leaf 0xb]", NULL, 0);
	reasons[1] = frames_intern(frames, FRAME_KIND_MARK, "[exit HLT]", NULL, 0);
	rows[0].frame = reasons[0];
	rows[1].frame = reasons[1];
	causes[0].place.frame = causes[3].place.frame = beta;
	causes[1].place.frame = causes[2].place.frame = alpha;
	causes[5].place = causes[6].place = (struct exits_place){ alpha, web };
	snapshot.frames = frames;
	snapshot.n_frames = reasons[1] + 1;

	must(exits_profile_create(&snapshot, &profile));
	text = written(profile, export_folded);
	check_string(text,
		     "alpha;[exit CPUID leaf 0xb] 2400\nalpha;[exit HLT] 10000000000\n"
		     "beta;[exit CPUID leaf 0xb] 7200\n"
		     "web;alpha;[exit CPUID leaf 0xb] 600\nweb;alpha;[exit HLT] 500\n",
		     "folded stacks have nanoseconds");
	free(text);
	text = written(profile, export_speedscope);
	check(strstr(text, "\"unit\":\"nanoseconds\""), "other formats say that");
	free(text);
	check(profile->nodes[0].children_total == 17 && profile->live_weight == 5000,
	      "the number of exits is kept, and live weights are");
	snapshot_destroy(profile);

	run.exits = NULL;
	error = exits_profile_create(&snapshot, &profile);
	check(error && strstr(error_message(error), "not traced"), "no trace is an error");
	error_destroy(error);
	frames_destroy(frames);
	return tap_done();
}
