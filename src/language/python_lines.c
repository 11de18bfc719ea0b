/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The line that a frame of Python executes. A code object has a table from instructions to lines
 * (CPython Objects/lnotab_notes.txt, locations.md):
 *
 *   up to 3.9   pairs: bytes of instructions, and the change of the line at their end
 *   3.10        pairs: bytes of instructions, and the change of the line at their start; -128: none
 *   3.11 ...    entries: a byte with bit 7 set, which tells the kind and how many instructions,
 *               and bytes without bit 7. The change of the line is in the kind, or a number of 6
 *               bits a byte, the lowest ones first, whose lowest bit is its sign
 */
#include "config.h"

#include "language/python.h"

#define LINES_MAX_BYTES   (256U << 10) /* a table is not read further */
#define LINES_CHUNK_BYTES 512
#define BYTES_LENGTH      16 /* PyBytesObject */
#define BYTES_TEXT        32
#define INSTRUCTION_BYTES 2
#define PAIR_WITHOUT_LINE (-128)

/* The kinds of entries since 3.11. */
#define ENTRY_BEGIN       0x80
#define ENTRY_KIND(byte)  ((byte) >> 3 & 0xf)
#define ENTRY_UNITS(byte) (((byte)&7U) + 1)
#define ENTRY_ONE_LINE    10 /* this kind and the next two: the line changes by 0 to 2 */
#define ENTRY_NO_COLUMNS  13 /* this kind and the next one begin with the change of the line */
#define ENTRY_NO_LINE     15

/* A table that is being read. */
struct python_lines {
	const struct runtime_process *process;
	uint64_t at, end; /* addresses: the chunk's end, the table's end */
	uint8_t chunk[LINES_CHUNK_BYTES];
	size_t used, n; /* bytes of the chunk: read by the caller, and in all */
};

static bool python_lines_begin(struct python_lines *lines, const struct runtime_process *process,
			       uint64_t table)
{
	uint64_t length = runtime_read_word(process, table + BYTES_LENGTH);

	*lines = (struct python_lines){ .process = process, .at = table + BYTES_TEXT };
	lines->end = lines->at + (length < LINES_MAX_BYTES ? length : LINES_MAX_BYTES);
	return runtime_is_pointer(table) && length;
}

/* Whether another byte is there; it is lines->chunk[lines->used] then. */
static bool python_lines_have(struct python_lines *lines)
{
	size_t n = sizeof(lines->chunk);

	if (lines->used < lines->n)
		return true;
	if (n > lines->end - lines->at)
		n = lines->end - lines->at;
	lines->n = memory_read(lines->process->memory, lines->process->root, lines->at,
			       lines->chunk, n);
	lines->at += lines->n;
	lines->used = 0;
	return lines->n;
}

static bool python_lines_next(struct python_lines *lines, uint8_t *byte)
{
	if (!python_lines_have(lines))
		return false;
	*byte = lines->chunk[lines->used++];
	return true;
}

/* *LINE is the function's first line, and becomes the line of the instruction at OFFSET. */
static bool python_lines_by_pairs(struct python_lines *lines, uint64_t offset, bool at_begin,
				  int64_t *line)
{
	uint64_t end = 0;
	uint8_t bytes, change;

	while (python_lines_next(lines, &bytes) && python_lines_next(lines, &change)) {
		end += bytes;
		if (!at_begin && end > offset)
			return true;
		if ((int8_t)change != PAIR_WITHOUT_LINE || !at_begin)
			*line += (int8_t)change;
		if (at_begin && end > offset)
			return (int8_t)change != PAIR_WITHOUT_LINE;
	}
	return !at_begin; /* the last line goes on to the end */
}

static int64_t python_lines_number(struct python_lines *lines)
{
	uint64_t number = 0;
	uint8_t byte;

	for (unsigned shift = 0; shift < 32 && python_lines_next(lines, &byte); shift += 6) {
		number |= (uint64_t)(byte & 0x3f) << shift;
		if (!(byte & 0x40))
			break;
	}
	return number & 1 ? -(int64_t)(number >> 1) : (int64_t)(number >> 1);
}

/* *LINE is the function's first line, and becomes the line of the instruction at OFFSET. */
static bool python_lines_by_entries(struct python_lines *lines, uint64_t offset, int64_t *line)
{
	uint64_t end = 0;
	uint8_t byte;

	while (python_lines_next(lines, &byte)) {
		unsigned kind = ENTRY_KIND(byte);

		if (!(byte & ENTRY_BEGIN))
			continue; /* columns of the entry before */
		if (kind >= ENTRY_NO_COLUMNS && kind < ENTRY_NO_LINE)
			*line += python_lines_number(lines);
		else if (kind >= ENTRY_ONE_LINE && kind < ENTRY_NO_COLUMNS)
			*line += kind - ENTRY_ONE_LINE;
		end += (uint64_t)ENTRY_UNITS(byte) * INSTRUCTION_BYTES;
		if (end > offset)
			return kind != ENTRY_NO_LINE;
	}
	return false;
}

uint32_t python_read_line(const struct runtime_process *process, const struct runtime_frame *frame)
{
	const struct python_layout *layout = python_layout_of(process);
	uint64_t table = runtime_read_word(process, frame->code + layout->code.lines);
	uint64_t offset = (uint32_t)frame->position;
	struct python_lines lines;
	uint32_t first;
	int64_t line;
	bool found;

	if (!memory_read_u32(process->memory, process->root, frame->code + layout->code.first_line,
			     &first) ||
	    !python_lines_begin(&lines, process, table))
		return 0;
	line = first;
	if (layout->code.instructions)
		offset = frame->position - (frame->code + layout->code.instructions);
	else if (layout->version == 0x030a)
		offset *= INSTRUCTION_BYTES;
	if (layout->code.instructions)
		found = python_lines_by_entries(&lines, offset, &line);
	else
		found = python_lines_by_pairs(&lines, offset, layout->version >= 0x030a, &line);
	return found && line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}
