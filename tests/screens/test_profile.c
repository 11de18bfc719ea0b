/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Golden screens of a profile that was made elsewhere: from the file to the screen, with scripted
 * keys. Views that need raw samples say so.
 */
#include "config.h"

#include <locale.h>

#include "golden.h"
#include "tests/support/must.h"
#include "xtop/import/import.h"
#include "xtop/symbol/symbol.h"

#define SECOND 1000000000ULL

static const char folded[] = "gzip;[truncated];crc32 70\n"
			     "gzip;_start;main;deflate_slow 1688\n"
			     "gzip;_start;main;deflate_slow;longest_match 412\n"
			     "httpd;_start;main;serve;entry_SYSCALL_64_[k];vfs_read_[k] 300\n"
			     "httpd;_start;main;serve;entry_SYSCALL_64_[k];tcp_sendmsg_[k] 2240\n"
			     "httpd;_start;main;serve;[unknown] 90\n"
			     "swapper;cpu_startup_entry_[k] 200\n";

struct shown {
	struct frames *frames;
	struct import *import;
	struct ui_settings settings;
	struct ui_pipeline pipeline;
	const struct ui_pipeline *pipelines[1];
	struct ui_source source;
	struct ui *ui;
};

/* An older run: longest_match was slower, tcp_sendmsg was not there, zlib_old went. */
static const char older[] = "gzip;[truncated];crc32 70\n"
			    "gzip;_start;main;deflate_slow 1688\n"
			    "gzip;_start;main;deflate_slow;longest_match 2000\n"
			    "gzip;_start;main;zlib_old 500\n"
			    "httpd;_start;main;serve;entry_SYSCALL_64_[k];vfs_read_[k] 300\n"
			    "httpd;_start;main;serve;[unknown] 90\n"
			    "swapper;cpu_startup_entry_[k] 200\n";

/* The frames of the baseline come first, as src/pipeline/replay_source.c does it. */
static struct snapshot *make_baseline(struct frames *frames)
{
	FILE *file = fmemopen((void *)older, sizeof(older) - 1, "r");
	struct snapshot *snapshot, *baseline;
	struct import *import;
	struct frames *own;

	must(frames_create(symbol_demangle, &own));
	must(import_read(file, "", 0, &(struct import_settings){ .frames = own }, &import));
	must(import_snapshot(import, &snapshot));
	frames_set_identity(frames, FRAMES_BY_NAME);
	must(snapshot_translate(snapshot, frames, &baseline));
	snapshot_destroy(snapshot);
	import_destroy(import);
	frames_destroy(own);
	fclose(file);
	return baseline;
}

static void shown_open(struct shown *shown, bool has_baseline)
{
	FILE *file = fmemopen((void *)folded, sizeof(folded) - 1, "r");
	struct snapshot *snapshot, *baseline = NULL;
	bool changed;

	*shown = (struct shown){
		.settings = { .interval_s = 1 },
		.pipeline = { .guest = { "old.folded", "folded profile", "", 0, 0, NULL } },
		.pipelines = { &shown->pipeline },
		.source = { .n_pipelines = 1, .pipelines = shown->pipelines },
	};
	must(frames_create(symbol_demangle, &shown->frames));
	if (has_baseline) {
		shown->pipeline.baseline = baseline = make_baseline(shown->frames);
		shown->settings.baseline = "/some/where/older.folded";
	}
	must(import_read(file, "", 0, &(struct import_settings){ .frames = shown->frames },
			 &shown->import));
	must(import_snapshot(shown->import, &snapshot));
	must(snapshot_slot_create(&shown->pipeline.slot));
	snapshot_publish(shown->pipeline.slot, snapshot);
	must(ui_create(&shown->settings, &shown->source, &shown->ui));
	ui_tick(shown->ui, 100 * SECOND, 1700000000, &changed);
	check(changed, "the first tick takes the profile");
	snapshot_destroy(baseline); /* the screen has a copy */
	fclose(file);
}

static void shown_close(struct shown *shown)
{
	ui_destroy(shown->ui);
	snapshot_slot_destroy(shown->pipeline.slot);
	import_destroy(shown->import);
	frames_destroy(shown->frames);
}

static void shown_check(struct shown *shown, const char *script, const char *name)
{
	char *text;

	screen_keys(shown->ui, 80, 24, script);
	screen_draw(shown->ui, 80, 24, &text, NULL);
	golden_check(name, text);
	free(text);
}

int main(void)
{
	struct shown shown;

	setlocale(LC_CTYPE, "C.UTF-8");
	shown_open(&shown, false);
	shown_check(&shown, "", "profile-top-80x24");
	shown_check(&shown, "<Enter>", "profile-callers-80x24");
	shown_check(&shown, "<Esc>tE", "profile-tree-80x24");
	shown_check(&shown, "f<Down><Down>", "profile-flame-80x24");
	shown_check(&shown, "p", "profile-groups-80x24");
	shown_check(&shown, "<Enter>", "profile-process-80x24");
	shown_check(&shown, "<Esc>\\tcp<Enter>", "profile-filter-80x24");
	shown_check(&shown, "<Esc>K", "profile-no-kernel-80x24");
	shown_check(&shown, "Kv", "profile-vcpus-80x24");
	shown_check(&shown, "o", "profile-overhead-80x24");
	shown_check(&shown, "a[", "profile-history-80x24");
	shown_close(&shown);
	shown_open(&shown, true);
	shown_check(&shown, "b", "profile-baseline-80x24");
	shown_check(&shown, "tE", "profile-baseline-tree-80x24");
	shown_check(&shown, "I", "profile-baseline-inverted-80x24");
	shown_check(&shown, "f<Down><Down><Down><Down>", "profile-baseline-flame-80x24");
	shown_check(&shown, "x<Down>", "profile-baseline-folded-flame-80x24");
	shown_check(&shown, "tE", "profile-baseline-folded-tree-80x24");
	shown_check(&shown, "xa<Down><Enter>", "profile-baseline-callers-80x24");
	shown_check(&shown, "ab\\gzip<Enter>", "profile-baseline-filter-80x24");
	shown_check(&shown, "<Esc>B", "profile-baseline-dropped-80x24");
	shown_close(&shown);
	return tap_done();
}
