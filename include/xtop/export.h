/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Snapshots as text: profiles in the formats of --format, the table of batch mode, statistics.
 * Main's thread. FILE stays the caller's. A failed write is not an error here: the caller finds it
 * with ferror().
 */
#ifndef XTOP_EXPORT_H
#define XTOP_EXPORT_H

#include <stdio.h>

#include "xtop/columns.h"
#include "xtop/snapshot.h"

/* --- export.c: the formats of a profile ------------------------------------------------------- */

/* FILTER NULL: all stacks. ADDRESSES: unnamed frames as 0xADDR. */
typedef struct xtop_error *export_write_fn(const struct snapshot *snapshot,
					   const struct filter *filter, bool addresses, FILE *file);

struct export_format {
	const char *name;   /* for --format */
	const char *ending; /* of a file's name, with the dot */
	export_write_fn *write;
};

/* NULL: no format has that name. */
const struct export_format *export_find_format(const char *name);

/* folded.c: lines sorted as LC_ALL=C sort does; whole samples since start or reset. */
export_write_fn export_folded;

/* --- table.c: what batch mode prints at each interval ----------------------------------------- */

struct table_options {
	const char *title;           /* domain, type, ...: clean */
	const struct column *sort;
	const struct filter *filter; /* NULL: none */
	bool totals;                 /* percents of all samples since start, not of live weights */
	bool addresses;
	size_t max_rows;             /* 0: all */
};
/* A short head, then the table of functions. */
struct xtop_error *export_table(const struct snapshot *snapshot,
				const struct table_options *options, FILE *file);

/* --- stats.c: one JSON object (doc/FORMATS) --------------------------------------------------- */

struct stats_info {
	const char *domain; /* any bytes: escaped here */
	const char *type;   /* "pv", "pvh", "hvm", "recording" */
	double wall_s;
	double ui_cpu_s;
	uint64_t rss_bytes;
};
struct xtop_error *export_stats(const struct snapshot *snapshot, const struct stats_info *info,
				FILE *file);

#endif
