/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An annotation: what is known of the inside of one function at one moment. It has the function's
 * code as the guest ran it, how many samples hit which address, and the names of the called
 * functions. It never changes once it is handed over. The resolver builds it (resolver_annotate());
 * view, batch output and query/instructions.c read it.
 *
 * A distance is counted in bytes from the function's first byte.
 */
#ifndef XTOP_ANNOTATION_H
#define XTOP_ANNOTATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xtop/base/build_id.h"
#include "xtop/base/limit.h"
#include "xtop/base/types.h"
#include "xtop/supervise/line_client.h"
#include "xtop/unwind/disassemble.h"

#define ANNOTATION_MAX_BYTES LIMIT(256U << 10, 4U << 10) /* the most code of one function */
#define ANNOTATION_MAX_PAGES (ANNOTATION_MAX_BYTES / GUEST_PAGE_SIZE + 1)

/* Samples whose innermost address lies at DISTANCE. */
struct annotation_count {
	uint32_t distance;
	double live, ticks; /* the samples' weight: decayed, and since start or reset */
	uint64_t samples;
};

/* Where a call or a jump out of the function leads. */
struct annotation_target {
	uint32_t distance; /* bytes from the function's start to the call or jump */
	uint32_t frame;    /* the function that is reached; FRAME_NONE: no name is known */
	uint64_t offset;   /* bytes from the start of FRAME to the place that is reached */
};

#define ANNOTATION_TEXT_BYTES 160

/* Samples in a line of an interpreted function. */
struct annotation_line {
	uint32_t line;
	/* Samples that passed through the line. A stack with the line twice counts once. */
	double live, ticks;
	uint64_t samples;
	double self_live, self_ticks; /* samples that ended in the function itself */
	/* the line in the file that the guest has in memory, clean; "": not there */
	char text[ANNOTATION_TEXT_BYTES];
};

/* Why an annotation has no code. */
enum annotation_lack {
	ANNOTATION_HAS_CODE,
	ANNOTATION_HAS_LINES, /* the function is interpreted: it has lines instead */
	ANNOTATION_NO_LINES,  /* the function is interpreted, and no line of it is known */
	ANNOTATION_NOT_READ,  /* the pages could not be read, or are not in the recording */
	ANNOTATION_NO_CODE,   /* the frame is no function: a process, a mark, or unnamed JIT code */
	ANNOTATION_ARM32,     /* disassemble.h does not know that machine's instructions */
};

struct annotation {
	uint32_t frame;
	enum annotation_lack lack;
	bool no_bounds;       /* the function's start is not known: ADDRESS is a sample's */
	uint64_t address;     /* place of the first byte, in the guest or a process of it */
	uint64_t size_bytes;  /* the function's size; what lies after N_BYTES is left out */
	uint32_t n_bytes;
	uint8_t *bytes;       /* 0 where a page is missing */
	uint8_t word_bytes, arch; /* the instruction set, as struct code has it */
	bool missing[ANNOTATION_MAX_PAGES]; /* [0] is the guest's page that holds ADDRESS */
	size_t n_counts, n_targets;
	struct annotation_count *counts;    /* ascending by distance */
	struct annotation_target *targets;  /* ascending by distance */
	size_t n_lines;
	struct annotation_line *lines; /* ascending; the module of FRAME is their file */
	/* All samples that ended in the function. COUNTS may have fewer. */
	double self_live, self_ticks;
	uint64_t self_samples;
	/*
	 * The address of the first byte in a file with source lines (line_client.h), counted from
	 * LINE_SYMBOL unless that is ""; LINE_FILE 0: no file.
	 */
	uint32_t line_file;
	uint64_t line_address;
	char line_symbol[LINE_SYMBOL_BYTES];
	struct build_id build_id; /* the program's, by which debuginfod finds its source files */
	uint64_t version;     /* differs if bytes, their words or targets differ */
};

void annotation_destroy(struct annotation *annotation); /* NULL allowed */

/* Whether the byte at DISTANCE, below n_bytes, could not be read. */
static inline bool annotation_is_missing(const struct annotation *annotation, uint32_t distance)
{
	return annotation->missing[((annotation->address & GUEST_PAGE_MASK) + distance) >>
				   GUEST_PAGE_SHIFT];
}

/* The code from DISTANCE, below n_bytes, on. */
static inline struct code annotation_get_code(const struct annotation *annotation,
					      uint32_t distance)
{
	return (struct code){ annotation->bytes + distance, annotation->n_bytes - distance,
			      annotation->address + distance, annotation->word_bytes,
			      annotation->arch };
}

#endif
