/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads Go's table of functions (.gopclntab), in the four layouts of Go 1.2 to 1.27:
 *
 *   0xfffffffb  1.2   words: n_functions; the list of functions; offsets count from the table
 *   0xfffffffa  1.16  words: n_functions, n_files, and where names, units, files, depths and the
 *                     list of functions lie
 *   0xfffffff0  1.18  like 1.16, with the address of the code after n_files. Functions are
 *                     relative to this address, and the list has words of 4 bytes
 *   0xfffffff1  1.20  like 1.18; since 1.26 the address is 0 (symbol/elf_go_text.c finds it)
 *
 *   list of functions   address, offset of the function's record; at last the end of the code
 *   record              address, offset of the name, ..., offset of the depths, ..., flags
 *   depths              pairs of varints: zigzag change of the depth, length of code in smallest
 *                       instructions (1 byte on x86-64, 4 on arm64); the depth begins at -1, a
 *                       change of 0 ends the pairs
 *
 * (Go src/debug/gosym/pclntab.go, src/runtime/symtab.go: pcHeader, step(); src/runtime/runtime2.go:
 * _func.) Resolver's thread.
 */
#include "config.h"

#include <string.h>

#include "xtop/base/limit.h"
#include "xtop/unwind/go.h"

#define GO_MAGIC_1_2  0xfffffffbU
#define GO_MAGIC_1_16 0xfffffffaU
#define GO_MAGIC_1_18 0xfffffff0U
#define GO_MAGIC_1_20 0xfffffff1U

/*
 * Offsets of fields in a function's record. `flags` is 0 if the record has no flags, or if they do
 * not mark assembly yet.
 */
struct go_record {
	uint8_t name, depths, flags;
};

/* The words of 8 bytes that follow the head, at GO_HEAD_BYTES. */
enum { GO_WORD_FUNCTIONS, GO_WORD_FILES, GO_WORD_OFFSETS };
enum { GO_OFFSET_NAMES = 0, GO_OFFSET_DEPTHS = 3, GO_OFFSET_FUNCTIONS = 4, GO_N_OFFSETS = 5 };

/* --- bytes ------------------------------------------------------------------------------------ */

static bool go_has(const struct go_table *table, uint64_t offset, uint64_t size_bytes)
{
	return offset <= table->size_bytes && size_bytes <= table->size_bytes - offset &&
	       !bytes_gaps_touch(table->gaps, table->n_gaps, offset, offset + size_bytes) &&
	       (!table->need || table->need(table->need_context, offset, size_bytes));
}

static bool go_read(const struct go_table *table, uint64_t offset, void *value, size_t size_bytes)
{
	if (!go_has(table, offset, size_bytes))
		return false;
	memcpy(value, table->bytes + offset, size_bytes);
	return true;
}

static bool go_read_32(const struct go_table *table, uint64_t offset, uint32_t *value)
{
	return go_read(table, offset, value, sizeof(*value));
}

/* --- the head --------------------------------------------------------------------------------- */

static bool go_is_relative(const struct go_table *table)
{
	return table->magic == GO_MAGIC_1_18 || table->magic == GO_MAGIC_1_20;
}

#define GO_HEAD_SMALLEST 6
#define GO_ARM64_SMALLEST 4

/* The head is: magic, two zeros, the smallest instruction's size, the size of a pointer. */
bool go_is_head(const uint8_t *head)
{
	static const uint8_t rest_x86[] = { 0, 0, 1, 8 }, rest_arm64[] = { 0, 0, 4, 8 };
	uint32_t magic;

	memcpy(&magic, head, sizeof(magic));
	return (magic == GO_MAGIC_1_2 || magic == GO_MAGIC_1_16 || magic == GO_MAGIC_1_18 ||
		magic == GO_MAGIC_1_20) &&
	       (memcmp(head + sizeof(magic), rest_x86, sizeof(rest_x86)) == 0 ||
		memcmp(head + sizeof(magic), rest_arm64, sizeof(rest_arm64)) == 0);
}

static bool go_read_word(const struct go_table *table, unsigned index, uint64_t *value)
{
	return go_read(table, GO_HEAD_BYTES + sizeof(*value) * index, value, sizeof(*value));
}

static bool go_init_places(struct go_table *table)
{
	unsigned first = GO_WORD_OFFSETS + go_is_relative(table);

	if (table->magic == GO_MAGIC_1_2) {
		table->functions = GO_HEAD_BYTES + sizeof(uint64_t);
		return true;
	}
	if (go_is_relative(table) && !go_read_word(table, GO_WORD_OFFSETS, &table->text))
		return false;
	return go_read_word(table, first + GO_OFFSET_NAMES, &table->names) &&
	       go_read_word(table, first + GO_OFFSET_DEPTHS, &table->depths) &&
	       go_read_word(table, first + GO_OFFSET_FUNCTIONS, &table->functions) &&
	       table->names <= table->size_bytes && table->depths <= table->size_bytes &&
	       table->functions <= table->size_bytes;
}

/* --- functions -------------------------------------------------------------------------------- */

/* Reads word INDEX of the list of functions: 4 bytes in relative tables, else 8. */
static bool go_read_listed(const struct go_table *table, size_t index, uint64_t *value)
{
	size_t bytes = go_is_relative(table) ? sizeof(uint32_t) : sizeof(uint64_t);
	uint64_t word = 0; /* little-endian, as the host is */

	if (!go_read(table, table->functions + bytes * index, &word, bytes))
		return false;
	*value = word;
	return true;
}

/* Reads the address of function INDEX. INDEX n_functions is the end of the code. */
static bool go_read_start(const struct go_table *table, size_t index, uint64_t *start)
{
	if (!go_read_listed(table, 2 * index, start))
		return false;
	*start += go_is_relative(table) ? table->text : 0;
	return true;
}

/* Finds the offset of function INDEX's record in the table. */
static bool go_find_record(const struct go_table *table, size_t index, uint64_t *record)
{
	if (!go_read_listed(table, 2 * index + 1, record) ||
	    (!go_is_relative(table) && *record > table->size_bytes))
		return false;
	if (table->magic != GO_MAGIC_1_2)
		*record += table->functions;
	return true;
}

bool go_table_get_range(const struct go_table *table, size_t index, uint64_t *start, uint64_t *end)
{
	return go_read_start(table, index, start) && go_read_start(table, index + 1, end) &&
	       *start < *end;
}

size_t go_table_find(const struct go_table *table, uint64_t address)
{
	size_t low = 0, high = table->n_functions;
	uint64_t start;

	if (!go_read_start(table, 0, &start) || start > address)
		return table->n_functions;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (!go_read_start(table, middle, &start))
			return table->n_functions;
		if (start <= address)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static struct go_record go_record_of(const struct go_table *table)
{
	switch (table->magic) {
	case GO_MAGIC_1_2:
	case GO_MAGIC_1_16:
		return (struct go_record){ .name = 8, .depths = 20 };
	case GO_MAGIC_1_18:
		return (struct go_record){ .name = 4, .depths = 16, .flags = 37 };
	default:
		return (struct go_record){ .name = 4, .depths = 16, .flags = 41 };
	}
}

/* Reads the name at OFFSET. Bytes after the name may be missing. */
static bool go_read_name(const struct go_table *table, uint32_t offset,
			 struct go_function *function)
{
	uint64_t start = table->names + offset, at = start;

	while (at - start < GO_MAX_NAME_BYTES && go_has(table, at, 1) && table->bytes[at])
		at++;
	if (at == start || at - start == GO_MAX_NAME_BYTES || !go_has(table, at, 1))
		return false;
	function->name = (const char *)table->bytes + start;
	function->name_bytes = at - start;
	return true;
}

bool go_table_read(const struct go_table *table, size_t index, struct go_function *function)
{
	struct go_record places = go_record_of(table);
	struct go_function found = { 0 };
	uint32_t name, depths;
	uint8_t flags = 0;
	uint64_t record;

	if (!go_table_get_range(table, index, &found.start, &found.end) ||
	    !go_find_record(table, index, &record) ||
	    !go_read_32(table, record + places.name, &name) ||
	    !go_read_32(table, record + places.depths, &depths) ||
	    (places.flags && !go_read(table, record + places.flags, &flags, sizeof(flags))) ||
	    !go_read_name(table, name, &found))
		return false;
	found.depths = depths ? table->depths + depths : 0;
	found.flags = go_is_relative(table) ? flags : GO_UNMARKED;
	*function = found;
	return true;
}

/* --- where the code is ------------------------------------------------------------------------ */

static bool go_is_entry(const struct go_table *table, const struct go_function *function)
{
	return go_has_name(function, table->is_arm64 ? "_rt0_arm64_linux" : "_rt0_amd64_linux");
}

/*
 * Finds the address of the code if the table does not have it: the entry point of the file is a
 * function with a known name.
 */
static void go_find_text(struct go_table *table)
{
	for (size_t i = 0; i < table->n_functions; i++) {
		struct go_function function;

		if (!go_table_read(table, i, &function) || !go_is_entry(table, &function))
			continue;
		table->text = table->entry - function.start;
		return;
	}
}

bool go_table_init(struct go_table *table)
{
	uint64_t n, entry_bytes;

	if (!go_has(table, 0, GO_HEAD_BYTES) || !go_is_head(table->bytes))
		return false;
	memcpy(&table->magic, table->bytes, sizeof(table->magic));
	table->is_arm64 = table->bytes[GO_HEAD_SMALLEST] == GO_ARM64_SMALLEST;
	if (!go_read_word(table, GO_WORD_FUNCTIONS, &n) || !go_init_places(table) || !n ||
	    n > LIMIT(GO_MAX_FUNCTIONS, 4096))
		return false;
	entry_bytes = 2 * (go_is_relative(table) ? sizeof(uint32_t) : sizeof(uint64_t));
	if (entry_bytes * n > table->size_bytes - table->functions)
		return false;
	table->n_functions = n;
	if (go_table_lacks_text(table))
		go_find_text(table);
	return true;
}

bool go_table_lacks_text(const struct go_table *table)
{
	return go_is_relative(table) && !table->text;
}

bool go_table_get_bounds(const struct go_table *table, uint64_t *start, uint64_t *end)
{
	uint64_t first;

	if (!go_read_start(table, 0, &first) || !go_read_start(table, table->n_functions, end))
		return false;
	*start = first;
	return true;
}

/* --- depths ----------------------------------------------------------------------------------- */

/* Reads groups of 7 bits, lowest first. The top bit of a byte says that another byte follows. */
static bool go_read_varint(struct go_depths *depths, uint32_t *value)
{
	*value = 0;
	for (unsigned shift = 0; shift < 35; shift += 7) {
		uint8_t byte;

		if (!go_read(depths->table, depths->at, &byte, sizeof(byte)))
			return false;
		depths->at++;
		*value |= (uint32_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

void go_depths_start(struct go_depths *depths, const struct go_table *table,
		     const struct go_function *function)
{
	*depths = (struct go_depths){ .table = table,
				      .at = function->depths,
				      .end = function->depths ? function->end : function->start,
				      .row_end = function->start,
				      .depth = -1 };
}

bool go_depths_next(struct go_depths *depths)
{
	uint32_t change, n_smallest;

	if (depths->row_end >= depths->end || !go_read_varint(depths, &change) ||
	    (!change && depths->started) || !go_read_varint(depths, &n_smallest) || !n_smallest)
		return false;
	depths->started = true;
	depths->depth += (int32_t)(change >> 1 ^ -(change & 1));
	depths->row_start = depths->row_end;
	depths->row_end += (uint64_t)n_smallest * (depths->table->is_arm64 ? GO_ARM64_SMALLEST : 1);
	if (depths->row_end > depths->end)
		depths->row_end = depths->end;
	return true;
}
