/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The locations of a pprof file. Main's thread. */
#include "config.h"

#include "export/pprof_locations.h"

#include <stdlib.h>
#include <string.h>

#include "xtop/base/vector.h"
#include "xtop/query/line_expander.h"

bool pprof_locations_init(struct pprof_locations *locations, uint32_t n_frames)
{
	*locations = (struct pprof_locations){ 0 };
	locations->alone = calloc(n_frames, sizeof(*locations->alone));
	return locations->alone;
}

void pprof_locations_deinit(struct pprof_locations *locations)
{
	hash_table_deinit(&locations->inlined);
	free(locations->list);
	free(locations->alone);
}

struct location_key {
	const struct pprof_locations *locations;
	struct pprof_place location;
};

static bool location_is_same(const void *context, uint32_t number)
{
	const struct location_key *key = context;
	const struct pprof_place *location = &key->locations->list[number - 1];

	return location->frame == key->location.frame && location->outer == key->location.outer;
}

static uint32_t location_add(struct pprof_locations *locations, uint32_t frame, uint32_t outer)
{
	if (!vector_reserve(locations->list, locations->capacity, locations->n + 1)) {
		locations->failed = true;
		return 0;
	}
	locations->list[locations->n++] = (struct pprof_place){ frame, outer };
	return (uint32_t)locations->n;
}

uint32_t pprof_locations_get(struct pprof_locations *locations, uint32_t frame, uint32_t outer)
{
	const struct location_key key = { locations, { frame, outer } };
	uint64_t hash;
	uint32_t number;

	if (!outer) {
		if (!locations->alone[frame])
			locations->alone[frame] = location_add(locations, frame, 0);
		return locations->alone[frame];
	}
	hash = hash_word(frame, outer);
	number = hash_table_find(&locations->inlined, hash, location_is_same, &key);
	if (number != HASH_NONE)
		return number;
	number = location_add(locations, frame, outer);
	if (!number)
		return 0;
	locations->failed |= !hash_table_add(&locations->inlined, hash, number);
	return number;
}

size_t pprof_inlined_mark(const struct frame *frame)
{
	size_t length = strlen(frame->name), mark = strlen(LINE_EXPANDER_INLINED_MARK);

	if (length <= mark || strcmp(frame->name + length - mark, LINE_EXPANDER_INLINED_MARK) != 0)
		return 0;
	return mark;
}

bool pprof_is_inlined(const struct frame *frame, const struct frame *outer)
{
	return frame->address == outer->address && frame->build == outer->build &&
	       frame->kind == outer->kind && strcmp(frame->module, outer->module) == 0 &&
	       pprof_inlined_mark(frame);
}
