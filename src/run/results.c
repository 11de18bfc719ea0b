/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of a run; see results.h. */
#include "config.h"

#include "run/results.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "run/annotation_sources.h"
#include "xtop/base/cleanup.h"
#include "xtop/base/clock.h"
#include "xtop/export/export.h"
#include "xtop/pipeline/pipelines.h"
#include "xtop/query/exits_profile.h"
#include "xtop/query/line_expander.h"
#include "xtop/supervise/broker.h"

/* The run whose results are being written. */
struct results_work {
	const struct options *options;
	const struct results_run *run;
	struct snapshot *snapshot;
	struct snapshot *waits; /* NULL: nobody looked at waits */
	struct snapshot *exits; /* the profile of --profile=exits; else NULL */
};

/* --- opening ---------------------------------------------------------------------------------- */

/* Whether A and B name one regular file. Other files, such as terminals, can be written twice. */
static bool results_is_same_file(const char *a, const char *b)
{
	struct stat first, second;

	return b && stat(a, &first) == 0 && stat(b, &second) == 0 && S_ISREG(first.st_mode) &&
	       first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

/*
 * Refuses to overwrite a file that is read, or the other result. options_check() has compared the
 * names of files; here the files themselves are compared.
 */
static struct xtop_error *results_open_file(const struct results *results, const char *path,
					    struct output_file **filep)
{
	const struct options *options = results->options;
	bool taken = results_is_same_file(path, options->replay) ||
		     (results->output && results_is_same_file(path, options->output));

	for (size_t i = 0; i < options->n_symbols && !taken; i++)
		taken = results_is_same_file(path, options->symbols[i]);
	if (taken)
		return error_create("cannot write '%s': this run reads or writes that file already",
				    path);
	return output_open(path, true, &broker_opener, filep);
}

struct xtop_error *results_open(struct results *results, const struct options *options)
{
	struct xtop_error *error = NULL;

	results->options = options;
	if (options->output)
		error = results_open_file(results, options->output, &results->output);
	if (!error && options->stats)
		error = results_open_file(results, options->stats, &results->stats);
	return error;
}

void results_deinit(struct results *results)
{
	output_discard(results->output);
	output_discard(results->stats);
}

/* --- the profile ------------------------------------------------------------------------------ */

static uint64_t results_wall_ns(const struct results_work *work, const struct snapshot *snapshot)
{
	uint64_t wall_ns = export_wall_ns(snapshot, work->options->clock);

	return wall_ns ? wall_ns : pipeline_wall_ns(work->run->pipeline, snapshot->started_ns);
}

/* WAITS has the frames of SNAPSHOT, or is NULL. If no task waited only one profile is written. */
static struct xtop_error *results_put_both(const struct results_work *work,
					   const struct snapshot *snapshot,
					   const struct snapshot *waits, FILE *stream)
{
	const struct options *options = work->options;
	const struct pipeline *pipeline = work->run->pipeline;
	const struct export_settings settings = {
		.filter = work->run->filter,
		.addresses = options->addresses,
		.by_cgroup = options->by_cgroup,
		.domain = pipeline_guest(pipeline)->name,
		.type = pipelines_type_of(pipeline),
		.wall_ns = results_wall_ns(work, snapshot),
		.clock = options->clock,
		.samples = options->profile ? NULL : pipeline_samples(pipeline),
		.lines = work->run->lines,
		.inlined = !options->no_inline,
		.waits = !options->profile && waits && waits->total_weight > 0 ? waits : NULL,
	};

	return export_find_format(options->format)->write(snapshot, &settings, stream);
}

static struct xtop_error *results_put_profile(const struct results_work *work,
					      const struct snapshot *snapshot, FILE *stream)
{
	struct line_client *lines = work->run->lines;
	struct xtop_error *error =
		lines ? line_expander_ask(lines, snapshot, LINE_EXPANDER_WAIT_S) : NULL;

	if (!error && lines && work->waits)
		error = line_expander_ask(lines, work->waits, LINE_EXPANDER_WAIT_S);
	return error ? error : results_put_both(work, snapshot, work->waits, stream);
}

/* Writes a profile in which frames have source lines. */
static struct xtop_error *results_put_lines(const struct results_work *work,
					    const struct snapshot *snapshot, FILE *stream)
{
	const struct line_expander_settings settings = {
		.lines = work->run->lines,
		.inlined = !work->options->no_inline,
		.in_names = export_find_format(work->options->format)->lines_in_names,
	};
	struct snapshot *with_lines = NULL, *waits = NULL;
	struct line_expander *expander = NULL;
	struct xtop_error *error = line_expander_create(&settings, &expander);

	if (!error)
		error = line_expander_apply(expander, snapshot, LINE_EXPANDER_WAIT_S, &with_lines);
	if (!error && work->waits && !work->options->profile)
		error = line_expander_apply(expander, work->waits, LINE_EXPANDER_WAIT_S, &waits);
	if (!error)
		error = results_put_both(work, with_lines, waits, stream);
	snapshot_destroy(with_lines);
	snapshot_destroy(waits);
	line_expander_destroy(expander);
	return error;
}

/* --- the statistics --------------------------------------------------------------------------- */

static struct xtop_error *results_put_stats(const struct results_work *work,
					    const struct snapshot *snapshot, FILE *stream)
{
	static const char *const types[] = {
		[GUEST_PV] = "pv", [GUEST_PVH] = "pvh", [GUEST_HVM] = "hvm"
	};
	const struct pipeline *pipeline = work->run->pipeline;
	struct rusage usage = { 0 };
	struct stats_info info = {
		.domain = pipeline_guest(pipeline)->name,
		.type = pipeline_is_profile(pipeline)     ? "profile"
			: pipeline_is_recording(pipeline) ? "recording"
							  : types[pipeline_guest(pipeline)->type],
		.wall_s = (double)(clock_now_ns() - work->run->started_ns) / 1e9,
		.ui_cpu_s = (double)clock_ns(CLOCK_THREAD_CPUTIME_ID) / 1e9,
		.waits = work->waits,
	};

	getrusage(RUSAGE_SELF, &usage);
	info.rss_bytes = (uint64_t)usage.ru_maxrss * 1024;
	return export_stats(snapshot, &info, stream);
}

/* --- all of it -------------------------------------------------------------------------------- */

typedef struct xtop_error *results_put_fn(const struct results_work *work,
					  const struct snapshot *snapshot, FILE *stream);

/* Writes and closes *FILEP, if it was opened. */
static struct xtop_error *results_write_file(const struct results_work *work,
					     const struct snapshot *snapshot,
					     struct output_file **filep, results_put_fn *put)
{
	struct output_file *file = no_cleanup_ptr(*filep);
	struct xtop_error *error;
	FILE *stream;

	if (!file)
		return NULL;
	error = output_begin(file, &stream);
	if (!error)
		error = put(work, snapshot, stream);
	if (!error)
		return output_close(file);
	output_discard(file);
	return error;
}

/* Prints the instructions of --annotate on stdout. */
static struct xtop_error *results_annotate(const struct results_work *work)
{
	const struct results_run *run = work->run;
	struct annotation *annotation = NULL;
	struct xtop_error *error;
	uint32_t frame;

	if (!work->options->annotate)
		return NULL;
	error = annotate_find(work->snapshot, work->options->annotate, &frame);
	if (!error)
		error = pipeline_annotate(run->pipeline, work->snapshot, frame, &annotation);
	if (!error)
		annotation_sources_wait(run->sources, annotation,
					frames_get(work->snapshot->frames, frame)->module,
					LINE_EXPANDER_WAIT_S);
	if (!error)
		error = export_annotation(work->snapshot, annotation, &run->sources->finder,
					  &run->code, run->title, stdout);
	annotation_destroy(annotation);
	if (!error && (fflush(stdout) == EOF || ferror(stdout)))
		error = error_create_errno(errno, "cannot write the instructions");
	return error;
}

static struct xtop_error *results_read(struct results_work *work)
{
	const struct options *options = work->options;
	struct xtop_error *error = pipeline_snapshot(work->run->pipeline, &work->snapshot);

	if (!error && options->waits_hz > 0)
		error = pipeline_snapshot_waits(work->run->pipeline, &work->waits);
	if (!error && options->profile == PROFILE_OF_WAITS && !work->waits)
		error = error_create("--profile=waits: this has no tasks that wait");
	if (!error && options->profile == PROFILE_OF_EXITS)
		error = exits_profile_create(work->snapshot, &work->exits);
	return error;
}

/* The profile that --profile chooses. */
static const struct snapshot *results_chosen(const struct results_work *work)
{
	const struct snapshot *const profiles[] = {
		[PROFILE_OF_CPU] = work->snapshot,
		[PROFILE_OF_WAITS] = work->waits,
		[PROFILE_OF_EXITS] = work->exits,
	};

	return profiles[work->options->profile];
}

/* Whether the snapshot needs frames with lines. A format that has each sample adds lines itself. */
static bool results_has_lines(const struct results_work *work)
{
	return work->options->lines &&
	       !export_find_format(work->options->format)->has_samples;
}

struct xtop_error *results_write(struct results *results, const struct results_run *run)
{
	const struct options *options = results->options;
	struct results_work work = { .options = options, .run = run };
	struct xtop_error *error = results_read(&work);

	if (!error) {
		error = results_write_file(
			&work, results_chosen(&work), &results->output,
			results_has_lines(&work) ? results_put_lines : results_put_profile);
		error = error_first(error, results_write_file(&work, work.snapshot, &results->stats,
							      results_put_stats));
		error = error_first(error, results_annotate(&work));
	}
	snapshot_destroy(work.snapshot);
	snapshot_destroy(work.waits);
	snapshot_destroy(work.exits);
	return error;
}
