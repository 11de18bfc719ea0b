/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Batch mode has no screen: it prints tables at intervals. Main's thread. */
#ifndef XTOP_BATCH_H
#define XTOP_BATCH_H

#include "xtop/export/export.h"

struct batch_settings {
	struct table_options table;
	double interval_s;        /* seconds between tables; 0: only one table, at the end */
	unsigned long iterations; /* how many tables; 0: no limit */
	double time_s;            /* 0: no limit */
	bool quiet;               /* no tables */
	struct snapshot_slot *waits; /* waiting tasks, printed after the samples; NULL: none */
	bool waits_only;             /* no tables of samples are printed */
	bool json;                /* tables as JSON */
	bool ascii;               /* the terminal knows no UTF-8 */
	struct line_expander *expander; /* --lines; NULL: no source lines */
	/* Called several times a second. May change the title of the next table. NULL: none. */
	void (*poll)(void *context);
	void *context;
};

/*
 * Prints tables to FILE until one of the limits is reached, until SIGINT, SIGTERM or SIGHUP, or
 * until the end of the guest or recording, and then one last table. Error: FILE cannot be written.
 */
struct xtop_error *batch_run(const struct batch_settings *settings, struct snapshot_slot *slot,
			     struct control *control, FILE *file);

/* One table of samples, as batch_run() prints it. */
struct xtop_error *batch_print_table(const struct batch_settings *settings,
				     const struct snapshot *snapshot, FILE *file);

#endif
