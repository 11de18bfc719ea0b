/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Exits in the history: what a moment keeps of them, and their sum over a range of time. */
#include "config.h"

#include "tests/support/profile_stacks.h"

#include <math.h>
#include <string.h>

#include "xtop/profile/exit_names.h"
#include "xtop/profile/time_histogram.h"
#include "xtop/query/exits_profile.h"
#include "xtop/query/history.h"

#define MS 1000000ULL

static struct {
	struct frames *frames;
	struct profile *profile;
	struct history *history;
} kept;
static struct {
	uint32_t alpha, beta, gamma;
} ids;

/* --- tables ----------------------------------------------------------------------------------- */

/* A table whose reasons are CPUID leaves 0, 1, ...: COUNTS exits of 1,000 ns, all of one function. */
static struct exits_table *table_of(size_t n, const uint64_t counts[])
{
	struct exits_table *table = exits_table_create(2, n, n);

	for (uint32_t i = 0; i < n; i++) {
		struct exits_weight weight = { counts[i], (double)counts[i] * 1000 };

		table->rows[i] = (struct exits_row){
			.reason = { .kind = EXIT_SVM, .handler = 0x8200e, .detail = i },
			.live = weight,
			.total = weight,
			.p99_ns = 1500,
			.longest_ns = 2000,
			.frame = UINT32_MAX,
		};
		table->causes[i] =
			(struct exits_cause){ i, { ids.alpha, FRAME_ROOT }, weight, weight };
	}
	table->tracing = true;
	table->span_ns = table->live_span_ns = SECOND;
	must(exits_table_sort(table) ? NULL : error_create("memory"));
	return table;
}

/* Adds the moment SECONDS with this table. */
static void add(unsigned seconds, struct exits_table *table)
{
	struct snapshot *snapshot;

	stacks_add(kept.profile, kept.frames, seconds * SECOND, "main;read 1");
	must(profile_copy(kept.profile, seconds * SECOND, &snapshot));
	snapshot->sequence = seconds;
	snapshot->run->exits = table;
	history_add(kept.history, snapshot);
	snapshot_destroy(snapshot);
}

static struct snapshot *range(size_t first, size_t last)
{
	struct snapshot *snapshot;

	must(history_get_range(kept.history, first, last, &snapshot));
	return snapshot;
}

static uint64_t row_count(const struct exits_table *table, uint32_t leaf)
{
	for (size_t i = 0; i < table->n_rows; i++)
		if (table->rows[i].reason.detail == leaf)
			return table->rows[i].total.count;
	return 0;
}

static uint64_t cause_count(const struct exits_table *table, uint32_t frame)
{
	uint64_t count = 0;

	for (size_t i = 0; i < table->n_causes; i++)
		if (table->causes[i].place.frame == frame)
			count += table->causes[i].total.count;
	return count;
}

static void begin(void)
{
	must(history_create(&kept.history));
	must(profile_create(4096, 0, kept.frames, &kept.profile));
}

static void end(void)
{
	history_destroy(kept.history);
	profile_destroy(kept.profile);
}

/* --- moments ---------------------------------------------------------------------------------- */

#define REASONS   (HISTORY_EXITS + 8)
#define FUNCTIONS (HISTORY_EXIT_CAUSES + 3) /* each reason has them but the first */

/* Exits of many reasons. The first one has one function. */
static struct exits_table *many_exits(void)
{
	struct exits_table *table = exits_table_create(0, REASONS, REASONS * FUNCTIONS);

	table->n_causes = 0;
	table->span_ns = 2e9;
	for (uint32_t row = 0; row < REASONS; row++) {
		table->rows[row].total.count = 1000 - row;
		for (uint32_t i = 0; i < (row ? FUNCTIONS : 1); i++)
			table->causes[table->n_causes++] =
				(struct exits_cause){ .row = row, .place.frame = i };
	}
	return table;
}

static void test_moments(void)
{
	const struct exits_table *exits;
	struct snapshot *back;
	size_t before;

	begin();
	add(1, NULL);
	before = history_memory_bytes(kept.history);
	add(2, many_exits());
	check(history_memory_bytes(kept.history) > before + sizeof(*exits),
	      "a history counts the memory of its exits");
	must(history_get(kept.history, 1, &back));
	exits = back->run->exits;
	check(exits && exits->span_ns == 2e9 && exits->n_rows == HISTORY_EXITS &&
		      exits->rows[HISTORY_EXITS - 1].total.count == 1001 - HISTORY_EXITS,
	      "a moment has the reasons with most time");
	check(exits->n_causes == 1 + (HISTORY_EXITS - 1) * HISTORY_EXIT_CAUSES &&
		      exits->causes[1].row == 1 &&
		      exits->causes[HISTORY_EXIT_CAUSES].place.frame == HISTORY_EXIT_CAUSES - 1 &&
		      exits->causes[HISTORY_EXIT_CAUSES + 1].row == 2,
	      "each reason of a moment has its functions");
	snapshot_destroy(back);
	must(history_get(kept.history, 0, &back));
	check(!back->run->exits, "a moment from before the trace has no exits");
	snapshot_destroy(back);
	end();
}

/* --- ranges ----------------------------------------------------------------------------------- */

static void test_sums(void)
{
	struct snapshot *snapshot;
	const struct exits_table *exits;
	struct exits_table *table;

	begin();
	add(1, NULL);
	add(2, NULL);
	add(3, table_of(1, (uint64_t[]){ 50 })); /* Xen begins to trace */
	add(4, table_of(2, (uint64_t[]){ 60, 7 }));
	table = table_of(2, (uint64_t[]){ 60, 907 });
	table->span_ns = 3 * SECOND;
	table->rows[0].longest_ns = 5000; /* leaf 1, which has most time */
	table->records = 40;
	table->lost = 3;
	add(5, table);
	table = table_of(1, (uint64_t[]){ 4 }); /* a reset */
	table->records = 6;
	add(6, table);

	snapshot = range(0, 1);
	check(!snapshot->run->exits, "a range without trace has no exits");
	snapshot_destroy(snapshot);

	snapshot = range(1, 2);
	check_u64(row_count(snapshot->run->exits, 0), 50, "trace begins in the range");
	snapshot_destroy(snapshot);

	snapshot = range(2, 4);
	exits = snapshot->run->exits;
	check(row_count(exits, 0) == 10 && row_count(exits, 1) == 907 && exits->n_rows == 2,
	      "exits of two moments: %llu, %llu", (unsigned long long)row_count(exits, 0),
	      (unsigned long long)row_count(exits, 1));
	check(exits->rows[0].reason.detail == 1 && exits->causes[0].row == 0 &&
		      exits->causes[0].total.count == 907,
	      "the reason with most time is the first, and has its function");
	check(exits->rows[0].total.ns == 907000 && exits->rows[0].live.ns == 907000,
	      "the first reason's time: %g", exits->rows[0].total.ns);
	check(exits->rows[0].longest_ns == 5000 && !exits->rows[1].longest_ns,
	      "a reason's longest exit is known if it came in the range");
	check(!exits->rows[0].p99_ns, "percentiles without times are not known");
	check(exits->span_ns == 2 * SECOND && exits->live_span_ns == exits->span_ns,
	      "how long Xen traced: %g", exits->span_ns);
	check(exits->records == 40 && exits->lost == 3 && !exits->tracing,
	      "records and lost records of a range are summed");
	snapshot_destroy(snapshot);

	snapshot = range(3, 5);
	exits = snapshot->run->exits;
	check(row_count(exits, 0) == 4 && row_count(exits, 1) == 900,
	      "after a reset all is new: %llu, %llu", (unsigned long long)row_count(exits, 0),
	      (unsigned long long)row_count(exits, 1));
	check_u64(exits->records, 46, "records of a range with a reset");
	snapshot_destroy(snapshot);
	end();
}

/* The reason's 10 new exits are alpha's and gamma's, whatever beta was called before. */
static void test_renamed(void)
{
	struct snapshot *snapshot;
	struct exits_table *table;

	begin();
	add(1, table_of(1, (uint64_t[]){ 1000 }));
	table = table_of(1, (uint64_t[]){ 1010 });
	table->causes = reallocarray(table->causes, 3, sizeof(*table->causes));
	table->n_causes = 3;
	table->causes[1] = table->causes[2] = table->causes[0];
	table->causes[0].total.count = 1004;
	table->causes[1].place.frame = ids.beta;
	table->causes[1].total.count = 500;
	table->causes[2].place.frame = ids.gamma;
	table->causes[2].total.count = 500;
	add(2, table);
	table = table_of(1, (uint64_t[]){ 1018 }); /* beta and gamma are alpha */
	table->causes[0].total.count = 2012;
	add(3, table);
	snapshot = range(1, 2);
	check_u64(cause_count(snapshot->run->exits, ids.alpha), 8,
		  "exits of a function that the last table had");
	snapshot_destroy(snapshot);
	snapshot = range(0, 1);
	check(cause_count(snapshot->run->exits, ids.alpha) == 4 &&
		      cause_count(snapshot->run->exits, ids.beta) == 3 &&
		      cause_count(snapshot->run->exits, ids.gamma) == 3,
	      "no more is new than the reason grew by: %llu, %llu, %llu",
	      (unsigned long long)cause_count(snapshot->run->exits, ids.alpha),
	      (unsigned long long)cause_count(snapshot->run->exits, ids.beta),
	      (unsigned long long)cause_count(snapshot->run->exits, ids.gamma));
	snapshot_destroy(snapshot);
	end();
}

/* Room for the times of TABLE's rows, of which all but the first are empty, and vCPUs. */
static struct exits_table *with_times(struct exits_table *table)
{
	table->times = calloc(table->n_rows + table->n_vcpus, sizeof(*table->times));
	for (uint32_t i = 0; i < table->n_rows; i++)
		table->rows[i].times = (i + 1) % (uint32_t)table->n_rows; /* the order differs */
	return table;
}

static void add_times(struct exits_table *table, size_t number, unsigned n, double ns)
{
	while (n--)
		time_histogram_add(&table->times[number], ns);
}

static bool nearly(uint64_t ns, double wanted_ns)
{
	return (double)ns >= wanted_ns && (double)ns <= wanted_ns * 1.1;
}

/* The leaf 0 has 1,000 exits of 1 us, and then 96 of 3 us and 4 of 90 us. */
static void test_percentiles(void)
{
	struct snapshot *snapshot;
	const struct exits_row *row;
	struct exits_table *table;

	begin();
	for (unsigned i = 1; i <= 4; i++) {
		table = with_times(table_of(2, (uint64_t[]){ 1000 + 50 * (i - 1), i }));
		row = &table->rows[table->rows[0].reason.detail != 0];
		add_times(table, row->times, 1000, 1000);
		add_times(table, row->times, 48 * (i - 1), 3000);
		add_times(table, row->times, 2 * (i - 1), 90000);
		for (unsigned j = 0; j < 2; j++)
			table->rows[j].longest_ns = 400000; /* an exit before the first moment */
		add(i, table);
	}
	snapshot = range(0, 2);
	row = snapshot->run->exits->rows;
	check(!row->reason.detail && nearly(row->p99_ns, 90000),
	      "99 %% of a range's exits take up to %" PRIu64 " ns", row->p99_ns);
	check(nearly(row->longest_ns, 90000),
	      "the longest exit of a range, if there was a longer one before: %" PRIu64 " ns",
	      row->longest_ns);
	check(!row[1].p99_ns && !row[1].longest_ns, "a reason without times");
	snapshot_destroy(snapshot);
	table = with_times(table_of(1, (uint64_t[]){ 5 })); /* a reset */
	add_times(table, 0, 5, 200);
	add(5, table);
	snapshot = range(3, 4);
	check(nearly(snapshot->run->exits->rows[0].p99_ns, 200), "a reset begins anew: %" PRIu64,
	      snapshot->run->exits->rows[0].p99_ns);
	snapshot_destroy(snapshot);
	end();
}

static void test_wakes(void)
{
	struct snapshot *snapshot;
	const struct exits_wakes *wakes;

	begin();
	for (unsigned i = 1; i <= 3; i++) {
		struct exits_table *table = with_times(table_of(1, (uint64_t[]){ i }));

		table->n_vcpus = 2;
		table->wakes[0] = (struct exits_wakes){
			.count = 10 * i, .longest_ns = 900 * MS, .ns = 50e6 * i, .longest_by = 4
		};
		table->wakes[1] = (struct exits_wakes){
			.count = i * i, .longest_ns = i * MS, .ns = 1e6 * i, .longest_by = 3 + i
		};
		add_times(table, 1, 10 * i, 5e6);
		add_times(table, 2, 11 * i, 1.2e6);
		for (unsigned j = 1; j <= i; j++)
			add_times(table, 2, 1, j * 1e6);
		add(i, table);
	}
	snapshot = range(0, 2);
	wakes = snapshot->run->exits->wakes;
	check(wakes[0].count == 20 && wakes[0].ns == 100e6 && wakes[1].count == 8,
	      "the waits of a range are those that came in it");
	check(nearly(wakes[0].longest_ns, 5e6) && wakes[0].longest_by == UINT32_MAX,
	      "the longest wait of a range after a longer one, and nobody who ran then");
	check(nearly(wakes[0].p50_ns, 5e6) && nearly(wakes[0].p99_ns, 5e6) &&
		      nearly(wakes[1].p50_ns, 1.2e6) && nearly(wakes[1].p99_ns, 3e6),
	      "median and 99 %% of a range's waits: %" PRIu64 " and %" PRIu64, wakes[1].p50_ns,
	      wakes[1].p99_ns);
	check(wakes[1].longest_ns == 3 * MS && wakes[1].longest_by == 6,
	      "the range's longest wait and the domain that ran then are told");
	check_u64(snapshot->run->exits->wakes[1].log2[20], 23,
		  "waits of one power of two in the range");
	snapshot_destroy(snapshot);
	end();
}

/* A minute with a table of all the size that there is. */
static void test_export(void)
{
	struct snapshot *snapshot, *exits;

	begin();
	for (unsigned i = 1; i <= 61; i++) {
		uint64_t counts[EXITS_MAX_ROWS];

		for (uint32_t row = 0; row < EXITS_MAX_ROWS; row++)
			counts[row] = i * (2 + row);
		add(i, table_of(EXITS_MAX_ROWS, counts));
	}
	snapshot = range(0, 60);
	check_u64(snapshot->run->exits->n_rows, HISTORY_EXITS, "the reasons with most time");
	check_u64(row_count(snapshot->run->exits, EXITS_MAX_ROWS - 1), 60 * (EXITS_MAX_ROWS + 1),
		  "their exits in a minute");
	must(exits_profile_create(snapshot, &exits));
	check(exits->nodes[0].children_ticks == 0, "a reason without a name is in no file");
	snapshot_destroy(exits);
	snapshot_destroy(snapshot);
	end();
}

/* Moves WEIGHT of the node's own weight to the node below it. */
static void move_to_xen(struct snapshot_node *node, double weight)
{
	node->self_ticks -= weight;
	node->self_total -= (uint64_t)weight;
	node[1].self_ticks += weight;
	node[1].self_total += (uint64_t)weight;
}

/* Rows "[xen]" take more from a function that has no new sample: nothing of it is new. */
static void test_xen_rows(void)
{
	struct profile *own;
	struct history *moments;
	struct snapshot *snapshot;
	double sum = 0, most = 0;

	must(history_create(&moments));
	must(profile_create(4096, 0, kept.frames, &own));
	stacks_add(own, kept.frames, SECOND, "read 100");
	stacks_add(own, kept.frames, SECOND, "read;xen 10");
	for (unsigned i = 1; i <= 2; i++) {
		if (i == 2)
			stacks_add(own, kept.frames, 2 * SECOND, "write 10");
		must(profile_copy(own, i * SECOND, &snapshot));
		snapshot->sequence = i;
		snapshot->run->exits = exits_table_create(1, 0, 0);
		snapshot->run->exits->xen_ticks = 10;
		for (size_t j = 0; i == 2 && j < snapshot->n_nodes; j++)
			if (snapshot->nodes[j].frame == stacks_frame(kept.frames, "read"))
				move_to_xen(&snapshot->nodes[j], 2);
		history_add(moments, snapshot);
		snapshot_destroy(snapshot);
	}
	must(history_get_range(moments, 0, 1, &snapshot));
	for (size_t i = 0; i < snapshot->n_nodes; i++) {
		sum += snapshot->nodes[i].self_ticks;
		if (snapshot->nodes[i].frame != stacks_frame(kept.frames, "write"))
			most = fmax(most, snapshot->nodes[i].self_ticks);
	}
	check(fabs(sum - 10) < 1e-3, "a range has the samples of its time: %g", sum);
	check(most < 2, "what has moved is not new: %g", most);
	snapshot_destroy(snapshot);
	history_destroy(moments);
	profile_destroy(own);
}

int main(void)
{
	must(frames_create(NULL, &kept.frames));
	ids.alpha = frames_intern(kept.frames, FRAME_KIND_KERNEL, "alpha", "tiny", 1);
	ids.beta = frames_intern(kept.frames, FRAME_KIND_KERNEL, "beta", "tiny", 2);
	ids.gamma = frames_intern(kept.frames, FRAME_KIND_KERNEL, "gamma", "tiny", 3);
	test_moments();
	test_sums();
	test_renamed();
	test_percentiles();
	test_wakes();
	test_export();
	test_xen_rows();
	frames_destroy(kept.frames);
	return tap_done();
}
