/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --all -b: at the end of each interval a table for each guest. Main's thread. */
#ifndef XTOP_ALL_BATCH_H
#define XTOP_ALL_BATCH_H

#include "xtop/export/batch.h"
#include "xtop/pipeline/pipelines.h"
#include "xtop/service/all_guests.h"
#include "xtop/service/host_share.h"

/* The caller sets the members up to host_budget.hz; the others begin as zeros. */
struct all_batch {
	const struct options *options;
	struct pipelines *pipelines;
	void (*report)(const char *line);
	struct batch_settings batch; /* settings of all tables, without a title */
	struct all_guests all;
	struct host_budget host_budget; /* the caller sets limit and hz */
};

/*
 * Prints tables to FILE until a signal comes, the time of -T is over, or each guest has had the
 * tables of -n. Error: FILE cannot be written, or there is no list of domains.
 */
struct xtop_error *all_batch_run(struct all_batch *all, FILE *file);

#endif
