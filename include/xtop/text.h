/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names made fit for a terminal and for a line of text. Pure functions; any thread. */
#ifndef XTOP_TEXT_H
#define XTOP_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * SOURCE of at most SIZE bytes, to its first NUL, made fit for a terminal and a folded
 * line; always NUL-terminated. C0, C1 (raw and in UTF-8), DEL, bidi and zero-width controls, line
 * separators, invalid UTF-8 (byte by byte) and ';' become '_', and so does a combining mark
 * without a base or after TEXT_MAX_MARKS others. At most CAPACITY - 1 bytes, cut between
 * characters. CAPACITY is at least 1. Returns the length.
 */
#define TEXT_MAX_MARKS 4
size_t text_clean(char *target, size_t capacity, const char *source, size_t size);
/*
 * CHARACTER is not seen, but may change how others are shown: controls, direction overrides,
 * zero-width characters, line separators, tags.
 */
bool text_is_invisible(uint32_t character);
/* For a terminal that knows no UTF-8: in place, a '?' for each other character or wrong byte. */
void text_to_ascii(char *text);

#endif
