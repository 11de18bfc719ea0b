/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names for addresses; see names.h. */
#include "config.h"

#include "profile/names.h"

#include <stdlib.h>
#include <string.h>

#include "xtop/hash.h"

struct name_slot {
	uint64_t generation; /* of the space; 0: the slot is empty, or there is no space */
	uint64_t address;
	uint32_t frame;
	uint8_t kind;    /* enum frame_kind */
	uint8_t quality; /* enum name_quality */
	uint8_t cause;   /* enum unknown_cause */
};

/* A frame that is named by its place in a file, and may get a better name later. */
struct late_name {
	uint32_t frame, now; /* NOW: the frame with the better name, or FRAME itself */
	uint64_t address;    /* in the image */
	struct image_place *place;
};

struct names {
	struct frames *frames;
	uint32_t newest; /* the highest frame that was ever remembered */
	size_t n_late;
	struct late_name late[NAMES_MAX_LATE]; /* ascending by frame: new ids are always higher */
	struct name_slot cache[NAMES_CACHE_SLOTS];
};

struct xtop_error *names_create(struct frames *frames, struct names **namesp)
{
	struct names *names = calloc(1, sizeof(*names));

	if (!names)
		return error_create("out of memory");
	names->frames = frames;
	*namesp = names;
	return NULL;
}

void names_destroy(struct names *names)
{
	if (!names)
		return;
	for (size_t i = 0; i < names->n_late; i++)
		image_place_unref(names->late[i].place);
	free(names);
}

/* --- addresses without a symbol --------------------------------------------------------------- */

/*
 * Remembers FRAME, once: a frame is new if its id is higher than all others. A file that was read
 * in whole will never have more names, so its frames are not remembered.
 */
static void names_remember(struct names *names, uint32_t frame, const struct image *image,
			   uint64_t address)
{
	if (!image->incomplete || names->n_late == NAMES_MAX_LATE || frame <= names->newest)
		return;
	names->newest = frame;
	names->late[names->n_late++] = (struct late_name){
		.frame = frame, .now = frame, .address = address, .place = image_place_ref(image)
	};
}

/*
 * "libc.so.6+0x27240": the same place in every process. The place is where the function begins; all
 * addresses in it are one frame. Where nothing tells that, it is the address itself.
 */
static void names_fill_offset(struct names *names, struct name_slot *slot,
			      const struct mapping *mapping)
{
	const struct image *image = mapping->image;
	uint64_t address = slot->address - mapping->bias, start = address, end, offset;
	char name[FRAME_MODULE_BYTES + 20];

	slot->quality = unwind_tables_find_function(&image->tables, address, &start, &end)
				? NAME_FUNCTION
				: NAME_OFFSET;
	offset = start + mapping->bias - mapping->start + mapping->file_offset;
	snprintf(name, sizeof(name), "%s+0x%llx", image->name, (unsigned long long)offset);
	slot->frame = frames_intern(names->frames, slot->kind, name, image->name, offset);
	names_remember(names, slot->frame, image, address);
}

/*
 * BY_OFFSET: SPACE belongs to one process. A process's space is empty when its areas could not be
 * read. The kernel's or the unikernel's space is empty when nobody gave symbols.
 */
static enum unknown_cause names_cause(const struct space *space, const struct mapping *mapping,
				      uint64_t address, bool by_offset)
{
	if (!space)
		return UNKNOWN_NO_PROCESS;
	if (!mapping && !space_may_be_code(space, address))
		return UNKNOWN_NO_AREA;
	if (!mapping)
		return by_offset ? UNKNOWN_NOT_PRESENT : UNKNOWN_NO_SYMBOLS;
	if (mapping->kind == MAPPING_ANONYMOUS)
		return UNKNOWN_JIT;
	if (!mapping->image || !mapping->image->symtab)
		return mapping->image && mapping->image->incomplete ? UNKNOWN_NOT_PRESENT
								    : UNKNOWN_NO_SYMBOLS;
	return mapping->image->incomplete ? UNKNOWN_NOT_PRESENT : UNKNOWN_BETWEEN;
}

static void names_fill_unnamed(struct names *names, struct name_slot *slot,
			       const struct mapping *mapping, bool by_offset)
{
	enum frame_kind kind = slot->kind;

	slot->quality = NAME_UNKNOWN;
	if (mapping && mapping->kind == MAPPING_ANONYMOUS) {
		slot->quality = NAME_OFFSET;
		slot->frame = frames_intern(names->frames, kind, "[jit]", "", 0);
	} else if (mapping && mapping->image && by_offset) {
		names_fill_offset(names, slot, mapping);
	} else {
		slot->frame = frames_intern(names->frames, kind, NULL,
					    mapping && mapping->image ? mapping->image->name : "",
					    slot->address);
	}
}

/* --- names ------------------------------------------------------------------------------------ */

static void names_fill(struct names *names, struct name_slot *slot, const struct space *space,
		       bool by_offset)
{
	const struct mapping *mapping = NULL;
	struct symtab_entry entry;

	if (!space || !space_find_symbol(space, slot->address, &entry, &mapping)) {
		slot->cause = (uint8_t)names_cause(space, mapping, slot->address, by_offset);
		names_fill_unnamed(names, slot, mapping, by_offset);
		return;
	}
	slot->quality = NAME_SYMBOL;
	slot->frame = frames_intern(names->frames, slot->kind, entry.name, mapping->image->name,
				    entry.start - mapping->bias);
}

uint32_t names_find(struct names *names, const struct space *space, uint64_t address,
		    enum frame_kind kind, bool by_offset, struct name_answer *answer)
{
	uint64_t generation = space ? space_generation(space) : 0;
	struct name_slot *slot =
		&names->cache[hash_slot(address ^ kind ^ generation << 32, NAMES_CACHE_SLOTS)];

	if (!generation || slot->generation != generation || slot->address != address ||
	    slot->kind != kind) {
		slot->generation = generation;
		slot->address = address;
		slot->kind = kind;
		names_fill(names, slot, space, by_offset);
	}
	answer->quality = slot->quality;
	answer->cause = slot->cause;
	return slot->frame;
}

/* --- late names ------------------------------------------------------------------------------- */

static bool names_poll_one(struct names *names, struct late_name *late, const struct image *image)
{
	struct symtab_entry entry;

	if (!image->symtab || !symtab_find(image->symtab, late->address, &entry))
		return false;
	late->now = frames_intern(names->frames, FRAME_KIND_USERLAND, entry.name, image->name,
				  entry.start);
	return true;
}

/*
 * A frame stays remembered while its file may still be read again. It is dropped when it got its
 * name last time, when its file is gone, and when its file has been read in whole.
 */
bool names_poll(struct names *names)
{
	bool any = false;
	size_t n = 0;

	for (size_t i = 0; i < names->n_late; i++) {
		struct late_name late = names->late[i];
		const struct image *image = image_place_get(&late.place);
		bool found = image && late.now == late.frame && names_poll_one(names, &late, image);

		any |= found;
		if (found || (image && image->incomplete && late.now == late.frame))
			names->late[n++] = late;
		else
			image_place_unref(late.place);
	}
	names->n_late = n;
	return any;
}

uint32_t names_now(void *context, uint32_t frame)
{
	const struct names *names = context;
	size_t from = 0, to = names->n_late;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (names->late[middle].frame < frame)
			from = middle + 1;
		else
			to = middle;
	}
	return from < names->n_late && names->late[from].frame == frame ? names->late[from].now
									: frame;
}
