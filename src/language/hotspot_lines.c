/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines of Java methods. After a method's bytecode comes a table of lines, if its class file has
 * one (openjdk oops/constMethod.hpp, code/compressedStream.cpp). An entry has two differences from
 * the entry before, in the place in the bytecode and in the line:
 *
 *   a byte: 5 bits of place, 3 bits of line │ 255, place and line with signs │ 0: the table ends
 */
#include "config.h"

#include "language/hotspot.h"

#define TABLE_MAX_BYTES 4096
#define HAS_LINES       1 /* a bit of ConstMethod's flags */
#define LONG_ENTRY      255

static uint16_t hotspot_read_half(const struct runtime_process *process, uint64_t description,
				  enum hotspot_field field)
{
	uint16_t half = 0;

	memory_read(process->memory, process->root,
		    description + (uint64_t)hotspot_layout_of(process)->fields[field], &half,
		    sizeof(half));
	return half;
}

/* Where the bytecode of DESCRIPTION, a ConstMethod, begins. */
static uint64_t hotspot_find_bytecode(const struct runtime_process *process, uint64_t description)
{
	return description + hotspot_layout_of(process)->sizes[TYPE_CONST_METHOD];
}

bool hotspot_find_place(const struct runtime_process *process, uint64_t description,
			uint64_t address, uint64_t *place)
{
	*place = address - hotspot_find_bytecode(process, description);
	return *place < hotspot_read_half(process, description, CONST_CODE_SIZE);
}

size_t hotspot_read_bytecode(const struct runtime_process *process, uint64_t description,
			     uint8_t *bytes, size_t capacity)
{
	size_t n = hotspot_read_half(process, description, CONST_CODE_SIZE);

	return n <= capacity && memory_read(process->memory, process->root,
					    hotspot_find_bytecode(process, description), bytes,
					    n) == n
		       ? n
		       : 0;
}

static int64_t hotspot_read_signed(const struct hotspot_layout *layout, const uint8_t *bytes,
				   size_t n, size_t *at)
{
	uint32_t number = hotspot_read_number(layout, bytes, n, at);

	return (int64_t)(number >> 1) ^ -(int64_t)(number & 1);
}

/* The entry with the highest place up to PLACE has the line. Entries may be in any order. */
static int64_t hotspot_search_lines(const struct hotspot_layout *layout, const uint8_t *bytes,
				    size_t n, uint64_t place)
{
	int64_t at_place = 0, line = 0, best = -1, found = 0;

	for (size_t at = 0; at < n && bytes[at];) {
		uint8_t byte = bytes[at++];

		if (byte == LONG_ENTRY) {
			at_place += hotspot_read_signed(layout, bytes, n, &at);
			line += hotspot_read_signed(layout, bytes, n, &at);
		} else {
			at_place += byte >> 3;
			line += byte & 7;
		}
		if (at_place > best && at_place <= (int64_t)place) {
			best = at_place;
			found = line;
		}
	}
	return found;
}

uint32_t hotspot_find_line(const struct runtime_process *process, uint64_t description,
			   uint64_t place)
{
	const struct hotspot_layout *layout = hotspot_layout_of(process);
	uint16_t code_bytes = hotspot_read_half(process, description, CONST_CODE_SIZE);
	uint8_t bytes[TABLE_MAX_BYTES];
	size_t n;
	int64_t line;

	if (layout->fields[CONST_FLAGS] < 0 ||
	    !(hotspot_read_half(process, description, CONST_FLAGS) & HAS_LINES))
		return 0;
	n = memory_read(process->memory, process->root,
			hotspot_find_bytecode(process, description) + code_bytes, bytes,
			sizeof(bytes));
	line = hotspot_search_lines(layout, bytes, n, place);
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}
