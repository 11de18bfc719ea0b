/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The instructions of an annotated function, one row each, with their shares and their text. Main's
 * thread. The bytes come from a guest and may be anything; there is at most one row for each byte.
 */
#ifndef XTOP_INSTRUCTIONS_H
#define XTOP_INSTRUCTIONS_H

#include "xtop/base/error.h"
#include "xtop/profile/annotation.h"
#include "xtop/profile/frames.h"
#include "xtop/unwind/disassemble.h"

#define INSTRUCTION_NONE UINT32_MAX

struct instruction_row {
	uint32_t distance; /* bytes from the function's start */
	uint32_t length;  /* bytes */
	uint32_t jump;    /* the row that a jump leads to; INSTRUCTION_NONE: none, or outside */
	uint32_t target;  /* index of the row's annotation_target; INSTRUCTION_NONE: none */
	uint8_t flow;     /* enum code_flow */
	bool missing;     /* these bytes could not be read */
	uint64_t address; /* target of a call or jump; 0: not known */
	double live, ticks;
	uint64_t samples;
};

struct instructions {
	uint64_t version; /* version of the annotation from which ROWS were decoded */
	struct instruction_row *rows;
	size_t n, capacity;
	double live, ticks; /* sums over all rows */
	uint64_t samples;
};

/*
 * Sets the rows to ANNOTATION's. Decodes them again only if its version has changed. The
 * caller zeroes INSTRUCTIONS before the first call. Error: out of memory.
 */
struct xtop_error *instructions_update(struct instructions *instructions,
				       const struct annotation *annotation);
void instructions_deinit(struct instructions *instructions);
/* The row of the instruction that has the byte at DISTANCE; n if there is none. */
size_t instructions_find(const struct instructions *instructions, uint32_t distance);
/* The row with most weight; row 0 if no row has weight. There must be at least one row. */
size_t instructions_hottest(const struct instructions *instructions, bool totals);
/* The share of the function's samples, in percent. */
double instructions_percent(const struct annotation *annotation,
			    const struct instruction_row *row, bool totals);
/* The share of samples at instructions that are not among the rows, in percent. */
double instructions_rest(const struct instructions *instructions,
			 const struct annotation *annotation, bool totals);

enum instruction_addresses { ADDRESSES_RELATIVE, ADDRESSES_ABSOLUTE };
struct instruction_format {
	enum code_syntax syntax;
	enum instruction_addresses addresses;
	bool raw_names; /* not demangled */
};
#define INSTRUCTION_TEXT_BYTES 512
#define INSTRUCTION_LINE_BYTES 256
/* The source line of an instruction; clean. */
struct instruction_line {
	char place[INSTRUCTION_LINE_BYTES]; /* "skb_put (inlined) skbuff.h:2310" */
	char text[INSTRUCTION_LINE_BYTES];  /* the line itself; "": not known */
};
/*
 * Where source lines come from. find() gives the line of the byte at DISTANCE; false: it is not
 * known, or not yet. Then find() asks for the line, and does not wait. Main's thread.
 */
struct instruction_lines {
	bool (*find)(void *context, const struct annotation *annotation, uint32_t distance,
		     struct instruction_line *line);
	/* Copies line LINE of the file FILE of an interpreted program; 0: not known. */
	size_t (*text)(void *context, const char *file, uint32_t line, char *text, size_t capacity);
	bool (*poll)(void *context); /* true: find() knows more texts than before; NULL: never */
	void *context;
};
/* The address in front of a row: "+0x1c" or "ffffffff8160001c". */
void instructions_print_address(const struct annotation *annotation,
				const struct instruction_row *row,
				const struct instruction_format *format, char text[24]);
/* The text of a row: "call   tcp_push". It is clean. */
void instructions_print(const struct annotation *annotation, const struct frames *frames,
			const struct instruction_row *row, const struct instruction_format *format,
			char text[INSTRUCTION_TEXT_BYTES]);

#endif
