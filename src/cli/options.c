/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parses the command line by the table of options (options_table.h). Runs in main before any other
 * thread starts. Prints nothing.
 */
#include "config.h"

#include "cli/options_check.h"
#include "cli/options_table.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "xtop/base/library.h"
#include "xtop/cli/example.h"
#include "xtop/export/export.h"
#include "xtop/query/columns.h"

/* --- values ----------------------------------------------------------------------------------- */

/* Lists the values that SPEC allows: its own text, or its words as "auto, fp, orc or dwarf". */
static void options_list_allowed(const struct option_spec *spec, char *text, size_t capacity)
{
	const char *words = spec->allowed ? "" : spec->words, *last = strrchr(words, ' ');
	size_t length = (size_t)snprintf(text, capacity, "%s", spec->allowed ? spec->allowed : "");

	for (const char *at = words; *at && length + 5 < capacity; at++) {
		const char letter[] = { *at, '\0' };

		length += (size_t)snprintf(text + length, capacity - length, "%s",
					   *at != ' '   ? letter
					   : at == last ? " or "
							: ", ");
	}
}

static struct xtop_error *options_bad_value(const struct option_spec *spec, const char *text)
{
	char allowed[128];

	options_list_allowed(spec, allowed, sizeof(allowed));
	return error_create("--%s: '%s' is not allowed: %s", spec->name, text, allowed);
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

	if (text[strspn(text, "0123456789")] || !options_parse_decimal(text, &value) ||
	    value < spec->min || value > spec->max)
		return options_bad_value(spec, text);
	*valuep = (unsigned long)value;
	return NULL;
}

/* Finds TEXT among the entry's words, and sets *INDEXP to its place. */
static struct xtop_error *options_parse_word(const struct option_spec *spec, const char *text,
					     unsigned *indexp)
{
	size_t length = strlen(text);
	unsigned index = 0;

	for (const char *at = spec->words; *at; index++) {
		size_t n = strcspn(at, " ");

		if (n == length && strncmp(at, text, n) == 0) {
			*indexp = index;
			return NULL;
		}
		at += n + strspn(at + n, " ");
	}
	return options_bad_value(spec, text);
}

/* Whether TEXT names a column of the function table, which every output has. */
static bool options_can_sort(const char *text)
{
	const struct column *column = column_find(text);

	return column && column->id < N_COLUMNS_BATCH;
}

/* Lists the names of all columns in the message. */
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

static const char ***options_list(struct options *options, const struct option_spec *spec)
{
	return (const char ***)((char *)options + spec->offset);
}

static size_t *options_list_length(struct options *options, const struct option_spec *spec)
{
	return (size_t *)((char *)options + spec->count_offset);
}

static struct xtop_error *options_parse_value(struct options *options,
					      const struct option_spec *spec, const char *text)
{
	void *field = (char *)options + spec->offset;

	if (!text)
		text = spec->bare;
	assert(text || !spec->argument); /* getopt_long() makes sure of it */
	if (text && !*text)
		return options_bad_value(spec, text);
	switch (spec->kind) {
	case OPTION_FLAG:
		*(bool *)field = true;
		return NULL;
	case OPTION_ACTION:
		if (options->action != ACTION_HELP && options->action != ACTION_VERSION)
			options->action = spec->action;
		return NULL;
	case OPTION_LIST:
		/* options_init() has made room for as many values as there are arguments. */
		(*options_list(options, spec))[(*options_list_length(options, spec))++] = text;
		return NULL;
	case OPTION_NUMBER:
		return options_parse_number(spec, text, field);
	case OPTION_WHOLE:
		return options_parse_whole(spec, text, field);
	case OPTION_CHOICE:
		return options_parse_word(spec, text, field);
	case OPTION_CLOCK:
		options->clock_given = true;
		return clocks_find(text, field) ? NULL : options_bad_value(spec, text);
	case OPTION_EXAMPLE:
		return example_find(text, field) ? NULL : options_bad_value(spec, text);
	case OPTION_FORMAT:
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
	if (!spec->argument)
		return no_argument;
	return spec->bare ? optional_argument : required_argument;
}

/* What getopt_long() returns for an option: its letter, or a number above all letters. */
static int options_key(const struct option_spec *spec)
{
	return spec->letter ? spec->letter : 256 + (int)(spec - option_specs);
}

struct options_getopt {
	struct option long_options[OPTIONS_MAX + 1];
	char letters[2 * OPTIONS_MAX + 2];
};

static void options_fill_getopt(struct options_getopt *getopt)
{
	char *letters = getopt->letters;

	*getopt = (struct options_getopt){ 0 };
	*letters++ = ':'; /* getopt returns ':' for a missing value, '?' for an unknown option */
	for (size_t i = 0; i < n_option_specs; i++) {
		const struct option_spec *spec = &option_specs[i];

		getopt->long_options[i] = (struct option){ spec->name, options_argument(spec), NULL,
							   options_key(spec) };
		if (!spec->letter)
			continue;
		*letters++ = spec->letter;
		if (spec->argument)
			*letters++ = ':';
	}
	optind = 0; /* glibc: start over, also after an earlier command line */
	opterr = 0;
}

static const struct option_spec *options_spec(int key)
{
	for (size_t i = 0; i < n_option_specs; i++)
		if (options_key(&option_specs[i]) == key)
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
	const struct option_spec *spec = options_spec(key == ':' ? optopt : key);
	char allowed[128];

	if (key == '?')
		return options_unknown(argv);
	if (key != ':')
		return options_parse_value(options, spec, optarg);
	options_list_allowed(spec, allowed, sizeof(allowed));
	return error_create("--%s needs a value: %s", spec->name, allowed);
}

/* Takes the operands of --diff, OLD and NEW. */
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

/* Refuses an operand, and says which option takes it: it is a file or a guest's name. */
static struct xtop_error *options_unexpected(const char *text)
{
	if (access(text, F_OK) == 0)
		return error_create("unexpected argument '%s': a file is read with -r %s", text,
				    text);
	return error_create("unexpected argument '%s': a guest is named with -d %s", text, text);
}

/* Returns the first error, but parses all of ARGV, because a later --help wins over errors. */
static struct xtop_error *options_parse_all(struct options *options, int argc, char **argv)
{
	struct options_getopt getopt;
	struct xtop_error *first = NULL, *error;
	int key;

	options_fill_getopt(&getopt);
	while ((key = getopt_long(argc, argv, getopt.letters, getopt.long_options, NULL)) != -1) {
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

/* --- defaults --------------------------------------------------------------------------------- */

/* The example's files take the places of --replay and, on the screen, of a --baseline not given. */
static struct xtop_error *options_open_example(struct options *options)
{
	const struct example *example = options->example;

	library_find_example(example->file, &options->example_file);
	options->replay = options->example_file;
	if (example->baseline && !options->baseline && !options->batch) {
		library_find_example(example->baseline, &options->example_baseline);
		options->baseline = options->example_baseline;
	}
	return options->replay ? NULL : error_create_errno(ENOMEM, "--example");
}

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
	if (options->replay && strcmp(options->replay, "-") == 0)
		options->replay = "/dev/stdin";
	if (options->profile == PROFILE_OF_WAITS && !(options->waits_hz > 0))
		options->waits_hz = OPTIONS_WAITS_HZ;
	options->exits |= options->profile == PROFILE_OF_EXITS;
	options->interval_given = options->interval_s > 0;
	if (!options->interval_given)
		options->interval_s = options->push || options->metrics ? OPTIONS_INTERVAL_PUSH_S
				      : options->batch                  ? OPTIONS_INTERVAL_BATCH_S
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
	options->waits_left_out = options->output && options->waits_hz > 0 && !options->profile &&
				  !export_find_format(options->format)->has_waits;
	options->budget /= 100;
	if (options->all && (options->push || options->metrics || options->batch) &&
	    !(options->host_budget > 0))
		options->host_budget = OPTIONS_HOST_BUDGET_PERCENT;
	options->host_budget /= 100;
}

/* Sets the defaults, and makes room for N values in each list. */
static struct xtop_error *options_init(struct options *options, size_t n)
{
	*options = (struct options){
		.unwind = UNWIND_AUTO,
		.freq_hz = 99,
		.budget = 1,       /* percent, until options_complete() */
		.half_life_s = -1, /* not given, until options_complete() */
		.fail_over = -1,   /* not given */
	};
	for (size_t i = 0; i < n_option_specs; i++) {
		const struct option_spec *spec = &option_specs[i];

		if (spec->kind != OPTION_LIST)
			continue;
		*options_list(options, spec) = calloc(n + 1, sizeof(**options_list(options, spec)));
		if (!*options_list(options, spec))
			return error_create("out of memory");
	}
	return NULL;
}

/* --- the file of --config --------------------------------------------------------------------- */

/* The value of the last --config in ARGV; NULL if there is none. Leaves other options alone. */
static const char *options_find_config(int argc, char **argv)
{
	struct options_getopt getopt;
	const char *path = NULL;
	int config = 0, key;

	for (size_t i = 0; i < n_option_specs; i++)
		if (option_specs[i].offset == offsetof(struct options, config))
			config = options_key(&option_specs[i]);
	options_fill_getopt(&getopt);
	while ((key = getopt_long(argc, argv, getopt.letters, getopt.long_options, NULL)) != -1)
		if (key == config)
			path = optarg;
	return path && *path ? path : NULL;
}

/* Parses each line as a command line of its own, so that an error can name the line. */
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
	options->crash |= options->example && options->example->crash;
	if (!error)
		error = options_check(options);
	options_complete(options);
	if (!error && options->example)
		error = options_open_example(options);
	return error;
}

void options_deinit(struct options *options)
{
	for (size_t i = 0; i < n_option_specs; i++) {
		const struct option_spec *spec = &option_specs[i];

		if (spec->kind != OPTION_LIST)
			continue;
		free(*options_list(options, spec));
		*options_list(options, spec) = NULL;
		*options_list_length(options, spec) = 0;
	}
	options_file_deinit(&options->file);
	free(options->example_file);
	free(options->example_baseline);
}
