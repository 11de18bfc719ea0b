/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The program that an interpreter runs; see script.h. */
#include "config.h"

#include "linux/process/script.h"

#include <ctype.h>
#include <stdio.h>

#include "linux/kernel/arch.h"
#include "linux/kernel/member.h"

/*
 * Options of an interpreter. A letter that is in no list has the rest of its argument as value. In
 * the lists of words, a blank is before and after each word.
 */
static const struct script_interpreter {
	const char *program; /* begins the file's name: python3.11 */
	const char *flags;   /* letters without a value; another letter may follow */
	const char *values;  /* letters whose value is the argument's rest, or the next argument */
	const char *names;   /* letters with a value that names the program */
	const char *texts;   /* letters with the text of a program */
	const char *value_words, *name_words;
} script_interpreters[] = {
	{ "python", "bBdEhiIOPqRsSuvVx?", "QWX", "m", "c", " --check-hash-based-pycs ", "" },
	{ "php", "aCehHilmnqsvw", "cdgStz", "f", "BEFrR", " --define --php-ini ", " --file " },
	{ "ruby", "0123456789acdhlnpsSuUvwy", "CEIr", "", "e", " --encoding --external-encoding ",
	  "" },
	{ "perl", "0123456789acfhlnpsStTuUvwWX", "I", "", "eE", "", "" },
	{ "node", "chiv", "Cr", "", "ep",
	  " --conditions --env-file --experimental-loader --import --loader --require --title ",
	  "" },
	{ "java", "", "p", "m", "",
	  " -cp -classpath --class-path --module-path --upgrade-module-path --add-modules "
	  "--limit-modules --add-opens --add-exports --add-reads --patch-module ",
	  " -jar --module " },
};
#define N_INTERPRETERS (sizeof(script_interpreters) / sizeof(script_interpreters[0]))

enum script_argument { SCRIPT_NAME, SCRIPT_FLAG, SCRIPT_VALUE, SCRIPT_NAMED, SCRIPT_TEXT };

/* Whether WORDS has ARGUMENT. */
static bool script_has_word(const char *words, const char *argument)
{
	size_t n = strlen(argument);

	for (const char *at = words; (at = strstr(at, argument)); at++)
		if (at > words && at[-1] == ' ' && at[n] == ' ')
			return true;
	return false;
}

/*
 * What ARGUMENT is. SCRIPT_VALUE: the next one belongs to it. SCRIPT_NAMED: *NAME, or if that is
 * empty the next argument, names the program.
 */
static enum script_argument script_classify(const struct script_interpreter *interpreter,
					    const char *argument, const char **name)
{
	*name = "";
	if (*argument != '-')
		return SCRIPT_NAME;
	if (script_has_word(interpreter->value_words, argument))
		return SCRIPT_VALUE;
	if (script_has_word(interpreter->name_words, argument))
		return SCRIPT_NAMED;
	if (argument[1] == '-')
		return argument[2] ? SCRIPT_FLAG : SCRIPT_NAMED;
	if (!argument[1])
		return SCRIPT_TEXT;
	for (const char *letter = argument + 1; *letter; letter++) {
		if (strchr(interpreter->texts, *letter))
			return SCRIPT_TEXT;
		*name = letter + 1;
		if (strchr(interpreter->names, *letter))
			return SCRIPT_NAMED;
		if (strchr(interpreter->values, *letter))
			return letter[1] ? SCRIPT_FLAG : SCRIPT_VALUE;
		if (!strchr(interpreter->flags, *letter))
			return SCRIPT_FLAG;
	}
	return SCRIPT_FLAG;
}

static const char *script_last_component(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* The interpreter whose file has NAME, followed by nothing but a version; NULL: none. */
static const struct script_interpreter *script_find_interpreter(const char *name)
{
	for (size_t i = 0; i < N_INTERPRETERS; i++) {
		size_t n = strlen(script_interpreters[i].program);

		if (strncmp(name, script_interpreters[i].program, n) != 0)
			continue;
		if (strcmp(name, "nodejs") == 0 || !name[n + strspn(name + n, "0123456789.-")])
			return &script_interpreters[i];
	}
	return NULL;
}

bool script_is_interpreter(const char *comm)
{
	return script_find_interpreter(comm);
}

/* The argument after the one at AT; NULL: there is none, or not all of it. */
static const char *script_next(const char *at, const char *end)
{
	at += strlen(at) + 1;
	return at < end && memchr(at, '\0', (size_t)(end - at)) ? at : NULL;
}

/* Whether NAME may be that of a file, module or class, rather than a piece of a program's text. */
static bool script_is_name(const char *name)
{
	for (; *name; name++)
		if (!isalnum((unsigned char)*name) && !strchr("._-+@~:/", *name) &&
		    (unsigned char)*name < 0x80)
			return false;
	return true;
}

bool script_find(const char *line, size_t size_bytes, char name[SCRIPT_NAME_BYTES])
{
	const struct script_interpreter *interpreter;
	const char *end = line + size_bytes, *found, *at = line;
	enum script_argument kind = SCRIPT_FLAG;

	if (!memchr(line, '\0', size_bytes))
		return false;
	interpreter = script_find_interpreter(script_last_component(line));
	if (!interpreter)
		return false;
	while (kind == SCRIPT_FLAG || kind == SCRIPT_VALUE) {
		if (kind == SCRIPT_VALUE)
			at = script_next(at, end);
		at = at ? script_next(at, end) : NULL;
		if (!at)
			return false;
		kind = script_classify(interpreter, at, &found);
	}
	if (kind == SCRIPT_TEXT)
		return false;
	if (kind == SCRIPT_NAME)
		found = at;
	else if (!*found)
		found = script_next(at, end);
	if (!found || !*found || !script_is_name(found))
		return false;
	return snprintf(name, SCRIPT_NAME_BYTES, "%s", script_last_component(found)) > 0;
}

bool script_read(const struct linux_guest *guest, uint64_t mm, char name[SCRIPT_NAME_BYTES])
{
	uint64_t pgd, start, end;
	struct memory_root root;
	char line[SCRIPT_MAX_LINE_BYTES];
	size_t n;

	if (!member_read_pointer(guest, mm, MM_PGD, &pgd) ||
	    !member_read_word(guest, mm, MM_ARG_START, &start) ||
	    !member_read_word(guest, mm, MM_ARG_END, &end) || !arch_read_root(guest, pgd, &root) ||
	    end <= start)
		return false;
	n = end - start < sizeof(line) ? end - start : sizeof(line);
	n = memory_read(guest->memory, root, start, line, n);
	return script_find(line, n, name);
}
