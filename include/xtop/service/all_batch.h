/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --all -b: at the end of each interval a table for each guest. Main's thread. */
#ifndef XTOP_ALL_BATCH_H
#define XTOP_ALL_BATCH_H

#include "xtop/export/batch.h"
#include "xtop/pipeline/pipelines.h"
#include "xtop/service/all_guests.h"
#include "xtop/service/host_share.h"

/* To begin with all zeros but for the first members. */
struct all_batch {
	const struct options *options;
	struct pipelines *pipelines;
	void (*report)(const char *line);
	struct batch_settings batch; /* of all tables; without a title */
	struct all_guests all;
	struct host_budget host_budget; /* with its first members */
};

/*
 * Until a signal, the time of -T or the tables of -n, which are so many of each guest. Error: FILE
 * cannot be written, or there is no list of domains.
 */
struct xtop_error *all_batch_run(struct all_batch *all, FILE *file);

#endif
