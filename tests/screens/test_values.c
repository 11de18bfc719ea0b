/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Golden screens of a pprof file with two values and labels: other values by key, labels as groups,
 * as filters and in the flame graph.
 */
#include "config.h"

#include <locale.h>

#include "golden.h"
#include "tests/support/must.h"
#include "xtop/import/import.h"
#include "xtop/symbol/symbol.h"

#define SECOND 1000000000ULL

static struct {
	char *bytes;
	size_t n;
	struct frames *frames;
	struct import *import; /* NULL: the file was not read yet */
	struct ui_pipeline pipeline;
} shown;

/* Protocol Buffers: FIELD with the N bytes at BYTES; all lengths are below 128. */
static void put_bytes(FILE *file, unsigned field, const void *bytes, size_t n)
{
	fputc((int)(field << 3 | 2), file);
	fputc((int)n, file);
	fwrite(bytes, 1, n, file);
}

/* Two functions; three samples of one location each, with two values, a label or none. */
static void make_file(void)
{
	static const char *const strings[] = { "",     "objects", "count",  "space", "bytes",
					       "load", "store",   "tenant", "red",   "blue" };
	static const uint8_t types[][4] = { { 0x08, 1, 0x10, 2 }, { 0x08, 3, 0x10, 4 } };
	static const uint8_t samples[][13] = {
		{ 0x0a, 1, 1, 0x12, 2, 60, 10, 0x1a, 4, 0x08, 7, 0x10, 8 }, /* load, red */
		{ 0x0a, 1, 1, 0x12, 2, 30, 20, 0x1a, 4, 0x08, 7, 0x10, 9 }, /* load, blue */
		{ 0x0a, 1, 2, 0x12, 2, 10, 70 },                            /* store */
	};
	FILE *file = open_memstream(&shown.bytes, &shown.n);

	for (uint8_t i = 0; i < 2; i++) {
		const uint8_t id = i + 1, name = i + 5;

		put_bytes(file, 1, types[i], sizeof(types[i]));
		put_bytes(file, 4, (const uint8_t[]){ 0x08, id, 0x22, 2, 0x08, id }, 6);
		put_bytes(file, 5, (const uint8_t[]){ 0x08, id, 0x10, name }, 4);
	}
	for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++)
		put_bytes(file, 6, strings[i], strlen(strings[i]));
	put_bytes(file, 2, samples[0], 13);
	put_bytes(file, 2, samples[1], 13);
	put_bytes(file, 2, samples[2], 7);
	fclose(file);
}

static struct xtop_error *read_next_value(void *context)
{
	struct import *before = shown.import;
	const struct import_settings settings = {
		.frames = shown.frames, .value = before ? import_next_value(before) : NULL
	};
	FILE *file = fmemopen(shown.bytes, shown.n, "r");
	struct snapshot *snapshot;

	(void)context;
	must(import_read(file, "", 0, &settings, &shown.import));
	must(import_snapshot(shown.import, &snapshot));
	snapshot_publish(shown.pipeline.slot, snapshot);
	import_destroy(before);
	fclose(file);
	return NULL;
}

int main(void)
{
	static const struct {
		const char *keys, *name;
	} screens[] = {
		{ "", "values-top-80x12" },
		{ "p", "values-labels-80x12" },
		{ "<Enter>", "values-label-80x12" },
		{ "<Esc>\\tenant=blue<Enter>", "values-filter-80x12" },
		{ "$", "values-filter-next-80x12" },
		{ "<Esc>", "values-next-80x12" },
		{ "f", "values-flame-80x12" },
	};
	const struct ui_pipeline *const pipelines[] = { &shown.pipeline };
	const struct ui_source source = { .n_pipelines = 1, .pipelines = pipelines };
	const struct ui_settings settings = { .interval_s = 1 };
	struct ui *ui;
	bool changed;

	setlocale(LC_CTYPE, "C.UTF-8");
	make_file();
	shown.pipeline = (struct ui_pipeline){ .guest = { "heap.pb", "pprof profile", "", 0, 0,
							  NULL },
					       .read_next_value = read_next_value };
	must(frames_create(symbol_demangle, &shown.frames));
	must(snapshot_slot_create(&shown.pipeline.slot));
	must(read_next_value(NULL));
	must(ui_create(&settings, &source, &ui));
	ui_tick(ui, 100 * SECOND, 1700000000, &changed);
	for (size_t i = 0; i < sizeof(screens) / sizeof(screens[0]); i++) {
		char *text;

		screen_keys(ui, 80, 12, screens[i].keys);
		screen_draw(ui, 80, 12, &text, NULL);
		golden_check(screens[i].name, text);
		free(text);
	}
	ui_destroy(ui);
	snapshot_slot_destroy(shown.pipeline.slot);
	import_destroy(shown.import);
	frames_destroy(shown.frames);
	free(shown.bytes);
	return tap_done();
}
