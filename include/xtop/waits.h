/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where tasks wait: a table out of a snapshot of waits (struct snapshot_waits). One row for each
 * process, thread, site and what it waits for. Functions of their arguments alone; any thread.
 */
#ifndef XTOP_WAITS_H
#define XTOP_WAITS_H

#include "xtop/filter.h"
#include "xtop/wait_sites.h"
#include "xtop/weights.h"

struct waits_row {
	uint32_t process, thread; /* frames; FRAME_NONE: none */
	struct wait_site site;
	struct weights weights;   /* self: what waited there */
	double mean, mean_total;  /* tasks at a time: of the live window, since start or reset */
	/* Not known of a picture of the history, which has weights only: */
	bool known;
	uint32_t now;        /* tasks in the last pass */
	uint8_t states;      /* as in struct snapshot_wait */
	uint64_t longest_ns; /* since start or reset */
};

struct waits_table {
	size_t n;
	struct waits_row *rows; /* in no order */
};

struct xtop_error *waits_build(const struct snapshot *snapshot, struct waits_table *table);
/* The table counts only the stacks that FILTER lets through. NULL: it counts all. */
struct xtop_error *waits_build_filtered(const struct snapshot *snapshot,
					const struct filter *filter, struct waits_table *table);
void waits_deinit(struct waits_table *table);

enum waits_order { WAITS_BY_NOW, WAITS_BY_MEAN, WAITS_BY_LONGEST, N_WAITS_ORDERS };
/* The most first. TOTALS: means since start or reset. FRAMES is the snapshot's. */
void waits_sort(struct waits_table *table, const struct frames *frames, enum waits_order order,
		bool totals);

/* "S", "SD": of row->states; "-": not known. */
#define WAITS_STATES_BYTES 8
const char *waits_states(const struct waits_row *row, char buffer[WAITS_STATES_BYTES]);

/* What waits in idle pools: threads that wait for work. */
struct waits_idle {
	uint32_t now;
	double mean, mean_total;
};
struct waits_idle waits_count_idle(const struct waits_table *table);

#endif
