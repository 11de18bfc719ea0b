/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Without a screen: tables on stdout at intervals. Main's thread. */
#ifndef XTOP_BATCH_H
#define XTOP_BATCH_H

#include "xtop/export.h"

struct batch_settings {
	struct table_options table;
	double interval_s;        /* between tables; 0: only one, at the end */
	unsigned long iterations; /* tables; 0: no limit */
	double time_s;            /* 0: no limit */
	bool quiet;               /* no tables */
	bool ascii;               /* they go to a terminal that knows no UTF-8 */
	/* Called now and then, and before a table: may change its title. NULL: nothing to do. */
	void (*look)(void *context);
	void *context;
};

/*
 * Until one of the limits, SIGINT, SIGTERM or SIGHUP, or the end of the guest or recording, whose
 * table is printed as the last. Error: stdout cannot be written.
 */
struct xtop_error *batch_run(const struct batch_settings *settings, struct snapshot_slot *slot,
			     const struct control *control, FILE *file);

#endif
