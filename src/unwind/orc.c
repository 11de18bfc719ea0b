/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Builds the compact ORC table, and looks addresses up in the table. Resolver's thread.
 *
 * An entry has 3 bytes. The code is divided into blocks of 128 bytes. An entry has an offset in its
 * block, and the number of a row: there are only a few thousand distinct rows.
 *
 *   blocks   u32  index of the block's first entry; one more at the end
 *   entries  for each block u8 offset[n], ascending, then u16 id[n], index into rows; 8 bytes more
 *            at the end, which a look-up may read
 *
 * This layout makes look-ups fast, one for each frame. A block of a kernel has three or four
 * entries. Their offsets are below 128, and eight offsets are compared at once, as bytes of one
 * word, so a look-up has no unpredictable branch. An address before a block's first offset has the
 * last id of the block before, which lies directly before the block's offsets.
 */
#include "config.h"

#include "unwind/orc_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "xtop/base/cleanup.h"
#include "xtop/base/hash.h"
#include "xtop/base/shared_array.h"
#include "xtop/base/vector.h"
#include "xtop/base/work.h"

#define ORC_BLOCK_SHIFT 7
#define ORC_BLOCK_BYTES (1U << ORC_BLOCK_SHIFT)
#define ORC_AT_ONCE     sizeof(uint64_t)
#define ORC_HASH_BITS   LIMIT(17, 9) /* twice as many slots as ORC_MAX_ROWS */
#define ORC_HASH_SLOTS  (1U << ORC_HASH_BITS)

static struct xtop_error *orc_no_memory(void)
{
	return error_create("out of memory for unwind tables");
}

/* --- building --------------------------------------------------------------------------------- */

size_t orc_blocks(uint64_t text_bytes)
{
	return (text_bytes + ORC_BLOCK_BYTES - 1) >> ORC_BLOCK_SHIFT;
}

/* A table under construction. */
struct orc_builder {
	struct orc *orc;
	uint8_t *offsets; /* each entry's offset in its block */
	uint16_t *ids;    /* each entry's row */
	uint32_t *slots;  /* hash table of rows: id + 1; 0: the slot is empty */
	size_t rows_capacity;
	uint64_t last_block;
	uint64_t last_offset;
};

static void orc_builder_deinit(struct orc_builder *builder)
{
	orc_destroy(builder->orc);
	free(builder->offsets);
	free(builder->ids);
	free(builder->slots);
}

size_t orc_entries_bytes(size_t n)
{
	return ORC_KEPT_BYTES * n + ORC_AT_ONCE;
}

static struct xtop_error *orc_builder_init(struct orc_builder *builder, size_t n, uint64_t start,
					   uint64_t end)
{
	struct orc *orc = calloc(1, sizeof(*orc));

	builder->orc = orc;
	builder->slots = calloc(ORC_HASH_SLOTS, sizeof(*builder->slots));
	if (!orc || !builder->slots)
		return orc_no_memory();
	orc->start = start;
	orc->end = end;
	orc->n_blocks = orc_blocks(end - start);
	orc->blocks = calloc(orc->n_blocks + 1, sizeof(*orc->blocks));
	orc->entries = calloc(1, orc_entries_bytes(n));
	builder->offsets = malloc(n * sizeof(*builder->offsets));
	builder->ids = malloc(n * sizeof(*builder->ids));
	if (!orc->blocks || !orc->entries || !builder->offsets || !builder->ids)
		return orc_no_memory();
	return NULL;
}

static struct xtop_error *orc_add_row(struct orc_builder *builder, const struct orc_row *row,
				      uint16_t *id)
{
	struct orc *orc = builder->orc;

	if (orc->n_rows == ORC_MAX_ROWS)
		return error_create("ORC tables with more than %u different entries", ORC_MAX_ROWS);
	if (!vector_reserve(orc->rows, builder->rows_capacity, orc->n_rows + 1))
		return orc_no_memory();
	*id = (uint16_t)orc->n_rows;
	orc->rows[orc->n_rows++] = *row;
	return NULL;
}

/*
 * Sets *ID to the number of ROW. Uses a special hash table of fixed size, without a call for each
 * comparison, because attaching to a kernel runs this for 400,000 entries. With hash.h,
 * orc_create() takes 30 % more instructions (callgrind, tests/bench/bench_unwind).
 */
static struct xtop_error *orc_intern(struct orc_builder *builder, const struct orc_row *row,
				     uint16_t *id)
{
	struct xtop_error *error;
	uint64_t key;
	size_t i;

	_Static_assert(sizeof(key) == sizeof(*row), "a row is its own key");
	memcpy(&key, row, sizeof(key));
	i = key * HASH_ODD >> (64 - ORC_HASH_BITS); /* Fibonacci hashing */
	for (; builder->slots[i]; i = (i + 1) % ORC_HASH_SLOTS) {
		*id = (uint16_t)(builder->slots[i] - 1);
		assert(builder->orc->rows);
		if (memcmp(&builder->orc->rows[*id], row, sizeof(*row)) == 0)
			return NULL;
	}
	error = orc_add_row(builder, row, id);
	if (!error)
		builder->slots[i] = *id + 1U;
	return error;
}

/* Adds an entry. Entries come in ascending order. The last entry for an address counts. */
static struct xtop_error *orc_add(struct orc_builder *builder, uint64_t offset,
				  const struct orc_row *row)
{
	struct orc *orc = builder->orc;
	struct xtop_error *error;
	uint16_t id;

	error = orc_intern(builder, row, &id);
	if (error)
		return error;
	if (orc->n && builder->last_offset == offset) {
		builder->ids[orc->n - 1] = id;
		return NULL;
	}
	if (orc->n && builder->ids[orc->n - 1] == id)
		return NULL;
	while (builder->last_block < offset >> ORC_BLOCK_SHIFT)
		orc->blocks[++builder->last_block] = (uint32_t)orc->n;
	builder->offsets[orc->n] = offset & (ORC_BLOCK_BYTES - 1);
	builder->ids[orc->n++] = id;
	builder->last_offset = offset;
	return NULL;
}

static void *orc_shrink(void *array, size_t size_bytes)
{
	void *shrunk = realloc(array, size_bytes);

	return shrunk ? shrunk : array;
}

/* Writes the entries [FIRST, END), which are those of one block. */
static void orc_put_block(const struct orc_builder *builder, uint32_t first, uint32_t end)
{
	uint8_t *entries = builder->orc->entries + (size_t)ORC_KEPT_BYTES * first;

	if (first == end)
		return;
	memcpy(entries, builder->offsets + first, end - first);
	memcpy(entries + (end - first), builder->ids + first,
	       (end - first) * sizeof(*builder->ids));
}

void orc_share(struct orc *orc)
{
	memset(orc->entries + ORC_KEPT_BYTES * orc->n, 0, ORC_AT_ONCE);
	orc->blocks = shared_array_put(orc->blocks, (orc->n_blocks + 1) * sizeof(*orc->blocks));
	orc->entries = shared_array_put(orc->entries, orc_entries_bytes(orc->n));
	orc->rows = shared_array_put(orc->rows, orc->n_rows * sizeof(*orc->rows));
}

static struct xtop_error *orc_finish(struct orc_builder *builder, struct orc **orcp)
{
	struct orc *orc = builder->orc;

	if (!orc->n)
		return error_create("ORC tables without an entry for the code");
	while (builder->last_block < orc->n_blocks)
		orc->blocks[++builder->last_block] = (uint32_t)orc->n;
	for (size_t block = 0; block < orc->n_blocks; block++)
		orc_put_block(builder, orc->blocks[block], orc->blocks[block + 1]);
	orc->entries = orc_shrink(orc->entries, orc_entries_bytes(orc->n));
	orc->rows = orc_shrink(orc->rows, orc->n_rows * sizeof(*orc->rows));
	orc_share(orc);
	*orcp = no_cleanup_ptr(builder->orc);
	return NULL;
}

/*
 * An entry to be sorted, in one word. At the same address an undefined entry (a section's end)
 * comes before a defined entry (the next section's start):
 *
 *   52            23   22         21     0
 *   | offset (30 bits) | defined  | index |
 */
#define KEY_INDEX_BITS   22
#define KEY_SAYS         (1ULL << KEY_INDEX_BITS)
#define KEY_OFFSET_SHIFT (KEY_INDEX_BITS + 1)
_Static_assert(ORC_MAX_ENTRIES <= 1U << KEY_INDEX_BITS, "an index fits");

static int orc_compare_keys(const void *a, const void *b)
{
	uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;

	return (first > second) - (first < second);
}

/* Makes keys of the entries inside the text, in order. Returns how many there are. */
static size_t orc_collect(const struct orc_source *source, const struct orc_layout *layout,
			  uint64_t *keys)
{
	uint64_t size = source->text_end - source->text_start;
	bool ascending = true;
	size_t n = 0;

	for (size_t i = 0; i < source->n; i++) {
		uint64_t offset = source->ips_address + i * ORC_IP_BYTES - source->text_start;
		int32_t distance;

		memcpy(&distance, (const char *)source->ips + i * ORC_IP_BYTES, sizeof(distance));
		offset += (uint64_t)(int64_t)distance;
		if (offset >= size)
			continue;
		keys[n] = offset << KEY_OFFSET_SHIFT | KEY_SAYS | i;
		ascending &= !n || keys[n - 1] <= keys[n];
		n++;
	}
	if (ascending)
		return n;
	for (size_t i = 0; i < n; i++)
		if (orc_decode_type(source->entries, keys[i] & (KEY_SAYS - 1), layout) ==
		    ORC_NOTHING)
			keys[i] &= ~KEY_SAYS;
	qsort(keys, n, sizeof(*keys), orc_compare_keys);
	return n;
}

static struct xtop_error *orc_check_limits(size_t n, uint64_t start, uint64_t end)
{
	if (start >= end || end - start > ORC_MAX_TEXT_BYTES)
		return error_create("ORC tables for code from %#llx to %#llx",
				    (unsigned long long)start, (unsigned long long)end);
	if (!n || n > ORC_MAX_ENTRIES)
		return error_create("ORC tables of %zu entries", n);
	return NULL;
}

/* Whether all fields lie in 16 bits: the layout may come from a guest's BTF. */
static bool orc_layout_fits(const struct orc_layout *layout)
{
	return layout->sp_reg_shift <= 12 && layout->bp_reg_shift <= 12 &&
	       (layout->type_bits == 2 || layout->type_bits == 3) && layout->type_shift <= 13 &&
	       layout->signal_shift <= 15 && layout->end_shift <= 15;
}

struct xtop_error *orc_create(const struct orc_source *source, const struct orc_layout *layout,
			      struct orc **orcp)
{
	_cleanup_(orc_builder_deinit) struct orc_builder builder = { 0 };
	_cleanup_free_ uint64_t *keys = NULL;
	struct xtop_error *error;
	size_t n;

	error = orc_check_limits(source->n, source->text_start, source->text_end);
	if (!error && !orc_layout_fits(layout))
		error = error_create("ORC tables with entries of an unknown layout");
	if (error)
		return error;
	keys = malloc(source->n * sizeof(*keys));
	if (!keys)
		return orc_no_memory();
	n = orc_collect(source, layout, keys);
	error = orc_builder_init(&builder, n ? n : 1, source->text_start, source->text_end);
	for (size_t i = 0;
	     i < n && !error && !work_step(source->work, "unwind tables", i, n); i++) {
		struct orc_row row = orc_decode(source->entries, keys[i] & (KEY_SAYS - 1), layout);

		error = orc_add(&builder, keys[i] >> KEY_OFFSET_SHIFT, &row);
	}
	return error ? error : orc_finish(&builder, orcp);
}

void orc_destroy(struct orc *orc)
{
	if (!orc)
		return;
	shared_array_free(orc->blocks, (orc->n_blocks + 1) * sizeof(*orc->blocks));
	shared_array_free(orc->entries, orc_entries_bytes(orc->n));
	shared_array_free(orc->rows, orc->n_rows * sizeof(*orc->rows));
	free(orc);
}

/* --- looking up ------------------------------------------------------------------------------- */

#define EVERY_BYTE 0x0101010101010101ULL

/*
 * How many of the first N <= 8 bytes at OFFSETS are at most LIMIT. LIMIT and the bytes are below
 * 128, and the bytes ascend. 128 + LIMIT - byte has bit 7 set if the byte is at most LIMIT, and no
 * byte borrows from the next byte.
 */
static unsigned orc_count_to(const uint8_t *offsets, unsigned n, uint64_t limit)
{
	uint64_t word, found;

	memcpy(&word, offsets, sizeof(word));
	found = (EVERY_BYTE << 7) + EVERY_BYTE * limit - word;
	found = found >> 7 & EVERY_BYTE & ~0ULL >> 8 * (ORC_AT_ONCE - n);
	return (unsigned)(found * EVERY_BYTE >> 56);
}

static const struct orc_row *orc_row_at(const struct orc *orc, const uint8_t *place)
{
	uint16_t id;

	memcpy(&id, place, sizeof(id));
	return &orc->rows[id];
}

const struct orc_row *orc_find(const struct orc *orc, uint64_t address)
{
	uint64_t offset = address - orc->start, limit = offset & (ORC_BLOCK_BYTES - 1);
	const uint8_t *entries;
	unsigned n, found = 0;
	uint32_t first;

	if (offset >= orc->end - orc->start)
		return NULL;
	first = orc->blocks[offset >> ORC_BLOCK_SHIFT];
	n = orc->blocks[(offset >> ORC_BLOCK_SHIFT) + 1] - first;
	entries = orc->entries + (size_t)ORC_KEPT_BYTES * first;
	while (n - found > ORC_AT_ONCE && entries[found + ORC_AT_ONCE] <= limit)
		found += ORC_AT_ONCE;
	if (found < n)
		found += orc_count_to(entries + found,
				      n - found < ORC_AT_ONCE ? n - found : ORC_AT_ONCE, limit);
	if (found)
		return orc_row_at(orc, entries + n + sizeof(uint16_t) * (found - 1));
	return first ? orc_row_at(orc, entries - sizeof(uint16_t)) : NULL;
}

size_t orc_memory_bytes(const struct orc *orc)
{
	return sizeof(*orc) + (orc->n_blocks + 1) * sizeof(*orc->blocks) +
	       orc_entries_bytes(orc->n) + orc->n_rows * sizeof(*orc->rows);
}
