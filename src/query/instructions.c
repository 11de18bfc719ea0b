/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The instructions of one function; see instructions.h. */
#include "config.h"

#include "xtop/query/instructions.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xtop/base/sorted.h"
#include "xtop/base/vector.h"

void instructions_deinit(struct instructions *instructions)
{
	free(instructions->rows);
	*instructions = (struct instructions){ 0 };
}

/* --- decoding --------------------------------------------------------------------------------- */

/* How many bytes from AT on could not be read. The next page that was read ends them. */
static uint32_t instructions_missing(const struct annotation *annotation, uint32_t at)
{
	uint32_t end = at;

	while (end < annotation->n_bytes && annotation_is_missing(annotation, end))
		end += (uint32_t)(GUEST_PAGE_SIZE -
				  ((annotation->address + end) & GUEST_PAGE_MASK));
	return (end < annotation->n_bytes ? end : annotation->n_bytes) - at;
}

static struct instruction_row instructions_decode(const struct annotation *annotation, uint32_t at)
{
	struct instruction_row row = { .distance = at,
				       .jump = INSTRUCTION_NONE,
				       .target = INSTRUCTION_NONE,
				       .length = instructions_missing(annotation, at) };
	struct code code;
	struct code_step step;

	if (row.length) {
		row.missing = true;
		return row;
	}
	code = annotation_get_code(annotation, at);
	step = disassemble_step(&code);
	row.length = step.length;
	row.flow = step.flow;
	row.address = step.target;
	return row;
}

/* Finds the target of ROW. Targets ascend as rows do: *NEXT is the first one not passed yet. */
static void instructions_set_target(const struct annotation *annotation,
				    struct instruction_row *row, uint32_t *next)
{
	while (*next < annotation->n_targets &&
	       annotation->targets[*next].distance < row->distance)
		++*next;
	if (*next < annotation->n_targets && annotation->targets[*next].distance == row->distance)
		row->target = *next;
}

static void instructions_set_jumps(struct instructions *instructions,
				   const struct annotation *annotation)
{
	for (size_t i = 0; i < instructions->n; i++) {
		struct instruction_row *row = &instructions->rows[i];
		uint64_t distance = row->address - annotation->address;
		size_t to;

		if ((row->flow != CODE_JUMP && row->flow != CODE_BRANCH) || !row->address ||
		    distance >= annotation->n_bytes)
			continue;
		to = instructions_find(instructions, (uint32_t)distance);
		/* a jump into an instruction leads to no row */
		if (to < instructions->n && instructions->rows[to].distance == distance)
			row->jump = (uint32_t)to;
	}
}

static struct xtop_error *instructions_build(struct instructions *instructions,
					     const struct annotation *annotation)
{
	uint32_t next = 0;

	instructions->n = 0;
	for (uint32_t at = 0; at < annotation->n_bytes;) {
		struct instruction_row row = instructions_decode(annotation, at);

		if (!vector_reserve(instructions->rows, instructions->capacity,
				    instructions->n + 1))
			return error_create("no memory for a function's instructions");
		instructions_set_target(annotation, &row, &next);
		instructions->rows[instructions->n++] = row;
		at += row.length;
	}
	instructions_set_jumps(instructions, annotation);
	instructions->version = annotation->version;
	return NULL;
}

/* --- weights ---------------------------------------------------------------------------------- */

/* Adds each count to the instruction that has its byte, also if that is not the first byte. */
static void instructions_weigh(struct instructions *instructions,
			       const struct annotation *annotation)
{
	instructions->live = instructions->ticks = 0;
	instructions->samples = 0;
	for (size_t i = 0; i < instructions->n; i++) {
		struct instruction_row *row = &instructions->rows[i];

		row->live = row->ticks = 0;
		row->samples = 0;
	}
	for (size_t i = 0; i < annotation->n_counts; i++) {
		const struct annotation_count *count = &annotation->counts[i];
		size_t at = instructions_find(instructions, count->distance);

		if (at == instructions->n)
			continue;
		instructions->rows[at].live += count->live;
		instructions->rows[at].ticks += count->ticks;
		instructions->rows[at].samples += count->samples;
		instructions->live += count->live;
		instructions->ticks += count->ticks;
		instructions->samples += count->samples;
	}
}

struct xtop_error *instructions_update(struct instructions *instructions,
				       const struct annotation *annotation)
{
	if (instructions->version != annotation->version) {
		struct xtop_error *error = instructions_build(instructions, annotation);

		if (error) {
			instructions_deinit(instructions);
			return error;
		}
	}
	instructions_weigh(instructions, annotation);
	return NULL;
}

size_t instructions_find(const struct instructions *instructions, uint32_t distance)
{
	size_t n = sorted_count(instructions->rows, instructions->n, distance, distance);
	const struct instruction_row *row = n ? &instructions->rows[n - 1] : NULL;

	return row && distance - row->distance < row->length ? n - 1 : instructions->n;
}

size_t instructions_hottest(const struct instructions *instructions, bool totals)
{
	size_t best = 0;

	for (size_t i = 1; i < instructions->n; i++) {
		const struct instruction_row *row = &instructions->rows[i],
					     *other = &instructions->rows[best];

		if (totals ? row->ticks > other->ticks : row->live > other->live)
			best = i;
	}
	return best;
}

double instructions_percent(const struct annotation *annotation, const struct instruction_row *row,
			    bool totals)
{
	double part = totals ? row->ticks : row->live;
	double whole = totals ? annotation->self_ticks : annotation->self_live;

	return whole > 0 ? 100 * part / whole : 0;
}

double instructions_rest(const struct instructions *instructions,
			 const struct annotation *annotation, bool totals)
{
	double part = totals ? instructions->ticks : instructions->live;
	double whole = totals ? annotation->self_ticks : annotation->self_live;

	return whole > part ? 100 * (whole - part) / whole : 0;
}

/* --- text ------------------------------------------------------------------------------------- */

static void instructions_print_place(const struct annotation *annotation, uint64_t address,
				     const struct instruction_format *format, char text[24])
{
	if (format->addresses == ADDRESSES_RELATIVE &&
	    address - annotation->address < annotation->size_bytes)
		snprintf(text, 24, "+0x%" PRIx64, address - annotation->address);
	else
		snprintf(text, 24, "%" PRIx64, address);
}

void instructions_print_address(const struct annotation *annotation,
				const struct instruction_row *row,
				const struct instruction_format *format, char text[24])
{
	instructions_print_place(annotation, annotation->address + row->distance, format, text);
}

/* The name of the function that a row calls or jumps to, or an address. */
static void instructions_print_target(const struct annotation *annotation,
				      const struct frames *frames,
				      const struct instruction_row *row,
				      const struct instruction_format *format,
				      char text[INSTRUCTION_TEXT_BYTES])
{
	const struct annotation_target *target =
		row->target == INSTRUCTION_NONE ? NULL : &annotation->targets[row->target];
	const struct frame *frame;

	if (!target || target->frame == FRAME_NONE) {
		instructions_print_place(annotation, row->address, format, text);
		return;
	}
	frame = frames_get(frames, target->frame);
	if (target->offset)
		snprintf(text, INSTRUCTION_TEXT_BYTES, "%.400s+0x%" PRIx64,
			 format->raw_names ? frame->raw_name : frame->name, target->offset);
	else
		snprintf(text, INSTRUCTION_TEXT_BYTES, "%.400s",
			 format->raw_names ? frame->raw_name : frame->name);
}

void instructions_print(const struct annotation *annotation, const struct frames *frames,
			const struct instruction_row *row, const struct instruction_format *format,
			char text[INSTRUCTION_TEXT_BYTES])
{
	const struct code code = annotation_get_code(annotation, row->distance);
	char words[DISASSEMBLE_TEXT_BYTES], target[INSTRUCTION_TEXT_BYTES];
	char *operand;

	if (row->missing) {
		snprintf(text, INSTRUCTION_TEXT_BYTES,
			 "(%u bytes that are not in the guest's memory)", row->length);
		return;
	}
	disassemble_print(&code, format->syntax, words);
	operand = row->address ? strstr(words, "0x") : NULL;
	if (!operand) {
		snprintf(text, INSTRUCTION_TEXT_BYTES, "%s", words);
		return;
	}
	*operand = '\0'; /* the target is the last operand of a jump or call */
	instructions_print_target(annotation, frames, row, format, target);
	snprintf(text, INSTRUCTION_TEXT_BYTES, "%.40s%.460s", words, target);
}
