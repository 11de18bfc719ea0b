/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parses the text of /tmp/perf-PID.map into symbols; see perf_map.h. Resolver's thread.
 *
 * Each line is a function (Linux tools/perf/Documentation/jit-interface.txt):
 *
 *   START SIZE name, which may have blanks
 *
 * START and SIZE are hexadecimal, with or without 0x. Lines are appended while the program runs.
 * Code memory is reused, so the last line for an address is the right one. A missing page becomes
 * zeros in the copy. Lines that contain a zero are left out, and so is a last line without a
 * newline.
 */
#include "config.h"

#include "linux/process/perf_map.h"

#include <stdlib.h>
#include <string.h>

#include "xtop/base/cleanup.h"
#include "xtop/base/types.h"
#include "xtop/base/vector.h"

struct perf_map_entry {
	uint64_t start, size_bytes;
	uint32_t name, name_bytes; /* offset in the text, and length */
};

struct perf_map {
	char *text;
	size_t text_bytes;
	struct perf_map_entry *entries;
	size_t n, capacity;
};

static void perf_map_deinit(struct perf_map *map)
{
	free(map->text);
	free(map->entries);
}

/* Copies the text. Pages that cannot be read become zeros. Returns false if memory is out. */
static bool perf_map_copy(const struct bytes *bytes, struct perf_map *map)
{
	size_t size =
		bytes->size_bytes < PERF_MAP_MAX_BYTES ? bytes->size_bytes : PERF_MAP_MAX_BYTES;
	size_t at = 0;

	map->text = calloc(1, size + 1);
	if (!map->text)
		return false;
	while (at < size) {
		size_t hole = at + bytes->read(bytes->context, at, map->text + at, size - at);

		if (hole >= size)
			break;
		/* the page after the hole */
		at = (hole & ~(size_t)GUEST_PAGE_MASK) + GUEST_PAGE_SIZE;
		memset(map->text + hole, 0, (at < size ? at : size) - hole);
	}
	map->text_bytes = size;
	return true;
}

/* Parses one hexadecimal number and the blank after it. */
static bool perf_map_parse_number(const char **at, const char *end, uint64_t *value)
{
	const char *p = *at;
	uint64_t number = 0;
	unsigned n = 0;

	if (end - p > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
		p += 2;
	for (; p < end; p++, n++) {
		static const char digits[] = "0123456789abcdef";
		const char *digit =
			*p ? strchr(digits, *p >= 'A' && *p <= 'F' ? *p | 0x20 : *p) : NULL;

		if (!digit)
			break;
		number = number << 4 | (uint64_t)(digit - digits);
	}
	if (!n || n > 16 || p == end || *p != ' ')
		return false;
	*at = p + 1;
	*value = number;
	return true;
}

/* Adds the function of one line, if the line is well-formed. Returns false if memory is out. */
static bool perf_map_add_line(struct perf_map *map, const char *line, const char *end)
{
	struct perf_map_entry entry;

	if (memchr(line, '\0', (size_t)(end - line)) ||
	    !perf_map_parse_number(&line, end, &entry.start) ||
	    !perf_map_parse_number(&line, end, &entry.size_bytes) || line == end ||
	    !entry.size_bytes || entry.start + entry.size_bytes < entry.start)
		return true;
	if (!vector_reserve(map->entries, map->capacity, map->n + 1))
		return false;
	entry.name = (uint32_t)(line - map->text);
	entry.name_bytes = (uint32_t)(end - line);
	map->entries[map->n++] = entry;
	return true;
}

/* Returns false if memory is out. */
static bool perf_map_parse(struct perf_map *map)
{
	const char *line = map->text, *after = map->text + map->text_bytes, *end;

	for (; map->n < PERF_MAP_MAX_SYMBOLS; line = end + 1) {
		end = memchr(line, '\n', (size_t)(after - line));
		if (!end)
			return true;
		if (!perf_map_add_line(map, line, end))
			return false;
	}
	return true;
}

/* Orders by ascending start; among equal starts the last line comes first. */
static int perf_map_compare(const void *a, const void *b)
{
	const struct perf_map_entry *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->name > y->name ? -1 : x->name < y->name;
}

static struct xtop_error *perf_map_fill(const struct perf_map *map, struct symtab *tab)
{
	struct xtop_error *error = NULL;

	for (size_t i = 0; !error && i < map->n; i++) {
		const struct perf_map_entry *entry = &map->entries[i];

		if (i && entry->start == entry[-1].start)
			continue;
		error = symtab_add(tab,
				   &(struct symbol_definition){ .start = entry->start,
								.size_bytes = entry->size_bytes,
								.rank = SYMBOL_GLOBAL,
								.name = map->text + entry->name,
								.name_bytes = entry->name_bytes });
	}
	return error ? error : symtab_seal(tab);
}

struct xtop_error *perf_map_read(const struct bytes *bytes, struct work *work,
				 struct symtab **tabp)
{
	_cleanup_(perf_map_deinit) struct perf_map map = { 0 };
	struct xtop_error *error;
	struct symtab *tab;

	if (!perf_map_copy(bytes, &map) || !perf_map_parse(&map))
		return error_create("out of memory for the names of compiled code");
	if (!map.n) {
		*tabp = NULL;
		return NULL;
	}
	qsort(map.entries, map.n, sizeof(map.entries[0]), perf_map_compare);
	error = symtab_create(&tab);
	if (error)
		return error;
	symtab_set_work(tab, work);
	error = perf_map_fill(&map, tab);
	if (error) {
		symtab_destroy(tab);
		return error;
	}
	*tabp = tab;
	return NULL;
}
