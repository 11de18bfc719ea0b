/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of batch mode, as it is printed. */
#include "config.h"

#include "tests/support/profile_stacks.h"

#include "xtop/export/export.h"

static struct frames *frames;

static void check_table(const struct snapshot *snapshot, struct table_options options,
			const char *expected, const char *what)
{
	char *text;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	options.title = "web01 dom 5 PVH";
	must(export_table(snapshot, &options, file));
	fclose(file);
	check_string(text, expected, what);
	free(text);
}

static void test_table(void)
{
	static const char *const stacks[] = { "main;read 12", "main;.work  twice 3",
					      "%t;\u00fcber 1", NULL };
	struct snapshot *snapshot = stacks_snapshot(frames, stacks);
	struct table_options options = { .sort = &columns[COLUMN_CHILDREN] };

	snapshot->resolver.samples = 16;
	snapshot->resolver.samples_unknown = 4;
	snapshot->resolver.weight = 16;
	snapshot->resolver.weight_unknown = 4;
	snapshot->started_ns = 5 * SECOND;
	snapshot->time_ns = 7 * SECOND + SECOND / 2;
	snapshot->run->sampler = (struct sampler_counts){ .rate_asked_hz = 99,
							  .ticks = 250,
							  .samples = 245,
							  .elapsed_ns = 2500000000,
							  .stopped_share = 0.0024,
							  .lost = 7 };
	check_table(
		snapshot, options,
		"web01 dom 5 PVH: samples 16, elapsed 2.5 s, rate 98.0 of 99 Hz, stopped 0.24 %, "
		"lost 7, unknown 25.00 %, truncated 0.00 %\n"
		"Children    Self    Samples  Symbol          Module\n"
		"   93.75    0.00         15  [k] main        [kernel]\n"
		"   75.00   75.00         12  [k] read        [kernel]\n"
		"   18.75   18.75          3  [.] work twice  prog\n"
		"    6.25    6.25          1  [k] \u00fcber        [kernel]\n"
		"    6.25    0.00          1  [truncated]\n\n",
		"by children");
	options.sort = &columns[COLUMN_SELF];
	options.max_rows = 1;
	check_table(
		snapshot, options,
		"web01 dom 5 PVH: samples 16, elapsed 2.5 s, rate 98.0 of 99 Hz, stopped 0.24 %, "
		"lost 7, unknown 25.00 %, truncated 0.00 %\n"
		"Children    Self    Samples  Symbol    Module\n"
		"   75.00   75.00         12  [k] read  [kernel]\n\n",
		"one row by self");
	must(filter_create("truncated", (struct filter **)&options.filter));
	check_table(
		snapshot, options,
		"web01 dom 5 PVH: samples 16, elapsed 2.5 s, rate 98.0 of 99 Hz, stopped 0.24 %, "
		"lost 7, unknown 25.00 %, truncated 0.00 %, filter truncated\n"
		"Children    Self    Samples  Symbol    Module\n"
		"  100.00  100.00          1  [k] \u00fcber  [kernel]\n\n",
		"filtered");
	filter_destroy((struct filter *)options.filter);
	snapshot_destroy(snapshot);
}

static void test_empty(void)
{
	static const char *const stacks[] = { NULL };
	struct snapshot *snapshot = stacks_snapshot(frames, stacks);
	struct table_options options = { .sort = &columns[COLUMN_CHILDREN] };

	check_table(
		snapshot, options,
		"web01 dom 5 PVH: samples 0, elapsed 0.0 s, rate 0.0 of 0 Hz, stopped 0.00 %, "
		"lost 0, unknown 0.00 %, truncated 0.00 %\n"
		"Children    Self    Samples  Symbol\n\n",
		"nothing yet");
	snapshot_destroy(snapshot);
}

/* A guest with processes has one more column. An empty cell before it is "-". */
static void test_processes(void)
{
	const uint32_t httpd = frames_intern_process(frames, "httpd", ""),
		       blank = frames_intern_process(frames, "a  b", ""),
		       serve = frames_intern(frames, FRAME_KIND_KERNEL, "serve", "[kernel]", 0);
	struct profile *profile;
	struct snapshot *snapshot;
	struct table_options options = { .sort = &columns[COLUMN_CHILDREN] };

	must(profile_create(PROFILE_MIN_NODES, 0, frames, &profile));
	profile_add(profile, (const uint32_t[]){ httpd, FRAME_TRUNCATED, serve }, 3, SECOND, 6, 6);
	profile_add(profile, (const uint32_t[]){ blank, serve }, 2, SECOND, 2, 2);
	must(profile_copy(profile, SECOND, &snapshot));
	check_table(
		snapshot, options,
		"web01 dom 5 PVH: samples 0, elapsed 0.0 s, rate 0.0 of 0 Hz, stopped 0.00 %, "
		"lost 0, unknown 0.00 %, truncated 0.00 %\n"
		"Children    Self    Samples  Symbol       Module    Process\n"
		"  100.00  100.00          8  [k] serve    [kernel]  httpd +1\n"
		"   75.00    0.00          6  [truncated]  -         httpd\n\n",
		"processes");
	options.max_rows = 0;
	must(filter_create("a  b", (struct filter **)&options.filter));
	check_table(
		snapshot, options,
		"web01 dom 5 PVH: samples 0, elapsed 0.0 s, rate 0.0 of 0 Hz, stopped 0.00 %, "
		"lost 0, unknown 0.00 %, truncated 0.00 %, filter a  b\n"
		"Children    Self    Samples  Symbol     Module    Process\n"
		"  100.00  100.00          2  [k] serve  [kernel]  a b\n\n",
		"no two blanks in a cell");
	filter_destroy((struct filter *)options.filter);
	snapshot_destroy(snapshot);
	profile_destroy(profile);
}

/* A cell longer than TABLE_PAD pushes the next cells to the right, in the same line. */
static void test_long(void)
{
	char line[300];
	const char *stacks[] = { line, "f 1", NULL };
	struct snapshot *snapshot;
	struct table_options options = { .sort = &columns[COLUMN_CHILDREN] };
	char *text;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	memset(line, 'x', 200);
	strcpy(line + 200, " 9");
	snapshot = stacks_snapshot(frames, stacks);
	options.title = "t";
	must(export_table(snapshot, &options, file));
	fclose(file);
	check(strstr(text, "xxx  [kernel]\n"), "a long symbol, then the module");
	free(text);
	snapshot_destroy(snapshot);
}

/* Xen on arm64 traces no exits: a line says so, and wake-ups are known. */
static void test_no_exits(void)
{
	static const char *const stacks[] = { "main 1", NULL };
	struct snapshot *snapshot = stacks_snapshot(frames, stacks);
	struct table_options options = { .title = "t" };
	struct exits_table *table = exits_table_create(1, 0, 0);
	char *text;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	table->span_ns = table->live_span_ns = 1e9;
	table->records = 120;
	table->wakes[0] = (struct exits_wakes){ .count = 20, .ns = 50000, .longest_ns = 9000 };
	snapshot->run->exits = table;
	must(export_exits_table(snapshot, &options, file));
	fclose(file);
	check_string(
		text,
		"t: exits 0.0 a second, 0.0 % of a CPU in Xen, records 120, lost 0, seen 1.0 s\n"
		"no exit was traced (Xen on arm64 traces none)\n"
		"vCPU     Wakes  Mean us   p50 us   p99 us  Longest  Who ran then\n"
		"   0        20      2.5      0.0      0.0      9.0  dom0\n\n",
		"table of a guest whose exits are not traced");
	free(text);
	snapshot_destroy(snapshot);
}

int main(void)
{
	must(frames_create(NULL, &frames));
	test_table();
	test_empty();
	test_processes();
	test_long();
	test_no_exits();
	frames_destroy(frames);
	return tap_done();
}
