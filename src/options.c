/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command line. One table has for each option its name, its allowed values and the place in
 * struct options; getopt_long() and the error messages use that table. Runs in main before any
 * other thread starts. Prints nothing.
 */
#include "config.h"

#include "options.h"

#include <assert.h>
#include <getopt.h>
#include <locale.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xtop/columns.h"
#include "xtop/control.h"
#include "xtop/export.h"

#define BUDGET_MIN_PERCENT 1e-6
#define INTERVAL_MIN_S     0.01
#define SECONDS_MAX        (366.0 * 24 * 3600)
#define ITERATIONS_MAX     1e9

enum option_kind {
	OPTION_FLAG,   /* bool */
	OPTION_STRING, /* const char *, not empty */
	OPTION_LIST,   /* const char **, with a count: options_append() */
	OPTION_NUMBER, /* double, MIN .. MAX */
	OPTION_WHOLE,  /* unsigned long, MIN .. MAX */
	OPTION_UNWIND, /* enum unwind_how, one of ALLOWED */
	OPTION_FORMAT, /* const char *, one of ALLOWED */
	OPTION_COLUMN, /* const char *, a column */
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
	KEY_PACED,
	KEY_STATS,
	KEY_ADDRESSES,
	KEY_BARE,
	KEY_UNPAUSE,
	KEY_ROOT
};

#define AT(field) offsetof(struct options, field)

static const struct option_spec option_specs[] = {
	{ "domain", 'd', OPTION_LIST, AT(domains), 0, 0, "a domain's name, domid or UUID" },
	{ "freq", 'F', OPTION_NUMBER, AT(freq_hz), RATE_MIN_HZ, RATE_MAX_HZ,
	  "1 to 20000 samples per second" },
	{ "symbols", 'k', OPTION_LIST, AT(symbols), 0, 0, "a file" },
	{ "root", KEY_ROOT, OPTION_STRING, AT(root), 0, 0, "a directory" },
	{ "unwind", 'u', OPTION_UNWIND, AT(unwind), 0, 0, "auto, fp, orc or dwarf" },
	{ "budget", KEY_BUDGET, OPTION_NUMBER, AT(budget), BUDGET_MIN_PERCENT, 100,
	  "more than 0, at most 100 percent" },
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
	{ "format", KEY_FORMAT, OPTION_FORMAT, AT(format), 0, 0, "folded" },
	{ "record", 'w', OPTION_STRING, AT(record), 0, 0, "a file" },
	{ "replay", 'r', OPTION_STRING, AT(replay), 0, 0, "a file" },
	{ "paced", KEY_PACED, OPTION_FLAG, AT(paced), 0, 0, NULL },
	{ "stats", KEY_STATS, OPTION_STRING, AT(stats), 0, 0, "a file, or - for stdout" },
	{ "addresses", KEY_ADDRESSES, OPTION_FLAG, AT(addresses), 0, 0, NULL },
	{ "bare", KEY_BARE, OPTION_FLAG, AT(bare), 0, 0, NULL },
	{ "batch", 'b', OPTION_FLAG, AT(batch), 0, 0, NULL },
	{ "quiet", 'q', OPTION_FLAG, AT(quiet), 0, 0, NULL },
	{ "unpause", KEY_UNPAUSE, OPTION_STRING, AT(unpause), 0, 0,
	  "a domain's name, domid or UUID" },
	{ "list", 'l', OPTION_ACTION, AT(action), ACTION_LIST, 0, NULL },
	{ "help", 'h', OPTION_ACTION, AT(action), ACTION_HELP, 0, NULL },
	{ "version", 'V', OPTION_ACTION, AT(action), ACTION_VERSION, 0, NULL },
};
#define N_SPECS (sizeof(option_specs) / sizeof(option_specs[0]))

const char *options_help(void)
{
	return "Usage: xtop -d DOMAIN [OPTION]...\n"
	       "       xtop -r RECORDING [OPTION]...\n"
	       "Shows which functions a Xen guest spends its time in, and who calls them.\n"
	       "\n"
	       "  -d, --domain=DOM      the guest: name, domid or UUID; may be repeated\n"
	       "  -F, --freq=HZ         samples per second, 1 to 20000 (default 99)\n"
	       "  -k, --symbols=FILE    names of functions: an ELF file, or the text of nm,\n"
	       "                        System.map or /proc/kallsyms; may be repeated\n"
	       "      --root=DIR        a copy or mount of a Linux guest's root file system,\n"
	       "                        for names of files that are not in its memory\n"
	       "  -u, --unwind=HOW      how to walk stacks: auto (default), fp, orc or dwarf\n"
	       "      --budget=PERCENT  share of its time that the guest may be stopped\n"
	       "                        (default 1)\n"
	       "      --shared          profile a guest that another xtop profiles already,\n"
	       "                        with a budget of its own\n"
	       "  -i, --interval=SECS   time between refreshes (default 1, in batch mode 2)\n"
	       "  -n, --iterations=N    batch mode: stop after N tables\n"
	       "  -T, --time=SECS       stop after SECS seconds\n"
	       "      --half-life=SECS  after this time a sample counts half, 0: always fully\n"
	       "                        (default 10)\n"
	       "  -s, --sort=COLUMN     children (default), self, samples, symbol, module\n"
	       "                        or process\n"
	       "  -e, --filter=REGEX    only stacks with a function, module or process that\n"
	       "                        matches\n"
	       "  -o, --output=FILE     write the profile at exit; - is stdout\n"
	       "      --format=FORMAT   of the output: folded (default)\n"
	       "  -w, --record=FILE     write the raw samples to a new file, a recording\n"
	       "  -r, --replay=FILE     read a recording instead of sampling a guest\n"
	       "      --paced           replay at the speed of the recording\n"
	       "      --bare            copy no stacks: shows what the stops themselves cost\n"
	       "      --stats=FILE      write counters and costs at exit, one JSON object\n"
	       "      --addresses       show unnamed functions as 0xADDR\n"
	       "  -b, --batch           print tables instead of showing the screen; the default\n"
	       "                        when stdout is not a terminal\n"
	       "  -q, --quiet           print no tables\n"
	       "      --unpause=DOMAIN  let a guest run that a killed xtop left stopped; exit\n"
	       "  -l, --list            list the guests and exit\n"
	       "  -h, --help            show this text and exit\n"
	       "  -V, --version         show the version and exit\n"
	       "\n"
	       "Exit status: 0, 1 for a failure, 2 for a usage error. More in xtop(1).\n";
}

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

/* options_init() has made room for as many values as there are arguments. */
static void options_append(struct options *options, int key, const char *text)
{
	if (key == 'd')
		options->domains[options->n_domains++] = text;
	else
		options->symbols[options->n_symbols++] = text;
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
	case OPTION_WHOLE:
		return options_parse_whole(spec, text, field);
	case OPTION_UNWIND:
		return options_parse_unwind(spec, text, field);
	case OPTION_FORMAT:
		assert(text);
		if (!export_find_format(text))
			return options_bad_value(spec, text);
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
	return spec->kind == OPTION_FLAG || spec->kind == OPTION_ACTION ? no_argument
									: required_argument;
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
	if (!first && optind < argc)
		first = error_create("unexpected argument '%s': a guest is named with -d %s",
				     argv[optind], argv[optind]);
	return first;
}

/* --- what does not go together ---------------------------------------------------------------- */

static bool options_same(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

/* Both are names of stdout for output_open(), too. NULL is not. */
static bool options_is_stdout(const char *path)
{
	return options_same(path, "-") || options_same(path, "/dev/stdout");
}

/* Refuses two results in one file, and a result in the recording that is replayed. */
static struct xtop_error *options_check_files(const struct options *options)
{
	const char *const files[] = { options->output, options->stats, options->record,
				      options->replay };
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

static struct xtop_error *options_check(const struct options *options)
{
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
	if (options->quiet && !options->batch && !options->output && !options->record &&
	    !options->stats)
		return error_create(
			"--quiet shows nothing: give --output, --record or --stats as well");
	return options_check_files(options);
}

/* Sets what one option implies for another, and the defaults. */
static void options_complete(struct options *options)
{
	if (options->unpause && options->action == ACTION_PROFILE)
		options->action = ACTION_UNPAUSE;
	if (options_is_stdout(options->output) || options_is_stdout(options->stats))
		options->quiet = true;
	if (options->quiet || options->iterations)
		options->batch = true;
	options->interval_given = options->interval_s > 0;
	if (!options->interval_given)
		options->interval_s =
			options->batch ? OPTIONS_INTERVAL_BATCH_S : OPTIONS_INTERVAL_SCREEN_S;
	options->half_life_given = options->half_life_s >= 0;
	if (!options->half_life_given)
		options->half_life_s = OPTIONS_HALF_LIFE_S;
	options->budget /= 100;
}

static struct xtop_error *options_init(struct options *options, int argc)
{
	*options = (struct options){
		.unwind = UNWIND_AUTO,
		.freq_hz = 99,
		.budget = 1,       /* percent, until options_complete() */
		.half_life_s = -1, /* not given, until options_complete() */
		.format = "folded",
	};
	options->domains = calloc((size_t)argc + 1, sizeof(*options->domains));
	options->symbols = calloc((size_t)argc + 1, sizeof(*options->symbols));
	if (!options->domains || !options->symbols)
		return error_create("out of memory");
	return NULL;
}

struct xtop_error *options_parse(int argc, char **argv, struct options *options)
{
	struct xtop_error *error = options_init(options, argc);

	if (error)
		return error;
	error = options_parse_all(options, argc, argv);
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
	options->domains = NULL;
	options->symbols = NULL;
	options->n_domains = options->n_symbols = 0;
}
