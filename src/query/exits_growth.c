/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Growth of exits from table to table; see exits_growth.h. */
#include "config.h"

#include "query/exits_growth.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "xtop/base/vector.h"

void exits_growth_deinit(struct exits_growth *growth)
{
	free(growth->parts);
	free(growth->times);
	*growth = (struct exits_growth){ .n = 0 };
}

size_t exits_growth_memory_bytes(const struct exits_growth *growth)
{
	return growth->n * sizeof(*growth->parts) +
	       (growth->times ? (growth->n_rows + growth->n_vcpus) * sizeof(*growth->times) : 0);
}

/* --- parts ------------------------------------------------------------------------------------ */

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

/* A reason comes before its functions. */
static int exits_compare_parts(const void *pointer_a, const void *pointer_b)
{
	const struct exits_part *a = pointer_a, *b = pointer_b;
	const int orders[] = {
		COMPARE(a->reason.kind, b->reason.kind),
		COMPARE(a->reason.code, b->reason.code),
		COMPARE(a->reason.handler, b->reason.handler),
		COMPARE(a->reason.detail, b->reason.detail),
		COMPARE(a->is_cause, b->is_cause),
		COMPARE(a->place.frame, b->place.frame),
		COMPARE(a->place.process, b->place.process),
	};

	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++)
		if (orders[i])
			return orders[i];
	return 0;
}

static struct exits_part exits_part_of_row(const struct exits_row *row)
{
	return (struct exits_part){ .reason = row->reason,
				    .frame = row->frame,
				    .weight = row->total,
				    .longest_ns = row->longest_ns,
				    .times = row->times };
}

static struct exits_part exits_part_of_cause(const struct exits_table *table,
					     const struct exits_cause *cause)
{
	return (struct exits_part){ .reason = table->rows[cause->row].reason,
				    .is_cause = true,
				    .place = cause->place,
				    .weight = cause->total };
}

/* Rows and functions of TABLE, sorted. NULL: out of memory. */
static struct exits_part *exits_parts_of(const struct exits_table *table)
{
	size_t n = table->n_rows + table->n_causes, at = 0;
	struct exits_part *parts = calloc(n + 1, sizeof(*parts));

	if (!parts)
		return NULL;
	for (size_t i = 0; i < table->n_rows; i++)
		parts[at++] = exits_part_of_row(&table->rows[i]);
	for (size_t i = 0; i < table->n_causes; i++)
		parts[at++] = exits_part_of_cause(table, &table->causes[i]);
	qsort(parts, n, sizeof(*parts), exits_compare_parts);
	return parts;
}

/* --- growth ----------------------------------------------------------------------------------- */

static struct exits_weight exits_scale(struct exits_weight weight, double factor)
{
	return (struct exits_weight){ (uint64_t)((double)weight.count * factor + 0.5),
				      weight.ns * factor };
}

/* Turns PART into its growth. A total that is smaller than before was reset: then all is growth. */
static void exits_subtract_part(struct exits_part *part, const struct exits_part *before)
{
	if (part->weight.count < before->weight.count)
		return;
	part->weight.count -= before->weight.count;
	part->weight.ns -= fmin(part->weight.ns, before->weight.ns);
	if (part->longest_ns <= before->longest_ns)
		part->longest_ns = 0;
}

/*
 * Scales the functions among PARTS down to COUNT exits in all: only the new ones, or only the
 * others. Returns how many exits they have then.
 */
static uint64_t exits_lower(struct exits_part *parts, const bool *is_new, bool new_ones, size_t n,
			    uint64_t count)
{
	uint64_t sum = 0;

	for (size_t i = 1; i < n; i++)
		sum += is_new[i] == new_ones ? parts[i].weight.count : 0;
	for (size_t i = 1; sum > count && i < n; i++)
		if (is_new[i] == new_ones)
			parts[i].weight = exits_scale(parts[i].weight, (double)count / (double)sum);
	return sum < count ? sum : count;
}

/*
 * Lets functions grow by no more than their reason. PARTS has the reason, then its functions.
 * IS_NEW says which functions the last table did not have. A function that got a better name brings
 * its older exits to that name, and looks new. So functions that the last table had come first.
 */
static void exits_limit(struct exits_part *parts, const bool *is_new, size_t n)
{
	uint64_t most = n ? parts[0].weight.count : 0;
	uint64_t known = exits_lower(parts, is_new, false, n, most);

	exits_lower(parts, is_new, true, n, most - known);
}

/* What the last table had of PART. NULL: nothing. */
static const struct exits_part *exits_find_before(const struct exits_growth *growth,
						  const struct exits_part *part)
{
	/* growth->parts may be NULL */
	return growth->n ? bsearch(part, growth->parts, growth->n, sizeof(*part),
				   exits_compare_parts)
			 : NULL;
}

/* Turns the totals of the N PARTS into their growth. IS_NEW has room for N elements. */
static void exits_subtract(const struct exits_growth *growth, struct exits_part *parts, size_t n,
			   bool *is_new)
{
	const struct exits_part *before;
	size_t first = 0;

	for (size_t i = 0; i < n; i++) {
		if (!parts[i].is_cause) {
			exits_limit(parts + first, is_new + first, i - first);
			first = i;
		}
		before = exits_find_before(growth, &parts[i]);
		is_new[i] = !before;
		if (before)
			exits_subtract_part(&parts[i], before);
	}
	exits_limit(parts + first, is_new + first, n - first);
}

/* The growth of PART, one of the N parts at GROWN. */
static struct exits_grown exits_find_grown(const struct exits_part *grown, size_t n,
					   struct exits_part part)
{
	const struct exits_part *found =
		bsearch(&part, grown, n, sizeof(part), exits_compare_parts);

	return found ? (struct exits_grown){ found->weight, found->longest_ns, 0 }
		     : (struct exits_grown){ .longest_ns = 0 };
}

/* What the rows and functions of COPY grew by. */
static struct exits_moment *exits_pick(const struct exits_part *grown, size_t n,
				       const struct exits_table *copy)
{
	size_t n_picked = copy->n_rows + copy->n_causes + copy->n_vcpus;
	struct exits_moment *picked =
		calloc(1, sizeof(*picked) + n_picked * sizeof(picked->grown[0]));

	if (!picked)
		return NULL;
	picked->n = n_picked;
	for (size_t i = 0; i < copy->n_rows; i++)
		picked->grown[i] = exits_find_grown(grown, n, exits_part_of_row(&copy->rows[i]));
	for (size_t i = 0; i < copy->n_causes; i++)
		picked->grown[copy->n_rows + i] =
			exits_find_grown(grown, n, exits_part_of_cause(copy, &copy->causes[i]));
	return picked;
}

/* --- times ------------------------------------------------------------------------------------ */

/* Where the last table has the times of ROW's reason, or NULL. */
static const struct time_histogram *exits_find_times(const struct exits_growth *growth,
						     const struct exits_row *row)
{
	const struct exits_part part = exits_part_of_row(row);
	const struct exits_part *before = exits_find_before(growth, &part);

	return before ? &growth->times[before->times] : NULL;
}

/* Whether NOW began anew: a bucket of NOW has less than that bucket of BEFORE. */
static bool exits_times_restarted(const struct time_histogram *now,
				  const struct time_histogram *before)
{
	for (uint32_t i = 0; i < TIME_HISTOGRAM_BUCKETS; i++)
		if (now->counts[i] < before->counts[i])
			return true;
	return false;
}

/*
 * Adds the buckets by which NOW grew since BEFORE, which may be NULL. When memory is out, or the
 * moment has EXITS_MOMENT_BUCKETS, the rest is left out.
 */
static void exits_add_buckets(struct exits_moment *moment, struct exits_grown *grown,
			      const struct time_histogram *now, const struct time_histogram *before)
{
	if (before && exits_times_restarted(now, before))
		before = NULL;
	for (uint32_t i = 0; i < TIME_HISTOGRAM_BUCKETS; i++) {
		uint32_t count = now->counts[i] - (before ? before->counts[i] : 0);

		if (!count)
			continue;
		if (moment->n_buckets == EXITS_MOMENT_BUCKETS ||
		    !vector_reserve(moment->buckets, moment->capacity, moment->n_buckets + 1))
			return;
		moment->buckets[moment->n_buckets++] = (struct exits_bucket){ i, count };
		grown->n_buckets++;
	}
}

/* Gives back the room that no bucket needs. */
static void exits_trim_buckets(struct exits_moment *moment)
{
	void *trimmed = moment->n_buckets ? reallocarray(moment->buckets, moment->n_buckets,
							 sizeof(*moment->buckets))
					  : NULL;

	if (!trimmed)
		return;
	moment->buckets = trimmed;
	moment->capacity = moment->n_buckets;
}

/* Adds how the times of COPY's reasons and vCPUs grew. TABLE has them, as COPY has none. */
static void exits_add_times(struct exits_moment *moment, const struct exits_growth *growth,
			    const struct exits_table *table, const struct exits_table *copy)
{
	struct exits_grown *grown = moment->grown;

	if (!table->times || (growth->parts && !growth->times)) /* not known since when */
		return;
	for (size_t i = 0; i < copy->n_rows; i++)
		exits_add_buckets(moment, &grown[i], &table->times[copy->rows[i].times],
				  exits_find_times(growth, &copy->rows[i]));
	for (size_t i = 0; i < copy->n_vcpus; i++)
		exits_add_buckets(moment, &grown[copy->n_rows + copy->n_causes + i],
				  &table->times[table->n_rows + i],
				  i < growth->n_vcpus ? &growth->times[growth->n_rows + i] : NULL);
	exits_trim_buckets(moment);
}

struct exits_moment *exits_growth_update(struct exits_growth *growth,
					 const struct exits_table *table,
					 const struct exits_table *copy)
{
	size_t n = table ? table->n_rows + table->n_causes : 0;
	struct exits_part *totals = table && copy ? exits_parts_of(table) : NULL;
	struct exits_part *grown = totals ? calloc(n + 1, sizeof(*grown)) : NULL;
	bool *is_new = grown ? calloc(n + 1, sizeof(*is_new)) : NULL;
	struct exits_moment *picked = NULL;

	if (is_new) {
		memcpy(grown, totals, n * sizeof(*grown));
		exits_subtract(growth, grown, n, is_new);
		picked = exits_pick(grown, n, copy);
	}
	if (picked)
		exits_add_times(picked, growth, table, copy);
	free(is_new);
	free(grown);
	exits_growth_deinit(growth);
	if (totals)
		*growth = (struct exits_growth){ totals, n, table->n_rows, table->n_vcpus,
						 exits_table_copy_times(table) };
	return picked;
}

void exits_moment_destroy(struct exits_moment *moment)
{
	if (moment)
		free(moment->buckets);
	free(moment);
}

size_t exits_moment_memory_bytes(const struct exits_moment *moment)
{
	return sizeof(*moment) + moment->n * sizeof(moment->grown[0]) +
	       moment->capacity * sizeof(*moment->buckets);
}

/* --- sums ------------------------------------------------------------------------------------- */

void exits_sum_deinit(struct exits_sum *sum)
{
	free(sum->parts);
	exits_table_destroy(sum->table);
}

static bool exits_sum_add_part(struct exits_sum *sum, struct exits_part part,
			       const struct exits_grown *grown, const struct exits_bucket *buckets)
{
	if (!grown->weight.count)
		return true;
	if (!vector_reserve(sum->parts, sum->capacity, sum->n + 1))
		return false;
	part.weight = grown->weight;
	part.longest_ns = grown->longest_ns;
	part.buckets = buckets;
	part.n_buckets = grown->n_buckets;
	sum->parts[sum->n++] = part;
	return true;
}

static uint64_t exits_step(uint64_t now, uint64_t before)
{
	return now >= before ? now - before : now;
}

/* Adds waits to SUM, without percentiles and histogram. The longest wait counts if it is new. */
static void exits_sum_wakes(struct exits_wakes *sum, const struct exits_wakes *before,
			    const struct exits_wakes *now)
{
	bool is_reset = now->count < before->count;

	sum->count += exits_step(now->count, before->count);
	sum->ns += is_reset ? now->ns : now->ns - before->ns;
	if (now->longest_ns <= sum->longest_ns ||
	    (!is_reset && now->longest_ns == before->longest_ns))
		return;
	sum->longest_ns = now->longest_ns;
	sum->longest_by = now->longest_by;
}

/* Adds all members but rows and causes. */
static void exits_sum_head(struct exits_table *sum, const struct exits_table *before,
			   const struct exits_table *now)
{
	static const struct exits_wakes no_wakes;

	sum->span_ns += now->span_ns - (now->span_ns < before->span_ns ? 0 : before->span_ns);
	sum->records += exits_step(now->records, before->records);
	sum->lost += exits_step(now->lost, before->lost);
	sum->bad += exits_step(now->bad, before->bad);
	sum->refused += exits_step(now->refused, before->refused);
	sum->n_vcpus = now->n_vcpus > sum->n_vcpus ? now->n_vcpus : sum->n_vcpus;
	for (unsigned i = 0; i < now->n_vcpus && i < GUEST_MAX_VCPUS; i++)
		exits_sum_wakes(&sum->wakes[i], i < before->n_vcpus ? &before->wakes[i] : &no_wakes,
				&now->wakes[i]);
}

static const struct exits_bucket *exits_moment_at(const struct exits_moment *moment, size_t at)
{
	return moment->buckets ? moment->buckets + at : NULL;
}

static void exits_buckets_add(struct time_histogram *times, const struct exits_bucket *buckets,
			      size_t n)
{
	for (size_t i = 0; i < n; i++)
		times->counts[buckets[i].bucket] += buckets[i].count;
}

/* A table with room for all vCPUs that may come. */
static struct exits_table *exits_sum_begin(void)
{
	struct exits_table *table = exits_table_create(GUEST_MAX_VCPUS, 0, 0);

	for (unsigned i = 0; table && i < GUEST_MAX_VCPUS; i++)
		table->wakes[i].longest_by = UINT32_MAX;
	if (table)
		table->times = calloc(GUEST_MAX_VCPUS, sizeof(*table->times));
	if (table && !table->times) {
		exits_table_destroy(table);
		return NULL;
	}
	if (table)
		table->n_vcpus = 0;
	return table;
}

bool exits_sum_add(struct exits_sum *sum, const struct exits_table *before,
		   const struct exits_table *now, const struct exits_moment *moment)
{
	static const struct exits_table nothing;
	const struct exits_grown *grown;
	bool done = true;
	size_t at = 0;

	if (!now || !moment)
		return true;
	if (!sum->table)
		sum->table = exits_sum_begin();
	if (!sum->table)
		return false;
	exits_sum_head(sum->table, before ? before : &nothing, now);
	grown = moment->grown;
	for (size_t i = 0; done && i < now->n_rows; at += grown++->n_buckets, i++)
		done = exits_sum_add_part(sum, exits_part_of_row(&now->rows[i]), grown,
					  exits_moment_at(moment, at));
	for (size_t i = 0; done && i < now->n_causes; grown++, i++)
		done = exits_sum_add_part(sum, exits_part_of_cause(now, &now->causes[i]), grown,
					  NULL);
	for (unsigned i = 0; done && i < now->n_vcpus && i < GUEST_MAX_VCPUS; i++) {
		exits_buckets_add(&sum->table->times[i], exits_moment_at(moment, at),
				  grown->n_buckets);
		at += grown++->n_buckets;
	}
	return done;
}

/* Fills in what TIMES tell of INTO, a reason: its longest exit and its percentile. */
static void exits_sum_end_part(struct exits_part *into, const struct time_histogram *times)
{
	into->longest_ns = time_histogram_longest(times, into->longest_ns);
	if (into->n_buckets)
		into->p99_ns = time_histogram_quantile(times, 0.99, into->longest_ns);
}

/* Merges equal parts, which stand beside each other. A reason has the newest frame that it got. */
static void exits_sum_merge(struct exits_sum *sum)
{
	struct time_histogram times;
	size_t n = 0;

	for (size_t i = 0; i < sum->n; i++) {
		const struct exits_part *part = &sum->parts[i];
		struct exits_part *into = n ? &sum->parts[n - 1] : NULL;

		if (!into || exits_compare_parts(into, part)) {
			if (into)
				exits_sum_end_part(into, &times);
			memset(&times, 0, sizeof(times));
			exits_buckets_add(&times, part->buckets, part->n_buckets);
			sum->parts[n++] = *part;
			continue;
		}
		exits_buckets_add(&times, part->buckets, part->n_buckets);
		into->n_buckets += part->n_buckets;
		into->weight.count += part->weight.count;
		into->weight.ns += part->weight.ns;
		if (part->longest_ns > into->longest_ns)
			into->longest_ns = part->longest_ns;
		if (into->frame == UINT32_MAX)
			into->frame = part->frame;
	}
	if (n)
		exits_sum_end_part(&sum->parts[n - 1], &times);
	sum->n = n;
}

/* Moves the parts to the table's rows and causes, which have room. A cause follows its reason. */
static void exits_sum_fill(const struct exits_sum *sum, struct exits_table *table)
{
	for (size_t i = 0; i < sum->n; i++) {
		const struct exits_part *part = &sum->parts[i];

		if (!part->is_cause)
			table->rows[table->n_rows++] =
				(struct exits_row){ .reason = part->reason,
						    .live = part->weight,
						    .total = part->weight,
						    .p99_ns = part->p99_ns,
						    .longest_ns = part->longest_ns,
						    .frame = part->frame };
		else if (table->n_rows)
			table->causes[table->n_causes++] =
				(struct exits_cause){ .row = (uint32_t)table->n_rows - 1,
						      .place = part->place,
						      .live = part->weight,
						      .total = part->weight };
	}
}

struct exits_table *exits_sum_build(struct exits_sum *sum)
{
	struct exits_table *table = NULL, lists;

	if (sum->table)
		table = exits_table_create(sum->table->n_vcpus, sum->n, sum->n);
	if (!table)
		return NULL;
	if (sum->n)
		qsort(sum->parts, sum->n, sizeof(*sum->parts), exits_compare_parts);
	exits_sum_merge(sum);
	lists = *table;
	*table = *sum->table;
	table->times = NULL;
	table->wakes = lists.wakes;
	for (unsigned i = 0; i < table->n_vcpus; i++) {
		table->wakes[i] = sum->table->wakes[i];
		time_histogram_sum_up(&sum->table->times[i], &table->wakes[i]);
	}
	table->rows = lists.rows;
	table->causes = lists.causes;
	table->live_span_ns = table->span_ns;
	exits_sum_fill(sum, table);
	if (exits_table_sort(table))
		return table;
	exits_table_destroy(table);
	return NULL;
}
