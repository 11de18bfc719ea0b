/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines of JavaScript's texts. Resolver's thread. V8 knows the place of a function or call as a
 * number of characters. The ends of lines before each part of a large text are counted once:
 *
 *   text   │ part │ part │ part │ part ...       a line: the count in front of its part, and
 *   ends   0      41     97     130               the ends that the part has before the place
 */
#include "config.h"

#include "language/v8.h"

#include <stdlib.h>

#include "xtop/base/limit.h"
#include "xtop/base/work.h"

#define SCRIPT_SOURCE   8
#define MAX_TEXTS       16 /* texts of a process whose counts are kept */
#define PART_CHARACTERS (16 << 10)
#define MAX_PARTS       512
#define MAX_READ        LIMIT(64 << 20, 1 << 16) /* characters read until the memory changes */

struct v8_parts {
	uint64_t script;
	uint64_t used; /* state.n_uses when a line of the text was last asked for */
	struct v8_text text;
	size_t n; /* parts whose ends are counted */
	uint32_t ends[MAX_PARTS]; /* the ends of lines before each part, and before the next one */
};

struct v8_state {
	uint64_t changes; /* memory_changes() at the last look */
	size_t n_read;    /* characters that have been read since */
	uint64_t n_uses;  /* times that a line was asked for */
	struct v8_parts parts[MAX_TEXTS];
};

bool v8_prepare(struct runtime_process *process)
{
	process->state = calloc(1, sizeof(struct v8_state));
	return process->state;
}

/* Whether N more characters may be read now: a hostile program may have many large texts. */
static bool v8_may_read(const struct runtime_process *process, size_t n)
{
	struct v8_state *state = process->state;

	if (state->changes != memory_changes(process->memory))
		state->n_read = 0;
	state->changes = memory_changes(process->memory);
	state->n_read += n;
	return state->n_read <= MAX_READ;
}

/* Adds to *ENDS the ends of lines in the characters [START, END) of TEXT. */
static bool v8_count_ends(const struct runtime_process *process, const struct v8_text *text,
			  size_t start, size_t end, uint32_t *ends)
{
	uint8_t bytes[4 * GUEST_PAGE_SIZE];
	uint64_t address = text->address + start * text->width;
	size_t left = (end - start) * text->width;

	if (!v8_may_read(process, end - start))
		return false;
	while (left) {
		size_t n = left < sizeof(bytes) ? left : sizeof(bytes);

		if (work_is_over(memory_work(process->memory)) ||
		    memory_read_bulk(process->memory, process->root, address, bytes, n) != n)
			return false;
		for (size_t i = 0; i < n; i += text->width)
			*ends += bytes[i] == '\n' && (text->width == 1 || !bytes[i + 1]);
		address += n;
		left -= n;
	}
	return true;
}

static bool v8_is_of_text(const struct v8_parts *parts, uint64_t script, const struct v8_text *text)
{
	return parts->script == script && parts->text.address == text->address &&
	       parts->text.length == text->length && parts->text.width == text->width;
}

/*
 * The parts of the text of SCRIPT that are counted already. If there are none, those of the text
 * that was used longest ago are dropped.
 */
static struct v8_parts *v8_find_parts(const struct runtime_process *process, uint64_t script,
				      const struct v8_text *text)
{
	struct v8_state *state = process->state;
	struct v8_parts *oldest = state->parts, *found = NULL;

	for (struct v8_parts *parts = state->parts; parts < state->parts + MAX_TEXTS; parts++) {
		if (v8_is_of_text(parts, script, text))
			found = parts;
		if (parts->used < oldest->used)
			oldest = parts;
	}
	if (!found) {
		found = oldest;
		*found = (struct v8_parts){ .script = script, .text = *text };
	}
	found->used = ++state->n_uses;
	return found;
}

/* Counts the ends of lines before PART, as far as they are not counted yet. */
static bool v8_count_parts(const struct runtime_process *process, struct v8_parts *parts,
			   uint32_t part, uint32_t *ends)
{
	for (; parts->n < part; parts->n++) {
		*ends = parts->ends[parts->n];
		if (!v8_count_ends(process, &parts->text, parts->n * PART_CHARACTERS,
				   (parts->n + 1) * PART_CHARACTERS, ends))
			return false;
		parts->ends[parts->n + 1] = *ends;
	}
	*ends = parts->ends[part];
	return true;
}

uint32_t v8_find_line(const struct runtime_process *process, uint64_t script, uint32_t position)
{
	uint32_t part = position / PART_CHARACTERS, ends;
	struct v8_text text;

	if (!v8_find_text(process, v8_read(process, script, SCRIPT_SOURCE), &text) ||
	    position > text.length || part >= MAX_PARTS)
		return 0;
	ends = 0;
	if (part && !v8_count_parts(process, v8_find_parts(process, script, &text), part, &ends))
		return 0;
	return v8_count_ends(process, &text, (size_t)part * PART_CHARACTERS, position, &ends)
		       ? ends + 1
		       : 0;
}
