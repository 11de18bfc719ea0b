/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names for addresses; see names.h. */
#include "config.h"

#include "profile/names.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "xtop/base/build_id.h"
#include "xtop/base/hash.h"
#include "xtop/base/sorted.h"

/*
 * At how many addresses of a function without a symbol samples are counted. When there are more,
 * the address with the fewest samples gives its entry and its count to the newest one. So the
 * address with most samples stays (Metwally, Agrawal and El Abbadi, "Efficient Computation of
 * Frequent and Top-k Elements in Data Streams", 2005).
 */
#define NAME_PLACES 4

struct name_places {
	uint32_t frame;
	uint32_t distances[NAME_PLACES]; /* bytes from the function's start */
	double ticks[NAME_PLACES];       /* the weight of their samples; 0: free */
};

struct name_slot {
	uint64_t generation; /* the space's generation; 0: the slot is empty, or has no space */
	uint64_t address;
	struct name_answer answer;
	uint32_t places; /* index of the function's places + 1; 0: none */
};

/* A frame that is named by its place in a file, and may get a better name later. */
struct late_name {
	uint32_t frame;
	uint32_t better;   /* the frame with the better name, or FRAME itself */
	uint64_t address;  /* the sample's address in the image */
	uint32_t distance; /* bytes from the start of FRAME to ADDRESS */
	uint32_t shift;    /* added to a distance in FRAME gives the distance in BETTER */
	struct image_place *place;
};

struct names {
	struct frames *frames;
	uint32_t newest; /* the highest frame that was ever remembered */
	size_t n_late;
	struct late_name late[NAMES_MAX_LATE]; /* ascending by frame: new ids are always higher */
	size_t n_places;
	struct name_places places[NAMES_MAX_PLACES]; /* ascending by frame, as LATE */
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

/* The frame of the function ENTRY of IMAGE, which begins at START. */
static uint32_t names_intern_symbol(struct names *names, enum frame_kind kind,
				    const struct symtab_entry *entry, const struct image *image,
				    uint64_t start)
{
	return frames_intern_function(names->frames,
				      &(struct frame_function){ kind, entry->name, image->name,
								start, &image->build_id, NULL });
}

/* --- addresses without a symbol --------------------------------------------------------------- */

/*
 * Remembers FRAME, once: a frame is new if its id is higher than all others. If the file was read
 * in whole and nobody fetches its debug file, it will never have more names. Then the frame is not
 * remembered.
 */
static void names_remember(struct names *names, uint32_t frame, const struct image *image,
			   uint64_t address, uint32_t distance)
{
	if (!(image->incomplete || image->awaits_names) || names->n_late == NAMES_MAX_LATE ||
	    frame <= names->newest)
		return;
	names->newest = frame;
	names->late[names->n_late++] = (struct late_name){ .frame = frame,
							   .better = frame,
							   .address = address,
							   .distance = distance,
							   .place = image_place_ref(image) };
}

/* --- places in functions ---------------------------------------------------------------------- */

/*
 * Index + 1 of FRAME's places; adds them if FRAME is new. 0: there is no room. New frames have
 * higher ids, so places stay in ascending order. If FRAME is neither found nor the highest, there
 * was no room when it was new.
 */
static uint32_t names_find_or_add_places(struct names *names, uint32_t frame)
{
	size_t n = sorted_count(names->places, names->n_places, frame, frame);

	if (n && names->places[n - 1].frame == frame)
		return (uint32_t)n;
	if (n < names->n_places || n == NAMES_MAX_PLACES)
		return 0;
	names->places[names->n_places] = (struct name_places){ .frame = frame };
	return (uint32_t)++names->n_places;
}

static void names_count_place(struct name_places *places, uint32_t distance, double ticks)
{
	unsigned least = 0;

	for (unsigned i = 0; i < NAME_PLACES; i++) {
		if (places->ticks[i] > 0 && places->distances[i] == distance) {
			least = i;
			break;
		}
		if (places->ticks[i] < places->ticks[least])
			least = i;
	}
	places->distances[least] = distance;
	places->ticks[least] += ticks;
}

static unsigned name_places_best(const struct name_places *places)
{
	unsigned best = 0;

	for (unsigned i = 1; i < NAME_PLACES; i++)
		if (places->ticks[i] > places->ticks[best])
			best = i;
	return best;
}

/* How many ticks the function has. An entry that goes to another address keeps its ticks. */
static uint64_t name_places_sum(const struct name_places *places)
{
	double sum = 0;

	for (unsigned i = 0; i < NAME_PLACES; i++)
		sum += places->ticks[i];
	return (uint64_t)ceil(sum);
}

/* The smallest sum that at most SNAPSHOT_MAX_PLACES functions reach; at least 1. */
static uint64_t names_find_least(const struct names *names)
{
	uint64_t low = 1, high = UINT64_C(1) << 34;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		size_t n = 0;

		for (size_t i = 0; i < names->n_places; i++)
			n += name_places_sum(&names->places[i]) >= middle;
		if (n > SNAPSHOT_MAX_PLACES)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void names_get_places(const struct names *names, struct snapshot *snapshot)
{
	uint64_t least = names_find_least(names);

	snapshot->n_places = 0;
	for (size_t i = 0; i < names->n_places; i++) {
		const struct name_places *places = &names->places[i];

		if (name_places_sum(places) >= least)
			snapshot->places[snapshot->n_places++] = (struct snapshot_place){
				places->frame, places->distances[name_places_best(places)]
			};
	}
}

void names_reset_places(struct names *names)
{
	for (size_t i = 0; i < names->n_places; i++)
		memset(names->places[i].ticks, 0, sizeof(names->places[i].ticks));
}

/* --- names without a symbol ------------------------------------------------------------------- */

/*
 * Names the function at START if it is one of the two that a program's entry leads to. Returns
 * false if it is another function.
 */
static bool names_fill_beginning(struct names *names, struct name_answer *answer, uint64_t start)
{
	const struct image *image = answer->mapping->image;
	struct symtab_entry entry = { .start = start };

	if (!image->main || (start != image->main && start != image->entry))
		return false;
	entry.name = start == image->main ? "main" : "_start";
	answer->quality = NAME_SYMBOL;
	answer->frame = names_intern_symbol(names, answer->kind, &entry, image, start);
	return true;
}

/*
 * Returns where the function at ADDRESS, an address of the image, begins, as far as unwind tables
 * tell.
 */
static uint64_t names_guess_function(struct name_answer *answer, uint64_t address)
{
	uint64_t start = address, end, low, high;
	const struct unwind_tables *tables =
		image_tables(answer->mapping->image, address, &low, &high);

	answer->quality = NAME_OFFSET;
	if (unwind_tables_guess_function(tables, address, &start, &end)) {
		answer->quality = NAME_FUNCTION;
		answer->size_bytes = (uint32_t)(end - start);
	}
	answer->distance = (uint32_t)(address - start);
	return start;
}

/*
 * Names an address "libc.so.6+0x27240", by a place in the file, which is the same in every process.
 * The place is where the function begins, so all its addresses are one frame. If nothing tells
 * where it begins, the address itself is the place.
 */
static void names_fill_offset(struct names *names, struct name_slot *slot)
{
	struct name_answer *answer = &slot->answer;
	const struct mapping *mapping = answer->mapping;
	struct image *image = mapping->image;
	uint64_t address = slot->address - mapping->bias;
	uint64_t start = names_guess_function(answer, address), offset;
	char name[FRAME_MODULE_BYTES + 20], build_id[BUILD_ID_TEXT_BYTES];
	const struct frame_file file = { .path = image->path ? image->path : "",
					 .build_id = build_id,
					 .package = image->package ? image->package : "",
					 .incomplete = image_is_incomplete(image) };

	if (names_fill_beginning(names, answer, start))
		return;
	offset = start + mapping->bias - mapping->start + mapping->file_offset;
	snprintf(name, sizeof(name), "%s+0x%llx", image->name, (unsigned long long)offset);
	build_id_to_text(&image->build_id, build_id);
	image->wants_names = true;
	answer->frame = frames_intern_function(
		names->frames, &(struct frame_function){ answer->kind, name, image->name, offset,
							 &image->build_id, &file });
	if (answer->quality == NAME_FUNCTION && answer->frame >= N_FRAME_IDS)
		slot->places = names_find_or_add_places(names, answer->frame);
	names_remember(names, answer->frame, image, address, answer->distance);
}

/*
 * Why ADDRESS has no name. BY_OFFSET: SPACE belongs to one process. The space of a process is empty
 * when its areas could not be read. The space of a kernel or unikernel is empty when nobody gave
 * symbols.
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
		return mapping->image && image_is_incomplete(mapping->image) ? UNKNOWN_NOT_PRESENT
									     : UNKNOWN_NO_SYMBOLS;
	return image_is_incomplete(mapping->image) ? UNKNOWN_NOT_PRESENT : UNKNOWN_BETWEEN;
}

static void names_fill_unnamed(struct names *names, struct name_slot *slot, bool by_offset)
{
	struct name_answer *answer = &slot->answer;
	const struct mapping *mapping = answer->mapping;

	answer->quality = NAME_UNKNOWN;
	if (mapping && mapping->kind == MAPPING_ANONYMOUS) {
		answer->quality = NAME_OFFSET;
		answer->frame = frames_intern(names->frames, answer->kind, "[jit]", "", 0);
	} else if (mapping && mapping->image && by_offset) {
		names_fill_offset(names, slot);
	} else {
		const struct image *image = mapping ? mapping->image : NULL;

		answer->frame = frames_intern_function(
			names->frames,
			&(struct frame_function){ .kind = answer->kind,
						  .module = image ? image->name : NULL,
						  .address = slot->address,
						  .build = image ? &image->build_id : NULL });
	}
}

/* --- names ------------------------------------------------------------------------------------ */

static void names_fill_symbol(struct names *names, struct name_slot *slot,
			      const struct symtab_entry *entry)
{
	struct name_answer *answer = &slot->answer;
	uint64_t bias = answer->mapping->bias;
	struct image *image = answer->mapping->image;

	answer->quality = NAME_SYMBOL;
	answer->distance = (uint32_t)(slot->address - entry->start);
	answer->size_bytes = (uint32_t)(entry->end - entry->start);
	answer->frame = names_intern_symbol(names, answer->kind, entry, image, entry->start - bias);
	image->wants_lines |= !image->lines;
	if (image->lines && answer->frame >= N_FRAME_IDS)
		answer->frame = frames_intern_line(names->frames, answer->frame, image->lines,
						   image->lines_by_symbol ? answer->distance
									  : slot->address - bias);
}

/* Not inlined, so that a look-up that finds its slot filled, as most do, saves no registers. */
static __attribute__((noinline)) void names_fill(struct names *names, struct name_slot *slot,
						 const struct space *space, bool by_offset)
{
	struct name_answer *answer = &slot->answer;
	struct symtab_entry entry;

	if (space && space_find_symbol(space, slot->address, &entry, &answer->mapping)) {
		names_fill_symbol(names, slot, &entry);
		return;
	}
	answer->cause = names_cause(space, answer->mapping, slot->address, by_offset);
	names_fill_unnamed(names, slot, by_offset);
}

const struct name_answer *names_find(struct names *names, const struct space *space,
				     uint64_t address, enum frame_kind kind, bool by_offset,
				     double ticks)
{
	uint64_t generation = space ? space_generation(space) : 0;
	struct name_slot *slot =
		&names->cache[hash_slot(address ^ kind ^ generation << 32, NAMES_CACHE_SLOTS)];

	if (!generation || slot->generation != generation || slot->address != address ||
	    slot->answer.kind != kind) {
		*slot = (struct name_slot){ .generation = generation,
					    .address = address,
					    .answer.kind = kind };
		names_fill(names, slot, space, by_offset);
	}
	if (slot->places)
		names_count_place(&names->places[slot->places - 1], slot->answer.distance, ticks);
	return &slot->answer;
}

/* --- late names ------------------------------------------------------------------------------- */

static bool names_poll_one(struct names *names, struct late_name *late, const struct image *image)
{
	struct symtab_entry entry;

	if (!image->symtab || !symtab_find(image->symtab, late->address, &entry))
		return false;
	late->better = names_intern_symbol(names, FRAME_KIND_USERLAND, &entry, image, entry.start);
	late->shift = (uint32_t)(late->address - entry.start) - late->distance;
	return true;
}

/*
 * A frame stays remembered while its file may be read again. The frame is dropped after its better
 * name was found, when its file is gone, and when its file has been read in whole.
 */
bool names_poll(struct names *names)
{
	bool any = false;
	size_t n = 0;

	for (size_t i = 0; i < names->n_late; i++) {
		struct late_name late = names->late[i];
		const struct image *image = image_place_get(&late.place);
		bool open = image && late.better == late.frame; /* has no better name yet */
		bool found = open && names_poll_one(names, &late, image);

		any |= found;
		if (found || (open && (image->incomplete || image->awaits_names)))
			names->late[n++] = late;
		else
			image_place_unref(late.place);
	}
	names->n_late = n;
	return any;
}

uint32_t names_find_better_shifted(void *context, uint32_t frame, uint32_t *shift)
{
	const struct names *names = context;
	size_t n = sorted_count(names->late, names->n_late, frame, frame);

	if (!n || names->late[n - 1].frame != frame)
		return frame;
	*shift = names->late[n - 1].shift;
	return names->late[n - 1].better;
}

uint32_t names_find_better(void *context, uint32_t frame)
{
	uint32_t shift = 0;

	return names_find_better_shifted(context, frame, &shift);
}
