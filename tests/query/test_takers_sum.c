/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who took the physical CPUs in a range of time: sums of made-up tables, as looks give them. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "query/takers_sum.h"
#include "tests/support/tap.h"

#define SECOND 1000000000ULL
#define MS     1000000ULL

enum { DB07 = 7, WEB02 = 8 };

/* Totals in ms since the looks began: what the guest's two vCPUs waited, and for whom. */
struct made {
	unsigned seconds, waited[2], db07, web02, used;
};

static struct takers_table *make(struct made made)
{
	struct takers_table *table = calloc(1, sizeof(*table));
	double steal = made.waited[0] + made.waited[1];

	table->domid = 5;
	table->looks = 10 * made.seconds;
	table->span_ns = made.seconds * SECOND;
	table->n_takers = 2;
	table->takers[0] = (struct taker){ .domid = WEB02, .name = "web02" };
	table->takers[1] = (struct taker){ .domid = DB07, .name = "db07", .weight = 512 };
	table->takers[0].share.total = made.web02 / steal;
	table->takers[1].share.total = made.db07 / steal;
	table->takers[1].cpus.total = made.used / (1e3 * made.seconds);
	table->n_vcpus = 2;
	for (unsigned i = 0; i < 2; i++) {
		table->vcpus[i] = (struct taken_vcpu){ .cpu = 3, .online = true };
		table->vcpus[i].span_ms = 1000 * made.seconds;
		table->vcpus[i].waited.total = made.waited[i] / (1e3 * made.seconds);
		table->vcpus[i].ran.total = 0.25;
		table->vcpus[i].longest_ns = (i ? 40 : 10 * made.seconds) * MS;
		for (unsigned j = 0; j < TAKERS_OF_VCPU; j++)
			table->vcpus[i].by[j] = UINT32_MAX;
		table->vcpus[i].by[0] = i ? WEB02 : DB07;
		table->vcpus[i].by_share[0] = 1;
	}
	return table;
}

#define MOST 8
static struct takers_table *tables[MOST];
static struct takers_sum sum;
static unsigned n;

static void add(struct takers_table *table)
{
	tables[n++] = table;
	check(takers_sum_add(&sum, table), "a table is added");
}

static void end(void)
{
	takers_sum_deinit(&sum);
	while (n)
		free(tables[--n]);
}

static bool is(double value, double wanted)
{
	return fabs(value - wanted) < 1e-6;
}

/* Before the range WEB02 took all; in it DB07 takes 900 of 1,200 ms in two seconds. */
static void test_range(void)
{
	struct takers_table *range;
	const struct taker *first;

	add(make((struct made){ 100, { 9000, 9000 }, 0, 18000, 0 }));
	check(!takers_sum_build(&sum), "one table gives no sum");
	check(takers_sum_add(&sum, NULL), "a moment without a table is added");
	add(make((struct made){ 101, { 9500, 9100 }, 500, 18100, 800 }));
	add(make((struct made){ 102, { 9900, 9300 }, 900, 18300, 1600 }));
	range = takers_sum_build(&sum);
	check(range && range->looks == 20 && range->span_ns == 2 * SECOND,
	      "the sum has two seconds of looks");
	check(is(range->steal.live, 0.3) && is(range->steal.total, 0.3), "steal %g of 4 s of vCPUs",
	      range->steal.total);
	first = &range->takers[0];
	check(first->domid == DB07 && is(first->share.live, 0.75) && is(first->share.total, 0.75),
	      "db07 took most: %g", first->share.total);
	check(!strcmp(first->name, "db07") && first->weight == 512,
	      "the first taker has its name and weight");
	check(is(first->cpus.total, 0.8), "the first taker used %g CPUs", first->cpus.total);
	/* Observations (taken, steal) are (500, 600) and (400, 600) ms: residuals of 50 ms each. */
	check(is(first->error.total, sqrt(2 * 50.0 * 50.0) / 1200),
	      "the error of the first taker's share: %g", first->error.total);
	check(is(range->takers[1].share.total, 0.25), "web02 took the rest");
	check(is(range->vcpus[0].waited.total, 0.45) && is(range->vcpus[1].waited.total, 0.15),
	      "each vCPU has its share of waiting");
	check(is(range->vcpus[0].ran.total, 0.25), "vCPU 0 has its share of running: %g",
	      range->vcpus[0].ran.total);
	check(range->vcpus[0].longest_ns == 1020 * MS && !range->vcpus[1].longest_ns,
	      "a vCPU's longest wait is told if it came in the range");
	check(range->vcpus[0].by[0] == DB07 && is(range->vcpus[0].by_share[0], 1) &&
		      range->vcpus[0].by[1] == UINT32_MAX && range->vcpus[1].by[0] == WEB02,
	      "each vCPU has its takers");
	free(range);
	end();
}

/* The user forgets all in the range: what comes later is added to what came before. */
static void test_reset(void)
{
	struct takers_table *range;

	add(make((struct made){ 100, { 9000, 9000 }, 0, 18000, 0 }));
	add(make((struct made){ 101, { 9500, 9100 }, 500, 18100, 800 }));
	add(make((struct made){ 2, { 300, 100 }, 400, 0, 1000 }));
	range = takers_sum_build(&sum);
	check(range && range->looks == 30 && range->span_ns == 3 * SECOND,
	      "the sum goes on after a reset: three seconds of looks");
	check(range && is(range->steal.total, 1.0 / 6) && is(range->takers[0].share.total, 0.9),
	      "900 of 1,000 ms are db07's: %g", range ? range->takers[0].share.total : 0);
	free(range);
	end();
}

/* The looks begin within the range: time that nobody has seen does not count. */
static void test_begin(void)
{
	struct takers_table *range;

	check(takers_sum_add(&sum, NULL) && !takers_sum_build(&sum),
	      "moments without looks give no sum");
	add(make((struct made){ 1, { 100, 0 }, 100, 0, 100 }));
	add(make((struct made){ 2, { 300, 0 }, 100, 200, 100 }));
	range = takers_sum_build(&sum);
	check(range && is(range->steal.total, 0.1) && range->takers[0].domid == WEB02 &&
		      is(range->takers[0].share.total, 1),
	      "the growth to the second table counts");
	free(range);
	end();
}

/* An old recording does not tell of how much time its shares are. */
static void test_old(void)
{
	for (unsigned second = 1; second <= 2; second++) {
		struct takers_table *table =
			make((struct made){ second, { 100 * second, 50 }, 100, 50, 100 });

		table->vcpus[0].span_ms = table->vcpus[1].span_ms = 0;
		add(table);
	}
	check(!takers_sum_build(&sum), "vCPUs without a span give no sum");
	end();
}

/* More domains come than a table has room for, and numbers that no look gives. */
static void test_many(void)
{
	struct takers_table *range;

	add(make((struct made){ 1, { 100, 50 }, 100, 50, 100 }));
	for (unsigned i = 0; i < 3; i++) {
		struct takers_table *table = make((struct made){ 2 + i, { 300, 50 }, 1, 1, 1 });

		table->n_takers = UINT32_MAX;
		table->n_vcpus = UINT32_MAX;
		for (unsigned j = 0; j < TAKERS_MAX; j++) {
			table->takers[j].domid = 100 * i + j;
			table->takers[j].share.total = i == 2 ? NAN : 1e300;
		}
		add(table);
	}
	range = takers_sum_build(&sum);
	check(range && range->n_takers == TAKERS_MAX, "a sum has at most TAKERS_MAX takers");
	free(range);
	end();
}

int main(void)
{
	test_range();
	test_reset();
	test_begin();
	test_old();
	test_many();
	return tap_done();
}
