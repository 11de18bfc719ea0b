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
#include <stdlib.h>
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
	layout->partial = 0;
	for (size_t i = 0; i < LAYOUT_MEMBERS; i++)
		layout->values[i] = -1;
}

struct layout_reader {
	struct btf btf;
	struct btf_want wants[LAYOUT_MAX_STRUCTS];
	uint8_t structs[LAYOUT_MEMBERS]; /* index in wants of each member's struct */
	size_t n_wants;
};

/* --- two parts -------------------------------------------------------------------------------- */

/* Structs that no name of a process's function needs. */
static const char *const layout_late[] = { "irq_info", "xenbus_device", "tk_data",
					    "maple_node", "mount", "backing_file" };
static const char *const layout_x86[] = { "orc_entry", "tlb_state", "irq_stack", "vdso_image" };

static bool layout_is_among(const char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static bool layout_is_late(const char *name, struct layout_hints hints)
{
	if (strcmp(name, "pcpu_hot") == 0)
		return !hints.has_pcpu_hot;
	return layout_is_among(layout_late, sizeof(layout_late) / sizeof(layout_late[0]), name) ||
	       (hints.arm &&
		layout_is_among(layout_x86, sizeof(layout_x86) / sizeof(layout_x86[0]), name));
}

/*
 * Sets where a mount's first pointers and its vfsmount are, as in 3.3 to 7.3, until they are read:
 * mnt_hash, mnt_parent, mnt_mountpoint, mnt (Linux fs/mount.h). kernel_types.c tries them.
 */
static void layout_assume_mount(struct layout *layout)
{
	if (layout_has(layout, MOUNT_MNT))
		return;
	layout->values[MOUNT_PARENT] = 16;
	layout->values[MOUNT_MOUNTPOINT] = 24;
	layout->values[MOUNT_MNT] = 32;
}

void layout_forget_mount(struct layout *layout)
{
	layout->values[MOUNT_PARENT] = layout->values[MOUNT_MOUNTPOINT] = -1;
	layout->values[MOUNT_MNT] = -1;
}

/*
 * Sets the shapes of a maple tree's nodes until they are read: the last types of most kernels are
 * the only ones that have them. process/vmas.c has the shapes, which are the same in 6.1 to 7.3.
 */
static void layout_assume_nodes(struct layout *layout)
{
	if (!layout_has(layout, MAPLE_ROOT) || layout_has(layout, MAPLE_R64_PIVOT))
		return;
	layout->values[MAPLE_R64_PIVOT] = layout->values[MAPLE_A64_PIVOT] = 8;
	layout->values[MAPLE_R64_SLOT] = 8 + 15 * 8;
	layout->values[MAPLE_A64_SLOT] = 8 + 9 * 8;
}

/* Fills in LAYOUT as far as the types are known. LAYOUT is untouched if they cannot be read. */
static enum btf_result layout_reader_fill(struct layout_reader *reader, struct layout *layout)
{
	struct btf *btf = &reader->btf;
	bool whole = btf->at == btf->types_bytes; /* before members are looked for */
	struct layout filled;

	layout_init(&filled);
	for (size_t i = 0; i < reader->n_wants; i++)
		layout_fill_best(btf, &reader->wants[i], reader->structs, i, filled.values);
	if (btf->unreadable)
		return BTF_NONE;
	filled.partial = !btf->damaged && !whole;
	if (filled.partial) {
		layout_assume_nodes(&filled);
		layout_assume_mount(&filled);
	}
	*layout = filled;
	return btf->damaged ? BTF_DAMAGED : BTF_OK;
}

enum btf_result layout_reader_begin(const struct btf_source *source, struct layout_hints hints,
				    struct layout *layout, struct layout_reader **readerp)
{
	struct layout_reader *reader = malloc(sizeof(*reader));
	enum btf_result result;

	*readerp = NULL;
	layout_init(layout);
	if (!reader)
		return BTF_NO_MEMORY;
	reader->n_wants = layout_wants(reader->wants, reader->structs);
	for (size_t i = 0; i < reader->n_wants; i++)
		reader->wants[i].late = layout_is_late(reader->wants[i].name, hints);
	result = btf_init_parts(&reader->btf, source, reader->wants, reader->n_wants);
	if (result == BTF_OK || result == BTF_DAMAGED)
		result = layout_reader_fill(reader, layout);
	if (layout->partial)
		*readerp = reader;
	else
		layout_reader_destroy(reader);
	return result;
}

enum btf_result layout_reader_end(struct layout_reader *reader, struct layout *layout)
{
	btf_read_rest(&reader->btf);
	return layout_reader_fill(reader, layout);
}

void layout_reader_destroy(struct layout_reader *reader)
{
	if (!reader)
		return;
	btf_deinit(&reader->btf);
	free(reader);
}

enum btf_result layout_from_btf(const uint8_t *blob, size_t bytes, struct work *work,
				struct layout *layout)
{
	struct btf_source source = { .bytes = blob, .size_bytes = bytes, .work = work };
	struct layout_reader *reader;
	enum btf_result result;

	result = layout_reader_begin(&source, (struct layout_hints){ 0 }, layout, &reader);
	layout_reader_destroy(reader);
	return result;
}

bool layout_check(const struct layout *layout)
{
	if (layout->version != layout_version() || layout->partial)
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
