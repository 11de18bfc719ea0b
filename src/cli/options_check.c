/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Options that do not go together; see options_check.h. A message says which options to leave out.
 */
#include "config.h"

#include "cli/options_check.h"

#include <string.h>

#include "xtop/query/columns.h"

static bool options_same(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

bool options_is_stdout(const char *path)
{
	return options_same(path, "-") || options_same(path, "/dev/stdout");
}

/* Refuses two results in one file, and a result in the recording that is replayed. */
static struct xtop_error *options_check_files(const struct options *options)
{
	/* "-" is stdin here, but stdout for the others. */
	const char *replay = options_same(options->replay, "-") ? "/dev/stdin" : options->replay;
	const char *const files[] = { options->output, options->stats, options->record, replay };
	static const char *const names[] = { "--output", "--stats", "--record", "--replay" };

	for (size_t i = 0; i < 4; i++)
		for (size_t j = 0; j < i; j++)
			if (options_same(files[i], files[j]) ||
			    (options_is_stdout(files[i]) && options_is_stdout(files[j])))
				return error_create("%s and %s both name '%s': give each its own",
						    names[j], names[i], files[i]);
	if (options_is_stdout(options->record))
		return error_create("--record: a recording cannot go to stdout: name a file");
	return NULL;
}

static bool options_sorts_shares(const char *sort)
{
	enum column_id id = column_find(sort)->id;

	return id == COLUMN_SELF || id == COLUMN_CHILDREN;
}

/* Options for all guests. --push sends the samples of an interval and then forgets them. */
static struct xtop_error *options_check_push(const struct options *options)
{
	if (!options->push && (options->push_config || options->n_labels))
		return error_create("--push-config and --label are for --push");
	if (!options->push && !options->metrics && options->all &&
	    (options->output || options->stats || options->record || options->annotate ||
	     options->addr2line || options->crash || options->diff || options->baseline ||
	     options->profile || options->quiet))
		return error_create("--all is for the screen, tables, --push and --metrics: "
				    "leave out --output, --stats, --record, --annotate, "
				    "--addr2line, --crash, --diff, --baseline, --profile and "
				    "--quiet");
	if (!options->push && !options->metrics && !options->all && options->host_budget > 0)
		return error_create("--host-budget is for --all, --push and --metrics");
	if (!options->all && (options->n_matches || options->n_excepts))
		return error_create("--match and --except are for --all");
	if (options->all && (options->n_domains || options->replay))
		return error_create("--all is every guest: leave out --domain and --replay");
	if (!options->push && !options->metrics)
		return NULL;
	if (options->output || options->stats || options->record || options->json ||
	    options->annotate || options->addr2line || options->crash || options->diff ||
	    options->baseline || options->example || options->iterations)
		return error_create("--push and --metrics send what they find: leave out "
				    "--output, --stats, --record, --json, --annotate, "
				    "--addr2line, --crash, --diff, "
				    "--baseline, --example and --iterations");
	if (options->profile)
		return error_create("--push and --metrics have waits beside samples: leave out "
				    "--profile");
	if (options->lines && !options->push)
		return error_create("--metrics have no source lines: leave out --lines");
	return NULL;
}

/* Refuses two sources of samples: --example, --replay and a guest. */
static struct xtop_error *options_check_replay(const struct options *options)
{
	if (options->example && (options->replay || options->n_domains))
		return error_create("--example shows a profile of its own: leave out --replay and "
				    "--domain");
	if (options->example && options->record)
		return error_create("--example and --record do not go together: "
				    "there are no samples to record");
	if (options->replay && options->n_domains)
		return error_create("--replay and --domain do not go together: "
				    "a recording takes the guest's place");
	if (options->replay && options->record)
		return error_create(
			"--replay and --record do not go together: the recording is there already");
	if (options->bare && options->replay)
		return error_create("--bare is for live guests: a recording has its stacks");
	if (options->paced && !options->replay)
		return error_create("--paced is for --replay only");
	if ((options->strict || options->value) && !options->replay && !options->diff)
		return error_create("--strict and --value are for --replay and --diff");
	return NULL;
}

static struct xtop_error *options_check_diff(const struct options *options)
{
	if (options->diff && (options->output || options->stats || options->record))
		return error_create("--diff prints a table only: leave out --output, --stats and "
				    "--record");
	if (options->diff && options->sort && !options_sorts_shares(options->sort))
		return error_create("--diff compares self or children: --sort takes one of these");
	if (!options->diff && (options->all_rows || options->fail_over >= 0))
		return error_create("--all-rows and --fail-over are for --diff");
	if (options->profile == PROFILE_OF_EXITS && (options->diff || options->baseline))
		return error_create("--diff and --baseline compare CPU time or waits: leave out "
				    "--profile=exits");
	if (options->profile && (options->sort || options->fail_over >= 0) && options->diff)
		return error_create("--sort and --fail-over are for --diff of CPU time: "
				    "leave them out, or --profile");
	return NULL;
}

/* Refuses other results beside a report: --annotate, --addr2line, --crash. */
static struct xtop_error *options_check_reports(const struct options *options)
{
	if (options->annotate && (options->diff || options->json || options->baseline))
		return error_create("--annotate prints the instructions of one function: leave out "
				    "--diff, --baseline and --json");
	if (options->addr2line && (options->output || options->stats || options->record ||
				   options->diff || options->json || options->example))
		return error_create("--addr2line prints a trace only: leave out --output, --stats, "
				    "--record, --diff, --json and --example");
	if (options->crash &&
	    (options->output || options->stats || options->diff || options->json ||
	     options->annotate || options->addr2line || options->bare || options->quiet ||
	     options->waits_hz > 0 || options->profile || options->baseline))
		return error_create("--crash shows a report only: leave out --output, --stats, "
				    "--diff, --json, --annotate, --addr2line, --bare, --quiet, "
				    "--waits, --profile and --baseline");
	return NULL;
}

static struct xtop_error *options_check_lines(const struct options *options)
{
	if (options->no_inline && !options->lines && !options->addr2line)
		return error_create("--no-inline is for --lines and --addr2line");
	if (options->lines && (options->diff || options->baseline))
		return error_create("--lines and %s do not go together: "
				    "functions are compared, not lines",
				    options->diff ? "--diff" : "--baseline");
	if (options->n_debug_dirs > OPTIONS_MAX_DEBUG_DIRS)
		return error_create("--debug-dir: at most %d directories", OPTIONS_MAX_DEBUG_DIRS);
	if (options->n_source_dirs > OPTIONS_MAX_SOURCE_DIRS)
		return error_create("--source-dir: at most %d directories",
				    OPTIONS_MAX_SOURCE_DIRS);
	if (options->n_source_dirs && !options->lines)
		return error_create("--source-dir is for --lines, which finds the lines");
	return NULL;
}

static struct xtop_error *options_check_tables(const struct options *options)
{
	if (options->json && options->quiet)
		return error_create("--json and --quiet do not go together: "
				    "there would be no table to print");
	if (options->quiet && !options->batch && !options->output && !options->record &&
	    !options->stats && !options->annotate && options->fail_over < 0 && !options->push &&
	    !options->metrics)
		return error_create(
			"--quiet shows nothing: give --output, --record or --stats as well");
	return NULL;
}

struct xtop_error *options_check(const struct options *options)
{
	static struct xtop_error *(*const checks[])(const struct options *) = {
		options_check_push,    options_check_replay, options_check_diff,
		options_check_reports, options_check_lines,  options_check_tables,
		options_check_files,
	};
	struct xtop_error *error = NULL;

	for (size_t i = 0; !error && i < sizeof(checks) / sizeof(checks[0]); i++)
		error = checks[i](options);
	return error;
}
