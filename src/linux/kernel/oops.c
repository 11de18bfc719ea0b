/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds places in the text of an oops; see oops.h. Linux lib/vsprintf.c defines how %pS and %pB are
 * printed.
 */
#include "config.h"

#include "xtop/linux/oops.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* digits of an address without 0x, in a kernel of 64 and of 32 bits */
#define OOPS_ADDRESS_DIGITS 16
#define OOPS_SHORT_DIGITS   8

static bool oops_is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '$';
}

/* Whether C may be in the name of a source file: Xen prints "file.c#" before a static function. */
static bool oops_is_file(char c)
{
	return oops_is_name(c) || c == '/' || c == '-' || c == '+';
}

/* Reads "0x12" or Xen's "0" at *TEXTP, and moves *TEXTP past the number. */
static bool oops_read_hex(const char **textp, uint64_t *value)
{
	const char *text = *textp;
	char *end;

	if (text[0] == '0' && !isalnum((unsigned char)text[1])) {
		*value = 0;
		*textp = text + 1;
		return true;
	}
	if (text[0] != '0' || text[1] != 'x' || !isxdigit((unsigned char)text[2]))
		return false;
	errno = 0;
	*value = strtoull(text, &end, 16);
	*textp = end;
	return !errno;
}

/*
 * Reads " [nf_tables]" or " [nf_tables BUILD-ID]" at TEXT. Returns the end of that, or TEXT if
 * there is no module.
 */
static const char *oops_read_module(const char *text, struct oops_place *place)
{
	const char *name = text + 2, *end;
	size_t length;

	if (strncmp(text, " [", 2) != 0)
		return text;
	for (length = 0; oops_is_name(name[length]) || name[length] == '-'; length++)
		;
	end = strchr(name + length, ']');
	if (!length || length >= sizeof(place->module) || !end ||
	    (name[length] != ']' && name[length] != ' '))
		return text;
	memcpy(place->module, name, length);
	place->module[length] = '\0';
	return end + 1;
}

/* Whether a symbol of LENGTH bytes at NAME may stand before "+0x12/0x80". */
static bool oops_has_offset(const char *name, size_t length)
{
	const char *text = name + length;

	return *text == '+' && !isdigit((unsigned char)name[0]) && text[1] == '0' &&
	       (text[2] == 'x' || text[2] == '/');
}

/*
 * Reads the rest of "symbol+0x12/0x80 [module]". The symbol has LENGTH bytes at NAME. Returns the
 * end of the place, or NULL if the place is damaged or too long.
 */
static const char *oops_read_symbol(const char *name, size_t length, struct oops_place *place)
{
	const char *text = name + length + 1;

	if (length >= sizeof(place->symbol) || !oops_read_hex(&text, &place->address) ||
	    *text++ != '/' || !oops_read_hex(&text, &place->size_bytes))
		return NULL;
	memcpy(place->symbol, name, length);
	place->symbol[length] = '\0';
	return oops_read_module(text, place);
}

/*
 * Reads an address of a kernel, with or without 0x: 16 digits that begin with ffff, or 8 digits,
 * the first of which is 8 or more. A kernel of 32 bits lies in the upper half of the addresses.
 */
static bool oops_read_address(const char *word, size_t length, struct oops_place *place)
{
	if (length > 2 && word[0] == '0' && word[1] == 'x') {
		word += 2;
		length -= 2;
	}
	if (strspn(word, "0123456789abcdef") < length ||
	    !((length == OOPS_ADDRESS_DIGITS && strncmp(word, "ffff", 4) == 0) ||
	      (length == OOPS_SHORT_DIGITS && word[0] >= '8')))
		return false;
	place->address = strtoull(word, NULL, 16);
	return true;
}

/*
 * Whether the words before the place at AT say that the place is the instruction itself. Such words
 * are the names of the instruction pointer, and those before the place of a warning (Linux
 * kernel/panic.c, __warn()) and of an idle CPU (lib/nmi_backtrace.c). The other entries of a call
 * trace, and the link register, are return addresses. If several words are there, the last ones
 * count.
 */
static bool oops_is_exact(const char *line, const char *at)
{
	static const struct {
		const char *words;
		bool exact;
	} marks[] = { { "RIP", true },       { "IP:", true },       { "IP is at", true },
		      { "PC is at", true },  { "pc :", true },      { "PC: ", true },
		      { "WARNING: ", true }, { "idling at", true }, { "LR is at", false },
		      { "lr :", false },     { "LR: ", false },     { "ra :", false } };
	const char *last = line;
	bool exact = false;

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		const char *found = strstr(line, marks[i].words);

		if (found && found < at && found >= last) {
			last = found;
			exact = marks[i].exact;
		}
	}
	return exact;
}

/*
 * Whether Xen has marked the place from START to END as the instruction itself: "] R symbol+..."
 * on x86, "symbol+... (PC)" on Arm (Xen xen/arch/x86/traps.c, xen/arch/arm/traps.c, show_trace()).
 */
static bool oops_is_marked(const char *line, const char *start, const char *end)
{
	return (start - line >= 4 && strncmp(start - 4, "] R ", 4) == 0) ||
	       strncmp(end, " (PC)", 5) == 0;
}

/*
 * Returns the start of "file.c#" if Xen has put a file before SYMBOL; otherwise returns SYMBOL. The
 * text before FROM belongs to another place.
 */
static const char *oops_find_file(const char *from, const char *symbol)
{
	const char *start = symbol;

	if (start - from < 2 || start[-1] != '#')
		return symbol;
	for (start--; start > from && oops_is_file(start[-1]); start--)
		;
	return start < symbol - 1 ? start : symbol;
}

/*
 * Adds PLACE to the N places. In "[<address>] symbol+..." the symbol says more than the address, so
 * the symbol replaces the address. A line of RIP may have the address twice before the symbol. Xen
 * prints the address twice if it knows no symbol. Returns the new number of places.
 */
static size_t oops_add_place(struct oops_place *places, size_t n, const struct oops_place *place)
{
	while (n && !places[n - 1].symbol[0] &&
	       (place->symbol[0] || place->address == places[n - 1].address))
		n--;
	places[n] = *place;
	return n + 1;
}

size_t oops_find_places(const char *line, struct oops_place places[OOPS_MAX_PLACES],
			size_t *n_refused)
{
	const char *at = line, *from = line, *start, *end;
	size_t n = 0;

	while (*at) {
		struct oops_place place = { .exact = oops_is_exact(line, at) };
		size_t length = 0;

		while (oops_is_name(at[length]))
			length++;
		if (!length) {
			at++;
			continue;
		}
		start = at;
		end = at + length;
		if (oops_has_offset(at, length)) {
			start = oops_find_file(from, at);
			end = oops_read_symbol(start, (size_t)(at - start) + length, &place);
			*n_refused += !end;
		} else if (!oops_read_address(at, length, &place)) {
			end = NULL;
		}
		if (end && n == OOPS_MAX_PLACES) {
			(*n_refused)++;
		} else if (end) {
			place.exact = place.exact || oops_is_marked(line, start, end);
			place.end = (size_t)(end - line);
			n = oops_add_place(places, n, &place);
			from = end;
		}
		at = end ? end : at + length;
	}
	return n;
}

bool oops_find_offset(const char *line, uint64_t *offset)
{
	static const char words[] = "Kernel Offset: ";
	const char *found = strstr(line, words);

	if (!found)
		return false;
	found += sizeof(words) - 1;
	return oops_read_hex(&found, offset);
}
