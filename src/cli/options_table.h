/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of options. An option has one entry here; all else that lists options goes by the
 * table: the command line (options.c), --help (options_help.c), the completion files of three
 * shells and the manual, which tests/cli/test_option_lists compares with the table or writes anew.
 */
#ifndef XTOP_OPTIONS_TABLE_H
#define XTOP_OPTIONS_TABLE_H

#include "xtop/cli/options.h"

/* What a user wants to do. --help, the manual's synopsis and its sections have this order. */
enum option_group {
	OPTIONS_LOOK,
	OPTIONS_RECORD,
	OPTIONS_EXPORT,
	OPTIONS_COMPARE,
	OPTIONS_EXPLAIN,
	OPTIONS_SERVE,
	OPTIONS_OTHER,
	N_OPTION_GROUPS
};
/* The title of each group, as in --help and in the manual. */
extern const char *const option_groups[N_OPTION_GROUPS];

/* The type of an option's value, and of the member of struct options that it sets. */
enum option_kind {
	OPTION_FLAG,    /* no value; a bool becomes true */
	OPTION_ACTION,  /* no value; options.action becomes the entry's action */
	OPTION_STRING,  /* const char *, not empty */
	OPTION_LIST,    /* const char **; the option may be repeated */
	OPTION_NUMBER,  /* double from min to max */
	OPTION_WHOLE,   /* unsigned long from min to max */
	OPTION_CHOICE,  /* unsigned, or an enum in the order of the words: the word's number */
	OPTION_CLOCK,   /* enum clock_kind by its name; sets clock_given, too */
	OPTION_FORMAT,  /* const char *, the name of an export format */
	OPTION_COLUMN,  /* const char *, the name of a column */
	OPTION_EXAMPLE, /* const struct example * by its name */
};

/* What a shell offers for the value. */
enum option_completion {
	COMPLETE_NOTHING, /* the value is a number or free text, or there is none */
	COMPLETE_GUEST,   /* names of guests */
	COMPLETE_WORD,    /* the entry's words */
	COMPLETE_FILE,    /* files; if there are words, only files with these endings */
	COMPLETE_FOLDER,
};

struct option_spec {
	const char *name; /* the long name, without dashes */
	char letter;      /* the short name; 0 if there is none */
	bool rare;        /* --help names the option only; the manual describes it */
	enum option_group group;
	const char *argument; /* the value's name in --help; NULL if the option takes no value */
	const char *bare;     /* what the option means without a value; NULL: it needs one */
	const char *help;     /* one sentence, for --help and completion */
	enum option_kind kind;
	enum options_action action; /* OPTION_ACTION only */
	size_t offset;              /* offset of the member in struct options */
	size_t count_offset;        /* offset of the list's length; OPTION_LIST only */
	double min, max;            /* numbers only */
	const char *allowed;        /* allowed values, for errors; NULL: the words */
	enum option_completion completion;
	const char *words; /* values, or endings of files, separated by blanks; or NULL */
};

#define OPTIONS_MAX 80 /* entries of the table */
/* The options, in the order of --help. */
extern const struct option_spec option_specs[];
extern const size_t n_option_specs;

#endif
