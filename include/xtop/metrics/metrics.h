/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Metrics for Prometheus (xtop --metrics): main hands over the whole text of them now and then
 * (metrics_text.h), and another process (sender.h) serves the newest text.
 *
 *   ADDRESS:PORT     HTTP on this numeric address of dom0, by libmicrohttpd
 *   /DIR/NAME.prom   a file that node_exporter's textfile collector reads
 *
 * Main's thread. Nothing here waits for a client.
 */
#ifndef XTOP_METRICS_H
#define XTOP_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xtop/base/error.h"

#define METRICS_MAX_BYTES (16U << 20)
/* An older text is not shown: Prometheus is to see that xtop does not work. */
#define METRICS_STALE_NS 60000000000ULL

/* The process that serves metrics, as main sees it. */
struct metrics;

/* What the process tells. */
struct metrics_status {
	uint64_t scrapes; /* answers to Prometheus, or files that were written */
	uint64_t cpu_ns, resident_bytes;
	unsigned port;    /* port of the server; 0: a file is written */
	bool failing;     /* the file cannot be written */
	char message[120];
};

/* Checks the option. Errors are usage errors. */
struct xtop_error *metrics_check(const char *target);
/* Starts the process. Call it first of all, with all rights. TARGET outlives the run. */
struct xtop_error *metrics_start(const char *target, struct metrics **metricsp);
/* Hands over a text. If there is no room for it now, the next one will come. */
void metrics_put(const struct metrics *metrics, const void *text, size_t size_bytes);
void metrics_get_status(struct metrics *metrics, struct metrics_status *status);
/* False: the process was killed. This run cannot start it again, because it has no rights now. */
bool metrics_is_alive(const struct metrics *metrics);
/* Ends the process, and frees METRICS, which may be NULL. */
void metrics_stop(struct metrics *metrics);

#endif
