/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text of --metrics: Prometheus' text format 0.0.4. doc/FORMATS lists the metrics. Base units:
 * seconds, bytes, ratios. Functions of their arguments alone; any thread.
 */
#ifndef XTOP_METRICS_TEXT_H
#define XTOP_METRICS_TEXT_H

#include <stdio.h>

#include "xtop/base/error.h"
#include "xtop/profile/wait_sites.h"
#include "xtop/push/push.h"
#include "xtop/sample/control.h"

#define METRICS_NAME_BYTES    128 /* bytes of a function's name; a longer name is cut */
#define METRICS_MAX_FUNCTIONS 20  /* functions of a guest */

/* A function's self share of the last interval. Texts are clean. */
struct metrics_function {
	char name[METRICS_NAME_BYTES], module[METRICS_NAME_BYTES];
	double ratio;
};

/* One guest. Counts are since the start of xtop's work on it; times in s. */
struct metrics_guest {
	const char *domain, *uuid; /* clean; no two guests have both in common */
	double running;            /* 1: it is sampled now */
	double rate_asked_hz, rate_hz;
	double budget_ratio, stopped_ratio, stopped_s;
	double samples, lost, refused, skipped, missed;
	double stacks, truncated, unknown; /* ticks that they stand for */
	double vcpu_s, ran_s, steal_s;
	double sampler_cpu_s, watchers_cpu_s, resolver_cpu_s;
	double mapped_bytes, profile_bytes;
	struct stopped_summary stopped;
	size_t n_functions;
	const struct metrics_function *functions;
	double functions_rest; /* the self share of all other functions */
	bool has_waits;
	double waiting[N_WAIT_KINDS]; /* mean number of tasks that are not idle */
};

/* A process of xtop that all guests share. */
struct metrics_usage {
	const char *name; /* "main"; NULL: there is none */
	uint64_t cpu_ns, resident_bytes; /* resident_bytes 0: not known */
};
#define METRICS_MAX_USAGES 4

struct metrics_host {
	const char *version, *xen;      /* clean; "": not known */
	const struct push_status *push; /* NULL: no --push */
	double budget_ratio, cpu_ratio; /* --host-budget, of one CPU; 0: no limit */
	struct metrics_usage usages[METRICS_MAX_USAGES];
};

/* Errors of FILE are its writer's affair. */
void metrics_write_text(const struct metrics_host *host, const struct metrics_guest *guests,
			size_t n, FILE *file);

#endif
