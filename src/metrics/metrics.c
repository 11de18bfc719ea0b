/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Main's side of --metrics; see metrics.h. */
#include "config.h"

#include "xtop/metrics/metrics.h"

#include <stdlib.h>

#include "metrics/metrics_process.h"
#include "xtop/supervise/sender.h"

struct metrics {
	struct sender *sender;
	struct metrics_process process; /* the other process's state; here only its target is set */
	struct metrics_status status;
};

struct xtop_error *metrics_check(const char *target)
{
	struct metrics_target parsed;

	return metrics_target_parse(target, &parsed);
}

struct xtop_error *metrics_start(const char *target, struct metrics **metricsp)
{
	struct metrics *metrics = calloc(1, sizeof(*metrics));
	struct sender_settings sender = {
		.option = "--metrics",
		.open = metrics_process_open,
		.run = metrics_process_run,
		.name = "metrics",
	};
	struct xtop_error *error;

	if (!metrics)
		return error_create("out of memory");
	sender.context = &metrics->process;
	error = metrics_target_parse(target, &metrics->process.target);
	if (metrics->process.target.is_file)
		sender.folder = metrics->process.target.folder;
	if (!error)
		error = sender_start(&sender, &metrics->sender);
	if (error)
		metrics_stop(metrics);
	else
		*metricsp = metrics;
	return error;
}

void metrics_put(const struct metrics *metrics, const void *text, size_t size_bytes)
{
	const uint32_t packet = (uint32_t)size_bytes;

	if (size_bytes <= METRICS_MAX_BYTES)
		sender_put_bytes(metrics->sender, &packet, sizeof(packet), text, size_bytes);
}

void metrics_get_status(struct metrics *metrics, struct metrics_status *status)
{
	struct metrics_status news;

	while (sender_get(metrics->sender, &news, sizeof(news)))
		metrics->status = news;
	*status = metrics->status;
	status->message[sizeof(status->message) - 1] = '\0';
}

bool metrics_is_alive(const struct metrics *metrics)
{
	return !sender_wait_for_end(metrics->sender, 0);
}

void metrics_stop(struct metrics *metrics)
{
	if (!metrics)
		return;
	sender_stop(metrics->sender);
	free(metrics);
}
