/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command line. One table has for each option its name, its allowed values and the place in
 * struct options; getopt_long() and the error messages use that table. Runs in main before any
 * other thread starts. Prints nothing.
 */
#include "config.h"

#include "cli/options_check.h"

#include <assert.h>
#include <getopt.h>
#include <locale.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "xtop/export/export.h"
#include "xtop/os/os_waits.h"
#include "xtop/query/columns.h"
#include "xtop/sample/control.h"

#define BUDGET_MIN_PERCENT 1e-6
#define HOST_BUDGET_MIN_PERCENT 0.1
#define HOST_BUDGET_MAX_PERCENT 10000
#define INTERVAL_MIN_S     0.01
#define SECONDS_MAX        (366.0 * 24 * 3600)
#define ITERATIONS_MAX     1e9

enum option_kind {
	OPTION_FLAG,   /* bool */
	OPTION_STRING, /* const char *, not empty */
	OPTION_LIST,   /* const char **, with a count: options_append() */
	OPTION_NUMBER, /* double, MIN .. MAX */
	OPTION_WAITS,  /* the same, OPTIONS_WAITS_HZ if it has no value */
	OPTION_WHOLE,  /* unsigned long, MIN .. MAX */
	OPTION_UNWIND, /* enum unwind_how, one of ALLOWED */
	OPTION_FORMAT, /* const char *, an export format */
	OPTION_COLUMN, /* const char *, a column */
	OPTION_GROUP,  /* bool: by cgroup, one of ALLOWED */
	OPTION_CLOCK,  /* enum clock_kind, one of ALLOWED */
	OPTION_PROFILE, /* bool: of waits, one of ALLOWED */
	OPTION_ACTION, /* enum options_action MIN */
};

struct option_spec {
	const char *name;
	int key; /* the letter, or KEY_... of an option without one */
	enum option_kind kind;
	size_t offset; /* in struct options */
	double min, max;
	const char *allowed; /* for errors */
};

enum {
	KEY_BUDGET = 256,
	KEY_SHARED,
	KEY_HALF_LIFE,
	KEY_FORMAT,
	KEY_WAITS,
	KEY_PROFILE,
	KEY_GROUP,
	KEY_CLOCK,
	KEY_PACED,
	KEY_STATS,
	KEY_JSON,
	KEY_DIFF,
	KEY_BASELINE,
	KEY_ALL_ROWS,
	KEY_ANNOTATE,
	KEY_FAIL_OVER,
	KEY_EXAMPLE,
	KEY_ADDRESSES,
	KEY_BARE,
	KEY_UNPAUSE,
	KEY_XEN_ABI,
	KEY_ROOT,
	KEY_DEBUG_DIR,
	KEY_SOURCE_DIR,
	KEY_DEBUGINFOD,
	KEY_LINES,
	KEY_NO_INLINE,
	KEY_ADDR2LINE,
	KEY_CRASH,
	KEY_PUSH,
	KEY_PUSH_CONFIG,
	KEY_LABEL,
	KEY_METRICS,
	KEY_ALL,
	KEY_CONFIG,
	KEY_HOST_BUDGET,
	KEY_CHECK,
	KEY_MATCH,
	KEY_EXCEPT
};

#define AT(field) offsetof(struct options, field)

static const struct option_spec option_specs[] = {
	{ "domain", 'd', OPTION_LIST, AT(domains), 0, 0, "a domain's name, domid or UUID" },
	{ "freq", 'F', OPTION_NUMBER, AT(freq_hz), RATE_MIN_HZ, RATE_MAX_HZ,
	  "1 to 20000 samples per second" },
	{ "symbols", 'k', OPTION_LIST, AT(symbols), 0, 0, "a file" },
	{ "root", KEY_ROOT, OPTION_STRING, AT(root), 0, 0, "a directory" },
	{ "debug-dir", KEY_DEBUG_DIR, OPTION_LIST, AT(debug_dirs), 0, 0, "a directory" },
	{ "source-dir", KEY_SOURCE_DIR, OPTION_LIST, AT(source_dirs), 0, 0, "a directory" },
	{ "debuginfod", KEY_DEBUGINFOD, OPTION_FLAG, AT(debuginfod), 0, 0, NULL },
	{ "lines", KEY_LINES, OPTION_FLAG, AT(lines), 0, 0, NULL },
	{ "no-inline", KEY_NO_INLINE, OPTION_FLAG, AT(no_inline), 0, 0, NULL },
	{ "addr2line", KEY_ADDR2LINE, OPTION_FLAG, AT(addr2line), 0, 0, NULL },
	{ "crash", KEY_CRASH, OPTION_FLAG, AT(crash), 0, 0, NULL },
	{ "unwind", 'u', OPTION_UNWIND, AT(unwind), 0, 0, "auto, fp, orc or dwarf" },
	{ "budget", KEY_BUDGET, OPTION_NUMBER, AT(budget), BUDGET_MIN_PERCENT, 100,
	  "more than 0, at most 100 percent" },
	{ "host-budget", KEY_HOST_BUDGET, OPTION_NUMBER, AT(host_budget), HOST_BUDGET_MIN_PERCENT,
	  HOST_BUDGET_MAX_PERCENT, "0.1 to 10000 percent" },
	{ "shared", KEY_SHARED, OPTION_FLAG, AT(shared), 0, 0, NULL },
	{ "interval", 'i', OPTION_NUMBER, AT(interval_s), INTERVAL_MIN_S, SECONDS_MAX,
	  "seconds, 0.01 to 31622400" },
	{ "iterations", 'n', OPTION_WHOLE, AT(iterations), 1, ITERATIONS_MAX,
	  "a whole number, 1 to 1000000000" },
	{ "time", 'T', OPTION_NUMBER, AT(time_s), INTERVAL_MIN_S, SECONDS_MAX,
	  "seconds, 0.01 to 31622400" },
	{ "half-life", KEY_HALF_LIFE, OPTION_NUMBER, AT(half_life_s), 0, SECONDS_MAX,
	  "seconds, 0 (no decay) to 31622400" },
	{ "sort", 's', OPTION_COLUMN, AT(sort), 0, 0, "a column" },
	{ "filter", 'e', OPTION_STRING, AT(filter), 0, 0, "a regular expression" },
	{ "output", 'o', OPTION_STRING, AT(output), 0, 0, "a file, or - for stdout" },
	{ "format", KEY_FORMAT, OPTION_FORMAT, AT(format), 0, 0, "a format" },
	{ "group", KEY_GROUP, OPTION_GROUP, AT(by_cgroup), 0, 0, "process or cgroup" },
	{ "clock", KEY_CLOCK, OPTION_CLOCK, AT(clock), 0, 0, "dom0, utc, guest or guest-utc" },
	{ "waits", KEY_WAITS, OPTION_WAITS, AT(waits_hz), OS_WAITS_MIN_HZ, OS_WAITS_MAX_HZ,
	  "1 to 10 looks per second" },
	{ "profile", KEY_PROFILE, OPTION_PROFILE, AT(of_waits), 0, 0, "cpu or waits" },
	{ "record", 'w', OPTION_STRING, AT(record), 0, 0, "a file" },
	{ "replay", 'r', OPTION_STRING, AT(replay), 0, 0, "a file" },
	{ "example", KEY_EXAMPLE, OPTION_FLAG, AT(example), 0, 0, NULL },
	{ "paced", KEY_PACED, OPTION_FLAG, AT(paced), 0, 0, NULL },
	{ "stats", KEY_STATS, OPTION_STRING, AT(stats), 0, 0, "a file, or - for stdout" },
	{ "addresses", KEY_ADDRESSES, OPTION_FLAG, AT(addresses), 0, 0, NULL },
	{ "bare", KEY_BARE, OPTION_FLAG, AT(bare), 0, 0, NULL },
	{ "diff", KEY_DIFF, OPTION_FLAG, AT(diff), 0, 0, NULL },
	{ "baseline", KEY_BASELINE, OPTION_STRING, AT(baseline), 0, 0, "a file" },
	{ "annotate", KEY_ANNOTATE, OPTION_STRING, AT(annotate), 0, 0, "a function" },
	{ "all-rows", KEY_ALL_ROWS, OPTION_FLAG, AT(all_rows), 0, 0, NULL },
	{ "fail-over", KEY_FAIL_OVER, OPTION_NUMBER, AT(fail_over), 0, 100,
	  "percentage points, 0 to 100" },
	{ "json", KEY_JSON, OPTION_FLAG, AT(json), 0, 0, NULL },
	{ "batch", 'b', OPTION_FLAG, AT(batch), 0, 0, NULL },
	{ "quiet", 'q', OPTION_FLAG, AT(quiet), 0, 0, NULL },
	{ "all", KEY_ALL, OPTION_FLAG, AT(all), 0, 0, NULL },
	{ "match", KEY_MATCH, OPTION_LIST, AT(matches), 0, 0, "a pattern of names, as web*" },
	{ "except", KEY_EXCEPT, OPTION_LIST, AT(excepts), 0, 0, "a pattern of names, as web*" },
	{ "push", KEY_PUSH, OPTION_STRING, AT(push), 0, 0, "a URL" },
	{ "push-config", KEY_PUSH_CONFIG, OPTION_STRING, AT(push_config), 0, 0, "a file" },
	{ "label", KEY_LABEL, OPTION_LIST, AT(labels), 0, 0, "KEY=VALUE" },
	{ "metrics", KEY_METRICS, OPTION_STRING, AT(metrics), 0, 0, "ADDRESS:PORT, or a file" },
	{ "unpause", KEY_UNPAUSE, OPTION_STRING, AT(unpause), 0, 0,
	  "a domain's name, domid or UUID" },
	{ "xen-abi", KEY_XEN_ABI, OPTION_STRING, AT(xen_abi), 0, 0,
	  "a release of Xen, 4.14 to 4.21" },
	{ "config", KEY_CONFIG, OPTION_STRING, AT(config), 0, 0, "a file" },
	{ "check", KEY_CHECK, OPTION_ACTION, AT(action), ACTION_CHECK, 0, NULL },
	{ "list", 'l', OPTION_ACTION, AT(action), ACTION_LIST, 0, NULL },
	{ "help", 'h', OPTION_ACTION, AT(action), ACTION_HELP, 0, NULL },
	{ "version", 'V', OPTION_ACTION, AT(action), ACTION_VERSION, 0, NULL },
};
#define N_SPECS (sizeof(option_specs) / sizeof(option_specs[0]))

/* --- values ----------------------------------------------------------------------------------- */

static struct xtop_error *options_bad_value(const struct option_spec *spec, const char *text)
{
	return error_create("--%s: '%s' is not allowed: %s", spec->name, text, spec->allowed);
}

/* A decimal number, whatever the locale: no hexadecimal, no inf, no nan. */
static bool options_parse_decimal(const char *text, double *valuep)
{
	locale_t c_locale = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
	char *end = NULL;
	double value;

	if (!c_locale)
		return false;
	value = strtod_l(text, &end, c_locale);
	freelocale(c_locale);
	if (end == text || *end || text[strspn(text, "0123456789.eE+-")] || !isfinite(value))
		return false;
	*valuep = value;
	return true;
}

static struct xtop_error *options_parse_number(const struct option_spec *spec, const char *text,
					       double *valuep)
{
	double value;

	if (!options_parse_decimal(text, &value) || value < spec->min || value > spec->max)
		return options_bad_value(spec, text);
	*valuep = value;
	return NULL;
}

static struct xtop_error *options_parse_whole(const struct option_spec *spec, const char *text,
					      unsigned long *valuep)
{
	double value;

	assert(text); /* by getopt_long() */
	if (text[strspn(text, "0123456789")] || !options_parse_decimal(text, &value) ||
	    value < spec->min || value > spec->max)
		return options_bad_value(spec, text);
	*valuep = (unsigned long)value;
	return NULL;
}

static struct xtop_error *options_parse_unwind(const struct option_spec *spec, const char *text,
					       enum unwind_how *howp)
{
	static const char *const words[] = {
		[UNWIND_AUTO] = "auto",
		[UNWIND_FP] = "fp",
		[UNWIND_ORC] = "orc",
		[UNWIND_DWARF] = "dwarf",
	};

	assert(text);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(text, words[i]) == 0) {
			*howp = (enum unwind_how)i;
			return NULL;
		}
	}
	return options_bad_value(spec, text);
}

static struct xtop_error *options_parse_group(const struct option_spec *spec, const char *text,
					      bool *by_cgroup)
{
	assert(text);
	if (strcmp(text, "process") != 0 && strcmp(text, "cgroup") != 0)
		return options_bad_value(spec, text);
	*by_cgroup = text[0] == 'c';
	return NULL;
}

static struct xtop_error *options_parse_profile(const struct option_spec *spec, const char *text,
						bool *of_waits)
{
	assert(text);
	if (strcmp(text, "cpu") != 0 && strcmp(text, "waits") != 0)
		return options_bad_value(spec, text);
	*of_waits = text[0] == 'w';
	return NULL;
}

/* A column of the function table, which every output has. */
static bool options_can_sort(const char *text)
{
	const struct column *column = column_find(text);

	return column && column->id < N_COLUMNS_BATCH;
}

/* The message has the names of all columns, from the table of columns. */
static struct xtop_error *options_bad_column(const struct option_spec *spec, const char *text)
{
	char names[256] = "";
	size_t length = 0;

	for (size_t i = 0; i < N_COLUMNS_BATCH && length < sizeof(names); i++)
		length += (size_t)snprintf(names + length, sizeof(names) - length, "%s%s",
					   i ? ", " : "", columns[i].name);
	return error_create("--%s: '%s' is not allowed: one of %s", spec->name, text, names);
}

static struct xtop_error *options_bad_format(const struct option_spec *spec, const char *text)
{
	char names[128];

	export_list_formats(names, sizeof(names));
	return error_create("--%s: '%s' is not allowed: one of %s", spec->name, text, names);
}

/* options_init() has made room for as many values as there are arguments. */
static void options_append(struct options *options, int key, const char *text)
{
	if (key == 'd')
		options->domains[options->n_domains++] = text;
	else if (key == 'k')
		options->symbols[options->n_symbols++] = text;
	else if (key == KEY_LABEL)
		options->labels[options->n_labels++] = text;
	else if (key == KEY_MATCH)
		options->matches[options->n_matches++] = text;
	else if (key == KEY_EXCEPT)
		options->excepts[options->n_excepts++] = text;
	else if (key == KEY_SOURCE_DIR)
		options->source_dirs[options->n_source_dirs++] = text;
	else
		options->debug_dirs[options->n_debug_dirs++] = text;
}

static struct xtop_error *options_parse_value(struct options *options,
					      const struct option_spec *spec, const char *text)
{
	void *field = (char *)options + spec->offset;

	if (text && !*text)
		return options_bad_value(spec, text);
	switch (spec->kind) {
	case OPTION_FLAG:
		*(bool *)field = true;
		return NULL;
	case OPTION_ACTION:
		if (options->action != ACTION_HELP && options->action != ACTION_VERSION)
			options->action = (enum options_action)spec->min;
		return NULL;
	case OPTION_LIST:
		options_append(options, spec->key, text);
		return NULL;
	case OPTION_NUMBER:
		return options_parse_number(spec, text, field);
	case OPTION_WAITS:
		*(double *)field = OPTIONS_WAITS_HZ;
		return text ? options_parse_number(spec, text, field) : NULL;
	case OPTION_PROFILE:
		return options_parse_profile(spec, text, field);
	case OPTION_WHOLE:
		return options_parse_whole(spec, text, field);
	case OPTION_UNWIND:
		return options_parse_unwind(spec, text, field);
	case OPTION_GROUP:
		return options_parse_group(spec, text, field);
	case OPTION_CLOCK:
		assert(text);
		options->clock_given = true;
		return clocks_find(text, field) ? NULL : options_bad_value(spec, text);
	case OPTION_FORMAT:
		assert(text);
		if (!export_find_format(text))
			return options_bad_format(spec, text);
		break;
	case OPTION_COLUMN:
		if (!options_can_sort(text))
			return options_bad_column(spec, text);
		break;
	case OPTION_STRING:
		break;
	}
	*(const char **)field = text;
	return NULL;
}

/* --- getopt ----------------------------------------------------------------------------------- */

static int options_argument(const struct option_spec *spec)
{
	if (spec->kind == OPTION_FLAG || spec->kind == OPTION_ACTION)
		return no_argument;
	return spec->kind == OPTION_WAITS ? optional_argument : required_argument;
}

/* LONG_OPTIONS of N_SPECS + 1 entries; LETTERS of 2 * N_SPECS + 2 bytes. */
static void options_fill_getopt(struct option *long_options, char *letters)
{
	*letters++ = ':'; /* getopt returns ':' for a missing value, '?' for an unknown option */
	for (size_t i = 0; i < N_SPECS; i++) {
		const struct option_spec *spec = &option_specs[i];

		long_options[i] =
			(struct option){ spec->name, options_argument(spec), NULL, spec->key };
		if (spec->key >= KEY_BUDGET)
			continue;
		*letters++ = (char)spec->key;
		if (options_argument(spec) == required_argument)
			*letters++ = ':';
	}
	long_options[N_SPECS] = (struct option){ 0 };
	*letters = '\0';
}

static const struct option_spec *options_spec(int key)
{
	for (size_t i = 0; i < N_SPECS; i++)
		if (option_specs[i].key == key)
			return &option_specs[i];
	return NULL;
}

/*
 * After '?' optopt is one of these: 0 for a long option that is unknown or ambiguous; the key of an
 * option that takes no value but was given one; the letter of an unknown short option.
 */
static struct xtop_error *options_unknown(char **argv)
{
	const struct option_spec *spec = options_spec(optopt);

	if (spec)
		return error_create("--%s takes no value: see xtop --help", spec->name);
	if (optopt)
		return error_create("unknown option '-%c': see xtop --help", optopt);
	return error_create("unknown or ambiguous option '%s': see xtop --help", argv[optind - 1]);
}

static struct xtop_error *options_parse_option(struct options *options, char **argv, int key)
{
	const struct option_spec *spec;

	if (key == '?')
		return options_unknown(argv);
	spec = options_spec(key == ':' ? optopt : key);
	if (key == ':')
		return error_create("--%s needs a value: %s", spec->name, spec->allowed);
	return options_parse_value(options, spec, optarg);
}

/* The operands of --diff: OLD and NEW. */
static struct xtop_error *options_take_files(struct options *options, int n, char **operands)
{
	if (n != 2)
		return error_create("--diff compares two files: give OLD and NEW");
	if (options->replay || options->n_domains || options->example || options->baseline)
		return error_create("--diff names its files itself: leave out --replay, --domain, "
				    "--example and --baseline");
	options->baseline = operands[0];
	options->replay = operands[1];
	return NULL;
}

/* An operand. It may be a file. */
static struct xtop_error *options_unexpected(const char *text)
{
	if (access(text, F_OK) == 0)
		return error_create("unexpected argument '%s': a file is read with -r %s", text,
				    text);
	return error_create("unexpected argument '%s': a guest is named with -d %s", text, text);
}

/* Keeps the first error and reads on: a --help behind it wins. */
static struct xtop_error *options_parse_all(struct options *options, int argc, char **argv)
{
	struct option long_options[N_SPECS + 1];
	char letters[2 * N_SPECS + 2];
	struct xtop_error *first = NULL, *error;
	int key;

	options_fill_getopt(long_options, letters);
	optind = 0; /* glibc: start over, also after an earlier command line */
	opterr = 0;
	while ((key = getopt_long(argc, argv, letters, long_options, NULL)) != -1) {
		error = options_parse_option(options, argv, key);
		if (first)
			error_destroy(error);
		else
			first = error;
	}
	if (!first && options->diff)
		return options_take_files(options, argc - optind, argv + optind);
	if (!first && optind < argc)
		first = options_unexpected(argv[optind]);
	return first;
}

/* --- what goes without saying ----------------------------------------------------------------- */

/* Sets what one option implies for another, and the defaults. */
static void options_complete(struct options *options)
{
	if (options->unpause && options->action == ACTION_PROFILE)
		options->action = ACTION_UNPAUSE;
	if (options_is_stdout(options->output) || options_is_stdout(options->stats))
		options->quiet = true;
	if (options->annotate)
		options->quiet = true; /* no tables */
	if (options->quiet || options->iterations || options->json || options->diff ||
	    options->addr2line || options->push || options->metrics)
		options->batch = true;
	if (options->example)
		options->replay = XTOP_DATA_FOLDER "/example.folded";
	if (options->of_waits && !(options->waits_hz > 0))
		options->waits_hz = OPTIONS_WAITS_HZ;
	options->interval_given = options->interval_s > 0;
	if (!options->interval_given)
		options->interval_s = options->push || options->metrics ? OPTIONS_INTERVAL_PUSH_S
				      : options->batch ? OPTIONS_INTERVAL_BATCH_S
						       : OPTIONS_INTERVAL_SCREEN_S;
	options->half_life_given = options->half_life_s >= 0;
	if (!options->half_life_given)
		options->half_life_s = OPTIONS_HALF_LIFE_S;
	options->debug_dirs_given = options->n_debug_dirs;
	if (!options->debug_dirs_given)
		options->debug_dirs[options->n_debug_dirs++] = OPTIONS_DEBUG_DIR;
	options->format_unknown =
		!options->format && options->output && !export_knows_ending(options->output);
	if (!options->format)
		options->format = export_find_ending(options->output ? options->output : "")->name;
	options->waits_left_out = options->output && options->waits_hz > 0 && !options->of_waits &&
				  !export_find_format(options->format)->has_waits;
	options->budget /= 100;
	if (options->all && (options->push || options->metrics || options->batch) &&
	    !(options->host_budget > 0))
		options->host_budget = OPTIONS_HOST_BUDGET_PERCENT;
	options->host_budget /= 100;
}

/* N: of the options at most. */
static struct xtop_error *options_init(struct options *options, size_t n)
{
	*options = (struct options){
		.unwind = UNWIND_AUTO,
		.freq_hz = 99,
		.budget = 1,       /* percent, until options_complete() */
		.half_life_s = -1, /* not given, until options_complete() */
		.fail_over = -1,   /* not given */
	};
	options->domains = calloc(n + 1, sizeof(*options->domains));
	options->symbols = calloc(n + 1, sizeof(*options->symbols));
	options->debug_dirs = calloc(n + 1, sizeof(*options->debug_dirs));
	options->source_dirs = calloc(n + 1, sizeof(*options->source_dirs));
	options->labels = calloc(n + 1, sizeof(*options->labels));
	options->matches = calloc(n + 1, sizeof(*options->matches));
	options->excepts = calloc(n + 1, sizeof(*options->excepts));
	if (!options->domains || !options->symbols || !options->debug_dirs ||
	    !options->source_dirs || !options->labels || !options->matches || !options->excepts)
		return error_create("out of memory");
	return NULL;
}

/* --- the file of --config --------------------------------------------------------------------- */

/* The last --config of ARGV; NULL: none. What else ARGV has is not looked at yet. */
static const char *options_find_config(int argc, char **argv)
{
	struct option long_options[N_SPECS + 1];
	char letters[2 * N_SPECS + 2];
	const char *path = NULL;
	int key;

	options_fill_getopt(long_options, letters);
	optind = 0;
	opterr = 0;
	while ((key = getopt_long(argc, argv, letters, long_options, NULL)) != -1)
		if (key == KEY_CONFIG)
			path = optarg;
	return path && *path ? path : NULL;
}

/* Each line as a command line of its own, so that an error can name it. */
static struct xtop_error *options_parse_file(struct options *options, char *program)
{
	const struct options_file *file = &options->file;
	const char *path = options->config;
	struct xtop_error *error = NULL;

	for (size_t i = 0; i < file->n && !error; i++) {
		char *argv[] = { program, file->lines[i].option, NULL };

		error = options_parse_all(options, 2, argv);
		if (error)
			error = error_wrap(error, "--config=%s: line %u", path,
					   file->lines[i].number);
	}
	return error;
}

struct xtop_error *options_parse(int argc, char **argv, struct options *options)
{
	const char *config = options_find_config(argc, argv);
	struct options_file file = { .n = 0 };
	struct xtop_error *error = config ? options_file_read(config, &file) : NULL;
	struct xtop_error *failure = options_init(options, (size_t)argc + file.n);

	options->config = config;
	options->file = file;
	error = error_first(error, failure);
	if (failure)
		return error;
	if (!error)
		error = options_parse_file(options, argv[0]);
	error = error_first(error, options_parse_all(options, argc, argv));
	if (options->action == ACTION_HELP || options->action == ACTION_VERSION) {
		error_destroy(error);
		return NULL;
	}
	if (!error)
		error = options_check(options);
	options_complete(options);
	return error;
}

void options_deinit(struct options *options)
{
	free(options->domains);
	free(options->symbols);
	free(options->debug_dirs);
	free(options->source_dirs);
	free(options->labels);
	free(options->matches);
	free(options->excepts);
	options->domains = NULL;
	options->symbols = NULL;
	options->debug_dirs = options->source_dirs = options->labels = NULL;
	options->matches = options->excepts = NULL;
	options->n_domains = options->n_symbols = 0;
	options->n_debug_dirs = options->n_source_dirs = options->n_labels = 0;
	options->n_matches = options->n_excepts = 0;
	options_file_deinit(&options->file);
}
