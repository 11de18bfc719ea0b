/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cleans names for a terminal and for a line of text. Pure functions; any thread. */
#ifndef XTOP_TEXT_H
#define XTOP_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Copies SOURCE, at most SIZE bytes or up to its first NUL, to TARGET, and makes it fit for a
 * terminal and a folded line. These become '_': C0, DEL, raw C1 bytes, ';', characters for which
 * text_is_invisible() is true, each byte of invalid UTF-8, and a combining mark that has no base
 * character or follows TEXT_MAX_MARKS others. The result has at most CAPACITY - 1 bytes and is cut
 * between characters; it always ends in a NUL. CAPACITY is at least 1. Returns the length.
 */
#define TEXT_MAX_MARKS 4
size_t text_clean(char *target, size_t capacity, const char *source, size_t size);
/* As text_clean(), for a line that is no name: ';' stays, and a tab becomes a blank. */
size_t text_clean_line(char *target, size_t capacity, const char *source, size_t size);
/*
 * Whether CHARACTER is not seen, but may change how other characters are shown: controls, direction
 * overrides, zero-width characters, line separators, tags.
 */
bool text_is_invisible(uint32_t character);
/*
 * For a terminal without UTF-8: replaces, in place, each character that is not ASCII and each wrong
 * byte by '?', ± by '~' and – by '-'.
 */
void text_to_ascii(char *text);

/*
 * Takes the character set of the user's locale for this process. Where the system lacks the files
 * of a locale whose name ends in UTF-8, the C library's own C.UTF-8 has the same characters.
 * Numbers stay in the C locale. Before other threads start.
 */
void text_set_locale(void);

#endif
