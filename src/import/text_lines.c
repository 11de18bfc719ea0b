/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of a text file; see text_lines.h. */
#include "config.h"

#include "import/text_lines.h"

#include <stdlib.h>
#include <string.h>

#include "xtop/base/utf8.h"

#define TEXT_LINES_UTF8_BYTES 4 /* the longest character of UTF-8 */

/* --- encodings -------------------------------------------------------------------------------- */

/*
 * The encoding of a text that begins with the N bytes at START. *MARKP: the size of its byte order
 * mark. Without a mark, text of UTF-16 shows by its NULs: formats begin with ASCII.
 */
static enum text_lines_encoding text_lines_find_encoding(const unsigned char *start, size_t n,
							 size_t *markp)
{
	*markp = 0;
	if (n >= 3 && !memcmp(start, "\xef\xbb\xbf", 3)) {
		*markp = 3;
		return TEXT_LINES_UTF8;
	}
	if (n < 4)
		return TEXT_LINES_UTF8;
	*markp = 2;
	if (start[0] == 0xff && start[1] == 0xfe)
		return TEXT_LINES_UTF16_LE;
	if (start[0] == 0xfe && start[1] == 0xff)
		return TEXT_LINES_UTF16_BE;
	*markp = 0;
	if (start[0] >= ' ' && !start[1] && start[2] >= ' ' && !start[3])
		return TEXT_LINES_UTF16_LE;
	if (!start[0] && start[1] >= ' ' && !start[2] && start[3] >= ' ')
		return TEXT_LINES_UTF16_BE;
	return TEXT_LINES_UTF8;
}

static uint32_t text_lines_get_unit(enum text_lines_encoding encoding, const unsigned char *raw)
{
	return encoding == TEXT_LINES_UTF16_LE ? raw[0] | (uint32_t)raw[1] << 8
					       : raw[1] | (uint32_t)raw[0] << 8;
}

/*
 * Decodes one character of UTF-16 (RFC 2781) from the N bytes at RAW. Returns how many bytes it
 * has; 0: more bytes are needed. A surrogate that stands alone becomes U+FFFD.
 */
static size_t text_lines_decode_unit(enum text_lines_encoding encoding, const unsigned char *raw,
				     size_t n, uint32_t *characterp)
{
	uint32_t high, low;

	if (n < 2)
		return 0;
	*characterp = high = text_lines_get_unit(encoding, raw);
	if (high < 0xd800 || high > 0xdfff)
		return 2;
	*characterp = 0xfffd;
	if (high >= 0xdc00)
		return 2;
	if (n < 4)
		return 0;
	low = text_lines_get_unit(encoding, raw + 2);
	if (low < 0xdc00 || low > 0xdfff)
		return 2;
	*characterp = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
	return 4;
}

/* Decodes N bytes of RAW to TEXT. *USEDP: how many of them were used. Returns the bytes of TEXT. */
static size_t text_lines_decode(enum text_lines_encoding encoding, const unsigned char *raw,
				size_t n, char *text, size_t capacity, size_t *usedp)
{
	size_t length = 0, used = 0, step;
	uint32_t character;

	if (encoding == TEXT_LINES_UTF8) {
		length = n < capacity ? n : capacity;
		memcpy(text, raw, length);
		*usedp = length;
		return length;
	}
	while (length + TEXT_LINES_UTF8_BYTES <= capacity &&
	       (step = text_lines_decode_unit(encoding, raw + used, n - used, &character)) > 0) {
		length += utf8_encode(character, text + length);
		used += step;
	}
	*usedp = used;
	return length;
}

size_t text_lines_decode_start(const char *start, size_t n, char *text, size_t capacity)
{
	const unsigned char *raw = (const unsigned char *)start;
	size_t mark, used, length;
	enum text_lines_encoding encoding = text_lines_find_encoding(raw, n, &mark);

	length = text_lines_decode(encoding, raw + mark, n - mark, text, capacity - 1, &used);
	text[length] = '\0';
	return length;
}

/* --- lines ------------------------------------------------------------------------------------ */

struct xtop_error *text_lines_init(struct text_lines *lines, struct import_source *source,
				   const char *start, size_t n)
{
	size_t mark;

	*lines = (struct text_lines){ .source = source,
				      .raw = malloc(TEXT_LINES_RAW_BYTES),
				      .text = malloc(TEXT_LINES_MAX_BYTES + 1) };
	if (!lines->raw || !lines->text) {
		text_lines_deinit(lines);
		return error_create("out of memory");
	}
	source_forget(source);
	lines->encoding = text_lines_find_encoding((const unsigned char *)start, n, &mark);
	lines->raw_n = n - mark;
	memcpy(lines->raw, start + mark, lines->raw_n);
	return NULL;
}

void text_lines_deinit(struct text_lines *lines)
{
	free(lines->raw);
	free(lines->text);
	lines->raw = NULL;
	lines->text = NULL;
}

/* Decodes more text. If lines->n stays, the file is at its end or there is no room. */
static struct xtop_error *text_lines_fill(struct text_lines *lines)
{
	struct xtop_error *error;
	size_t used, more;

	memmove(lines->text, lines->text + lines->at, lines->n - lines->at);
	lines->n -= lines->at;
	lines->at = 0;
	if (lines->encoding == TEXT_LINES_UTF8 && !lines->raw_n) { /* no copy is needed */
		error = source_read(lines->source, lines->text + lines->n,
				    TEXT_LINES_MAX_BYTES - lines->n, &more);
		if (!error)
			lines->n += more;
		return error;
	}
	if (!lines->source_ended) {
		size_t wanted = TEXT_LINES_RAW_BYTES - lines->raw_n;

		error = source_read(lines->source, lines->raw + lines->raw_n, wanted, &more);
		if (error)
			return error;
		lines->raw_n += more;
		lines->source_ended = more < wanted;
	}
	lines->n +=
		text_lines_decode(lines->encoding, lines->raw, lines->raw_n, lines->text + lines->n,
				  TEXT_LINES_MAX_BYTES - lines->n, &used);
	lines->raw_n -= used;
	memmove(lines->raw, lines->raw + used, lines->raw_n);
	return NULL;
}

/* Skips the rest of a line that is too long. */
static struct xtop_error *text_lines_skip(struct text_lines *lines)
{
	struct xtop_error *error;
	const char *end;

	for (;;) {
		lines->at = lines->n;
		error = text_lines_fill(lines);
		if (error || !lines->n)
			return error;
		end = memchr(lines->text, '\n', lines->n);
		if (end) {
			lines->at = (size_t)(end + 1 - lines->text);
			return NULL;
		}
	}
}

/* Sets LINE to the BYTES at lines->at, which a line end of END_BYTES follows. */
static void text_lines_take(struct text_lines *lines, size_t bytes, size_t end_bytes,
			    struct text_line *line)
{
	*line = (struct text_line){ lines->text + lines->at, bytes, false };
	lines->at += bytes + end_bytes;
	lines->number++;
}

struct xtop_error *text_lines_next(struct text_lines *lines, struct text_line *line, bool *morep)
{
	struct xtop_error *error = NULL;
	size_t before = 0; /* bytes of the line that were searched for its end */

	*morep = true;
	for (;;) {
		char *start = lines->text + lines->at, *end;
		size_t there = lines->n - lines->at;

		end = memchr(start + before, '\n', there - before);
		if (end) {
			text_lines_take(lines, (size_t)(end - start), 1, line);
			return NULL;
		}
		before = there;
		error = text_lines_fill(lines);
		if (error)
			return error;
		if (lines->n > before)
			continue;
		if (before == TEXT_LINES_MAX_BYTES || lines->raw_n >= TEXT_LINES_UTF8_BYTES) {
			text_lines_take(lines, TEXT_LINES_CUT_BYTES, 0, line);
			memcpy(lines->cut, line->text, TEXT_LINES_CUT_BYTES);
			line->text = lines->cut;
			line->cut = true;
			return text_lines_skip(lines);
		}
		*morep = before > 0;
		if (before) /* the last line may lack its end */
			text_lines_take(lines, before, 0, line);
		return NULL;
	}
}
