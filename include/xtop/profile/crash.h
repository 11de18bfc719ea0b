/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A report of a guest at one moment: the log that its kernel keeps, and the stacks of all vCPUs and
 * tasks. The guest has crashed, or it runs. The resolver builds the report once; then the report
 * never changes, and any thread may read it. Screen and batch show the same lines.
 */
#ifndef XTOP_CRASH_H
#define XTOP_CRASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xtop/base/error.h"
#include "xtop/base/limit.h"
#include "xtop/unwind/unwind.h"

#define CRASH_MAX_TEXT (LIMIT(64U << 20, 64U << 10)) /* the most bytes of all lines together */

enum crash_part { CRASH_LOG, CRASH_VCPUS, CRASH_TASKS };
#define N_CRASH_PARTS 3

enum crash_kind {
	CRASH_HEADING, /* the first line of a part */
	CRASH_LINE,    /* a line of the kernel's log */
	CRASH_OWNER,   /* a vCPU or task; the CRASH_DETAIL lines that follow belong to it */
	CRASH_DETAIL,  /* registers, or a function; the innermost function comes first */
};

struct crash_line {
	uint32_t at; /* offset in struct crash_report's text; the line is clean and ends in a NUL */
	uint8_t kind; /* enum crash_kind */
};

struct crash_report {
	char *text;
	size_t text_bytes, text_capacity;
	struct crash_line *lines;
	size_t n_lines, lines_capacity;
	size_t parts[N_CRASH_PARTS]; /* the line of each part's heading */
	bool is_full;                /* CRASH_MAX_TEXT was reached, or memory is out */
};

static inline const char *crash_get_line(const struct crash_report *crash, size_t i)
{
	return crash->text + crash->lines[i].at;
}

struct frames;
struct os;
struct runtimes;
struct sample;
struct symbols;

struct crash_settings {
	struct os *os;                 /* has seen a vCPU of the sample; NULL: no system is known */
	const struct symbols *symbols; /* the files of -k */
	enum unwind_how how;
	struct runtimes *runtimes;   /* NULL: functions of interpreted programs are not wanted */
	const struct frames *frames; /* the frames that RUNTIMES uses */
};

/*
 * Builds the report. SAMPLE, taken at TIME_NS, has all vCPUs with registers. Resolver's thread.
 * Error: out of memory.
 */
struct xtop_error *crash_create(const struct crash_settings *settings, const struct sample *sample,
				uint64_t time_ns, struct crash_report **crashp);
void crash_destroy(struct crash_report *crash); /* NULL allowed */

/* The guest's state as a word: "crashed", "shut down", "suspended" or "runs". */
struct sampler_counts;
const char *crash_get_state(const struct sampler_counts *counts);

#endif
