/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Translates a snapshot of one run into the frames of another run. Frames of the same identity
 * (frames.h) then have the same id, so that views can compare the two. The owner of the frames
 * calls it.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "xtop/base/cleanup.h"
#include "xtop/profile/snapshot.h"

/* Where several frames became one, the largest design effect counts. */
static void translate_effects(const struct snapshot *from, const uint32_t *ids, struct snapshot *to)
{
	for (uint32_t i = 0; i < to->n_frames; i++)
		to->effects[i] = (struct snapshot_effect){ 1, 1, 1, 1 };
	for (uint32_t i = 0; i < from->n_frames; i++) {
		const struct snapshot_effect *one = &from->effects[i];
		struct snapshot_effect *effect = &to->effects[ids[i]];

		effect->self_live = fmaxf(effect->self_live, one->self_live);
		effect->self_total = fmaxf(effect->self_total, one->self_total);
		effect->children_live = fmaxf(effect->children_live, one->children_live);
		effect->children_total = fmaxf(effect->children_total, one->children_total);
	}
}

/* Translates the other ids of frames: those of places, and the last function of each vCPU. */
static void translate_rest(const uint32_t *ids, struct snapshot *to)
{
	for (unsigned i = 0; i < to->n_places; i++)
		to->places[i].frame = ids[to->places[i].frame];
	qsort(to->places, to->n_places, sizeof(to->places[0]), snapshot_compare_places);
	for (unsigned i = 0; to->run && i < to->run->n_vcpus && i < GUEST_MAX_VCPUS; i++)
		to->run->vcpus[i].last_frame = ids[to->run->vcpus[i].last_frame];
}

/* The frame of the new table for the frame ID of FROM; FRAME_NONE: ID is no frame of FROM. */
static uint32_t translate_id(const struct snapshot *from, const uint32_t *ids, uint32_t id)
{
	return id < from->n_frames ? ids[id] : FRAME_NONE;
}

static void translate_exits(const struct snapshot *from, const uint32_t *ids,
			    struct exits_table *exits)
{
	for (size_t i = 0; i < exits->n_rows; i++)
		exits->rows[i].frame = translate_id(from, ids, exits->rows[i].frame);
	for (size_t i = 0; i < exits->n_causes; i++) {
		struct exits_place *place = &exits->causes[i].place;

		place->frame = translate_id(from, ids, place->frame);
		place->process = translate_id(from, ids, place->process);
	}
}

/* Gives TO the source lines of FROM. Best effort: without memory there are none. */
static void translate_sources(const struct snapshot *from, const uint32_t *ids, struct snapshot *to)
{
	to->sources = reallocarray(NULL, to->n_frames, sizeof(*to->sources));
	for (uint32_t i = 0; to->sources && i < to->n_frames; i++)
		to->sources[i] = FRAME_NONE;
	for (uint32_t i = 0; to->sources && i < from->n_frames; i++)
		if (from->sources[i] != FRAME_NONE)
			to->sources[ids[i]] = translate_id(from, ids, from->sources[i]);
}

struct xtop_error *snapshot_translate(const struct snapshot *from, struct frames *frames,
				      struct snapshot **top)
{
	_cleanup_free_ uint32_t *ids = reallocarray(NULL, from->n_frames, sizeof(*ids));
	struct snapshot *to = ids ? snapshot_copy(from) : NULL;

	if (!to)
		return error_create("no memory for the baseline");
	for (uint32_t i = 0; i < from->n_frames; i++)
		ids[i] = frames_translate(from->frames, i, frames);
	for (size_t i = 0; i < to->n_nodes; i++)
		to->nodes[i].frame = ids[to->nodes[i].frame];
	translate_rest(ids, to);
	/* Nobody compares waits, hypercalls, or what told where frames are. */
	snapshot_waits_destroy(to->waits);
	to->waits = NULL;
	if (to->run) {
		free(to->run->calls);
		to->run->calls = NULL;
		free(to->run->events);
		to->run->events = NULL;
		if (to->run->exits)
			translate_exits(from, ids, to->run->exits);
	}
	free(to->found_by);
	to->found_by = NULL;
	to->frames = frames;
	to->n_frames = frames_count(frames);
	if (from->effects) {
		free(to->effects);
		to->effects = reallocarray(NULL, to->n_frames, sizeof(*to->effects));
		if (to->effects)
			translate_effects(from, ids, to);
	}
	free(to->sources);
	to->sources = NULL;
	if (from->sources)
		translate_sources(from, ids, to);
	*top = to;
	return NULL;
}

bool snapshot_is_plain(const struct snapshot *snapshot)
{
	for (uint32_t i = 0; i < snapshot->n_frames; i++)
		if (frames_get(snapshot->frames, i)->kind == FRAME_KIND_FUNCTION)
			return true;
	return false;
}
