/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How exits to Xen grew from one table to the next, and the table of a range of time, which is the
 * sum of what grew in each of its moments. Belongs to a history, so one thread at a time.
 */
#ifndef QUERY_EXITS_GROWTH_H
#define QUERY_EXITS_GROWTH_H

#include "xtop/base/error.h"
#include "xtop/base/limit.h"
#include "xtop/profile/exits.h"
#include "xtop/profile/time_histogram.h"

/* A bucket of a struct time_histogram, by its index, and how many times fell into it. */
struct exits_bucket {
	uint32_t bucket, count;
};

/* The weight of a reason, or of a reason's function. */
struct exits_part {
	struct exit_reason reason;
	bool is_cause;
	struct exits_place place; /* the place; functions only */
	uint32_t frame;           /* the frame of the struct exits_row; reasons only */
	struct exits_weight weight;
	uint64_t longest_ns, p99_ns; /* times of the reason; 0: not known */
	uint32_t times;              /* the reason's index in struct exits_growth's times[] */
	/* How long a reason's exits took; only in a sum. A struct exits_moment owns them. */
	const struct exits_bucket *buckets;
	size_t n_buckets;
};

/* What a reason, a function of a reason, or the waits of a vCPU grew by since the last table. */
struct exits_grown {
	struct exits_weight weight; /* 0 for the waits of a vCPU */
	uint64_t longest_ns;        /* the reason's longest exit, if it is new; otherwise 0 */
	size_t n_buckets;           /* its buckets follow those of the one before in the moment */
};

/* Buckets of a moment: some 50 for each of 32 reasons and 128 vCPUs. 600 moments take 38 MiB. */
#define EXITS_MOMENT_BUCKETS LIMIT(8192, 64)

/* What grew between two tables. */
struct exits_moment {
	struct exits_bucket *buckets;
	size_t n_buckets, capacity;
	size_t n;
	struct exits_grown grown[]; /* rows, functions and vCPUs of a table */
};

/* Totals of the last table. All zeros is the growth from nothing. */
struct exits_growth {
	struct exits_part *parts; /* sorted */
	size_t n, n_rows, n_vcpus;
	struct time_histogram *times; /* those of reasons, then one a vCPU; NULL: not known */
};

void exits_growth_deinit(struct exits_growth *growth);
size_t exits_growth_memory_bytes(const struct exits_growth *growth);
/*
 * Returns how much each row, each function and the waits of each vCPU of COPY grew since the last
 * TABLE. COPY is a part of TABLE, whose totals are kept for the next call. NULL: there is no TABLE,
 * or memory is out.
 */
struct exits_moment *exits_growth_update(struct exits_growth *growth,
					 const struct exits_table *table,
					 const struct exits_table *copy);
void exits_moment_destroy(struct exits_moment *moment); /* NULL allowed */
size_t exits_moment_memory_bytes(const struct exits_moment *moment);

/* The growth of several moments. All zeros is an empty sum. */
struct exits_sum {
	struct exits_part *parts;
	size_t n, capacity;
	/* The sum without rows and functions; its times[] are those of waits. NULL: no trace. */
	struct exits_table *table;
};

void exits_sum_deinit(struct exits_sum *sum);
/*
 * Adds GROWN, the growth from the table BEFORE to the table NOW, and keeps pointers to its buckets.
 * Each of them may be NULL. False: out of memory.
 */
bool exits_sum_add(struct exits_sum *sum, const struct exits_table *before,
		   const struct exits_table *now, const struct exits_moment *grown);
/* Returns the table of the sum, which exits_table_destroy() frees. NULL: none, or no memory. */
struct exits_table *exits_sum_build(struct exits_sum *sum);

#endif
