/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which of several symbols at one address is shown; alias.h has the rule. Any thread. */
#include "config.h"

#include "symbol/alias.h"

#include <string.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

static bool alias_has_prefix(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

bool symbol_has_suffix(const char *name, const char *suffix)
{
	size_t name_bytes = strlen(name), suffix_bytes = strlen(suffix);

	return name_bytes >= suffix_bytes && strcmp(name + name_bytes - suffix_bytes, suffix) == 0;
}

static bool alias_is_one_of(const char *name, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(name, list[i]) == 0)
			return true;
	return false;
}

/*
 * The name says what is a mark. This is a heuristic: a function may be called `__start_tty`. Such a
 * function only loses against an alias that would be equal otherwise.
 *
 *   __start_X, __stop_X    ld, for each section that is named like a C identifier
 *   _text, _stext, ...     Linux arch/x86/kernel/vmlinux.lds.S, include/asm-generic/sections.h
 *   __pi_X                 aliases of the kernel's position-independent start-up code
 *   __pfx_X                objtool's names of the padding before X, Linux 6.2 and later
 *   __cfi_X                the compiler's names of the type hash before X
 */
static bool alias_is_mark(const char *name)
{
	static const char *const marks[] = { "_text", "_stext", "_sinittext" };
	/* Linux include/linux/module.h: second names of a module's own functions */
	static const char *const entries[] = { "init_module", "cleanup_module" };
	static const char *const prefixes[] = {
		"__start_", "__stop_", "__end_", "__pi_", "__pfx_", "__cfi_",
	};

	if (name[0] != '_')
		return alias_is_one_of(name, entries, ARRAY_SIZE(entries));
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (alias_has_prefix(name, prefixes[i]))
			return true;
	if (name[1] == '_' &&
	    (symbol_has_suffix(name, "_start") || symbol_has_suffix(name, "_begin")))
		return true;
	return alias_is_one_of(name, marks, ARRAY_SIZE(marks)) || symbol_is_end_mark(name);
}

size_t symbol_name_bytes(const char *name, size_t n)
{
	const char *version = memmem(name, n, "@@", 2);

	return version && version > name ? (size_t)(version - name) : n;
}

bool symbol_is_end_mark(const char *name)
{
	static const char *const ends[] = { "etext",      "_etext",     "__etext",
					    "_einittext", "__init_end", "__indirect_thunk_end" };

	/*
	 * Called for every symbol of a kernel: the first or last character decides nearly all of
	 * them.
	 */
	if (name[0] != '_' && name[0] != 'e')
		return false;
	if (!strchr("td", name[strlen(name) - 1]))
		return false;
	return alias_is_one_of(name, ends, ARRAY_SIZE(ends)) ||
	       (alias_has_prefix(name, "__") && symbol_has_suffix(name, "_text_end"));
}

bool symbol_alias_better(const struct symbol_alias *a, const struct symbol_alias *b)
{
	bool a_mark = alias_is_mark(a->name), b_mark = alias_is_mark(b->name);
	size_t a_bars = strspn(a->name, "_"), b_bars = strspn(b->name, "_");
	size_t a_bytes = strlen(a->name), b_bytes = strlen(b->name);

	if (a->sized != b->sized)
		return a->sized;
	if (a_mark != b_mark)
		return b_mark;
	if (a->rank != b->rank)
		return a->rank > b->rank;
	if (a_bars != b_bars)
		return a_bars < b_bars;
	if (a_bytes != b_bytes)
		return a_bytes < b_bytes;
	return strcmp(a->name, b->name) < 0;
}
