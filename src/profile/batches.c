/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sums over batches of one second; see batches.h. A function costs time only in batches in
 * which it has samples: its live sums are those of the last such batch, and decay when they are
 * used. The live weight w of a batch halves every half-life. x has the weight w, and x^2 has w^2.
 * A product of two batches in a row has the product of their weights.
 */
#include "config.h"

#include "xtop/profile/batches.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "xtop/base/vector.h"

#define BATCH_NS        1000000000ULL
#define BATCHES_MIN     5 /* the variance of fewer is not known */
#define BATCHES_NO_SLOT 0
#define BATCHES_MAX_CORRELATION 0.8 /* a larger one may be a drift */

struct batch_sums {
	double x, xx, xn;
	double lag_xx; /* x of a batch, times x of the batch before */
	double lag_xn; /* x of one of two batches in a row, times n of the other; both ways */
};

struct batches_slot {
	uint64_t batch;  /* the live sums are as of this batch */
	uint64_t sample; /* number of the last sample that has the function */
	double x;        /* ticks in the current batch */
	double x_before; /* ticks in the second before that */
	struct batch_sums total, live;
};

/* Sums over all functions. */
struct batches_all {
	double k, kk; /* sum w, sum w^2 of batches */
	double n, nn;
	double lag_nn;            /* n of a batch, times n of the batch before */
	double samples, samples2; /* sums of ticks and of their squares */
};

struct batches {
	double half_life_batches; /* 0: no decay */
	uint64_t batch;           /* number of the current batch: seconds */
	uint64_t sample;          /* number of the current sample */
	bool started;
	double ticks;             /* weight of the current sample */
	double n, n_before;       /* ticks of the current batch, and of the second before that */
	double n_samples, n_samples2; /* the batch's sums of ticks and of their squares */
	struct batches_all total, live;
	struct batches_slot *slots; /* slot 0 is not used */
	size_t n_slots, slots_capacity;
	uint32_t *slot_of; /* indexed by frame */
	size_t n_frames, frames_capacity;
	uint32_t *touched; /* slots with samples in the current batch or the second before */
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
	batches->n = batches->n_before = batches->n_samples = batches->n_samples2 = 0;
	batches->started = false;
}

/* What is left of a live weight after AGE batches. */
static double batches_decay(const struct batches *batches, uint64_t age)
{
	return batches->half_life_batches > 0 ? exp2(-(double)age / batches->half_life_batches) : 1;
}

/* --- the end of a batch ----------------------------------------------------------------------- */

/* Adds a batch. Older batches have decayed by DECAY since theirs, and the batch before by LAG. */
static void sums_add(struct batch_sums *sums, double decay, double lag,
		     const struct batches_slot *slot, const struct batches *batches)
{
	double squared = decay * decay, x = slot->x, n = batches->n;

	sums->x = sums->x * decay + x;
	sums->xx = sums->xx * squared + x * x;
	sums->xn = sums->xn * squared + x * n;
	sums->lag_xx = sums->lag_xx * squared + lag * x * slot->x_before;
	sums->lag_xn = sums->lag_xn * squared + lag * (x * batches->n_before + slot->x_before * n);
}

/* Adds the current batch of all functions. LAG is that of sums_add(). */
static void all_add(struct batches_all *all, double lag, const struct batches *batches)
{
	all->k += 1;
	all->kk += 1;
	all->n += batches->n;
	all->nn += batches->n * batches->n;
	all->lag_nn += lag * batches->n * batches->n_before;
	all->samples += batches->n_samples;
	all->samples2 += batches->n_samples2;
}

static void all_decay(struct batches_all *all, double decay)
{
	double squared = decay * decay;

	all->k *= decay;
	all->kk *= squared;
	all->n *= decay;
	all->nn *= squared;
	all->lag_nn *= squared;
	all->samples *= decay;
	all->samples2 *= squared;
}

/* Adds the current batch to the sums of SLOT. NEXT is the batch that follows. */
static void slot_end(struct batches *batches, struct batches_slot *slot, uint64_t next)
{
	sums_add(&slot->total, 1, 1, slot, batches);
	sums_add(&slot->live, batches_decay(batches, batches->batch - slot->batch),
		 batches_decay(batches, 1), slot, batches);
	slot->batch = batches->batch;
	slot->x_before = next == batches->batch + 1 ? slot->x : 0;
	slot->x = 0;
}

/*
 * Ends the current batch; NEXT is the next one. Seconds without samples in between are no batches:
 * live sums only decay.
 */
static void batches_end(struct batches *batches, uint64_t next)
{
	size_t n = 0;

	for (size_t i = 0; i < batches->n_touched; i++) {
		struct batches_slot *slot = &batches->slots[batches->touched[i]];

		slot_end(batches, slot, next);
		if (slot->x_before > 0)
			batches->touched[n++] = batches->touched[i];
	}
	batches->n_touched = n;
	all_add(&batches->total, 1, batches);
	all_add(&batches->live, batches_decay(batches, 1), batches);
	all_decay(&batches->live, batches_decay(batches, next - batches->batch));
	batches->n_before = next == batches->batch + 1 ? batches->n : 0;
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
	if (!(slot->x > 0) && !(slot->x_before > 0)) {
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
		all_add(&all, live ? batches_decay(batches, 1) : 1, batches);
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

/*
 * How much larger the variance of a mean is for batches that resemble the batch before, than for
 * independent ones: (1 + r) / (1 - r) for the correlation r of neighbours, if the correlation falls
 * by that factor with each batch. A correlation that chance explains counts as 0. A measured one is
 * too small by about (1 + 3 r) / k (F. H. C. Marriott, J. A. Pope, Biometrika 41, 1954).
 */
static double batches_inflate(double correlation, double batches)
{
	double r = correlation + (1 + 3 * correlation) / batches;

	if (correlation <= 0 || correlation * correlation * batches < 1)
		return 1;
	r = fmin(r, BATCHES_MAX_CORRELATION);
	return (1 + r) / (1 - r);
}

double batches_get_effect(const struct batches *batches, uint32_t frame, bool live)
{
	struct batches_all all = batches_get_all(batches, live);
	struct batches_worth worth = batches_get_worth(batches, live);
	uint32_t number = frame < batches->n_frames ? batches->slot_of[frame] : BATCHES_NO_SLOT;
	const struct batches_slot *slot;
	struct batch_sums sums;
	double p, squares, lagged, variance, independent;

	if (number == BATCHES_NO_SLOT || worth.batches < BATCHES_MIN)
		return 1;
	slot = &batches->slots[number];
	sums = live ? slot->live : slot->total;
	sums_add(&sums, live ? batches_decay(batches, batches->batch - slot->batch) : 1,
		 live ? batches_decay(batches, 1) : 1, slot, batches);
	p = sums.x / all.n;
	independent = p * (1 - p) / worth.samples;
	squares = sums.xx - 2 * p * sums.xn + p * p * all.nn;
	lagged = sums.lag_xx - p * sums.lag_xn + p * p * all.lag_nn;
	variance = squares / (all.n * all.n) * worth.batches / (worth.batches - 1);
	if (squares > 0)
		variance *= batches_inflate(lagged / squares, worth.batches);
	return independent > 0 && variance > independent ? variance / independent : 1;
}
