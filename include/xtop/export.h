/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Snapshots as text: folded stacks, the table of batch mode, statistics. Main's thread. FILE stays
 * the caller's; a write error is found by the caller with ferror() and told there.
 */
#ifndef XTOP_EXPORT_H
#define XTOP_EXPORT_H

#include <stdio.h>

#include "xtop/columns.h"
#include "xtop/snapshot.h"

/*
 * folded.c: lines sorted as LC_ALL=C sort does, integer counts since start or reset. FILTER NULL:
 * all.
 */
struct xtop_error *export_folded(const struct snapshot *snapshot, const struct filter *filter,
				 bool addresses, FILE *file);

/* table.c: what batch mode prints at each interval: a short head, then the function table. */
struct table_options {
	const char *title;           /* domain, type, ...: clean */
	const struct column *sort;
	const struct filter *filter; /* NULL: none */
	bool totals;                 /* percents of all since start instead of live ones */
	bool addresses;
	size_t max_rows;             /* 0: all */
};
struct xtop_error *export_table(const struct snapshot *snapshot,
				const struct table_options *options, FILE *file);

/* stats.c: one JSON object (doc/FORMATS). */
struct stats_info {
	const char *domain; /* as given; any bytes: escaped here */
	const char *type;   /* "pv", "pvh", "hvm", "recording" */
	double wall_s;
	double ui_cpu_s;
	uint64_t rss_bytes;
};
struct xtop_error *export_stats(const struct snapshot *snapshot, const struct stats_info *info,
				FILE *file);

#endif
