/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Batches of one second: design effects that can be computed by hand. */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/profile/batches.h"

#define SECOND 1000000000ULL
#define EVEN   7 /* frames */
#define ALWAYS 9

static void add_second(struct batches *batches, uint64_t second, unsigned n, uint32_t frame)
{
	for (unsigned i = 0; i < n; i++) {
		batches_begin(batches, second * SECOND + i * (SECOND / n), 1);
		batches_count(batches, frame);
		batches_count(batches, frame); /* recursion: once a sample */
	}
}

/*
 * 100 samples a second, all of EVEN in even seconds and of another in odd ones. The share is 1/2,
 * the variance 0.25 / (k - 1) instead of 0.25 / (100 k): an effect of 100 k / (k - 1).
 */
static void test_blocks(void)
{
	struct batches *batches;
	struct batches_worth worth;

	must(batches_create(0, &batches));
	for (uint64_t i = 0; i < 20; i++)
		add_second(batches, 100 + i, 100, i % 2 ? EVEN + 1 : EVEN);
	worth = batches_get_worth(batches, false);
	check(worth.batches == 20 && fabs(worth.samples - 2000) < 1e-6, "worth %g batches, %g samples",
	      worth.batches, worth.samples);
	check(fabs(batches_get_effect(batches, EVEN, false) - 100.0 * 20 / 19) < 1e-6, "effect %g",
	      batches_get_effect(batches, EVEN, false));
	check(batches_get_effect(batches, EVEN, true) == batches_get_effect(batches, EVEN, false),
	      "without decay live is all");
	check(batches_get_effect(batches, 1234567, false) == 1, "a function that was not seen");
	/* All in the batch that goes on: the variance is that of one burst. */
	for (unsigned i = 0; i < 50; i++) {
		batches_begin(batches, 120 * SECOND + i, 1);
		batches_count(batches, ALWAYS);
	}
	check(batches_get_effect(batches, ALWAYS, false) > 20, "a burst at the end: effect %g",
	      batches_get_effect(batches, ALWAYS, false));
	batches_reset(batches);
	check(batches_get_worth(batches, false).batches == 0, "a reset forgets the batches");
	check(batches_get_effect(batches, EVEN, false) == 1, "reset: nothing is known");
	batches_destroy(batches);
}

/* Samples that take turns vary less than independent ones: the effect is never below 1. */
static void test_turns(void)
{
	struct batches *batches;

	must(batches_create(0, &batches));
	for (unsigned i = 0; i < 2000; i++) {
		batches_begin(batches, i * (SECOND / 100), 1);
		batches_count(batches, i % 2 ? EVEN : ALWAYS);
	}
	check(batches_get_effect(batches, EVEN, false) == 1,
	      "a function at every other tick has a design effect of 1");
	batches_destroy(batches);
}

/* With a half-life of h batches, the weights 2^(-i/h) are worth about 2 h / ln 2 batches. */
static void test_decay(void)
{
	struct batches *batches;
	struct batches_worth live;
	double effect;

	must(batches_create(10 * SECOND, &batches));
	for (uint64_t i = 0; i < 400; i++)
		add_second(batches, i, 100, i < 200 ? ALWAYS : i % 2 ? EVEN + 1 : EVEN);
	live = batches_get_worth(batches, true);
	check(fabs(live.batches - 28.86) < 1, "live: worth %g batches", live.batches);
	check(fabs(live.samples - 2886) < 100, "live: worth %g samples", live.samples);
	effect = batches_get_effect(batches, EVEN, true);
	check(fabs(effect - 100) < 10, "live: effect %g of the last seconds", effect);
	check(fabs(batches_get_worth(batches, false).batches - 400) < 1e-9, "all: 400 batches");
	batches_destroy(batches);
}

/* A sample that stands for several ticks is not worth several samples. */
static void test_weights(void)
{
	struct batches *batches;

	must(batches_create(0, &batches));
	for (unsigned i = 0; i < 1000; i++) {
		batches_begin(batches, i * (SECOND / 10), i % 2 ? 1 : 3);
		batches_count(batches, EVEN);
	}
	/* (500 * 4)^2 / (500 * 10) */
	check(fabs(batches_get_worth(batches, false).samples - 800) < 1e-6, "worth %g samples",
	      batches_get_worth(batches, false).samples);
	batches_destroy(batches);
}

static void test_bounded(void)
{
	struct batches *batches;

	must(batches_create(0, &batches));
	for (uint32_t i = 0; i < 2 * BATCHES_MAX_FUNCTIONS; i++) {
		batches_begin(batches, i * (SECOND / 100), 1);
		batches_count(batches, i);
	}
	check(batches_get_effect(batches, 2 * BATCHES_MAX_FUNCTIONS - 1, false) == 1,
	      "functions beyond the limit are not measured");
	batches_destroy(batches);
}

int main(void)
{
	test_blocks();
	test_turns();
	test_decay();
	test_weights();
	test_bounded();
	return tap_done();
}
