/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Batch mode where its output goes away. */
#include "config.h"

#include "xtop/batch.h"

#include <stdlib.h>
#include <unistd.h>

#include "tests/tap.h"
#include "xtop/profile.h"

/*
 * `xtop -b | head -1`: an error for the session to tell, not a signal that ends it with its files
 * unwritten.
 */
static void test_reader_gone(void)
{
	struct batch_settings settings = {
		.table = { .title = "t", .sort = &columns[COLUMN_CHILDREN] }, .interval_s = 0.01
	};
	struct snapshot_slot *slot;
	struct snapshot *snapshot;
	struct control *control;
	struct xtop_error *error;
	struct profile *profile;
	struct frames *frames;
	int ends[2];
	FILE *file;

	if (frames_create(NULL, &frames) || profile_create(16, 0, frames, &profile) ||
	    control_create(&control) || snapshot_slot_create(&slot) ||
	    profile_copy(profile, 1, &snapshot) || pipe(ends))
		abort();
	close(ends[0]);
	file = fdopen(ends[1], "w");
	snapshot->at_end = true;
	snapshot_publish(slot, snapshot);
	error = batch_run(&settings, slot, control, file);
	check(error && strstr(error_message(error), "cannot write the table"), "told: %s",
	      error ? error_message(error) : "nothing");
	error_destroy(error);
	fclose(file);
	snapshot_slot_destroy(slot);
	control_destroy(control);
	profile_destroy(profile);
	frames_destroy(frames);
}

int main(void)
{
	test_reader_gone();
	return tap_done();
}
