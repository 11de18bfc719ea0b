/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A report of a guest that has crashed, or of one that runs, at one moment: the log that its kernel
 * keeps, and the stacks of all vCPUs and tasks. The resolver builds the report once; then it never
 * changes, and any thread may read it. Screen and batch show the same lines.
 */
#ifndef XTOP_CRASH_H
#define XTOP_CRASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xtop/error.h"
#include "xtop/limit.h"
#include "xtop/unwind.h"

#define CRASH_MAX_TEXT (LIMIT(64U << 20, 64U << 10)) /* bytes of all lines */

enum crash_part { CRASH_LOG, CRASH_VCPUS, CRASH_TASKS };
#define N_CRASH_PARTS 3

enum crash_kind {
	CRASH_HEADING, /* of a part */
	CRASH_LINE,    /* of the log */
	CRASH_OWNER,   /* the vCPU or task that the lines below are of */
	CRASH_DETAIL,  /* of it: registers, functions, the innermost first */
};

struct crash_line {
	uint32_t at; /* in struct crash's text: clean, ends in a NUL */
	uint8_t kind; /* enum crash_kind */
};

struct crash {
	char *text;
	size_t text_bytes, text_capacity;
	struct crash_line *lines;
	size_t n_lines, lines_capacity;
	size_t parts[N_CRASH_PARTS]; /* index of each heading */
	bool is_full;                /* CRASH_MAX_TEXT was reached, or memory is out */
};

static inline const char *crash_get_line(const struct crash *crash, size_t i)
{
	return crash->text + crash->lines[i].at;
}

struct os;
struct sample;
struct symbols;

struct crash_settings {
	struct os *os;                 /* has seen a vCPU of the sample already */
	const struct symbols *symbols; /* the files of -k */
	enum unwind_how how;
};

/* SAMPLE has all vCPUs that have registers, at TIME_NS. Resolver's thread. */
struct xtop_error *crash_create(const struct crash_settings *settings, const struct sample *sample,
				uint64_t time_ns, struct crash **crashp);
void crash_destroy(struct crash *crash); /* NULL allowed */

/* "crashed", "runs", ...: what COUNTS say of the guest that the report is of. */
struct sampler_counts;
const char *crash_get_state(const struct sampler_counts *counts);

#endif
