/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of export formats. */
#include "config.h"

#include "xtop/export/export.h"

#include <stdio.h>
#include <string.h>

/*
 * A format NAME is written by export_NAME() of NAME.c; pictures share picture.c. A row has the
 * ending by which a file's name chooses the format, the ending that the screen proposes, and the
 * flags of struct export_format. The first row is the default.
 */
/* clang-format off */
#define FORMATS(FORMAT)                                                                            \
	FORMAT(folded, ".folded", ".folded", .lines_in_names = true)                               \
	FORMAT(pprof, ".pb.gz", ".pb.gz", .has_waits = true)                                       \
	FORMAT(speedscope, ".json", ".speedscope.json", .has_waits = true)                         \
	FORMAT(perf, ".perf", ".perf", .has_waits = true, .has_samples = true)                     \
	FORMAT(svg, ".svg", ".flame.svg", .has_waits = true)                                       \
	FORMAT(html, ".html", ".flame.html", .has_waits = true)

#define DECLARE(NAME, ...) export_write_fn export_##NAME;
FORMATS(DECLARE)

#define ROW(NAME, ENDING, PROPOSED, ...)                                                           \
	{ .name = #NAME, .ending = ENDING, .proposed = PROPOSED, .write = export_##NAME,           \
	  __VA_ARGS__ },
static const struct export_format export_formats[] = { FORMATS(ROW) };

#define PROPOSED_ENDING(NAME, ENDING, PROPOSED, ...) PROPOSED,
const char *const export_endings[] = { FORMATS(PROPOSED_ENDING) NULL };
/* clang-format on */
#define N_FORMATS (sizeof(export_formats) / sizeof(export_formats[0]))

const struct export_format *export_find_format(const char *name)
{
	for (size_t i = 0; i < N_FORMATS; i++)
		if (strcmp(export_formats[i].name, name) == 0)
			return &export_formats[i];
	return NULL;
}

static bool export_has_ending(const char *path, const char *ending)
{
	size_t length = strlen(path), of_ending = strlen(ending);

	return length > of_ending && strcmp(path + length - of_ending, ending) == 0;
}

const struct export_format *export_find_ending_or(const char *path,
						  const struct export_format *other)
{
	for (size_t i = 0; i < N_FORMATS; i++)
		if (export_has_ending(path, export_formats[i].ending))
			return &export_formats[i];
	return other ? other : &export_formats[0];
}

const struct export_format *export_find_ending(const char *path)
{
	return export_find_ending_or(path, NULL);
}

bool export_knows_ending(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	return !*name || !strchr(name + 1, '.') ||
	       export_has_ending(path, export_find_ending(path)->ending);
}

void export_complete_path(const struct export_format *format, char *path, size_t capacity)
{
	size_t length = strlen(path);

	if (export_has_ending(path, format->proposed))
		return;
	if (export_has_ending(path, format->ending))
		length -= strlen(format->ending);
	snprintf(path + length, capacity - length, "%s", format->proposed);
}

void export_list_formats(char *text, size_t capacity)
{
	size_t length = 0;

	text[0] = '\0';
	for (size_t i = 0; i < N_FORMATS && length < capacity; i++)
		length += (size_t)snprintf(text + length, capacity - length, "%s%s", i ? ", " : "",
					   export_formats[i].name);
}

uint64_t export_wall_ns(const struct snapshot *snapshot, enum clock_kind clock)
{
	enum clock_kind wall = clock == CLOCK_GUEST_UTC ? CLOCK_GUEST_UTC : CLOCK_UTC;
	uint64_t wall_ns;

	return snapshot->started_ns && clocks_convert(&snapshot->first_clocks, wall,
						      snapshot->started_ns, &wall_ns)
		       ? wall_ns
		       : 0;
}
