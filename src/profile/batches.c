/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sums over batches of one second; see batches.h. A function costs time only in batches in
 * which it has samples: its live sums are those of the last such batch, and decay when they are
 * used. The live weight w of a batch halves every half-life. x has the weight w, and x^2 has w^2.
 */
#include "config.h"

#include "xtop/profile/batches.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "xtop/base/vector.h"

#define BATCH_NS        1000000000ULL
#define BATCHES_MIN     5 /* with fewer, the variance is not known */
#define BATCHES_NO_SLOT 0

struct batch_sums {
	double x, xx, xn;
};

struct batches_slot {
	uint64_t batch;  /* the live sums are as of this batch */
	uint64_t sample; /* the last sample that counted */
	double x;        /* ticks in the current batch */
	struct batch_sums total, live;
};

/* Sums over all functions. */
struct batches_all {
	double k, kk; /* sum w, sum w^2 of batches */
	double n, nn;
	double samples, samples2; /* sums of ticks and of their squares */
};

struct batches {
	double half_life_batches; /* 0: no decay */
	uint64_t batch;           /* number of the current batch: seconds */
	uint64_t sample;          /* number of the current sample */
	bool started;
	double ticks;             /* weight of the current sample */
	double n;                 /* ticks of the current batch */
	double n_samples, n_samples2; /* the batch's sums of ticks and of their squares */
	struct batches_all total, live;
	struct batches_slot *slots; /* slot 0 is not used */
	size_t n_slots, slots_capacity;
	uint32_t *slot_of; /* by frame */
	size_t n_frames, frames_capacity;
	uint32_t *touched; /* slots with samples in the current batch */
	size_t n_touched, touched_capacity;
};

struct xtop_error *batches_create(uint64_t half_life_ns, struct batches **batchesp)
{
	struct batches *batches = calloc(1, sizeof(*batches));

	if (!batches)
		return error_create("out of memory");
	batches->half_life_batches = (double)half_life_ns / BATCH_NS;
	batches->n_slots = 1;
	*batchesp = batches;
	return NULL;
}

void batches_destroy(struct batches *batches)
{
	if (!batches)
		return;
	free(batches->slots);
	free(batches->slot_of);
	free(batches->touched);
	free(batches);
}

void batches_reset(struct batches *batches)
{
	if (batches->n_frames)
		memset(batches->slot_of, 0, batches->n_frames * sizeof(*batches->slot_of));
	batches->n_slots = 1;
	batches->n_touched = 0;
	batches->total = batches->live = (struct batches_all){ 0 };
	batches->n = batches->n_samples = batches->n_samples2 = 0;
	batches->started = false;
}

/* What is left of a live weight after AGE batches. */
static double batches_decay(const struct batches *batches, uint64_t age)
{
	return batches->half_life_batches > 0 ? exp2(-(double)age / batches->half_life_batches) : 1;
}

/* --- the end of a batch ----------------------------------------------------------------------- */

static void sums_add(struct batch_sums *sums, double decay, double x, double n)
{
	sums->x = sums->x * decay + x;
	sums->xx = sums->xx * decay * decay + x * x;
	sums->xn = sums->xn * decay * decay + x * n;
}

static void all_add(struct batches_all *all, double decay, const struct batches *batches)
{
	double squared = decay * decay;

	all->k = all->k * decay + 1;
	all->kk = all->kk * squared + 1;
	all->n = all->n * decay + batches->n;
	all->nn = all->nn * squared + batches->n * batches->n;
	all->samples = all->samples * decay + batches->n_samples;
	all->samples2 = all->samples2 * squared + batches->n_samples2;
}

/*
 * Ends the current batch; NEXT is the next one. Seconds without samples in between are no batches:
 * live sums only decay.
 */
static void batches_end(struct batches *batches, uint64_t next)
{
	for (size_t i = 0; i < batches->n_touched; i++) {
		struct batches_slot *slot = &batches->slots[batches->touched[i]];

		sums_add(&slot->total, 1, slot->x, batches->n);
		sums_add(&slot->live, batches_decay(batches, batches->batch - slot->batch), slot->x,
			 batches->n);
		slot->batch = batches->batch;
		slot->x = 0;
	}
	all_add(&batches->total, 1, batches);
	all_add(&batches->live, 1, batches);
	if (batches->half_life_batches > 0) { /* as of the next batch */
		double decay = batches_decay(batches, next - batches->batch);

		batches->live.k *= decay;
		batches->live.kk *= decay * decay;
		batches->live.n *= decay;
		batches->live.nn *= decay * decay;
		batches->live.samples *= decay;
		batches->live.samples2 *= decay * decay;
	}
	batches->n_touched = 0;
	batches->n = batches->n_samples = batches->n_samples2 = 0;
	batches->batch = next;
}

/* --- samples ---------------------------------------------------------------------------------- */

void batches_begin(struct batches *batches, uint64_t time_ns, double ticks)
{
	uint64_t batch = time_ns / BATCH_NS;

	if (!batches->started)
		batches->batch = batch;
	else if (batch > batches->batch)
		batches_end(batches, batch);
	batches->started = true;
	batches->sample++;
	batches->ticks = ticks;
	batches->n += ticks;
	batches->n_samples += ticks;
	batches->n_samples2 += ticks * ticks;
}

/* Best effort: BATCHES_NO_SLOT when there is no room. */
static uint32_t batches_find_or_add(struct batches *batches, uint32_t frame)
{
	if (frame >= batches->n_frames) {
		size_t n = batches->n_frames;

		if (!vector_reserve(batches->slot_of, batches->frames_capacity, (size_t)frame + 1))
			return BATCHES_NO_SLOT;
		batches->n_frames = batches->frames_capacity;
		memset(batches->slot_of + n, 0,
		       (batches->n_frames - n) * sizeof(*batches->slot_of));
	}
	if (batches->slot_of[frame] != BATCHES_NO_SLOT)
		return batches->slot_of[frame];
	if (batches->n_slots > BATCHES_MAX_FUNCTIONS ||
	    !vector_reserve(batches->slots, batches->slots_capacity, batches->n_slots + 1))
		return BATCHES_NO_SLOT;
	batches->slots[batches->n_slots] = (struct batches_slot){ .batch = batches->batch };
	batches->slot_of[frame] = (uint32_t)batches->n_slots;
	return (uint32_t)batches->n_slots++;
}

void batches_count(struct batches *batches, uint32_t frame)
{
	uint32_t number = batches_find_or_add(batches, frame);
	struct batches_slot *slot;

	if (number == BATCHES_NO_SLOT)
		return;
	slot = &batches->slots[number];
	if (slot->sample == batches->sample)
		return;
	if (!(slot->x > 0)) {
		if (!vector_reserve(batches->touched, batches->touched_capacity,
				    batches->n_touched + 1))
			return;
		batches->touched[batches->n_touched++] = number;
	}
	slot->sample = batches->sample;
	slot->x += batches->ticks;
}

/* --- answers ---------------------------------------------------------------------------------- */

/* The current batch counts, too: a function may have all its samples there. */
static struct batches_all batches_get_all(const struct batches *batches, bool live)
{
	struct batches_all all = live ? batches->live : batches->total;

	if (batches->n > 0)
		all_add(&all, 1, batches);
	return all;
}

struct batches_worth batches_get_worth(const struct batches *batches, bool live)
{
	struct batches_all all = batches_get_all(batches, live);
	double squares = all.samples2;

	return (struct batches_worth){
		.batches = all.kk > 0 ? all.k * all.k / all.kk : 0,
		.samples = squares > 0 ? all.samples * all.samples / squares : 0,
	};
}

double batches_get_effect(const struct batches *batches, uint32_t frame, bool live)
{
	struct batches_all all = batches_get_all(batches, live);
	struct batches_worth worth = batches_get_worth(batches, live);
	uint32_t number = frame < batches->n_frames ? batches->slot_of[frame] : BATCHES_NO_SLOT;
	const struct batches_slot *slot;
	struct batch_sums sums;
	double p, variance, independent;

	if (number == BATCHES_NO_SLOT || worth.batches < BATCHES_MIN)
		return 1;
	slot = &batches->slots[number];
	sums = live ? slot->live : slot->total;
	sums_add(&sums, live ? batches_decay(batches, batches->batch - slot->batch) : 1, slot->x,
		 batches->n);
	p = sums.x / all.n;
	independent = p * (1 - p) / worth.samples;
	variance = (sums.xx - 2 * p * sums.xn + p * p * all.nn) / (all.n * all.n) * worth.batches /
		   (worth.batches - 1);
	return independent > 0 && variance > independent ? variance / independent : 1;
}
