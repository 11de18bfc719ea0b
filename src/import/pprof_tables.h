/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to import/: the tables of a pprof file to which its samples refer: strings, functions,
 * mappings, locations and the kinds of values. All are bounded. A location becomes one frame for
 * each function that is inlined there. Main's thread.
 */
#ifndef IMPORT_PPROF_TABLES_H
#define IMPORT_PPROF_TABLES_H

#include "import/builder.h"
#include "import/pprof_stream.h"

#define PPROF_MAX_ITEMS  LIMIT(1U << 21, 1U << 8) /* the most items of a table */
#define PPROF_MAX_VALUES 64                       /* the most values of a sample */

struct pprof_item {
	uint64_t id;
	/* Function: name, system name. Mapping: file, range. Location: mapping, address. */
	uint64_t a, b;
	uint32_t first, n; /* a location's part of lines[], later of frames[] */
};

struct pprof_table {
	struct pprof_item *items;
	size_t n, capacity;
};

struct pprof_string {
	uint32_t at, bytes;
};

struct pprof_type {
	uint64_t type, unit; /* strings */
};

/* Where a mapping lay. */
struct pprof_range {
	uint64_t start, offset, build; /* BUILD: the string's number */
	bool is_mapped;
};

struct pprof_tables {
	char *text;
	size_t text_bytes, text_capacity;
	struct pprof_string *strings;
	size_t n_strings, strings_capacity;
	struct pprof_table functions, mappings, locations;
	struct pprof_range *ranges; /* one range per mapping */
	size_t n_ranges, ranges_capacity;
	uint64_t *lines; /* ids of functions, location by location */
	size_t n_lines, lines_capacity;
	uint32_t *frames; /* one frame per line, outermost first in each location */
	struct pprof_type types[PPROF_MAX_VALUES];
	size_t n_types;
	struct pprof_type period_type;
	uint64_t default_type, period, duration_ns;
	size_t weight; /* index of the value that weighs samples */
	/* Index of the value that counts them. n_types: none does, and ticks are counted. */
	size_t count;
	double per_tick;
};

/* A number_fn and a message_fn for the whole file. CONTEXT are the tables. */
pprof_number_fn pprof_tables_add_number;
pprof_message_fn pprof_tables_add_message;
/* When all are read: builds the frames and chooses the values. False: STREAM's damage says why. */
bool pprof_tables_finish(struct pprof_tables *tables, struct pprof_stream *stream,
			 struct builder *builder);
void pprof_tables_deinit(struct pprof_tables *tables);

/* The string with that number. NULL: there is none, or it is empty. */
const char *pprof_tables_string(const struct pprof_tables *tables, uint64_t index);
/* The location with that id. NULL: there is none. */
const struct pprof_item *pprof_tables_find_location(const struct pprof_tables *tables, uint64_t id);

#endif
