/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A writer of JSON. Main's thread. */
#include "config.h"

#include "export/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "xtop/base/utf8.h"

static void json_indent(struct json *json)
{
	if (!json->compact)
		fprintf(json->file, "%s%*s", json->depth ? "\n" : "", (int)(2 * json->depth), "");
}

/* Writes a comma if needed, and the name of a value. */
static void json_begin(struct json *json, const char *name)
{
	if (json->comma)
		fputc(',', json->file);
	json_indent(json);
	if (name)
		fprintf(json->file, json->compact ? "\"%s\":" : "\"%s\": ", name);
	json->comma = true;
}

void json_open(struct json *json, const char *name, char bracket)
{
	json_begin(json, name);
	fputc(bracket, json->file);
	json->depth++;
	json->comma = false;
}

void json_close(struct json *json, char bracket)
{
	json->depth--;
	if (json->compact)
		fputc(bracket, json->file);
	else
		fprintf(json->file, "\n%*s%c", (int)(2 * json->depth), "", bracket);
	json->comma = true;
}

/* Without fprintf(), which takes ten times as long: a profile has millions of integers. */
void json_u64(struct json *json, const char *name, uint64_t value)
{
	char digits[20];
	size_t at = sizeof(digits);

	json_begin(json, name);
	do
		digits[--at] = (char)('0' + value % 10);
	while (value /= 10);
	fwrite(digits + at, 1, sizeof(digits) - at, json->file);
}

void json_double(struct json *json, const char *name, double value)
{
	json_begin(json, name);
	if (isfinite(value))
		fprintf(json->file, "%.9g", value);
	else
		fputs("null", json->file);
}

void json_bool(struct json *json, const char *name, bool value)
{
	json_begin(json, name);
	fputs(value ? "true" : "false", json->file);
}

/* '<', '>' and '&' are escaped as well: JSON may stand inside HTML and XML. */
static void json_put_character(FILE *file, uint32_t code)
{
	if (code == '"' || code == '\\')
		fprintf(file, "\\%c", (int)code);
	else if (code >= 0x20 && code < 0x7f && code != '<' && code != '>' && code != '&')
		fputc((int)code, file);
	else if (code < 0x10000)
		fprintf(file, "\\u%04" PRIx32, code);
	else /* a pair of surrogates: RFC 8259 §7 */
		fprintf(file, "\\u%04" PRIx32 "\\u%04" PRIx32, 0xd800 + ((code - 0x10000) >> 10),
			0xdc00 + ((code - 0x10000) & 0x3ff));
}

void json_text(struct json *json, const char *name, const char *value)
{
	size_t left = value ? strnlen(value, JSON_MAX_STRING_BYTES) : 0, length;

	json_begin(json, name);
	fputc('"', json->file);
	for (const char *at = value; left; at += length, left -= length) {
		uint32_t code = 0xfffd; /* replaces a byte that is not UTF-8 */

		length = utf8_decode(at, left, &code);
		length = length ? length : 1;
		json_put_character(json->file, code);
	}
	fputc('"', json->file);
}
