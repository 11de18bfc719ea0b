/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Builds the text of --help from the table of options. */
#include "config.h"

#include "cli/options_table.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define HELP_COLUMNS 80
#define HELP_INDENT  27 /* columns before the sentence of an option */
#define HELP_BYTES   8192

struct help {
	char text[HELP_BYTES];
	size_t length;
};

static void help_put(struct help *help, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void help_put(struct help *help, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	if (help->length < HELP_BYTES)
		help->length += (size_t)vsnprintf(
			help->text + help->length, HELP_BYTES - help->length, format, arguments);
	va_end(arguments);
}

/* Puts the words of TEXT from COLUMN on. Lines that follow begin with INDENT blanks. */
static void help_wrap(struct help *help, const char *text, int column, int indent)
{
	const char *separator = "";

	while (*text) {
		int n = (int)strcspn(text, " ");

		if (column + (int)strlen(separator) + n > HELP_COLUMNS) {
			help_put(help, "\n%*s", indent, "");
			column = indent;
			separator = "";
		}
		help_put(help, "%s%.*s", separator, n, text);
		column += (int)strlen(separator) + n;
		separator = " ";
		text += n + (int)strspn(text + n, " ");
	}
	help_put(help, "\n");
}

static void help_put_option(struct help *help, const struct option_spec *spec)
{
	char names[64], letter[8] = "    ";

	if (spec->letter)
		snprintf(letter, sizeof(letter), "-%c, ", spec->letter);
	snprintf(names, sizeof(names), "  %s--%s%s%s%s%s", letter, spec->name,
		 spec->bare ? "[" : "", spec->argument ? "=" : "",
		 spec->argument ? spec->argument : "", spec->bare ? "]" : "");
	help_put(help, "%-*s ", HELP_INDENT - 1, names);
	help_wrap(help, spec->help, HELP_INDENT, HELP_INDENT);
}

static void help_put_groups(struct help *help)
{
	for (enum option_group group = 0; group < N_OPTION_GROUPS; group++) {
		help_put(help, "%s:\n", option_groups[group]);
		for (size_t i = 0; i < n_option_specs; i++)
			if (option_specs[i].group == group && !option_specs[i].rare)
				help_put_option(help, &option_specs[i]);
	}
}

/* Names the options that only the manual describes. */
static void help_put_rare(struct help *help)
{
	char names[HELP_BYTES / 8] = "Also, xtop(1):";

	for (size_t i = 0; i < n_option_specs; i++)
		if (option_specs[i].rare)
			snprintf(names + strlen(names), sizeof(names) - strlen(names), " --%s",
				 option_specs[i].name);
	help_wrap(help, names, 0, 2);
}

const char *options_help(void)
{
	static struct help help;

	help.length = 0;
	help_put(&help,
		 "Usage: xtop -d DOMAIN [OPTION]...    look at a guest, live\n"
		 "       xtop -r FILE [OPTION]...      look at a recording or a profile\n"
		 "       xtop --diff OLD NEW           compare two of these\n"
		 "Shows which functions a Xen guest spends its time in, and who calls them.\n\n");
	help_put_groups(&help);
	help_put_rare(&help);
	help_put(&help, "Exit status: 0, 1 for a failure, 2 for a usage error.\n");
	return help.text;
}
