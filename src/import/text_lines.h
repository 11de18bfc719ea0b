/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to import/: the lines of a text file. The text is UTF-8, or UTF-16 of either byte order,
 * as PowerShell's ">" writes it. A byte order mark is left out. Main's thread.
 */
#ifndef IMPORT_TEXT_LINES_H
#define IMPORT_TEXT_LINES_H

#include <stdint.h>

#include "import/source.h"
#include "xtop/base/limit.h"

/* The longest line that is read. The deepest stack of C++ takes a tenth of it. */
#define TEXT_LINES_MAX_BYTES LIMIT(1U << 20, 1U << 10)
#define TEXT_LINES_CUT_BYTES 80 /* bytes of a longer line that are kept */
#define TEXT_LINES_RAW_BYTES LIMIT(64U << 10, 1U << 8)

enum text_lines_encoding { TEXT_LINES_UTF8, TEXT_LINES_UTF16_LE, TEXT_LINES_UTF16_BE };

struct text_lines {
	struct import_source *source;
	enum text_lines_encoding encoding;
	unsigned char *raw; /* bytes that were not decoded yet */
	size_t raw_n;
	bool source_ended;
	char *text;
	size_t at, n;                  /* [at, n) of TEXT was not returned yet */
	uint64_t number;               /* number of the last line, from 1 on */
	char cut[TEXT_LINES_CUT_BYTES + 1]; /* the start of a line that is too long */
};

struct text_line {
	char *text; /* line without its end; a NUL may be put after it. Valid until the next line */
	size_t bytes;
	bool cut; /* the line was longer: TEXT has its first bytes */
};

/* The N bytes at START, at most TEXT_LINES_RAW_BYTES, were read from SOURCE before. */
struct xtop_error *text_lines_init(struct text_lines *lines, struct import_source *source,
				   const char *start, size_t n);
void text_lines_deinit(struct text_lines *lines);
/* *MOREP is false, and LINE untouched, after the last line. */
struct xtop_error *text_lines_next(struct text_lines *lines, struct text_line *line, bool *morep);
/*
 * Decodes the N bytes with which a file begins into TEXT, as UTF-8 with a NUL at its end, in at
 * most CAPACITY bytes. Returns how many bytes, without that NUL.
 */
size_t text_lines_decode_start(const char *start, size_t n, char *text, size_t capacity);

#endif
