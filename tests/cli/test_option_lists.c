/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lists of options outside the program: the completion files of bash, zsh and fish have a part that
 * is made of the table of options, between two marked lines. The manual has an item for each option
 * in the section of the option's group. XTOP_UPDATE_GOLDEN=1 writes the completion files anew; an
 * item of the manual is written by hand.
 */
#include "cli/options_table.h"

#include <stdlib.h>

#include "tests/support/tap.h"
#include "xtop/export/export.h"

#define BEGIN "# --- made of src/cli/options_table.c by tests/cli/test_option_lists\n"
#define END   "# --- end of what is made\n"

static char text[65536];
static size_t length;

static void put(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void put(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	length += (size_t)vsnprintf(text + length, sizeof(text) - length, format, arguments);
	va_end(arguments);
	if (length >= sizeof(text))
		abort();
}

/* Puts STRING with a backslash before each byte that is in SPECIAL, and ' as the shell wants it. */
static void put_quoted(const char *string, const char *special)
{
	for (; *string; string++)
		if (*string == '\'')
			put("'\\''");
		else
			put("%s%c", strchr(special, *string) ? "\\" : "", *string);
}

static bool takes_value(const struct option_spec *spec)
{
	return spec->argument && !spec->bare;
}

/* --- bash ------------------------------------------------------------------------------------- */

static void bash_option(const struct option_spec *spec)
{
	if (!spec->argument)
		return;
	put("\t");
	if (spec->letter)
		put("-%c | ", spec->letter);
	put("--%s) ", spec->name);
	switch (spec->completion) {
	case COMPLETE_GUEST:
		put("_xtop_guests \"$2\" ");
		break;
	case COMPLETE_WORD:
		put("_xtop_words \"$2\" %s ", spec->words);
		break;
	case COMPLETE_FILE:
		put("_xtop_files \"$2\" %s%s", spec->words ? spec->words : "",
		    spec->words ? " " : "");
		break;
	case COMPLETE_FOLDER:
		put("_xtop_folders \"$2\" ");
		break;
	case COMPLETE_NOTHING:
		break;
	}
	put(";;\n");
}

static void bash_file(void)
{
	put("# _xtop_value OPTION CURRENT: completes the option's value. False: it takes none.\n"
	    "_xtop_value() {\n\tcase $1 in\n");
	for (size_t i = 0; i < n_option_specs; i++)
		bash_option(&option_specs[i]);
	put("\t*) return 1 ;;\n\tesac\n}\n_xtop_options=(");
	for (size_t i = 0; i < n_option_specs; i++)
		if (option_specs[i].letter)
			put("%s-%c", i ? " " : "", option_specs[i].letter);
	for (size_t i = 0; i < n_option_specs; i++)
		put("\n\t--%s%s", option_specs[i].name, takes_value(&option_specs[i]) ? "=" : "");
	put(")\n");
}

/* --- zsh -------------------------------------------------------------------------------------- */

static void zsh_value(const struct option_spec *spec)
{
	put("%s:%s:", spec->bare ? ":" : "", spec->argument);
	switch (spec->completion) {
	case COMPLETE_GUEST:
		put("_xtop_domains");
		break;
	case COMPLETE_WORD:
		put("(%s)", spec->words);
		break;
	case COMPLETE_FILE:
		put("_files");
		for (const char *at = spec->words; at && *at; at += strspn(at, " ")) {
			put(at == spec->words ? " -g \"*.(" : "|");
			put("%.*s", (int)strcspn(at + 1, " "), at + 1);
			at += strcspn(at, " ");
		}
		put(spec->words ? ")(-.)\"" : "");
		break;
	case COMPLETE_FOLDER:
		put("_files -/");
		break;
	case COMPLETE_NOTHING:
		put(" ");
		break;
	}
}

static void zsh_option(const struct option_spec *spec)
{
	bool list = spec->kind == OPTION_LIST;
	const char *equals = spec->bare ? "=-" : spec->argument ? "=" : "";

	put("\t");
	if (spec->letter)
		put("%s{-%c%s,--%s%s}'[", list ? "'*'" : "", spec->letter,
		    spec->argument ? "+" : "", spec->name, equals);
	else
		put("'%s--%s%s[", list ? "*" : "", spec->name, equals);
	put_quoted(spec->help, ":[]\\");
	put("]");
	if (spec->argument)
		zsh_value(spec);
	put("'\n");
}

static void zsh_file(void)
{
	put("options=(\n");
	for (size_t i = 0; i < n_option_specs; i++)
		zsh_option(&option_specs[i]);
	put(")\n");
}

/* --- fish ------------------------------------------------------------------------------------- */

static void fish_option(const struct option_spec *spec)
{
	put("complete -c xtop ");
	if (spec->letter)
		put("-s %c ", spec->letter);
	put("-l %s ", spec->name);
	switch (spec->completion) {
	case COMPLETE_GUEST:
		put("-x -a '(__xtop_domains)' ");
		break;
	case COMPLETE_WORD:
		put("-x -a '%s' ", spec->words);
		break;
	case COMPLETE_FILE:
		if (spec->words)
			put("-x -a '(__xtop_files %s)' ", spec->words);
		else
			put("-r -F ");
		break;
	case COMPLETE_FOLDER:
		put("-x -a '(__fish_complete_directories)' ");
		break;
	case COMPLETE_NOTHING:
		put(takes_value(spec) ? "-x " : "");
		break;
	}
	put("-d '");
	for (const char *at = spec->help; *at; at++)
		put("%s%c", strchr("'\\", *at) ? "\\" : "", *at);
	put("'\n");
}

static void fish_file(void)
{
	for (size_t i = 0; i < n_option_specs; i++)
		fish_option(&option_specs[i]);
}

/* --- files ------------------------------------------------------------------------------------ */

static char *read_file(const char *name)
{
	const char *folder = getenv("top_srcdir");
	char path[4096], *bytes = calloc(1, 1 << 20);
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder ? folder : ".", name);
	file = fopen(path, "r");
	if (!bytes || !file || fread(bytes, 1, (1 << 20) - 1, file) == 0)
		abort();
	fclose(file);
	return bytes;
}

static void write_file(const char *name)
{
	const char *folder = getenv("top_srcdir");
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder ? folder : ".", name);
	file = fopen(path, "w");
	if (!file || fputs(text, file) < 0 || fclose(file))
		abort();
}

/* Compares the marked part of the file NAME with what MAKE puts. */
static void check_completion(const char *name, void (*make)(void))
{
	char *is = read_file(name), *from = strstr(is, BEGIN), *to = strstr(is, END);

	if (!check(from && to && from < to, "%s has a marked part", name)) {
		free(is);
		return;
	}
	length = 0;
	put("%.*s", (int)(from - is) + (int)strlen(BEGIN), is);
	make();
	put("%s", to);
	if (getenv("XTOP_UPDATE_GOLDEN"))
		write_file(name);
	else if (!check(!strcmp(is, text), "%s is what the table of options makes", name))
		printf("# XTOP_UPDATE_GOLDEN=1 tests/cli/test_option_lists writes it anew\n");
	free(is);
}

/* Finds the item of SPEC in the section that begins at SECTION; it ends at the next section. */
static bool manual_has(const char *section, const struct option_spec *spec)
{
	const char *end = strstr(section + 1, "\n.S");

	char wanted[64];

	while (end && !strchr("hs", end[3])) /* .Sq is no section */
		end = strstr(end + 1, "\n.S");

	snprintf(wanted, sizeof(wanted), "Fl -%s", spec->name);
	for (const char *at = section; (at = strstr(at, "\n.It ")) && at < end; at++) {
		int n = (int)strcspn(at + 1, "\n");
		char item[256];
		const char *name;

		snprintf(item, sizeof(item), "%.*s", n, at + 1);
		name = strstr(item, wanted);
		if (name && strchr(" ", name[strlen(wanted)]) &&
		    (!spec->letter ||
		     strncmp(item,
			     (char[]){ '.', 'I', 't', ' ', 'F', 'l', ' ', spec->letter, '\0' },
			     8) == 0))
			return true;
	}
	return false;
}

static void test_manual(void)
{
	char *manual = read_file("doc/xtop.1"), *list = strstr(manual, "\n.Sh OPTIONS\n");

	for (enum option_group group = 0; list && group < N_OPTION_GROUPS; group++) {
		char title[64], *section;

		snprintf(title, sizeof(title), "\n.Ss %s\n", option_groups[group]);
		check(strstr(manual, title) < list, "the synopsis has %s", option_groups[group]);
		section = strstr(list, title);
		if (!check(section != NULL, "the manual has the section %s", option_groups[group]))
			continue;
		for (size_t i = 0; i < n_option_specs; i++)
			if (option_specs[i].group == group)
				check(manual_has(section, &option_specs[i]),
				      "the manual's section %s has --%s", option_groups[group],
				      option_specs[i].name);
	}
	free(manual);
}

/* --- formats ---------------------------------------------------------------------------------- */

static const struct option_spec *find_spec(const char *name)
{
	for (size_t i = 0; i < n_option_specs; i++)
		if (!strcmp(option_specs[i].name, name))
			return &option_specs[i];
	abort();
}

/* --format has the names of all formats in the order of their table, --output their endings. */
static void check_formats(void)
{
	char names[256], words[256] = "", endings[256] = "", *at = names;
	const char *name;

	export_list_formats(names, sizeof(names));
	while ((name = strsep(&at, ", "))) {
		if (!name[0])
			continue;
		snprintf(words + strlen(words), sizeof(words) - strlen(words), "%s%s",
			 words[0] ? " " : "", name);
		snprintf(endings + strlen(endings), sizeof(endings) - strlen(endings), "%s%s",
			 endings[0] ? " " : "", export_find_format(name)->ending);
		check(strstr(find_spec("format")->help, name), "--help names the format %s", name);
	}
	check_string(find_spec("format")->words, words, "--format offers all formats");
	check_string(find_spec("output")->words, endings, "--output offers all formats' files");
}

int main(void)
{
	check_completion("doc/packaging/completion/xtop", bash_file);
	check_completion("doc/packaging/completion/_xtop", zsh_file);
	check_completion("doc/packaging/completion/xtop.fish", fish_file);
	test_manual();
	check_formats();
	return tap_done();
}
