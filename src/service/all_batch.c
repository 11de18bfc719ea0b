/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of all guests; see all_batch.h. Main's thread. */
#include "config.h"

#include "xtop/service/all_batch.h"

#include <string.h>
#include <time.h>

#include "xtop/base/clock.h"
#include "xtop/base/interrupt.h"
#include "xtop/base/text.h"
#include "xtop/query/line_expander.h"

#define ALL_BATCH_NAP_NS    100000000     /* time between looks for new guests */
#define ALL_BATCH_TAKE_NS   20000000      /* time between looks for tables that are owed */
#define ALL_BATCH_ANSWER_NS 2000000000ULL /* a slower resolver has its table next time */

static void all_batch_nap(long ns)
{
	nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);
}

static struct xtop_error *all_batch_print(const struct all_batch *all,
					  const struct pipeline *pipeline,
					  const struct snapshot *snapshot, FILE *file)
{
	const struct guest_info *info = pipeline_guest(pipeline);
	struct batch_settings batch = all->batch;
	const struct line_expander_settings settings = { .lines = all->pipelines->files->lines,
							 .inlined = !all->options->no_inline };
	char name[64], kind[48], title[128];
	struct line_expander *expander = NULL;
	struct xtop_error *error = NULL;

	pipelines_describe(pipeline, " ", kind, sizeof(kind));
	text_clean(name, sizeof(name), info->name, strlen(info->name));
	snprintf(title, sizeof(title), "%s %s", name, kind);
	batch.table.title = title;
	if (all->options->lines)
		error = line_expander_create(&settings,
					     &expander); /* the frames are this guest's */
	batch.expander = expander;
	if (!error)
		error = batch_print_table(&batch, snapshot, file);
	line_expander_destroy(expander);
	return error;
}

/* Prints the tables that are there. Sets *NP to the number of guests that still owe their table. */
static struct xtop_error *all_batch_take(const struct all_batch *all, bool *owed, size_t *np,
					 FILE *file)
{
	struct xtop_error *error = NULL;

	for (size_t i = 0; i < PIPELINES_MAX_GUESTS && !error; i++) {
		struct pipeline *pipeline = pipelines_get(all->pipelines, i);
		struct snapshot *snapshot;

		if (!pipeline || !owed[i])
			continue;
		snapshot = snapshot_take(pipeline_slot(pipeline));
		if (!snapshot)
			continue;
		owed[i] = false;
		--*np;
		error = all_batch_print(all, pipeline, snapshot, file);
		snapshot_destroy(snapshot);
	}
	return error;
}

/* Prints the tables of one interval, in the order of the guests' places. */
static struct xtop_error *all_batch_print_all(const struct all_batch *all, FILE *file)
{
	uint64_t until_ns = clock_now_ns() + ALL_BATCH_ANSWER_NS;
	bool owed[PIPELINES_MAX_GUESTS] = { false };
	struct xtop_error *error;
	size_t n = 0;

	for (size_t i = 0; i < PIPELINES_MAX_GUESTS; i++) {
		struct pipeline *pipeline = pipelines_get(all->pipelines, i);

		if (!pipeline)
			continue;
		snapshot_request(pipeline_slot(pipeline));
		owed[i] = true;
		n++;
	}
	error = all_batch_take(all, owed, &n, file);
	while (!error && n && clock_now_ns() < until_ns) {
		all_batch_nap(ALL_BATCH_TAKE_NS);
		error = all_batch_take(all, owed, &n, file);
	}
	return error;
}

/* Removes guests that have gone, to make room for others. */
static void all_batch_remove_ended(struct all_batch *all)
{
	for (size_t i = 0; i < PIPELINES_MAX_GUESTS; i++) {
		struct pipeline *pipeline = pipelines_get(all->pipelines, i);
		struct sampler_counts counts;

		if (!pipeline)
			continue;
		control_get_counts(pipeline_control(pipeline), &counts);
		if (counts.state == SAMPLER_GUEST_GONE || counts.state == SAMPLER_FAILED) {
			error_destroy(pipelines_stop_guest_at(all->pipelines, i));
			pipelines_remove_at(all->pipelines, i);
		}
	}
}

static struct xtop_error *all_batch_wait(struct all_batch *all, uint64_t until_ns)
{
	struct xtop_error *error = NULL;
	char line[HOST_SHARE_LINE_BYTES];

	while (!error && !interrupt_came() && clock_now_ns() < until_ns) {
		error = all_guests_poll(&all->all, all->options, all->pipelines, all->report);
		if (host_share_keep(&all->host_budget, all->pipelines, 0, clock_now_ns(), line) &&
		    all->report)
			all->report(line);
		all_batch_nap(ALL_BATCH_NAP_NS);
	}
	return error;
}

struct xtop_error *all_batch_run(struct all_batch *all, FILE *file)
{
	const struct options *options = all->options;
	uint64_t interval_ns = (uint64_t)(options->interval_s * 1e9), now_ns = clock_now_ns();
	uint64_t end_ns = options->time_s > 0 ? now_ns + (uint64_t)(options->time_s * 1e9)
					      : UINT64_MAX;
	struct xtop_error *error = NULL;
	bool done = false;

	interrupt_catch();
	for (unsigned long n = 1; !done && !error; n++) {
		now_ns = clock_now_ns();
		error = all_batch_wait(all, end_ns - now_ns < interval_ns ? end_ns
									  : now_ns + interval_ns);
		done = interrupt_came() || clock_now_ns() >= end_ns || n == options->iterations;
		if (!error)
			error = all_batch_print_all(all, file);
		all_batch_remove_ended(all);
	}
	return error;
}
