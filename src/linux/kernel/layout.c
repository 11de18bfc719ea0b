/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The search in BTF for the members of kernel structs that xtop reads; layout_members.h is their
 * list. Resolver's thread.
 *
 * Several structs may have the same name: a name in C belongs to one source file, and drivers use
 * common names (`struct irq_info` is three structs in 5.10 to 7.3). Then the struct with most of
 * the members in the table is used.
 */
#include "config.h"

#include "linux/kernel/layout.h"

#include <assert.h>
#include <string.h>

#include "xtop/base/hash.h"

#define LAYOUT_MAX_STRUCTS 64

enum layout_what {
	LAYOUT_BYTES,  /* offset of a member in bytes */
	LAYOUT_BITS,   /* offset of a bitfield in bits */
	LAYOUT_WIDTH,  /* width of a bitfield in bits */
	LAYOUT_SIZEOF, /* size of a struct in bytes */
};

struct layout_entry {
	const char *type, *paths;
	enum layout_what what;
	unsigned bytes; /* size of the member; 0 if any size will do */
};

static const struct layout_entry layout_entries[LAYOUT_MEMBERS] = {
#define MEMBER(name, kind, type, paths, bytes) [name] = { type, paths, LAYOUT_##kind, bytes },
#include "linux/kernel/layout_members.h"
#undef MEMBER
};

/* A hash of the table. A layout from a program with another table is not read. */
static uint32_t layout_version(void)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < LAYOUT_MEMBERS; i++) {
		const struct layout_entry *entry = &layout_entries[i];

		hash = hash_bytes(hash, entry->type, strlen(entry->type));
		hash = hash_bytes(hash, entry->paths, strlen(entry->paths));
		hash = hash_word(hash, (uint64_t)entry->what << 32 | entry->bytes);
	}
	return (uint32_t)(hash >> 32);
}

/*
 * Lists each struct of the table once in WANTS. Sets STRUCTS[i] to the index in WANTS of the struct
 * to which the table's entry i belongs. Most entries belong to the struct of the entry before, so
 * the search for a struct begins with the last one.
 */
static size_t layout_wants(struct btf_want *wants, uint8_t *structs)
{
	size_t n = 0, j;

	for (size_t i = 0; i < LAYOUT_MEMBERS; i++) {
		for (j = n; j && strcmp(wants[j - 1].name, layout_entries[i].type) != 0; j--)
			;
		if (!j) {
			assert(n < LAYOUT_MAX_STRUCTS);
			wants[n++] = (struct btf_want){ .name = layout_entries[i].type };
			j = n;
		}
		structs[i] = j - 1;
	}
	return n;
}

/* Finds the first of PATHS that exists. */
static bool layout_find(struct btf *btf, uint32_t type, const char *paths,
			struct btf_member *member)
{
	const char *end;

	for (;; paths = end + 1) {
		end = strchrnul(paths, '|');
		if (btf_find_member(btf, type, paths, end - paths, member))
			return true;
		if (!*end)
			return false;
	}
}

static bool layout_offset_bytes(const struct btf_member *member, unsigned wanted_bytes,
				uint64_t size_bytes, uint64_t *value)
{
	if (member->width_bits || member->offset_bits % 8)
		return false;
	*value = member->offset_bits / 8;
	return !wanted_bytes || size_bytes == wanted_bytes;
}

/*
 * Reads the number that ENTRY asks for. Returns false if a member of MEMBER's kind has no such
 * number.
 */
static bool layout_read_member(struct btf *btf, const struct layout_entry *entry,
			       const struct btf_member *member, uint64_t *value)
{
	uint64_t bytes;

	if (!btf_size(btf, member->type, &bytes))
		return false;
	switch (entry->what) {
	case LAYOUT_BYTES:
		return layout_offset_bytes(member, entry->bytes, bytes, value);
	case LAYOUT_BITS:
		*value = member->offset_bits;
		return true;
	case LAYOUT_WIDTH:
		*value = member->width_bits ? member->width_bits : 8 * bytes;
		return true;
	case LAYOUT_SIZEOF:
		break;
	}
	return false;
}

/* ENTRY's number in the struct TYPE; -1 if the number is missing or cannot be right. */
static int32_t layout_value(struct btf *btf, const struct layout_entry *entry, uint32_t type)
{
	struct btf_member member;
	uint64_t value;

	if (entry->what == LAYOUT_SIZEOF) {
		if (!btf_size(btf, type, &value) || !value)
			return -1;
	} else if (!layout_find(btf, type, entry->paths, &member) ||
		   !layout_read_member(btf, entry, &member, &value)) {
		return -1;
	}
	return value <= LAYOUT_MAX ? (int32_t)value : -1;
}

/* Fills in all entries of struct NUMBER from TYPE. Returns how many entries TYPE has. */
static unsigned layout_fill(struct btf *btf, const uint8_t *structs, size_t number, uint32_t type,
			    int32_t *values)
{
	unsigned found = 0;

	for (size_t i = 0; i < LAYOUT_MEMBERS; i++) {
		if (structs[i] != number)
			continue;
		values[i] = layout_value(btf, &layout_entries[i], type);
		found += values[i] >= 0;
	}
	return found;
}

/* Chooses among structs of the same name: the first one with the most members. */
static void layout_fill_best(struct btf *btf, const struct btf_want *want, const uint8_t *structs,
			     size_t number, int32_t *values)
{
	unsigned most = 0, best = 0, found;

	for (unsigned i = 0; i < want->found; i++) {
		found = layout_fill(btf, structs, number, want->ids[i], values);
		if (found > most) {
			most = found;
			best = i;
		}
	}
	if (want->found > 1)
		layout_fill(btf, structs, number, want->ids[best], values);
}

void layout_init(struct layout *layout)
{
	layout->version = layout_version();
	for (size_t i = 0; i < LAYOUT_MEMBERS; i++)
		layout->values[i] = -1;
}

enum btf_result layout_from_btf(const uint8_t *blob, size_t bytes, struct work *work,
				struct layout *layout)
{
	struct btf_want wants[LAYOUT_MAX_STRUCTS];
	uint8_t structs[LAYOUT_MEMBERS];
	size_t n_wants = layout_wants(wants, structs);
	enum btf_result result;
	struct btf btf;

	layout_init(layout);
	result = btf_init(&btf, blob, bytes, wants, n_wants, work);
	if (result != BTF_OK && result != BTF_DAMAGED)
		return result;
	for (size_t i = 0; i < n_wants; i++)
		layout_fill_best(&btf, &wants[i], structs, i, layout->values);
	if (btf.damaged)
		result = BTF_DAMAGED;
	btf_deinit(&btf);
	return result;
}

bool layout_check(const struct layout *layout)
{
	if (layout->version != layout_version())
		return false;
	for (size_t i = 0; i < LAYOUT_MEMBERS; i++)
		if (layout->values[i] < -1 || layout->values[i] > LAYOUT_MAX)
			return false;
	return true;
}

enum layout_member layout_missing(const struct layout *layout, const enum layout_member *members,
				  size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!layout_has(layout, members[i]))
			return members[i];
	return LAYOUT_MEMBERS;
}

const char *layout_struct(enum layout_member member)
{
	return layout_entries[member].type;
}
