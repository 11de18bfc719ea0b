/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code that V8 has compiled. An object of the heap has the instructions, and what they were
 * compiled from (v8 src/objects/code.h). Since V8 11 there are two objects:
 *
 *   up to 10   Code: map, ..., size │ instructions
 *   since 11   InstructionStream: map, Code │ instructions      Code: ..., start, size
 *
 * Sparkplug's code has the BytecodeArray. Code of Maglev and TurboFan has DeoptimizationData, with
 * the function and the functions inlined into it (src/objects/deoptimization-data.h):
 *
 *   source positions       place in the code ─► position, and which inlined function has it
 *   inlining positions     inlined function ─► function, and the position of its call
 */
#include "config.h"

#include "language/v8.h"

#include <string.h>

#define CODE_ALIGNMENT  32 /* the first instruction's, at least */
#define CODE_MAX_BYTES  (256 << 10)
#define CODE_LAST_BYTES 64 /* how far after its place the table's last entry holds */
#define TABLE_MAX_BYTES (16 << 10)
#define ARRAY_LENGTH    8 /* place of the length; its upper half has the number */
#define ARRAY_FIRST     16
#define WRAPPER_SHARED  8
#define WEAK_TAG        2 /* set in references that do not keep an object alive */

#define POSITION_TEXT    1 /* the first of 30 bits: the character of the script's text, plus 1 */
#define POSITION_INLINED 31 /* the first of 16 bits: the number of the inlined function, plus 1 */
#define V8_MAX_INLINED   64 /* inlined functions of one frame */

/* --- finding ---------------------------------------------------------------------------------- */

/* Fills CODE if its object is at ADDRESS. WORD comes after the object's map. */
static bool v8_read_code(const struct runtime_process *process, uint64_t address, uint64_t word,
			 struct v8_code *code)
{
	const struct v8_layout *layout = v8_layout_of(process);
	uint64_t object = address + V8_TAG, start = address + (uint64_t)layout->code_header;
	uint32_t size;

	if (v8_read_type(process, object) != layout->code)
		return false;
	if (layout->code_apart)
		object = word;
	if (!v8_is_object(object) ||
	    (layout->code_apart && v8_read(process, object, layout->code_start) != start) ||
	    !memory_read_u32(process->memory, process->root,
			     object - V8_TAG + (uint64_t)layout->code_size, &size) ||
	    size > CODE_MAX_BYTES)
		return false;
	*code = (struct v8_code){ .object = object, .start = start, .size_bytes = size };
	return true;
}

/* Nothing tells where the code's object begins, so its header is searched for backwards. */
bool v8_find_code(const struct runtime_process *process, uint64_t address, struct v8_code *code)
{
	uint64_t words[GUEST_PAGE_SIZE / sizeof(uint64_t) + 2], first = 0;
	uint64_t at = (address & ~(uint64_t)(CODE_ALIGNMENT - 1)) -
		      (uint64_t)v8_layout_of(process)->code_header;

	for (uint64_t last = at; last - at < CODE_MAX_BYTES && at > GUEST_PAGE_SIZE;
	     at -= CODE_ALIGNMENT) {
		const uint64_t *found;

		if (at - first >= GUEST_PAGE_SIZE) {
			/* up to the word after AT, which may be in the next page */
			size_t n = (at & GUEST_PAGE_MASK) + 2 * sizeof(words[0]);

			first = at & ~GUEST_PAGE_MASK;
			if (memory_read(process->memory, process->root, first, words, n) != n)
				return false;
		}
		found = &words[(at - first) / sizeof(words[0])];
		if (v8_is_object(found[0]) && v8_read_code(process, at, found[1], code))
			return address - code->start < code->size_bytes;
	}
	return false;
}

/* The member of CODE that has what it was compiled from. */
static uint64_t v8_read_code_data(const struct runtime_process *process, const struct v8_code *code)
{
	return v8_read(process, code->object, v8_layout_of(process)->code_data);
}

uint64_t v8_find_code_bytecode(const struct runtime_process *process, const struct v8_code *code)
{
	uint64_t data = v8_read_code_data(process, code);

	return v8_read_type(process, data) == v8_layout_of(process)->bytecode ? data : 0;
}

/* --- arrays ----------------------------------------------------------------------------------- */

/* The element I of ARRAY; 0: there is none. */
static uint64_t v8_read_element(const struct runtime_process *process, uint64_t array, uint64_t i)
{
	if (!v8_is_object(array) || i >= v8_read(process, array, ARRAY_LENGTH) >> 32)
		return 0;
	return runtime_read_word(process, array - V8_TAG + ARRAY_FIRST + i * sizeof(uint64_t));
}

/* The SharedFunctionInfo that the element I of ARRAY is, or that its wrapper has; 0: none. */
static uint64_t v8_read_shared(const struct runtime_process *process, uint64_t array, uint64_t i)
{
	int type = v8_layout_of(process)->shared;
	uint64_t word = v8_read_element(process, array, i) & ~(uint64_t)WEAK_TAG;

	if (v8_is_object(word) && v8_read_type(process, word) != type)
		word = v8_read(process, word, WRAPPER_SHARED);
	return v8_read_type(process, word) == type ? word : 0;
}

/* --- positions -------------------------------------------------------------------------------- */

/* Bytes of a table of source positions that are not read yet. */
struct v8_table {
	const uint8_t *at, *end;
};

/* Reads a number in groups of seven bits; the lowest bit of all is the sign. */
static bool v8_take_number(struct v8_table *table, int64_t *number)
{
	uint64_t value = 0;

	for (unsigned shift = 0; table->at < table->end && shift < 64; shift += 7) {
		uint8_t byte = *table->at++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		*number = (int64_t)(value >> 1 ^ -(value & 1));
		return true;
	}
	return false;
}

/*
 * Finds the position of the instruction in front of OFFSET in the code. Each entry of the table has
 * the distance in the code from the entry before, negative where no statement begins, and the
 * distance of the positions (v8 src/codegen/source-position-table.cc). An entry holds up to the
 * next one. The first one is for the first instruction; since V8 8 its distance is counted from -1.
 *
 * From EXITS on, after all calls, is code that goes on in the interpreter. When V8 gives up code
 * that is running, it makes the code's calls return there. Which call it was is then not known.
 */
static bool v8_search_table(struct v8_table table, uint32_t offset, uint64_t exits,
			    uint64_t *position)
{
	int64_t place = 0, code, source;
	uint64_t sum = 0, last = 0;
	bool found = false;

	while (v8_take_number(&table, &code) && v8_take_number(&table, &source)) {
		place += code < 0 ? -(code + 1) : code;
		if (!found && place == 1)
			place = 0;
		if (place < 0 || place >= (int64_t)offset)
			return found;
		last = (uint64_t)place;
		sum += (uint64_t)source;
		*position = sum;
		found = true;
	}
	return found && offset - last <= CODE_LAST_BYTES && (exits <= last || offset < exits);
}

static bool v8_find_position(const struct runtime_process *process, const struct v8_code *code,
			     uint32_t offset, uint64_t *position)
{
	const struct v8_layout *layout = v8_layout_of(process);
	uint64_t table = v8_read(process, code->object, layout->code_data + 8), n;
	uint64_t exits = v8_read_element(process, v8_read_code_data(process, code),
					 (uint64_t)layout->deopt_shared + 2);
	uint8_t bytes[TABLE_MAX_BYTES];

	n = v8_is_object(table) ? v8_read(process, table, ARRAY_LENGTH) >> 32 : 0;
	if (n > sizeof(bytes) || memory_read(process->memory, process->root,
					     table - V8_TAG + ARRAY_FIRST, bytes, n) != n)
		return false;
	return v8_search_table((struct v8_table){ bytes, bytes + n }, offset,
			       v8_is_small(exits) ? exits >> 32 : 0, position);
}

/* The number of the inlined function that has POSITION; negative: none has it. */
static int v8_inlined_of(uint64_t position)
{
	return (int)(position >> POSITION_INLINED & 0xffff) - 1;
}

/* The place in the script's text that POSITION has, as runtime_frame.position keeps it. */
static uint64_t v8_text_of(uint64_t position)
{
	return position >> POSITION_TEXT & 0x3fffffff;
}

/* --- functions -------------------------------------------------------------------------------- */

/* Where an inlined function was called, and the number of the function. */
static bool v8_read_call(const struct runtime_process *process, uint64_t calls, int inlined,
			 uint64_t *position, int32_t *function)
{
	uint64_t words[2], offset = (uint64_t)inlined * sizeof(words);

	if (!v8_is_object(calls) ||
	    offset + sizeof(words) > v8_read(process, calls, ARRAY_LENGTH) >> 32 ||
	    memory_read(process->memory, process->root, calls - V8_TAG + ARRAY_FIRST + offset,
			words, sizeof(words)) != sizeof(words))
		return false;
	*position = words[0];
	*function = (int32_t)words[1];
	return true;
}

/*
 * Adds the inlined function that has *POSITION, and the inlined functions around it. *POSITION
 * becomes the position of the outermost one's call.
 */
static size_t v8_add_inlined(const struct runtime_process *process, uint64_t data,
			     uint64_t *position, struct runtime_frame *frames, size_t capacity)
{
	const struct v8_layout *layout = v8_layout_of(process);
	uint64_t calls = v8_read_element(process, data, (uint64_t)layout->deopt_shared + 1);
	size_t n = 0;
	int32_t i;

	while (n < capacity && n < V8_MAX_INLINED && v8_inlined_of(*position) >= 0) {
		uint64_t shared = 0, text = v8_text_of(*position);

		if (!v8_read_call(process, calls, v8_inlined_of(*position), position, &i))
			break;
		/* Since V8 13 there are two arrays, and one has the functions. */
		for (int array = layout->deopt_literals; array >= 2 && i >= 0 && !shared; array--)
			shared = v8_read_shared(process,
						v8_read_element(process, data, (uint64_t)array),
						(uint64_t)i);
		frames[n++] = (struct runtime_frame){ .code = shared, .position = text };
	}
	return n;
}

size_t v8_read_code_frames(const struct runtime_process *process, const struct v8_code *code,
			   uint64_t end, struct runtime_frame *frames, size_t capacity)
{
	uint64_t data = v8_read_code_data(process, code), position = 0;
	uint64_t shared =
		v8_read_shared(process, data, (uint64_t)v8_layout_of(process)->deopt_shared);
	size_t n = 0;

	if (!shared || !capacity)
		return 0;
	if (v8_find_position(process, code, (uint32_t)(end - code->start), &position))
		n = v8_add_inlined(process, data, &position, frames, capacity - 1);
	frames[n++] = (struct runtime_frame){
		.code = shared,
		.position = v8_text_of(position),
		.outermost = true,
	};
	return n;
}
