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

#define OOPS_ADDRESS_DIGITS 16 /* digits of an address without 0x */

static bool oops_is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '$';
}

/* Reads "0x12" at *TEXTP, and moves *TEXTP past the number. */
static bool oops_read_hex(const char **textp, uint64_t *value)
{
	const char *text = *textp;
	char *end;

	if (text[0] != '0' || text[1] != 'x' || !isxdigit((unsigned char)text[2]))
		return false;
	errno = 0;
	*value = strtoull(text, &end, 16);
	*textp = end;
	return !errno;
}

/* Reads " [nf_tables]" or " [nf_tables BUILD-ID]". Returns its end, or TEXT if there is none. */
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

/* Reads the rest of "symbol+0x12/0x80 [module]". The symbol has LENGTH bytes at NAME. */
static const char *oops_read_symbol(const char *name, size_t length, struct oops_place *place)
{
	const char *text = name + length;

	if (*text++ != '+' || length >= sizeof(place->symbol) ||
	    isdigit((unsigned char)name[0]) || !oops_read_hex(&text, &place->address) ||
	    *text++ != '/' || !oops_read_hex(&text, &place->size_bytes))
		return NULL;
	memcpy(place->symbol, name, length);
	place->symbol[length] = '\0';
	return oops_read_module(text, place);
}

/* Reads sixteen digits, with or without 0x, if they are an address of a kernel. */
static bool oops_read_address(const char *word, size_t length, struct oops_place *place)
{
	if (length == OOPS_ADDRESS_DIGITS + 2 && word[0] == '0' && word[1] == 'x') {
		word += 2;
		length -= 2;
	}
	if (length != OOPS_ADDRESS_DIGITS || strspn(word, "0123456789abcdef") < length ||
	    strncmp(word, "ffff", 4) != 0)
		return false;
	place->address = strtoull(word, NULL, 16);
	return true;
}

/*
 * Whether the words before a place say that it is the instruction itself: RIP does, and so does the
 * place of a warning (Linux kernel/panic.c, __warn()) or of an idle CPU (lib/nmi_backtrace.c). The
 * other entries of a call trace are return addresses.
 */
static bool oops_is_exact(const char *line, const char *at)
{
	static const char *const words[] = { "RIP",  "IP:",       "PC is at",
					     "pc :", "WARNING: ", "idling at" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const char *found = strstr(line, words[i]);

		if (found && found < at)
			return true;
	}
	return false;
}

size_t oops_find_places(const char *line, struct oops_place places[OOPS_MAX_PLACES])
{
	const char *at = line, *end;
	size_t n = 0;

	while (*at && n < OOPS_MAX_PLACES) {
		struct oops_place place = { .exact = oops_is_exact(line, at) };
		size_t length = 0;

		while (oops_is_name(at[length]))
			length++;
		if (!length) {
			at++;
			continue;
		}
		end = oops_read_symbol(at, length, &place);
		if (end || oops_read_address(at, length, &place)) {
			at = end ? end : at + length;
			place.end = (size_t)(at - line);
			/*
			 * For "[<address>] symbol+...", the symbol says more than the address. A
			 * line of RIP may have the address twice before the symbol.
			 */
			while (end && n && !places[n - 1].symbol[0])
				n--;
			places[n++] = place;
			continue;
		}
		at += length;
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
