/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Batch mode. */
#include "config.h"

#include "xtop/export/batch.h"

#include <errno.h>
#include <math.h>
#include <time.h>

#include "xtop/base/cleanup.h"
#include "xtop/base/clock.h"
#include "xtop/base/interrupt.h"
#include "xtop/base/text.h"
#include "xtop/query/line_expander.h"

#define BATCH_POLL_S   0.05  /* interval of looking for a signal or the end */
#define BATCH_LINES_S  0.2   /* wait for source lines of a table that is not the last */
#define BATCH_ANSWER_S 0.001 /* interval of looking for a requested snapshot */
#define BATCH_BEGIN_S  10    /* how long the time limit waits for the first sample at most */
#define BATCH_PATIENCE_S 3   /* time that the resolver has for a table at the end */

static double batch_now_s(void)
{
	return (double)clock_now_ns() / 1e9;
}

static void batch_nap(double seconds)
{
	struct timespec nap = { .tv_sec = (time_t)seconds };

	nap.tv_nsec = (long)((seconds - (double)nap.tv_sec) * 1e9);
	nanosleep(&nap, NULL);
}

/*
 * Whether no more samples will come from the guest. The end of a recording shows in the resolver's
 * last snapshot instead: when the file has been read, much of it may still be in the ring.
 */
static bool batch_guest_ended(const struct control *control)
{
	struct sampler_counts counts;

	control_get_counts(control, &counts);
	return counts.state == SAMPLER_GUEST_GONE || counts.state == SAMPLER_FAILED;
}

/* The limit of -T, which counts from the first sample of a guest whose system is looked for. */
struct batch_limit {
	double time_s;  /* 0: no limit */
	double begin_s; /* latest time for the limit to begin */
	double end_s;   /* INFINITY: it has not begun, or there is none */
};

static void batch_limit_poll(struct batch_limit *limit, const struct control *control)
{
	double now_s = batch_now_s();
	struct sampler_counts counts;

	if (!(limit->time_s > 0) || limit->end_s != INFINITY)
		return;
	control_get_counts(control, &counts);
	if (!control_is_on_hold(control) || now_s >= limit->begin_s ||
	    (counts.state != SAMPLER_RUNNING && counts.state != SAMPLER_STARTING))
		limit->end_s = now_s + limit->time_s;
}

/*
 * Sleeps until DUE_S or the limit, or until the end. A snapshot that nobody asked for is the
 * resolver's last one (at_end): the recording is played.
 */
static struct snapshot *batch_wait(const struct batch_settings *settings,
				   struct snapshot_slot *slot, const struct control *control,
				   struct batch_limit *limit, double due_s)
{
	struct snapshot *last = NULL;
	double left_s;

	while (!interrupt_came() && !last && !batch_guest_ended(control)) {
		if (settings->poll)
			settings->poll(settings->context);
		batch_limit_poll(limit, control);
		left_s = (due_s < limit->end_s ? due_s : limit->end_s) - batch_now_s();
		if (left_s <= 0)
			break;
		batch_nap(left_s < BATCH_POLL_S ? left_s : BATCH_POLL_S);
		last = snapshot_take(slot);
	}
	return last;
}

/*
 * Requests a snapshot and waits for it. The resolver has to hurry if that takes long after END_S,
 * or after a signal.
 */
static struct snapshot *batch_get(struct snapshot_slot *slot, struct control *control, double end_s)
{
	double patient_until_s = batch_now_s() + BATCH_PATIENCE_S;
	struct snapshot *snapshot;

	snapshot_request(slot);
	while (!(snapshot = snapshot_take(slot))) {
		double now_s = batch_now_s();

		if (now_s >= patient_until_s && (interrupt_came() || now_s >= end_s))
			control_hurry(control);
		batch_nap(BATCH_ANSWER_S);
	}
	return snapshot;
}

typedef struct xtop_error *batch_table_fn(const struct snapshot *snapshot,
					  const struct table_options *options, FILE *file);

static struct xtop_error *batch_print_ascii(const struct batch_settings *settings,
					    const struct snapshot *snapshot, batch_table_fn *table,
					    FILE *file)
{
	_cleanup_free_ char *text = NULL;
	struct xtop_error *error;
	size_t size_bytes;
	FILE *memory = open_memstream(&text, &size_bytes);

	if (!memory)
		return error_create_errno(errno, "cannot write the table");
	error = table(snapshot, &settings->table, memory);
	if (fclose(memory) == EOF && !error)
		error = error_create_errno(errno, "cannot write the table");
	if (error)
		return error;
	text_to_ascii(text);
	fputs(text, file); /* the caller looks at ferror() */
	return NULL;
}

static struct xtop_error *batch_print(const struct batch_settings *settings,
				      const struct snapshot *snapshot, batch_table_fn *table,
				      FILE *file)
{
	struct xtop_error *error;

	if (settings->quiet)
		return NULL;
	error = settings->ascii ? batch_print_ascii(settings, snapshot, table, file)
				: table(snapshot, &settings->table, file);
	if (!error && (fflush(file) == EOF || ferror(file)))
		error = error_create_errno(errno, "cannot write the table");
	return error;
}

/* LAST: this is the last table, which waits for source lines. Other tables do not wait. */
static struct xtop_error *batch_print_samples(const struct batch_settings *settings,
					      const struct snapshot *snapshot, bool last,
					      FILE *file)
{
	struct snapshot *with_lines = NULL;
	struct xtop_error *error = NULL;

	if (settings->waits_only || settings->quiet)
		return NULL;
	if (settings->expander)
		error = line_expander_apply(settings->expander, snapshot,
					    last ? LINE_EXPANDER_WAIT_S : BATCH_LINES_S,
					    &with_lines);
	if (!error)
		error = batch_print(settings, with_lines ? with_lines : snapshot,
				    settings->json ? export_table_json : export_table, file);
	snapshot_destroy(with_lines);
	return error;
}

struct xtop_error *batch_print_table(const struct batch_settings *settings,
				     const struct snapshot *snapshot, FILE *file)
{
	return batch_print_samples(settings, snapshot, false, file);
}

/* Prints the tables of one interval. SNAPSHOT has the samples. LAST: no more tables follow. */
static struct xtop_error *batch_print_all(const struct batch_settings *settings,
					  const struct snapshot *snapshot, bool last,
					  struct control *control, double end_s, FILE *file)
{
	struct xtop_error *error = batch_print_samples(settings, snapshot, last, file);
	struct snapshot *waits;

	if (!error && !settings->json && !settings->waits_only)
		error = batch_print(settings, snapshot, export_takers_table, file);
	if (!error && !settings->json && !settings->waits_only)
		error = batch_print(settings, snapshot, export_exits_table, file);
	if (error || !settings->waits || (settings->json && !settings->waits_only))
		return error;
	/* The resolver has ended: its last snapshot is in the slot already. */
	waits = snapshot->at_end ? snapshot_take(settings->waits)
				 : batch_get(settings->waits, control, end_s);
	if (waits)
		error = batch_print(settings, waits,
				    settings->json ? export_waits_json : export_waits_table, file);
	if (waits && !error && !settings->json)
		error = batch_print(settings, waits, export_locks_table, file);
	snapshot_destroy(waits);
	return error;
}

/*
 * The time of the table after the one that was due at DUE_S. Tables that were missed while xtop was
 * stopped, or while nobody read its output, are not printed later: they would all say the same.
 */
static double batch_next(const struct batch_settings *settings, double due_s)
{
	double now_s = batch_now_s();

	if (!(settings->interval_s > 0))
		return INFINITY;
	due_s += settings->interval_s;
	return due_s > now_s ? due_s : now_s + settings->interval_s;
}

struct xtop_error *batch_run(const struct batch_settings *settings, struct snapshot_slot *slot,
			     struct control *control, FILE *file)
{
	double due_s = batch_now_s();
	struct batch_limit limit = { settings->time_s, due_s + BATCH_BEGIN_S, INFINITY };
	struct xtop_error *error = NULL;
	bool done = false;

	interrupt_catch();
	for (unsigned long tables = 0; !done && !error; tables++) {
		struct snapshot *snapshot;

		due_s = batch_next(settings, due_s);
		snapshot = batch_wait(settings, slot, control, &limit, due_s);
		done = snapshot || interrupt_came() || batch_guest_ended(control) ||
		       batch_now_s() >= limit.end_s || tables + 1 == settings->iterations;
		if (!snapshot)
			snapshot = batch_get(slot, control, limit.end_s);
		/*
		 * Without room for the recording there is no use in stopping the guest any more.
		 * The session reports the error.
		 */
		done |= snapshot_get_run(snapshot)->recording_errno != 0;
		/* The last snapshot came instead of the one that was asked for. */
		done |= snapshot->at_end;
		error = batch_print_all(settings, snapshot, done, control, limit.end_s, file);
		snapshot_destroy(snapshot);
	}
	return error;
}
