/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums of who takes the physical CPUs; see takers_sum.h. */
#include "config.h"

#include "query/takers_sum.h"

#include <math.h>
#include <stdlib.h>

/* One taker's sums, in ns. sample/takers.c explains SQUARES and MIXED; here moments are batches. */
struct added_taker {
	struct taker newest; /* the taker's newest name, weight and cap */
	double taken, used, squares, mixed;
};

struct added_vcpu {
	double span, waited, ran; /* ns */
	uint64_t longest_ns;
	double by[TAKERS_MAX]; /* ns, by number of the taker */
};

struct takers_added {
	uint64_t looks, refused, span_ns, cpu_ns;
	double steal, steal_squares, vcpu_span; /* ns */
	size_t n;
	struct added_taker takers[TAKERS_MAX];
	struct added_vcpu vcpus[GUEST_MAX_VCPUS];
};

void takers_sum_deinit(struct takers_sum *sum)
{
	free(sum->added);
	*sum = (struct takers_sum){ .last = NULL };
}

/* --- totals of a table ------------------------------------------------------------------------ */

static size_t table_count_takers(const struct takers_table *table)
{
	return table->n_takers < TAKERS_MAX ? table->n_takers : TAKERS_MAX;
}

static size_t table_count_vcpus(const struct takers_table *table)
{
	return table->n_vcpus < GUEST_MAX_VCPUS ? table->n_vcpus : GUEST_MAX_VCPUS;
}

static double vcpu_span_ns(const struct taken_vcpu *vcpu)
{
	return vcpu->span_ms * 1e6;
}

static double table_steal_ns(const struct takers_table *table)
{
	double ns = 0;

	for (size_t i = 0; i < table_count_vcpus(table); i++)
		ns += table->vcpus[i].waited.total * vcpu_span_ns(&table->vcpus[i]);
	return ns;
}

static const struct taker *table_find(const struct takers_table *table, uint32_t domid)
{
	for (size_t i = 0; i < table_count_takers(table); i++)
		if (table->takers[i].domid == domid)
			return &table->takers[i];
	return NULL;
}

/* --- adding ----------------------------------------------------------------------------------- */

static double grown(double now, double before)
{
	return fmax(now - before, 0);
}

/*
 * The number of FROM's domain. A domain that finds no room shares the last number, which stands for
 * all others then.
 */
static size_t added_find_or_add(struct takers_added *added, const struct taker *from)
{
	size_t i = 0;

	while (i < added->n && added->takers[i].newest.domid != from->domid)
		i++;
	if (i == TAKERS_MAX) {
		added->takers[TAKERS_MAX - 1].newest = (struct taker){ .domid = TAKER_OTHERS };
		return TAKERS_MAX - 1;
	}
	if (i == added->n)
		added->n++;
	added->takers[i].newest = *from;
	return i;
}

static void added_add_taker(struct takers_added *added, const struct takers_table *before,
			    const struct takers_table *now, const struct taker *taker, double steal)
{
	const struct taker *last = table_find(before, taker->domid);
	double taken = grown(taker->share.total * table_steal_ns(now),
			     last ? last->share.total * table_steal_ns(before) : 0);
	struct added_taker *sum = &added->takers[added_find_or_add(added, taker)];

	sum->taken += taken;
	sum->squares += taken * taken;
	sum->mixed += taken * steal;
	sum->used += grown(taker->cpus.total * (double)now->span_ns,
			   last ? last->cpus.total * (double)before->span_ns : 0);
}

/* Divides the time that a vCPU waited among its takers, by what each took from it lately. */
static void added_add_vcpu(struct takers_added *added, size_t number, const struct taken_vcpu *last,
			   const struct takers_table *now)
{
	static const struct taken_vcpu nothing;
	const struct taken_vcpu *vcpu = &now->vcpus[number], *before = last ? last : &nothing;
	struct added_vcpu *sum = &added->vcpus[number];
	double span = grown(vcpu_span_ns(vcpu), vcpu_span_ns(before));
	double waited = grown(vcpu->waited.total * vcpu_span_ns(vcpu),
			      before->waited.total * vcpu_span_ns(before));

	added->vcpu_span += span;
	sum->span += span;
	sum->waited += waited;
	sum->ran += grown(vcpu->ran.total * vcpu_span_ns(vcpu),
			  before->ran.total * vcpu_span_ns(before));
	if (vcpu->longest_ns > before->longest_ns && vcpu->longest_ns > sum->longest_ns)
		sum->longest_ns = vcpu->longest_ns;
	for (unsigned i = 0; i < TAKERS_OF_VCPU && vcpu->by[i] != UINT32_MAX; i++) {
		const struct taker *taker = table_find(now, vcpu->by[i]);

		if (taker)
			sum->by[added_find_or_add(added, taker)] += waited * vcpu->by_share[i];
	}
}

static void added_add(struct takers_added *added, const struct takers_table *before,
		      const struct takers_table *now)
{
	double steal = grown(table_steal_ns(now), table_steal_ns(before));

	added->looks += now->looks - before->looks;
	added->refused += now->refused - before->refused;
	added->span_ns += now->span_ns - before->span_ns;
	added->cpu_ns += now->cpu_ns - before->cpu_ns;
	added->steal += steal;
	added->steal_squares += steal * steal;
	for (size_t i = 0; i < table_count_takers(now); i++)
		added_add_taker(added, before, now, &now->takers[i], steal);
	for (size_t i = 0; i < table_count_vcpus(now); i++)
		added_add_vcpu(added, i,
			       i < table_count_vcpus(before) ? &before->vcpus[i] : NULL, now);
}

/* Whether the sums of NOW go on from those of BEFORE. They begin anew when the user resets them. */
static bool takers_go_on(const struct takers_table *before, const struct takers_table *now)
{
	return now->domid == before->domid && now->looks >= before->looks &&
	       now->refused >= before->refused && now->span_ns >= before->span_ns &&
	       now->cpu_ns >= before->cpu_ns;
}

bool takers_sum_add(struct takers_sum *sum, const struct takers_table *now)
{
	static const struct takers_table nothing;
	const struct takers_table *before = sum->last;

	if (!now)
		return true;
	sum->last = now;
	if (!before)
		return true;
	if (!sum->added)
		sum->added = calloc(1, sizeof(*sum->added));
	if (sum->added)
		added_add(sum->added, takers_go_on(before, now) ? before : &nothing, now);
	return sum->added;
}

/* --- the table -------------------------------------------------------------------------------- */

/* A value for the whole range is both live and total. */
static struct taken taken_ratio(double part, double whole)
{
	double ratio = whole > 0 ? part / whole : 0;

	return (struct taken){ ratio, ratio };
}

static struct taken added_error(const struct takers_added *added, const struct added_taker *taker)
{
	double share = taken_ratio(taker->taken, added->steal).total;
	double sum = taker->squares - 2 * share * taker->mixed +
		     share * share * added->steal_squares;

	return taken_ratio(sqrt(fmax(sum, 0)), added->steal);
}

static int takers_compare_shares(const void *pointer_a, const void *pointer_b)
{
	const struct taker *a = pointer_a, *b = pointer_b;

	if (a->share.total != b->share.total)
		return a->share.total < b->share.total ? 1 : -1;
	return (a->domid > b->domid) - (a->domid < b->domid);
}

static void added_fill_takers(const struct takers_added *added, struct takers_table *table)
{
	table->n_takers = (uint32_t)added->n;
	for (size_t i = 0; i < added->n; i++) {
		const struct added_taker *from = &added->takers[i];

		table->takers[i] = from->newest;
		table->takers[i].share = taken_ratio(from->taken, added->steal);
		table->takers[i].error = added_error(added, from);
		table->takers[i].cpus = taken_ratio(from->used, (double)added->span_ns);
	}
	qsort(table->takers, added->n, sizeof(table->takers[0]), takers_compare_shares);
}

/* Sets who took most from the vCPU. */
static void added_fill_by(const struct takers_added *added, const struct added_vcpu *from,
			  struct taken_vcpu *vcpu)
{
	bool told[TAKERS_MAX] = { false };

	for (unsigned place = 0; place < TAKERS_OF_VCPU; place++) {
		size_t most = TAKERS_MAX;

		for (size_t i = 0; i < added->n; i++)
			if (!told[i] && from->by[i] > (most < TAKERS_MAX ? from->by[most] : 0))
				most = i;
		vcpu->by[place] = UINT32_MAX;
		if (most == TAKERS_MAX)
			continue;
		told[most] = true;
		vcpu->by[place] = added->takers[most].newest.domid;
		vcpu->by_share[place] = taken_ratio(from->by[most], from->waited).total;
	}
}

struct takers_table *takers_sum_build(const struct takers_sum *sum)
{
	const struct takers_added *added = sum->added;
	struct takers_table *table = NULL;

	if (added && added->vcpu_span > 0)
		table = malloc(sizeof(*table));
	if (!table)
		return NULL;
	*table = *sum->last;
	table->looks = added->looks;
	table->refused = added->refused;
	table->span_ns = added->span_ns;
	table->cpu_ns = added->cpu_ns;
	table->steal = taken_ratio(added->steal, added->vcpu_span);
	added_fill_takers(added, table);
	for (size_t i = 0; i < table_count_vcpus(table); i++) {
		const struct added_vcpu *from = &added->vcpus[i];

		table->vcpus[i].waited = taken_ratio(from->waited, from->span);
		table->vcpus[i].ran = taken_ratio(from->ran, from->span);
		table->vcpus[i].longest_ns = from->longest_ns;
		added_fill_by(added, from, &table->vcpus[i]);
	}
	return table;
}
