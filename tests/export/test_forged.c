/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names that would forge output: lines, frames, counts, columns, JSON strings. A reader that splits
 * lines and frames as flamegraph.pl does must find exactly the stacks that were put in.
 */
#include "config.h"

#include <locale.h>
#include <stdlib.h>
#include <wchar.h>

#include "tests/support/profile_stacks.h"

#include "xtop/export/export.h"

#define DEPTH 5 /* frames of each stack */
#define EACH  7 /* samples */

static const char *const names[] = {
	"a;b",
	"a 7\nroot;forged 1000",
	"a 7\r\nroot;forged 1000",
	"a\xe2\x80\xa8"
	"b 1", /* U+2028, a line's end to some */
	"a\xc2\x85"
	"b 1", /* NEL */
	"\033]0;owned\007",
	"\x9b"
	"2J\x9d"
	"0;x\x9c",
	"\"}, \"forged\": {\"\\",
	"a\xe2\x80\xae"
	"cba",
	"\xff\xfe;\xc0\xbb", /* an overlong ';' */
	"\tname\tof\tcolumns",
	"[truncated]",
	" leading and trailing ",
	"100.00  100.00  7  forged",
};
#define N (sizeof(names) / sizeof(names[0]))

static struct snapshot *forged_snapshot(struct frames *frames)
{
	struct profile *profile;
	struct snapshot *snapshot;

	must(profile_create(4096, 0, frames, &profile));
	for (size_t i = 0; i < N; i++) {
		const uint32_t stack[DEPTH] = {
			frames_intern_process(frames, names[i], ""),
			frames_intern_thread(frames, names[i],
					     frames_intern_process(frames, names[i], "")),
			frames_intern(frames, FRAME_KIND_USERLAND, names[i], names[i], i),
			frames_intern(frames, FRAME_KIND_KERNEL, names[i], names[i], i),
			frames_intern(frames, FRAME_KIND_USERLAND, NULL, names[i], i + 1),
		};

		profile_add(profile, stack, DEPTH, SECOND, EACH, EACH);
	}
	must(profile_copy(profile, SECOND, &snapshot));
	profile_destroy(profile);
	return snapshot;
}

/* Valid UTF-8 and, except for line ends, nothing that a terminal or a reader of lines acts on. */
static bool is_text(const char *text)
{
	for (int length; *text; text += length) {
		wchar_t c;

		length = mbtowc(&c, text, 8);
		if (length <= 0 || (c < 0x20 && c != '\n') || (c >= 0x7f && c < 0xa0) ||
		    (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
		    (c >= 0x2066 && c <= 0x2069)) {
			printf("# at \"%.20s\"\n", text);
			return false;
		}
	}
	return true;
}

/* The number of frames in a folded line; 0: it is not a folded line. */
static unsigned folded_frames(const char *line, uint64_t *count)
{
	const char *space = strrchr(line, ' ');
	unsigned n = 1;
	char *end;

	if (!space)
		return 0;
	*count = strtoull(space + 1, &end, 10);
	for (const char *at = line; at < space; at++)
		n += *at == ';';
	return *end || end == space + 1 ? 0 : n;
}

static void check_folded(const struct snapshot *snapshot, bool addresses)
{
	unsigned lines = 0, odd = 0;
	size_t size_bytes;
	char *text, *state;
	FILE *file = open_memstream(&text, &size_bytes);

	must(export_folded(snapshot, &(struct export_settings){ .addresses = addresses }, file));
	fclose(file);
	check(is_text(text), "folded: only text, addresses %d", addresses);
	check_u64(strlen(text), size_bytes, "folded: length without a NUL");
	for (char *line = strtok_r(text, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
		uint64_t count = 0;

		odd += folded_frames(line, &count) != DEPTH || count % EACH;
		lines++;
	}
	check_u64(odd, 0, "folded: lines that are none of the stacks");
	check(lines > N / 2 && lines <= N, "folded: %u lines of %zu stacks", lines, N);
	free(text);
}

static void check_table(const struct snapshot *snapshot)
{
	const struct table_options options = { .title = "forged",
					       .sort = &columns[COLUMN_CHILDREN] };
	unsigned rows = 0, odd = 0;
	size_t size_bytes;
	char *text, *state;
	FILE *file = open_memstream(&text, &size_bytes);

	must(export_table(snapshot, &options, file));
	fclose(file);
	check(is_text(text), "table: only text");
	for (char *line = strtok_r(text, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
		double children, self;
		unsigned samples;

		if (sscanf(line, "%lf %lf %u", &children, &self, &samples) != 3)
			continue; /* the head */
		rows++;
		odd += children > 100 || samples > N * EACH || samples % EACH;
	}
	check_u64(odd, 0, "table: rows with numbers that no function has");
	check(rows > N && rows <= 5 * N, "table: a row for each function: %u rows", rows);
	free(text);
}

static void check_stats(const struct snapshot *snapshot)
{
	size_t size_bytes;
	unsigned odd = 0, quotes;
	char *text, *state;

	for (size_t i = 0; i < N; i++) {
		const struct stats_info info = { .domain = names[i], .type = "pvh" };
		FILE *file = open_memstream(&text, &size_bytes);

		must(export_stats(snapshot, &info, file));
		fclose(file);
		odd += !is_text(text);
		for (char *line = strtok_r(text, "\n", &state); line;
		     line = strtok_r(NULL, "\n", &state)) {
			quotes = 0;
			for (char *at = line; *at; at++)
				if (*at == '\\' && at[1])
					at++;
				else
					quotes += *at == '"';
			odd += quotes % 2 || quotes > 4 || strstr(line, "\"forged\":");
		}
		free(text);
	}
	check_u64(odd, 0, "JSON: lines that are not one member");
}

int main(void)
{
	struct frames *frames;
	struct snapshot *snapshot;

	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		abort();
	must(frames_create(NULL, &frames));
	snapshot = forged_snapshot(frames);
	check_folded(snapshot, false);
	check_folded(snapshot, true);
	check_table(snapshot);
	check_stats(snapshot);
	snapshot_destroy(snapshot);
	frames_destroy(frames);
	return tap_done();
}
