/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON (RFC 8259), written as it comes: nothing is kept, so a file of any size takes no memory.
 * The output is plain ASCII, whatever the strings are: all other characters are escaped, and so are
 * '<', '>' and '&'. Bytes that are not UTF-8 become U+FFFD. The caller opens and closes in the
 * right order.
 *
 * A struct json that is zeroed but for FILE writes text that a person can read, one member a line.
 * With COMPACT it writes no spaces.
 * Numbers that are no integers need the locale "C".
 */
#ifndef EXPORT_JSON_H
#define EXPORT_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define JSON_MAX_STRING_BYTES 4096 /* longer strings are cut */

struct json {
	FILE *file;
	bool compact;
	unsigned depth;
	bool comma; /* the next value at this depth needs a comma before it */
};

/* NAME is NULL in arrays. Names are constants of ours, so they are not escaped. */
void json_open(struct json *json, const char *name, char bracket); /* '{' or '[' */
void json_close(struct json *json, char bracket);                  /* '}' or ']' */
void json_u64(struct json *json, const char *name, uint64_t value);
void json_double(struct json *json, const char *name, double value); /* not finite: null */
void json_bool(struct json *json, const char *name, bool value);
void json_text(struct json *json, const char *name, const char *value); /* NULL: "" */

#endif
