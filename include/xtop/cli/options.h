/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line, parsed and checked; doc/xtop.1 describes it. Main's thread, at the start. */
#ifndef XTOP_OPTIONS_H
#define XTOP_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "xtop/base/clocks.h"
#include "xtop/base/error.h"
#include "xtop/cli/options_file.h"
#include "xtop/unwind/unwind.h"

#define OPTIONS_INTERVAL_SCREEN_S 1.0
#define OPTIONS_INTERVAL_BATCH_S 2.0
#define OPTIONS_INTERVAL_PUSH_S 10.0
#define OPTIONS_HALF_LIFE_S 10.0
#define OPTIONS_WAITS_HZ 2
#define OPTIONS_DEBUG_DIR "/usr/lib/debug"
#define OPTIONS_MAX_DEBUG_DIRS 8
#define OPTIONS_MAX_SOURCE_DIRS 8
#define OPTIONS_HOST_BUDGET_PERCENT 2 /* the default with --all */

enum options_action {
	ACTION_PROFILE,
	ACTION_LIST,
	ACTION_UNPAUSE,
	ACTION_CHECK,
	ACTION_HELP,
	ACTION_VERSION
};

/* In the order of --profile's words. */
enum options_profile { PROFILE_OF_CPU, PROFILE_OF_WAITS, PROFILE_OF_EXITS };

/* Strings point into argv or FILE; arrays belong to the options. */
struct options {
	enum options_action action;
	const char *config;          /* --config: a file of options; NULL: none */
	struct options_file file;    /* the options of that file */
	size_t n_domains;
	const char **domains;        /* names, domids or UUIDs */
	size_t n_symbols;
	const char **symbols;        /* paths */
	const char *root;            /* --root: the guest's root file system; NULL: none */
	size_t n_debug_dirs;
	const char **debug_dirs;     /* --debug-dir: folders of debug files; at least the default */
	bool debug_dirs_given;       /* false: the default folder, which need not exist */
	size_t n_source_dirs;
	const char **source_dirs;    /* --source-dir: folders of source files */
	bool debuginfod;             /* --debuginfod: ask servers for debug files */
	bool lines;                  /* --lines: source lines and inlined functions */
	bool strict;                 /* --strict: refuse profiles with damaged lines */
	const char *value;           /* --value: which of a profile's values; NULL: its default */
	bool no_inline;              /* --no-inline: no inlined functions */
	bool addr2line;              /* --addr2line: a trace from stdin */
	bool crash;                  /* --crash: one look at a guest that need not run */
	enum unwind_how unwind;
	double freq_hz;              /* RATE_MIN_HZ .. RATE_MAX_HZ; default 99 */
	double budget;               /* share of the guest's time, 0..1; default 0.01 */
	double waits_hz;             /* --waits: looks at tasks a second; 0: none */
	bool neighbours;             /* --neighbours: who takes the guest's physical CPUs */
	bool interpreters;           /* --interpreters: their own functions, not the programs' */
	bool exits;                  /* --exits: the guest's exits to Xen */
	unsigned profile;            /* --profile: enum options_profile */
	bool shared;                 /* --shared: another xtop may sample the guest, too */
	double interval_s;           /* seconds between refreshes; the default depends on BATCH */
	bool interval_given;         /* false: a session without a screen takes batch mode's */
	unsigned long iterations;    /* tables in batch; 0: no limit */
	double time_s;               /* 0: no limit */
	double half_life_s;          /* default 10; 0: no decay */
	bool half_life_given;        /* false: xtoprc may set another one */
	const char *sort;            /* column name; NULL: children */
	size_t n_filters;
	const char **filters;        /* a stack has to pass all */
	const char *output;          /* profile at exit; "-" stdout; NULL: none */
	const char *format;          /* the output's format: given, or by the file's ending */
	bool format_unknown;         /* no format was given, and no format has the file's ending */
	bool waits_left_out;         /* the output's format has no place for waits */
	enum clock_kind clock;       /* --clock: the clock on which times are told; default dom0 */
	bool clock_given;            /* false: the screen tells no times of day */
	const char *record;          /* new file for raw samples; NULL: none */
	const char *replay;          /* NULL: live */
	const struct example *example; /* --example: replay what is installed with xtop; NULL: no */
	char *example_file, *example_baseline; /* what REPLAY and BASELINE then point to */
	bool paced;                  /* --paced: replay at the speed of the recording */
	const char *stats;           /* NULL: none */
	const char *unpause;         /* --unpause: a domain; NULL: not given */
	const char *xen_abi;         /* --xen-abi: a release of Xen, not checked; NULL: none */
	bool bare;                   /* --bare: stops that copy no stack */
	unsigned by_cgroup;          /* --group=cgroup: group by cgroup, not by process alone */
	bool margins;                /* --margins: the table has a column of them */
	bool addresses;              /* --addresses: unnamed frames as 0xADDR */
	bool diff;                   /* --diff: compare baseline and replay */
	const char *baseline;        /* the older file; NULL: none */
	bool all_rows;               /* --all-rows */
	const char *annotate;        /* --annotate: a function; NULL: none */
	double fail_over;            /* --fail-over, in points; negative: not given */
	bool all;                    /* --all: every guest, also those that come later */
	size_t n_matches, n_excepts;
	const char **matches;        /* --match: patterns of names; none: all */
	const char **excepts;        /* --except: patterns of names to leave out */
	const char *push;            /* --push: a URL; NULL: none */
	const char *push_config;     /* --push-config: a file; NULL: none */
	double host_budget;          /* share of one CPU of dom0 for all guests; 0: no limit */
	const char *metrics;         /* --metrics: where metrics are served; NULL: nowhere */
	size_t n_labels;
	const char **labels;         /* --label: "KEY=VALUE" */
	bool json;                   /* --json: tables are JSON */
	/* -n, -q, --json, --push, --metrics imply batch; -o - and --stats=- imply quiet */
	bool batch, quiet;
};

/*
 * Parses as GNU programs do: options and operands in any order, unique prefixes of long names,
 * "--". If an option is given twice, the last one counts; lists grow. The options of --config count
 * as if given first. -h and -V win over every error. The order of ARGV may change. Does not compile
 * --filter, and looks up neither domains nor files.
 *
 * Errors are usage errors (exit status 2) in one line: which option, what value, what is allowed.
 * The caller calls options_deinit(), also after an error.
 */
struct xtop_error *options_parse(int argc, char **argv, struct options *options);
void options_deinit(struct options *options);
/* The text of --help, valid until the next call. */
const char *options_help(void);

#endif
