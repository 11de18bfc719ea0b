/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One run of xtop: opens a pipeline for each guest or for the recording, shows them on the screen
 * or in batch mode, and writes the files at the end. Main's thread. pipeline.c knows the stages of
 * one guest.
 */
#include "config.h"

#include "xtop/run/session.h"

#include <langinfo.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "run/addr2line.h"
#include "run/annotation_sources.h"
#include "run/comparison.h"
#include "run/crash_report.h"
#include "run/results.h"
#include "xtop/base/cleanup.h"
#include "xtop/base/clock.h"
#include "xtop/base/disk_room.h"
#include "xtop/base/output.h"
#include "xtop/base/text.h"
#include "xtop/base/xdg.h"
#include "xtop/cli/example.h"
#include "xtop/elf/elf.h"
#include "xtop/export/batch.h"
#include "xtop/pipeline/pipelines.h"
#include "xtop/query/line_expander.h"
#include "xtop/sample/sampler.h"
#include "xtop/service/all_batch.h"
#include "xtop/service/publisher.h"
#include "xtop/supervise/broker.h"
#include "xtop/supervise/sandbox.h"
#include "xtop/ui/ui.h"
#include "xtop/unwind/disassemble.h"

#define SESSION_SYSTEM_S 10 /* the longest wait until a guest's system is known */

struct session {
	const struct options *options; /* points to completed */
	struct options completed;      /* the command line, and what xtoprc adds */
	struct ui_rc rc;
	struct xtop_error *rc_error; /* why xtoprc is not used */
	struct filter *filter;
	const struct column *sort;
	struct host_files files;
	struct pipelines pipelines;
	struct all_guests all;          /* the guests of --all, with the screen only */
	struct host_budget host_budget; /* what --all may take of dom0, with the screen only */
	struct comparison comparison;
	struct line_expander *expander;    /* puts source lines into tables; NULL without --lines */
	struct annotation_sources sources; /* source lines beside instructions */
	struct results results;
	struct publisher publisher; /* sends profiles for --push */
	struct broker_settings broker;
	char cache[PATH_MAX]; /* the folder with the tables of kernels that were seen before */
	uint64_t started_ns;  /* clock_now_ns() */
	session_report_fn *report;
	char title[128];          /* the title of the tables */
	char reported[160];       /* the last note that was reported */
	/* folder for files that are named on the screen; NULL: the current directory */
	const char *write_folder;
};

/* --- starting --------------------------------------------------------------------------------- */

static bool session_has_screen(const struct options *options)
{
	return !options->batch && !options->quiet && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

static bool session_has_files(const struct options *options)
{
	return options->output || options->stats || options->record;
}

/* Whether --addr2line reads files alone, without a guest. */
static bool session_reads_files_alone(const struct options *options)
{
	return options->addr2line && !options->n_domains && !options->replay && options->n_symbols;
}

/* Leaves *FILTERP alone if there is no filter. */
static struct xtop_error *session_create_filter(const struct options *options,
						struct filter **filterp)
{
	_cleanup_free_ char *text = filter_join(options->filters, options->n_filters);

	return text ? filter_create(text, filterp) : NULL;
}

struct xtop_error *session_check_xen(const struct options *options)
{
	_cleanup_free_ struct guest_listing *list = NULL;
	size_t n;

	if (options->n_domains || options->replay || options->batch || session_has_files(options))
		return NULL;
	return guest_list(&list, &n);
}

struct xtop_error *session_check(const struct options *options)
{
	struct filter *filter = NULL;
	struct xtop_error *error = NULL;

	if (options->n_domains == 0 && !options->replay && !session_reads_files_alone(options) &&
	    !options->all && (!session_has_screen(options) || session_has_files(options)))
		return error_create(
			"which domain? Give -d NAME, domid or UUID; xtop -l lists them");
	if (options->baseline && !options->diff && !session_has_screen(options))
		return error_create("--baseline is for the screen: for a table give --diff %s NEW",
				    options->baseline);
	if (options->n_domains > UI_MAX_GUESTS)
		return error_create("at most %d domains at a time", UI_MAX_GUESTS);
	if (options->push)
		error = push_check(&(struct push_settings){ .url = options->push,
							    .labels = options->labels,
							    .n_labels = options->n_labels });
	if (!error && options->metrics)
		error = metrics_check(options->metrics);
	if (error)
		return error;
	if (options->n_domains > 1 && !options->push && !options->metrics &&
	    (!session_has_screen(options) || session_has_files(options)))
		return error_create(
			"tables and files are of one domain: start another xtop for '%s'",
			options->domains[1]);
	error = session_create_filter(options, &filter);
	filter_destroy(filter);
	return error;
}

static struct xtop_error *session_create_view(struct session *session)
{
	const struct options *options = session->options;
	const struct line_expander_settings expander = { .lines = session->files.lines,
							 .inlined = !options->no_inline };
	struct xtop_error *error =
		options->lines ? line_expander_create(&expander, &session->expander) : NULL;

	if (!error)
		error = annotation_sources_init(&session->sources, options, &session->files);
	if (error)
		return error;

	session->sort = options->sort ? column_find(options->sort) : &columns[COLUMN_CHILDREN];
	return session_create_filter(options, &session->filter);
}

/*
 * The broker keeps the rights that this process gives up: to guests, to remove its own files, and
 * to open files for the user.
 */
static struct xtop_error *session_start_broker(struct session *session)
{
	const struct options *options = session->options;
	bool has_cache = !options->replay && xdg_folder("XDG_CACHE_HOME", ".cache", session->cache,
							sizeof(session->cache));

	session->broker = (struct broker_settings){
		.run = options->crash  ? crash_sampler_run
		       : options->bare ? sampler_run_bare
				       : sampler_run,
		.domains = options->domains,
		.n_domains = options->n_domains,
		.files = { options->output, options->stats, options->record },
		.budget = options->budget,
		.rate_hz = options->freq_hz,
		.shared = options->shared,
		.no_domains = options->replay || session_reads_files_alone(options),
		.neighbours = options->neighbours,
		.exits = options->exits,
		.news = options->push || options->metrics,
		.has_screen = !options->batch,
		.endings = export_endings,
		.cache = has_cache ? session->cache : NULL,
	};
	return broker_start(&session->broker);
}

static void session_read_version(const char *path, char *text, size_t capacity)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");

	text[0] = '\0';
	if (file && fgets(text, (int)capacity, file))
		text[strcspn(text, "\n")] = '\0';
}

/* Reads "Xen 4.17.7" from dom0's kernel (Linux Documentation/ABI/stable/sysfs-hypervisor-xen). */
static void session_read_host(char *host, size_t capacity)
{
	char major[8], minor[8], extra[16];

	session_read_version("/sys/hypervisor/version/major", major, sizeof(major));
	session_read_version("/sys/hypervisor/version/minor", minor, sizeof(minor));
	session_read_version("/sys/hypervisor/version/extra", extra, sizeof(extra));
	host[0] = '\0';
	if (major[0])
		snprintf(host, capacity, "Xen %s.%s%s", major, minor, extra);
}

/* Starts processes before anything is opened, so that they inherit no file of a guest. */
static struct xtop_error *session_start_helpers(struct session *session)
{
	const struct options *options = session->options;
	char folder[PATH_MAX], *cache = folder;
	struct xtop_error *error = NULL;

	if (!xdg_folder("XDG_CACHE_HOME", ".cache", folder, sizeof(folder)))
		cache = NULL;
	if (options->lines || options->addr2line)
		error = line_client_start(&elf_lines_reader, &session->files.lines);
	if (!error && options->debuginfod)
		error = fetch_start(cache, &session->files.fetch);
	if (!error && (options->push || options->metrics)) {
		session_read_host(session->publisher.xen, sizeof(session->publisher.xen));
		error = publisher_start(&session->publisher, cache);
	}
	return error;
}

/*
 * Opens files while this process has rights. The process reads them after giving up these rights.
 */
static struct xtop_error *session_open_inputs(struct session *session)
{
	const struct options *options = session->options;
	struct inputs **inputs = &session->files.inputs;
	struct xtop_error *error = inputs_create(inputs);

	if (!error && options->replay)
		error = inputs_add(*inputs, options->replay);
	if (!error && options->baseline)
		error = inputs_add(*inputs, options->baseline);
	for (size_t i = 0; i < options->n_symbols && !error; i++)
		error = inputs_add(*inputs, options->symbols[i]);
	if (!error && options->root)
		error = inputs_add(*inputs, options->root);
	for (size_t i = 0; i < options->n_debug_dirs && !error; i++)
		error = inputs_add(*inputs, options->debug_dirs[i]);
	for (size_t i = 0; i < options->n_source_dirs && !error; i++)
		error = inputs_add(*inputs, options->source_dirs[i]);
	if (!options->batch || options->annotate)
		session->rc_error = ui_rc_open(&session->rc, !options->batch);
	return error;
}

/*
 * Reads xtoprc before a guest is sampled. Options win over its settings. Without the screen only
 * the settings of instructions count, and an error in the file is reported here.
 */
static void session_read_settings(struct session *session)
{
	struct options *completed = &session->completed;

	if (!session->rc_error)
		session->rc_error = ui_rc_read(&session->rc);
	if (completed->batch) {
		if (session->rc_error && session->report)
			session->report(error_message(session->rc_error));
		return;
	}
	if (!completed->interval_given && session->rc.interval_s > 0)
		completed->interval_s = session->rc.interval_s;
	if (!completed->half_life_given && session->rc.half_life_s >= 0)
		completed->half_life_s = session->rc.half_life_s;
	if (!completed->sort && session->rc.sort)
		completed->sort = session->rc.sort->name;
}

static struct xtop_error *session_add_guests(struct session *session)
{
	const struct options *options = session->options;
	struct xtop_error *error = comparison_open(&session->comparison, options, &session->files);

	if (error)
		return error;

	session->pipelines.options = options;
	session->pipelines.files = &session->files;
	if (session_reads_files_alone(options))
		return NULL;
	if (options->replay)
		return pipelines_add(&session->pipelines, NULL);
	for (size_t i = 0; i < options->n_domains && !error; i++)
		error = pipelines_add(&session->pipelines, options->domains[i]);
	return error;
}

/* Sampling goes on without a record, which is the last of several safety nets. */
static void session_report_record(const struct session *session)
{
	const struct options *options = session->options;
	bool live = !options->replay && !session_reads_files_alone(options);
	struct xtop_error *error = live ? guest_try_record() : NULL;

	if (error && session->report)
		session->report(error_message(error));
	error_destroy(error);
}

/*
 * Results leave room on their disks, whoever has taken this process over. One limit holds for all
 * files of a process: a recording, which may be as large as its disk has room, sets it alone.
 */
static void session_bound_files(const struct options *options)
{
	const char *results[] = { options->record, options->output, options->stats };

	for (size_t i = 0; i < (options->record ? 1 : sizeof(results) / sizeof(results[0])); i++)
		if (results[i])
			disk_room_keep(results[i]);
}

/* Reports what the sandbox lacks only for a live guest, which may be a stranger's. */
static struct xtop_error *session_give_up_rights(struct session *session)
{
	const struct options *options = session->options;
	const char *lack = sandbox_warning();
	int folders[1 + OPTIONS_MAX_DEBUG_DIRS + OPTIONS_MAX_SOURCE_DIRS];
	struct xtop_error *error;
	size_t n = 0;

	if (!options->batch && !caller_may_write(".") && caller_may_write("/tmp/"))
		session->write_folder = "/tmp/";
	if (lack && !options->replay && session->report)
		session->report(lack);
	session_report_record(session);
	session_bound_files(options);
	if (options->replay || HOST_ARCH == ARCH_ARM64) /* the sandbox forbids to load a library */
		disassemble_arm64_load();
	if (options->root)
		folders[n++] = inputs_open(session->files.inputs, options->root);
	for (size_t i = 0; i < options->n_debug_dirs; i++)
		folders[n++] = inputs_open(session->files.inputs, options->debug_dirs[i]);
	for (size_t i = 0; i < options->n_source_dirs; i++)
		folders[n++] = inputs_open(session->files.inputs, options->source_dirs[i]);
	error = sandbox_enter(folders, n);
	while (n > 0)
		if (folders[--n] >= 0)
			close(folders[n]);
	return error;
}

static struct xtop_error *session_start(struct session *session)
{
	struct xtop_error *error;

	error = session_start_helpers(session);
	if (!error)
		error = session_start_broker(session);
	if (!error)
		error = session_open_inputs(session);
	if (!error)
		error = session_add_guests(session);
	if (!error)
		error = results_open(&session->results, session->options);
	if (!error)
		error = session_give_up_rights(session);
	if (!error) {
		session_read_settings(session);
		error = session_create_view(session);
	}
	if (!error)
		error = comparison_start(&session->comparison);
	session->pipelines.baseline = session->comparison.baseline;
	if (!error)
		error = pipelines_start(&session->pipelines);
	session->started_ns = clock_now_ns();
	return error;
}

/* --- running ---------------------------------------------------------------------------------- */

/*
 * Seconds between tables. A recording that is played as fast as possible has one table, at its end.
 */
static double session_batch_interval(const struct session *session)
{
	const struct pipeline *pipeline = pipelines_first(&session->pipelines);

	if (pipeline_is_profile(pipeline) ||
	    (pipeline_is_recording(pipeline) && !session->options->paced))
		return 0;
	return session->options->interval_given ? session->options->interval_s
						: OPTIONS_INTERVAL_BATCH_S;
}

/* Several times a second: reports what happened to the guest, and updates the tables' title. */
static void session_poll(void *context)
{
	struct session *session = context;
	struct pipeline *pipeline = pipelines_first(&session->pipelines);
	const char *note = pipeline_get_note(pipeline);
	char name[64], kind[48];

	if (*note && strcmp(note, session->reported) != 0 && session->report)
		session->report(note);
	snprintf(session->reported, sizeof(session->reported), "%s", note);
	pipelines_describe(pipeline, " ", kind, sizeof(kind));
	text_clean(name, sizeof(name), pipeline_guest(pipeline)->name,
		   strlen(pipeline_guest(pipeline)->name));
	snprintf(session->title, sizeof(session->title), "%s %s", name, kind);
}

/* What is wrong with the files of -k, which all guests share; NULL: nothing. */
static const char *session_complaint(const struct session *session)
{
	struct pipeline *pipeline = pipelines_first(&session->pipelines);

	return pipeline ? pipeline_get_complaint(pipeline) : NULL;
}

/* Settings for the tables of one guest and of --all. */
static struct batch_settings session_batch_settings(const struct session *session)
{
	const struct options *options = session->options;

	return (struct batch_settings){
		.table = {
			.sort = session->sort,
			.filter = session->filter,
			.margins = options->margins,
			.addresses = options->addresses,
			.clock = options->clock,
		},
		.json = options->json,
		.ascii = isatty(STDOUT_FILENO) && strcmp(nl_langinfo(CODESET), "UTF-8") != 0,
	};
}

/* Prints the tables of --all in batch mode. */
static struct xtop_error *session_batch_all(struct session *session)
{
	const struct options *options = session->options;
	struct all_batch all = {
		.options = options,
		.pipelines = &session->pipelines,
		.report = session->report,
		.host_budget = { .limit = options->host_budget, .hz = options->freq_hz },
		.batch = session_batch_settings(session),
	};

	return all_batch_run(&all, stdout);
}

static struct xtop_error *session_batch(struct session *session)
{
	const char *complaint = session_complaint(session);
	const struct options *options = session->options;
	const struct pipeline *pipeline = pipelines_first(&session->pipelines);
	struct batch_settings settings = session_batch_settings(session);

	settings.table.title = session->title;
	settings.interval_s = session_batch_interval(session);
	settings.iterations = options->iterations;
	settings.time_s = options->time_s;
	settings.quiet = options->quiet;
	if (options->waits_hz > 0 && !pipeline_is_profile(pipeline))
		settings.waits = pipeline_waits_slot(pipeline);
	settings.waits_only = options->profile == PROFILE_OF_WAITS;
	settings.expander = session->expander;
	settings.poll = session_poll;
	settings.context = session;
	if (complaint && session->report)
		session->report(complaint);
	session_poll(session);
	return batch_run(&settings, pipeline_slot(pipeline), pipeline_control(pipeline), stdout);
}

/* Reports no failure, because the screen is shown: its list says which guests are profiled. */
static void session_find_guests(void *context)
{
	struct session *session = context;
	char line[HOST_SHARE_LINE_BYTES];

	error_destroy(all_guests_poll(&session->all, session->options, &session->pipelines, NULL));
	host_share_keep(&session->host_budget, &session->pipelines, 0, clock_now_ns(), line);
}

static struct xtop_error *session_begin_all(struct session *session)
{
	if (!session->options->all)
		return NULL;
	session->host_budget.limit = session->options->host_budget;
	session->host_budget.hz = session->options->freq_hz;
	session->pipelines.find = session_find_guests;
	session->pipelines.find_context = session;
	return all_guests_poll(&session->all, session->options, &session->pipelines,
			       session->report);
}

static struct xtop_error *session_screen(struct session *session)
{
	const struct options *options = session->options;
	const struct pipeline *pipeline = pipelines_first(&session->pipelines);
	const struct xtop_error *failure = session->comparison.failure;
	bool decays = !pipeline || !pipeline_is_profile(pipeline);
	struct xtop_error *error;
	char host[48];
	const struct ui_settings settings = {
		.rc = session->rc,
		.baseline =
			options->example_baseline ? options->example->baseline : options->baseline,
		.notice = session->rc_error ? error_message(session->rc_error)
			  : failure         ? error_message(failure)
					    : session_complaint(session),
		.host = host,
		.interval_s = options->interval_s,
		.half_life_s = decays ? options->half_life_s : 0,
		.time_s = options->time_s,
		.budget = options->replay ? 0 : options->budget,
		.sort = session->sort,
		.filter = session->filter ? filter_text(session->filter) : NULL,
		.margins = options->margins,
		.addresses = options->addresses,
		.by_cgroup = options->by_cgroup,
		.clock = options->clock,
		.shows_time = options->clock_given,
		.opener = &broker_opener,
		.write_folder = session->write_folder,
		.write_format = export_find_format(options->format),
		.lines = options->lines ? &session->sources.finder : NULL,
	};

	error = session_begin_all(session);
	if (error)
		return error;
	session_read_host(host, sizeof(host));
	return pipelines_show(&session->pipelines, &settings);
}

/* Prepares --addr2line by the files of -k. Adds their symbols to SYMBOLS. */
static struct xtop_error *session_add_debug_files(struct session *session, struct symbols *symbols,
						  struct addr2line_settings *settings)
{
	const struct options *options = session->options;
	struct xtop_error *error = NULL;

	for (size_t i = 0; i < options->n_symbols && !error; i++)
		error = addr2line_add_file(&session->files, symbols, options->symbols[i]);
	settings->kernel = symbols_space(symbols);
	settings->linked = true;
	return error;
}

/* Reads a recording to its end, or samples a guest until its system is known. */
static struct xtop_error *session_find_kernel(struct session *session,
					      struct addr2line_settings *settings)
{
	struct pipeline *pipeline = pipelines_first(&session->pipelines);
	struct xtop_error *error;

	if (session->options->replay)
		pipelines_wait_for_end(pipeline);
	else
		pipelines_wait_for_system(pipeline, SESSION_SYSTEM_S);
	error = pipelines_stop(&session->pipelines);
	settings->kernel = pipeline_kernel(pipeline);
	if (!error && !settings->kernel)
		error = error_create("no Linux kernel was found in '%s': give its debug file with "
				     "-k alone",
				     pipeline_guest(pipeline)->name);
	return error;
}

static struct xtop_error *session_run_addr2line(struct session *session)
{
	struct addr2line_settings settings = { .files = &session->files,
					       .inlined = !session->options->no_inline,
					       .report = session->report };
	struct symbols *symbols;
	struct xtop_error *error = symbols_create(&symbols);

	if (error)
		return error;
	error = session_reads_files_alone(session->options)
			? session_add_debug_files(session, symbols, &settings)
			: session_find_kernel(session, &settings);
	if (!error)
		error = addr2line_run(&settings, stdin, stdout);
	symbols_destroy(symbols);
	return error;
}

static struct xtop_error *session_push(struct session *session)
{
	const char *complaint = session_complaint(session);

	if (complaint && session->report)
		session->report(complaint);
	session->publisher.push.filter = session->filter;
	session->publisher.push.lines = session->files.lines;
	return publisher_run(&session->publisher);
}

/* Reports what was skipped in the profiles that --diff and --baseline compare. */
static void session_report_skipped(const struct session *session)
{
	const struct pipeline *base = session->comparison.base;
	const char *of_base = base ? pipeline_get_complaint(base) : NULL;
	const char *complaint = session->options->diff ? session_complaint(session) : NULL;

	if (of_base && session->report)
		session->report(of_base);
	if (complaint && session->report)
		session->report(complaint);
}

static struct xtop_error *session_show(struct session *session)
{
	if (session->options->push || session->options->metrics)
		return session_push(session);
	session_report_skipped(session);
	if (session->options->diff)
		return comparison_print(&session->comparison, &session->pipelines, stdout);
	if (session->options->addr2line)
		return session_run_addr2line(session);
	if (session->options->crash && !session_has_screen(session->options)) {
		session_poll(session);
		return crash_report_print(pipelines_first(&session->pipelines), session->title,
					  stdout);
	}
	if (session_has_screen(session->options))
		return session_screen(session);
	return session->options->all ? session_batch_all(session) : session_batch(session);
}

/* --- stopping --------------------------------------------------------------------------------- */

static struct xtop_error *session_write(struct session *session)
{
	const struct results_run run = {
		.pipeline = pipelines_first(&session->pipelines),
		.filter = session->filter,
		.lines = session->files.lines,
		.sources = &session->sources,
		.title = session->title,
		.code = { .syntax = session->rc.syntax, .addresses = session->rc.addresses },
		.started_ns = session->started_ns,
	};

	return results_write(&session->results, &run);
}

/* Reports once, at the end, what could not be read for --lines. */
static void session_report_lines(const struct session *session)
{
	struct line_client_progress progress;
	char line[sizeof(progress.message)];

	if (!session->options->lines)
		return;
	line_client_get_progress(session->files.lines, &progress);
	if (!progress.message[0] || !session->report)
		return;
	text_clean(line, sizeof(line), progress.message, strlen(progress.message));
	session->report(line);
}

static void session_free(struct session *session)
{
	results_deinit(&session->results);
	filter_destroy(session->filter);
	pipelines_deinit(&session->pipelines);
	comparison_deinit(&session->comparison);
	annotation_sources_deinit(&session->sources);
	inputs_destroy(session->files.inputs);
	ui_rc_close(&session->rc);
	error_destroy(session->rc_error);
	broker_stop();
	gzip_destroy(session->publisher.push.gzip);
	push_stop(session->publisher.push.push);
	metrics_stop(session->publisher.metrics);
	fetch_stop(session->files.fetch);
	session_report_lines(session);
	line_expander_destroy(session->expander);
	line_client_stop(session->files.lines);
}

/*
 * A pipe whose reader went away, or a file beyond the limit of ulimit -f, is a failed write. xtop
 * reports it as such, after it has restored the terminal.
 */
static void session_ignore_signals(void)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	sigaction(SIGPIPE, &ignore, NULL);
	sigaction(SIGXFSZ, &ignore, NULL);
}

struct xtop_error *session_run(const struct options *options, session_report_fn *report)
{
	struct session session = { .options = &session.completed,
				   .completed = *options,
				   .rc = { .half_life_s = -1, .fd = -1 },
				   .publisher = { .options = &session.completed,
						  .pipelines = &session.pipelines,
						  .report = report },
				   .report = report };
	struct xtop_error *error;
	bool started;

	session_ignore_signals();
	text_set_locale();
	session.completed.batch = !session_has_screen(options);
	error = session_start(&session);
	started = !error;
	if (started)
		error = session_show(&session);
	error = error_first(error, pipelines_stop(&session.pipelines));
	if (started)
		publisher_finish(&session.publisher);
	if (started && !options->all && pipelines_first(&session.pipelines)) {
		error = error_first(error, session_write(&session));
		error = error_first(error,
				    pipeline_get_failure(pipelines_first(&session.pipelines)));
	}
	session_free(&session);
	return error;
}
