/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares two guests. */
#include "config.h"

#include "ui/pair.h"

#include <stdio.h>
#include <stdlib.h>

#include "xtop/symbol/symbol.h"

/* --- the pipeline of the pair ----------------------------------------------------------------- */

static void pair_reset(void *context)
{
	struct pair *pair = context;

	pair->now->pipeline->reset(pair->now->pipeline->context);
	pair->base->pipeline->reset(pair->base->pipeline->context);
}

/* The first guest's message. The header asks the second guest itself. */
static const char *pair_message(void *context)
{
	struct pair *pair = context;
	const struct ui_pipeline *now = pair->now->pipeline;

	pair->pipeline.guest.kind = pair->now->kind;
	pair->pipeline.guest.n_vcpus = now->guest.n_vcpus;
	return now->message ? now->message(now->context) : "";
}

/* --- life ------------------------------------------------------------------------------------- */

static void pair_set_pipeline(struct pair *pair)
{
	snprintf(pair->name, sizeof(pair->name), "%.60s against %.57s", pair->now->name,
		 pair->base->name);
	pair->pipeline = (struct ui_pipeline){
		.context = pair,
		.guest = pair->now->pipeline->guest,
		.reset = pair_reset,
		.message = pair_message,
	};
	pair->pipeline.guest.name = pair->name;
	pair->pipeline.guest.kind = pair->now->kind;
	pair->pipeline.guest.system = guest_screen_system(pair->now);
}

struct xtop_error *pair_create(struct guest_screen *now, struct guest_screen *base,
			       double half_life_s, struct pair **pairp)
{
	struct pair *pair = calloc(1, sizeof(*pair));
	struct xtop_error *error;

	if (!pair)
		return error_create("out of memory");
	pair->now = now;
	pair->base = base;
	pair_set_pipeline(pair);
	error = frames_create(symbol_demangle, &pair->frames);
	if (!error) {
		frames_set_identity(pair->frames, FRAMES_BY_MODULE);
		error = guest_screen_create(&pair->pipeline, false, half_life_s, &pair->screen);
	}
	if (error) {
		pair_destroy(pair);
		return error;
	}
	pair->screen->against = base;
	*pairp = pair;
	return NULL;
}

void pair_destroy(struct pair *pair)
{
	if (!pair)
		return;
	guest_screen_destroy(pair->screen);
	frames_destroy(pair->frames);
	free(pair);
}

/* --- pictures --------------------------------------------------------------------------------- */

/* Translates the baseline first: the picture's table then has all names of the baseline. */
static struct xtop_error *pair_translate(struct pair *pair, uint64_t now_ns)
{
	struct guest_screen *screen = pair->screen;
	struct snapshot *base = NULL, *now;
	struct xtop_error *error = NULL;

	if (!screen->frozen)
		error = snapshot_translate(pair->base->live, pair->frames, &base);
	if (!error)
		error = snapshot_translate(pair->now->live, pair->frames, &now);
	if (error) {
		snapshot_destroy(base);
		return error;
	}
	if (base) {
		guest_screen_drop_baseline(screen);
		screen->baseline = base;
		screen->baseline_ns = pair->base->taken_ns;
	}
	guest_screen_set_live(screen, now, now_ns);
	return NULL;
}

struct xtop_error *pair_update(struct pair *pair, uint64_t now_ns, bool *changedp)
{
	uint64_t now = pair->now->live->sequence, base = pair->base->live->sequence;

	*changedp = now != pair->now_sequence || base != pair->base_sequence;
	pair->now_sequence = now;
	pair->base_sequence = base;
	return *changedp ? pair_translate(pair, now_ns) : NULL;
}
