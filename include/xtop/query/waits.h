/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where tasks wait: a table, built from a snapshot of waits (struct snapshot_waits). It has one row
 * for each process, thread, site and kind of wait. Functions of their arguments alone; any thread.
 */
#ifndef XTOP_WAITS_H
#define XTOP_WAITS_H

#include "xtop/profile/wait_sites.h"
#include "xtop/query/filter.h"
#include "xtop/query/weights.h"

struct waits_row {
	uint32_t process, thread; /* frames; FRAME_NONE: none */
	struct wait_site site;
	struct weights weights;   /* only self is set */
	double mean, mean_total;  /* mean number of tasks: by live weight; since start or reset */
	/* KNOWN is false for a snapshot of the history, which has only weights. */
	bool known;
	uint32_t now;        /* number of tasks in the last pass */
	uint8_t states;      /* bit i: enum os_wait_state i was seen when tasks last waited here */
	uint64_t longest_ns; /* the longest wait since start or reset */
};

struct waits_table {
	size_t n;
	struct waits_row *rows; /* rows in no particular order: sort with waits_sort() */
};

/* Error: out of memory. */
struct xtop_error *waits_build(const struct snapshot *snapshot, struct waits_table *table);
/* Builds a table of the stacks that FILTER matches. FILTER NULL: all stacks count. */
struct xtop_error *waits_build_filtered(const struct snapshot *snapshot,
					const struct filter *filter, struct waits_table *table);
void waits_deinit(struct waits_table *table);

enum waits_order { WAITS_BY_NOW, WAITS_BY_MEAN, WAITS_BY_LONGEST, N_WAITS_ORDERS };
/*
 * Sorts by ORDER, the largest first. TOTALS: by means since start or reset. FRAMES: the snapshot's.
 */
void waits_sort(struct waits_table *table, const struct frames *frames, enum waits_order order,
		bool totals);

/* Where and for what the stack of NODE waits. CLASSES: see wait_sites.h. */
struct wait_site waits_site_of(const struct snapshot *snapshot, const struct wait_classes *classes,
			       uint32_t node);

/*
 * *TO becomes FROM with the weight of each stack at its site, not at its innermost function, which
 * is the scheduler's. The caller frees to->nodes. Error: out of memory.
 */
struct xtop_error *waits_weigh_sites(const struct snapshot *from, struct snapshot *to);

/* The letters of row->states: "S", "SD"; "-": not known. */
#define WAITS_STATES_BYTES 8
const char *waits_states(const struct waits_row *row, char buffer[WAITS_STATES_BYTES]);

/* How many threads wait for work. */
struct waits_idle {
	uint32_t now;
	double mean, mean_total;
};
struct waits_idle waits_count_idle(const struct waits_table *table);

#endif
