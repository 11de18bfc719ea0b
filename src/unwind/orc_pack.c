/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A compact ORC table as one block of bytes for the cache: the arrays of orc.c one after the other.
 * Addresses are relative to the start of the code. Resolver's thread.
 *
 *   struct pack_head   lengths of the arrays
 *   specials           struct pack_special[n_specials]
 *   rows, blocks, entries
 *
 * The bytes come from a file that xtop wrote. A damaged file may lead to wrong rows, but never to
 * an access outside of the arrays.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "unwind/orc_table.h"
#include "xtop/base/cleanup.h"

struct pack_head {
	uint64_t n, n_blocks, n_rows, n_specials;
};

struct pack_special {
	uint32_t start, end, kind;
};

#define PACK_ARRAYS 3

struct pack_array {
	void *bytes;
	size_t size_bytes;
};

static void pack_arrays(const struct orc *orc, struct pack_array arrays[PACK_ARRAYS])
{
	arrays[0] = (struct pack_array){ orc->rows, orc->n_rows * sizeof(*orc->rows) };
	arrays[1] = (struct pack_array){ orc->blocks, (orc->n_blocks + 1) * sizeof(*orc->blocks) };
	arrays[2] = (struct pack_array){ orc->entries, orc_entries_bytes(orc->n) };
}

size_t orc_pack_bytes(const struct orc *orc)
{
	struct pack_array arrays[PACK_ARRAYS];
	size_t size_bytes =
		sizeof(struct pack_head) + orc->n_specials * sizeof(struct pack_special);

	pack_arrays(orc, arrays);
	for (size_t i = 0; i < PACK_ARRAYS; i++)
		size_bytes += arrays[i].size_bytes;
	return size_bytes;
}

static char *pack_put(char *to, const void *bytes, size_t size_bytes)
{
	return (char *)memcpy(to, bytes, size_bytes) + size_bytes;
}

void orc_pack(const struct orc *orc, void *pack)
{
	const struct pack_head head = {
		.n = orc->n,
		.n_blocks = orc->n_blocks,
		.n_rows = orc->n_rows,
		.n_specials = orc->n_specials,
	};
	struct pack_array arrays[PACK_ARRAYS];
	char *to = pack;

	to = pack_put(to, &head, sizeof(head));
	for (size_t i = 0; i < orc->n_specials; i++) {
		const struct pack_special special = {
			.start = (uint32_t)(orc->specials[i].start - orc->start),
			.end = (uint32_t)(orc->specials[i].end - orc->start),
			.kind = orc->specials[i].kind,
		};

		to = pack_put(to, &special, sizeof(special));
	}
	pack_arrays(orc, arrays);
	for (size_t i = 0; i < PACK_ARRAYS; i++)
		to = pack_put(to, arrays[i].bytes, arrays[i].size_bytes);
}

/* --- unpacking -------------------------------------------------------------------------------- */

static bool pack_head_is_sane(const struct pack_head *head, uint64_t text_bytes)
{
	return text_bytes > 0 && text_bytes <= ORC_MAX_TEXT_BYTES && head->n > 0 &&
	       head->n <= ORC_MAX_ENTRIES && head->n_rows > 0 && head->n_rows <= ORC_MAX_ROWS &&
	       head->n_specials <= ORC_MAX_SPECIALS && head->n_blocks == orc_blocks(text_bytes);
}

/* Whether all ids of the block with the entries [FIRST, END) name existing rows. */
static bool pack_block_is_closed(const struct orc *orc, uint32_t first, uint32_t end)
{
	const uint8_t *ids = orc->entries + (size_t)ORC_KEPT_BYTES * first + (end - first);
	uint16_t id;

	for (; first < end; first++, ids += sizeof(id)) {
		memcpy(&id, ids, sizeof(id));
		if (id >= orc->n_rows)
			return false;
	}
	return true;
}

/* Whether the blocks follow each other, and all ids name existing rows. */
static bool pack_is_closed(const struct orc *orc)
{
	if (orc->blocks[0] || orc->blocks[orc->n_blocks] != orc->n)
		return false;
	for (size_t i = 0; i < orc->n_blocks; i++)
		if (orc->blocks[i] > orc->blocks[i + 1] || orc->blocks[i + 1] > orc->n ||
		    !pack_block_is_closed(orc, orc->blocks[i], orc->blocks[i + 1]))
			return false;
	return true;
}

static void pack_read_specials(struct orc *orc, const char *from, size_t n)
{
	struct pack_special special;

	for (size_t i = 0; i < n; i++, from += sizeof(special)) {
		memcpy(&special, from, sizeof(special));
		if (special.start < special.end && special.kind < N_ORC_SPECIALS)
			orc_add_special(orc, special.kind, orc->start + special.start,
					orc->start + special.end);
	}
}

/* Fills the arrays, which were allocated with the sizes of HEAD. */
static bool pack_read(struct orc *orc, const struct pack_head *head, const char *bytes)
{
	struct pack_array arrays[PACK_ARRAYS];
	const char *from = bytes + sizeof(*head);

	pack_read_specials(orc, from, head->n_specials);
	from += head->n_specials * sizeof(struct pack_special);
	pack_arrays(orc, arrays);
	for (size_t i = 0; i < PACK_ARRAYS; i++) {
		memcpy(arrays[i].bytes, from, arrays[i].size_bytes);
		from += arrays[i].size_bytes;
	}
	return pack_is_closed(orc);
}

static void pack_cleanup(struct orc **orcp)
{
	orc_destroy(*orcp);
}

struct xtop_error *orc_unpack(const void *pack, size_t size_bytes, uint64_t text_start,
			      uint64_t text_end, struct orc **orcp)
{
	_cleanup_(pack_cleanup) struct orc *orc = NULL;
	struct pack_head head;

	if (size_bytes < sizeof(head))
		return error_create("ORC tables cut short");
	memcpy(&head, pack, sizeof(head));
	if (!pack_head_is_sane(&head, text_end - text_start))
		return error_create("ORC tables that cannot be right");
	orc = calloc(1, sizeof(*orc));
	if (!orc)
		return error_create("out of memory");
	orc->start = text_start;
	orc->end = text_end;
	orc->n = head.n;
	orc->n_blocks = head.n_blocks;
	orc->n_rows = head.n_rows;
	if (orc_pack_bytes(orc) + head.n_specials * sizeof(struct pack_special) != size_bytes)
		return error_create("ORC tables cut short");
	orc->rows = malloc(orc->n_rows * sizeof(*orc->rows));
	orc->blocks = malloc((orc->n_blocks + 1) * sizeof(*orc->blocks));
	orc->entries = malloc(orc_entries_bytes(orc->n));
	if (!orc->rows || !orc->blocks || !orc->entries)
		return error_create("out of memory");
	if (!pack_read(orc, &head, pack))
		return error_create("ORC tables that cannot be right");
	orc_share(orc);
	*orcp = no_cleanup_ptr(orc);
	return NULL;
}
