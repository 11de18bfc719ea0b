/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of a text file; see lines.h. */
#include "config.h"

#include "import/lines.h"

#include <stdlib.h>
#include <string.h>

#include "xtop/base/utf8.h"

#define LINES_UTF8_BYTES 4 /* the longest character of UTF-8 */

/* --- encodings -------------------------------------------------------------------------------- */

/*
 * The encoding of a text that begins with the N bytes at START. *MARKP: the size of its byte order
 * mark. Without a mark, text of UTF-16 shows by its NULs: formats begin with ASCII.
 */
static enum lines_encoding lines_find_encoding(const unsigned char *start, size_t n, size_t *markp)
{
	*markp = 0;
	if (n >= 3 && !memcmp(start, "\xef\xbb\xbf", 3)) {
		*markp = 3;
		return LINES_UTF8;
	}
	if (n < 4)
		return LINES_UTF8;
	*markp = 2;
	if (start[0] == 0xff && start[1] == 0xfe)
		return LINES_UTF16_LE;
	if (start[0] == 0xfe && start[1] == 0xff)
		return LINES_UTF16_BE;
	*markp = 0;
	if (start[0] >= ' ' && !start[1] && start[2] >= ' ' && !start[3])
		return LINES_UTF16_LE;
	if (!start[0] && start[1] >= ' ' && !start[2] && start[3] >= ' ')
		return LINES_UTF16_BE;
	return LINES_UTF8;
}

static uint32_t lines_get_unit(enum lines_encoding encoding, const unsigned char *raw)
{
	return encoding == LINES_UTF16_LE ? raw[0] | (uint32_t)raw[1] << 8
					  : raw[1] | (uint32_t)raw[0] << 8;
}

/*
 * Decodes one character of UTF-16 (RFC 2781) from the N bytes at RAW. Returns how many bytes it
 * has; 0: more bytes are needed. A surrogate that stands alone becomes U+FFFD.
 */
static size_t lines_decode_unit(enum lines_encoding encoding, const unsigned char *raw, size_t n,
				uint32_t *characterp)
{
	uint32_t high, low;

	if (n < 2)
		return 0;
	*characterp = high = lines_get_unit(encoding, raw);
	if (high < 0xd800 || high > 0xdfff)
		return 2;
	*characterp = 0xfffd;
	if (high >= 0xdc00)
		return 2;
	if (n < 4)
		return 0;
	low = lines_get_unit(encoding, raw + 2);
	if (low < 0xdc00 || low > 0xdfff)
		return 2;
	*characterp = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
	return 4;
}

/* Decodes N bytes of RAW to TEXT. *USEDP: how many of them were used. Returns the bytes of TEXT. */
static size_t lines_decode(enum lines_encoding encoding, const unsigned char *raw, size_t n,
			   char *text, size_t capacity, size_t *usedp)
{
	size_t length = 0, used = 0, step;
	uint32_t character;

	if (encoding == LINES_UTF8) {
		length = n < capacity ? n : capacity;
		memcpy(text, raw, length);
		*usedp = length;
		return length;
	}
	while (length + LINES_UTF8_BYTES <= capacity &&
	       (step = lines_decode_unit(encoding, raw + used, n - used, &character)) > 0) {
		length += utf8_encode(character, text + length);
		used += step;
	}
	*usedp = used;
	return length;
}

size_t lines_decode_start(const char *start, size_t n, char *text, size_t capacity)
{
	const unsigned char *raw = (const unsigned char *)start;
	size_t mark, used, length;
	enum lines_encoding encoding = lines_find_encoding(raw, n, &mark);

	length = lines_decode(encoding, raw + mark, n - mark, text, capacity - 1, &used);
	text[length] = '\0';
	return length;
}

/* --- lines ------------------------------------------------------------------------------------ */

struct xtop_error *lines_init(struct lines *lines, struct import_source *source, const char *start,
			      size_t n)
{
	size_t mark;

	*lines = (struct lines){ .source = source,
				 .raw = malloc(LINES_RAW_BYTES),
				 .text = malloc(LINES_MAX_BYTES + 1) };
	if (!lines->raw || !lines->text) {
		lines_deinit(lines);
		return error_create("out of memory");
	}
	source_forget(source);
	lines->encoding = lines_find_encoding((const unsigned char *)start, n, &mark);
	lines->raw_n = n - mark;
	memcpy(lines->raw, start + mark, lines->raw_n);
	return NULL;
}

void lines_deinit(struct lines *lines)
{
	free(lines->raw);
	free(lines->text);
	lines->raw = NULL;
	lines->text = NULL;
}

/* Decodes more text. If lines->n stays, the file is at its end or there is no room. */
static struct xtop_error *lines_fill(struct lines *lines)
{
	struct xtop_error *error;
	size_t used, more;

	memmove(lines->text, lines->text + lines->at, lines->n - lines->at);
	lines->n -= lines->at;
	lines->at = 0;
	if (lines->encoding == LINES_UTF8 && !lines->raw_n) { /* no copy is needed */
		error = source_read(lines->source, lines->text + lines->n,
				    LINES_MAX_BYTES - lines->n, &more);
		if (!error)
			lines->n += more;
		return error;
	}
	if (!lines->source_ended) {
		size_t wanted = LINES_RAW_BYTES - lines->raw_n;

		error = source_read(lines->source, lines->raw + lines->raw_n, wanted, &more);
		if (error)
			return error;
		lines->raw_n += more;
		lines->source_ended = more < wanted;
	}
	lines->n += lines_decode(lines->encoding, lines->raw, lines->raw_n, lines->text + lines->n,
				 LINES_MAX_BYTES - lines->n, &used);
	lines->raw_n -= used;
	memmove(lines->raw, lines->raw + used, lines->raw_n);
	return NULL;
}

/* Skips the rest of a line that is too long. */
static struct xtop_error *lines_skip(struct lines *lines)
{
	struct xtop_error *error;
	const char *end;

	for (;;) {
		lines->at = lines->n;
		error = lines_fill(lines);
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
static void lines_take(struct lines *lines, size_t bytes, size_t end_bytes, struct text_line *line)
{
	*line = (struct text_line){ lines->text + lines->at, bytes, false };
	lines->at += bytes + end_bytes;
	lines->number++;
}

struct xtop_error *lines_next(struct lines *lines, struct text_line *line, bool *morep)
{
	struct xtop_error *error = NULL;
	size_t before = 0; /* bytes of the line that were searched for its end */

	*morep = true;
	for (;;) {
		char *start = lines->text + lines->at, *end;
		size_t there = lines->n - lines->at;

		end = memchr(start + before, '\n', there - before);
		if (end) {
			lines_take(lines, (size_t)(end - start), 1, line);
			return NULL;
		}
		before = there;
		error = lines_fill(lines);
		if (error)
			return error;
		if (lines->n > before)
			continue;
		if (before == LINES_MAX_BYTES || lines->raw_n >= LINES_UTF8_BYTES) {
			lines_take(lines, LINES_CUT_BYTES, 0, line);
			memcpy(lines->cut, line->text, LINES_CUT_BYTES);
			line->text = lines->cut;
			line->cut = true;
			return lines_skip(lines);
		}
		*morep = before > 0;
		if (before) /* the last line may lack its end */
			lines_take(lines, before, 0, line);
		return NULL;
	}
}
