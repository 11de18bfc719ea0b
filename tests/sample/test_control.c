/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control block: quantiles against a sorted array, hints of stacks, and values that nobody
 * should send.
 */
#include "config.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "tests/support/tap.h"
#include "xtop/sample/control.h"
#include "xtop/sample/recipe.h"

static struct control *control;

static void begin(void)
{
	struct xtop_error *error = control_create(&control);

	if (error) {
		printf("Bail out! %s\n", error_message(error));
		exit(99);
	}
}

static void end(void)
{
	control_destroy(control);
}

static uint64_t random_state = 99;

static uint64_t next_random(void)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return random_state >> 20;
}

/* --- stopped times ---------------------------------------------------------------------------- */

#define VALUES_MAX 20000

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The nearest rank, as a textbook defines it. */
static uint64_t sorted_quantile(const uint64_t *values, size_t n, double quantile)
{
	size_t rank = (size_t)ceil(quantile * (double)n - 1e-9);

	return values[rank ? rank - 1 : 0];
}

static void check_quantile(uint64_t got, uint64_t want, double percent,
			   const struct stopped_summary *summary, const char *what)
{
	double error = fabs((double)got - (double)want);

	check(error <= percent / 100 * (double)want && got >= summary->min_ns &&
		      got <= summary->max_ns,
	      "%s: %" PRIu64 " (expected %" PRIu64 " to %g %%)", what, got, want, percent);
}

static void check_summary(uint64_t *values, size_t n, double percent, const char *what)
{
	struct stopped_summary summary;
	double sum = 0;
	uint64_t counted = 0;

	begin();
	for (size_t i = 0; i < n; i++) {
		control_count_stopped(control, values[i]);
		sum += (double)values[i];
	}
	control_get_stopped(control, &summary);
	qsort(values, n, sizeof(values[0]), compare_u64);
	check_u64(summary.n, n, what);
	check_u64(summary.min_ns, values[0], "the shortest stopped time");
	check_u64(summary.max_ns, values[n - 1], "the longest stopped time");
	check(fabs(summary.mean_ns - sum / (double)n) <= 1e-6 * sum / (double)n,
	      "the mean stopped time %f", summary.mean_ns);
	check_quantile(summary.p50_ns, sorted_quantile(values, n, 0.50), percent, &summary,
		       "the median stopped time");
	check_quantile(summary.p90_ns, sorted_quantile(values, n, 0.90), percent, &summary,
		       "the stopped time that 90 % do not exceed");
	check_quantile(summary.p99_ns, sorted_quantile(values, n, 0.99), percent, &summary,
		       "the stopped time that 99 % do not exceed");
	for (unsigned i = 0; i < 40; i++)
		counted += summary.log2[i];
	check_u64(counted, n, "stops in the counts by powers of two");
	end();
}

static void test_distributions(void)
{
	static uint64_t values[VALUES_MAX];

	for (size_t i = 0; i < VALUES_MAX; i++)
		values[i] = 20000 + next_random() % 1000;
	check_summary(values, VALUES_MAX, 0.1, "a quantile is right within a bucket, too");
	for (size_t i = 0; i < VALUES_MAX; i++)
		values[i] = next_random() % 300;
	check_summary(values, VALUES_MAX, 1, "where steps are single");
	for (size_t i = 0; i < VALUES_MAX; i++)
		values[i] = 1ULL << next_random() % 40;
	check_summary(values, VALUES_MAX, 1, "powers of two");
	for (size_t i = 0; i < VALUES_MAX; i++)
		values[i] = (uint64_t)exp((double)(next_random() % 25000) / 1000.0);
	check_summary(values, VALUES_MAX, 1, "log-uniform");
	for (size_t i = 0; i < VALUES_MAX; i++)
		values[i] = i % 100 < 99 ? 25000 : 30000000;
	check_summary(values, VALUES_MAX, 1, "one outlier in a hundred");
	for (size_t i = 0; i < VALUES_MAX; i++)
		values[i] = i % 100 < 97 ? 25000 : 30000000;
	check_summary(values, VALUES_MAX, 1, "three outliers in a hundred");
}

/* With few values the nearest rank of p99 is the largest. */
static void test_few(void)
{
	uint64_t two[] = { 10, 1000001 }, ten[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 100000 };

	for (uint64_t value = 1; value < 1ULL << 39; value = value * 3 + 1)
		check_summary(&value, 1, 1, "one value");
	check_summary(two, 2, 1, "two values");
	check_summary(ten, 10, 1, "ten values");
}

static void test_extremes(void)
{
	struct stopped_summary summary;

	begin();
	control_get_stopped(control, &summary);
	check(summary.n == 0 && summary.min_ns == 0 && summary.max_ns == 0 && summary.p99_ns == 0 &&
		      summary.mean_ns == 0,
	      "nothing stopped: all zero");
	control_count_stopped(control, 0);
	control_get_stopped(control, &summary);
	check(summary.n == 1 && summary.min_ns == 0 && summary.max_ns == 0 && summary.p50_ns == 0,
	      "a stop of 0 ns");
	check_u64(summary.log2[0], 1, "a stop of 0 ns in the counts by powers of two");
	control_count_stopped(control, UINT64_MAX);
	control_count_stopped(control, 1ULL << 41);
	control_get_stopped(control, &summary);
	check_u64(summary.max_ns, UINT64_MAX, "the longest stop, beyond the histogram");
	check_u64(summary.p99_ns, UINT64_MAX, "beyond the histogram p99 is the max");
	check_u64(summary.log2[39], 2, "beyond the powers of two");
	end();
}

/* --- stacks ----------------------------------------------------------------------------------- */

#define STACK 0xffffc90000104000ULL
#define CR3   0x12345000ULL

static void test_stack_hints(void)
{
	begin();
	check_u64(control_get_stack_top(control, CR3, STACK), 0,
		  "the top of a stack of which nothing was learned");
	check_u64(control_get_stack_top(control, CR3, 0), 0,
		  "the top at address 0, of which nothing was learned");
	control_set_stack_top(control, CR3, STACK + 0x3000, STACK + 0x3f58);
	check_u64(control_get_stack_top(control, CR3, STACK + 0x3000), STACK + 0x3f58,
		  "the top of a stack that was learned");
	check_u64(control_get_stack_top(control, CR3, STACK), STACK + 0x3f58,
		  "the top for another address in the region");
	check_u64(control_get_stack_top(control, CR3, STACK + STACK_REGION_BYTES), 0,
		  "the top for the next region");
	check_u64(control_get_stack_top(control, CR3, STACK - 1), 0,
		  "the top for the region before");
	control_set_stack_top(control, CR3, STACK, STACK + 0x100);
	check_u64(control_get_stack_top(control, CR3, STACK), STACK + 0x100,
		  "the top that was learned anew");
	control_set_stack_top(control, CR3, STACK, STACK + STACK_REGION_BYTES + 64);
	check_u64(control_get_stack_top(control, CR3, STACK), STACK + STACK_REGION_BYTES + 64,
		  "a stack longer than its region");
	end();
}

static void test_hostile_hints(void)
{
	static const uint64_t tops[] = { 0,
					 1,
					 STACK - 1,
					 STACK - STACK_REGION_BYTES,
					 STACK + (1 << 20),
					 UINT64_MAX,
					 STACK ^ 1ULL << 62 };

	begin();
	for (size_t i = 0; i < sizeof(tops) / sizeof(tops[0]); i++) {
		control_set_stack_top(control, CR3, STACK, tops[i]);
		check_u64(control_get_stack_top(control, CR3, STACK), 0,
			  "a top that cannot be is not learned");
	}
	control_set_stack_top(control, CR3, UINT64_MAX - 8, UINT64_MAX);
	check_u64(control_get_stack_top(control, CR3, UINT64_MAX - 100), UINT64_MAX,
		  "the top in the last region");
	control_set_stack_top(control, CR3, 0, 0);
	check_u64(control_get_stack_top(control, CR3, 0), 0, "the top at address 0");
	end();
}

/* Far more regions than hints: each answer is the region's own hint, or none. */
static void test_hint_collisions(void)
{
	static const uint64_t bases[] = { 0, 0x7f0000000000, 0xffff888000000000, 0xffffc90000000000,
					  0xff11000000000000 };
	const unsigned n_regions = 20000;
	size_t known = 0, wrong = 0;

	begin();
	for (unsigned i = 0; i < n_regions; i++) {
		uint64_t address = bases[i % 5] + (uint64_t)i * STACK_REGION_BYTES;

		control_set_stack_top(control, CR3, address, address + 8 + i % 1000 * 8);
	}
	for (unsigned i = 0; i < n_regions; i++) {
		uint64_t address = bases[i % 5] + (uint64_t)i * STACK_REGION_BYTES;
		uint64_t top = control_get_stack_top(control, CR3, address);

		known += top != 0;
		wrong += top && top != address + 8 + i % 1000 * 8;
	}
	check_u64(wrong, 0, "answers that belong to another region");
	check(known > 2000 && known <= 4096, "%zu of %u regions known", known, n_regions);
	end();
}

/* Processes use the same addresses for different stacks. Only the upper half is the same in all. */
static void test_hint_spaces(void)
{
	const uint64_t user = 0x7ffc12345000;
	unsigned known = 0, wrong = 0;

	begin();
	control_set_stack_top(control, CR3, user, user + 0x100);
	check_u64(control_get_stack_top(control, CR3, user), user + 0x100,
		  "the stacks of a process that runs Go");
	check_u64(control_get_stack_top(control, CR3 + 0x2000, user), 0,
		  "the stacks of another process are not known");
	check_u64(control_get_stack_top(control, CR3 | 0x1fff, user), user + 0x100,
		  "the stacks of a process by its other table, with flags");
	control_set_stack_top(control, CR3, STACK, STACK + 0x100);
	check_u64(control_get_stack_top(control, CR3 + 0x2000, STACK), STACK + 0x100,
		  "the top of a kernel stack holds for all processes");
	for (uint64_t i = 0; i < 1000; i++)
		control_set_stack_top(control, i << 13, user, user + 8 * (i + 1));
	for (uint64_t i = 0; i < 1000; i++) {
		uint64_t top = control_get_stack_top(control, i << 13, user);

		known += top != 0;
		wrong += top && top != user + 8 * (i + 1);
	}
	check(!wrong && known > 700, "stacks of a thousand processes: %u known, %u wrong", known,
	      wrong);
	end();
}

/* Fills in page tables that lie anywhere in 16 GiB. */
static void make_tables(uint64_t *tables, unsigned n)
{
	uint64_t number = 1;

	for (unsigned i = 0; i < n; i++) {
		number = number * 6364136223846793005ULL + 1442695040888963407ULL;
		tables[i] = number >> 43 << 13;
	}
}

/* Sets the recipe of each of the processes TABLES; `base` is its number. */
static void set_recipes(const uint64_t *tables, unsigned n)
{
	struct recipe recipe = { .n_loads = 1, .n_words = 1 };

	for (unsigned i = 0; i < n; i++) {
		recipe.base = i;
		control_set_recipe(control, tables[i], &recipe);
	}
}

/* How many of the recipes from FIRST to N are known. */
static unsigned count_recipes(const uint64_t *tables, unsigned first, unsigned n)
{
	struct recipe got;
	unsigned known = 0;

	for (unsigned i = first; i < n; i++)
		known += control_get_recipe(control, tables[i], &got) && got.base == i;
	return known;
}

/* A process's recipe is set only once, so others must not push it out. */
static void test_recipes(void)
{
	enum { N_FEW = 150, N_MANY = 4000 };
	struct recipe recipe = { .base = 1000, .n_loads = 1, .n_words = 1 }, got;
	uint64_t tables[N_MANY];

	begin();
	make_tables(tables, N_MANY);
	set_recipes(tables, N_FEW);
	check_u64(count_recipes(tables, 0, N_FEW), N_FEW, "processes whose recipe is known");
	control_set_recipe(control, tables[7], NULL);
	check(!control_get_recipe(control, tables[7], &got), "a recipe can be taken back");
	control_set_recipe(control, tables[8], &recipe);
	check(control_get_recipe(control, tables[8], &got) && got.base == 1000,
	      "a recipe that is set again takes the place of the first");
	set_recipes(tables, N_MANY);
	check_u64(count_recipes(tables, N_MANY - N_FEW, N_MANY), N_FEW,
		  "recipes of the last processes of many");
	end();
}

/* --- where a Linux guest keeps its stacks ----------------------------------------------------- */

/* Every number is made of SEED, so that a mixture of two shows. */
static struct linux_stacks some_stacks(uint32_t seed)
{
	return (struct linux_stacks){
		.kernel_cr3 = seed * 0x100000001ULL,
		.current_per_cpu = seed + 1ULL,
		.top_per_cpu = seed + 2ULL,
		.irq_stack_per_cpu = seed + 3ULL,
		.task_stack = seed + 4,
		.stack_bytes = seed + 5,
		.top_padding = seed + 6,
		.regs_below_top = seed + 7,
		.irq_stack_bytes = seed + 8,
		.irq_above = seed + 9,
	};
}

static bool is_stacks(const struct linux_stacks *stacks, uint32_t seed)
{
	struct linux_stacks expected = some_stacks(seed);

	return memcmp(stacks, &expected, sizeof(expected)) == 0;
}

static void test_stacks(void)
{
	struct linux_stacks stacks = some_stacks(7), other = some_stacks(9);
	uint64_t version = 0;

	begin();
	check(!control_get_linux_stacks(control, &version, &stacks) && is_stacks(&stacks, 7),
	      "a guest's stacks are not known at first");
	control_set_linux_stacks(control, &other);
	check(control_get_linux_stacks(control, &version, &stacks) && is_stacks(&stacks, 9),
	      "a guest's stacks as they were set");
	check(!control_get_linux_stacks(control, &version, &stacks) && is_stacks(&stacks, 9),
	      "stacks that have been read are not new");
	other = some_stacks(UINT32_MAX - 9);
	control_set_linux_stacks(control, &other);
	check(control_get_linux_stacks(control, &version, &stacks) && is_stacks(&stacks, UINT32_MAX - 9),
	      "a guest's stacks as they were set anew");
	control_set_linux_stacks(control, NULL);
	check(control_get_linux_stacks(control, &version, &stacks) && !stacks.current_per_cpu &&
		      !stacks.irq_above,
	      "a guest's stacks are not known any more");
	end();
}

#define STACKS_WRITES 200000

static void *write_stacks(void *unused)
{
	for (uint32_t i = 1; i <= STACKS_WRITES; i++) {
		struct linux_stacks stacks = some_stacks(i);

		control_set_linux_stacks(control, &stacks);
	}
	return unused;
}

/*
 * One thread writes all the time. What is read is whole, and never older than what was read before.
 */
static void test_stacks_race(void)
{
	struct linux_stacks stacks = { 0 };
	unsigned reads = 0, mixed = 0, older = 0;
	uint64_t latest = 0, version = 0;
	pthread_t writer;

	begin();
	if (pthread_create(&writer, NULL, write_stacks, NULL) != 0)
		exit(99);
	while (latest < STACKS_WRITES) {
		if (!control_get_linux_stacks(control, &version, &stacks) || !stacks.current_per_cpu)
			continue;
		reads++;
		mixed += !is_stacks(&stacks, (uint32_t)(stacks.current_per_cpu - 1));
		older += stacks.current_per_cpu - 1 < latest;
		latest = stacks.current_per_cpu - 1;
	}
	pthread_join(writer, NULL);
	check(!mixed && !older, "%u reads: %u mixed, %u older than the read before", reads, mixed,
	      older);
	end();
}

/* --- what main sends -------------------------------------------------------------------------- */

static void test_rate_and_budget(void)
{
	static const double bad[] = { 0,   -1,    -INFINITY, INFINITY,
				      NAN, 1e300, 1e-300,    RATE_MAX_HZ + 1 };

	begin();
	check(control_get_rate(control) == RATE_MIN_HZ, "rate before it is set");
	check(control_get_budget(control) == 0.01, "budget before it is set");
	control_set_rate(control, 99);
	control_set_budget(control, 0.5);
	check(control_get_rate(control) == 99 && control_get_budget(control) == 0.5,
	      "rate and budget as they were set");
	check(control_get_stride(control) == 1,
	      "each tick may give a sample before a stride is set");
	control_set_stride(control, 2.5);
	check(control_get_stride(control) == 2.5, "a stride as it was set");
	control_set_stride(control, NAN);
	check(control_get_stride(control) == 1,
	      "a stride that is no number: each tick may give a sample");
	control_set_stride(control, 1e300);
	check(control_get_stride(control) == CONTROL_MAX_STRIDE, "a stride is bounded");
	control_set_watcher_cpu(control, CONTROL_GUARD, 3);
	control_set_watcher_cpu(control, CONTROL_KEEPER, 4);
	check(control_get_watchers_cpu(control) == 7, "CPU time of guard and keeper");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		control_set_rate(control, bad[i]);
		check(control_get_rate(control) >= RATE_MIN_HZ &&
			      control_get_rate(control) <= RATE_MAX_HZ,
		      "rate %g gives %g", bad[i], control_get_rate(control));
		control_set_budget(control, i == 6 ? -0.0 : bad[i]);
		check(control_get_budget(control) == 0.01, "budget %g gives %g", bad[i],
		      control_get_budget(control));
	}
	end();
}

/* A counter missing in the list of control.c would keep what the reader had there before. */
static void test_all_counts(void)
{
	struct sampler_counts put, got;
	unsigned char *bytes = (unsigned char *)&put;

	begin();
	memset(&got, 0xff, sizeof(got));
	for (size_t i = 0; i < sizeof(put); i++)
		bytes[i] = (unsigned char)(i % 100 + 1);
	put.state = SAMPLER_RUNNING;
	control_set_counts(control, &put);
	control_get_counts(control, &got);
	for (size_t i = offsetof(struct sampler_counts, rate_asked_hz); i < sizeof(put); i++)
		if (bytes[i] != ((unsigned char *)&got)[i])
			check(false, "the counter with byte %zu is handed on", i);
	check_u64(got.state, SAMPLER_RUNNING, "the state that the sampler published");
	check_u64(got.stopped_ns, put.stopped_ns, "the counters that the sampler published");
	end();
}

static void test_signals(void)
{
	begin();
	check(!control_is_quitting(control) && !control_is_finishing(control) &&
		      control_get_resets(control) == 0,
	      "no request of main's at first");
	control_quit(control);
	control_finish(control);
	control_reset_profile(control);
	control_reset_profile(control);
	check(control_is_quitting(control) && control_is_finishing(control) &&
		      control_get_resets(control) == 2,
	      "the requests of main's");
	control_set_hold(control);
	control_set_guest_known(control, true);
	check(!control_is_on_hold(control), "no hold once the guest is known");
	control_set_guest_known(control, false);
	check(control_is_on_hold(control), "on hold again when it is not known any more");
	end();
}

static void test_message(void)
{
	struct sampler_counts counts = {
		.state = SAMPLER_GUEST_PAUSED, .ticks = 5, .refused = 7, .stopped_share = 0.25
	};
	struct sampler_counts got;
	char text[1000];

	begin();
	control_set_counts(control, &counts);
	control_get_counts(control, &got);
	check(got.state == SAMPLER_GUEST_PAUSED && got.ticks == 5 && got.refused == 7 &&
		      got.stopped_share == 0.25,
	      "a stop of any length is counted");
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	control_set_message(control, text);
	check_string(control_get_message(control), "", "no message before the failure");
	counts.state = SAMPLER_ENDED;
	control_set_counts(control, &counts);
	check_u64(strlen(control_get_message(control)), 255,
		  "a message at the end of a damaged recording");
	counts.state = SAMPLER_FAILED;
	control_set_counts(control, &counts);
	check_u64(strlen(control_get_message(control)), 255,
		  "a message after the failure, cut to its room");
	end();
}

static void test_times(void)
{
	struct vcpu_times set[GUEST_MAX_VCPUS], got[GUEST_MAX_VCPUS];
	bool same = true;

	begin();
	control_get_times(control, got, GUEST_MAX_VCPUS);
	check(!got[0].span_ns && !got[GUEST_MAX_VCPUS - 1].waited_ns,
	      "vCPUs have no times at first");
	for (unsigned i = 0; i < GUEST_MAX_VCPUS; i++)
		set[i] = (struct vcpu_times){ 100 + i, 200 + i, 300 + i };
	control_set_times(control, set, GUEST_MAX_VCPUS);
	control_get_times(control, got, GUEST_MAX_VCPUS);
	for (unsigned i = 0; i < GUEST_MAX_VCPUS; i++)
		same &= got[i].span_ns == 100 + i && got[i].ran_ns == 200 + i &&
			got[i].waited_ns == 300 + i;
	check(same, "each vCPU has its times");
	end();
}

/* The state and the end may be set alone: the counters stay. Main may write any number. */
static void test_states(void)
{
	struct sampler_counts counts = {
		.state = SAMPLER_FAILED, .ticks = 5, .ending = GUEST_END_REBOOT
	};
	struct sampler_counts got;

	begin();
	control_quit(control);
	control_set_counts(control, &counts);
	control_get_counts(control, &got);
	check(control_get_ending(&got) == GUEST_END_REBOOT, "how the guest ended");
	got.ending = UINT64_MAX;
	check(control_get_ending(&got) == GUEST_END_UNKNOWN, "a number that is no such end");
	control_restart(control);
	control_get_counts(control, &got);
	check(!control_is_quitting(control) && got.state == SAMPLER_STARTING && got.ticks == 5 &&
		      got.ending == GUEST_END_UNKNOWN,
	      "restarted: counters stay");
	control_set_state(control, SAMPLER_GUEST_GONE);
	control_get_counts(control, &got);
	check(got.state == SAMPLER_GUEST_GONE && got.ticks == 5, "the state that was set");
	control_set_state(control, (enum sampler_state)(SAMPLER_FAILED + 1));
	control_get_counts(control, &got);
	check_u64(got.state, SAMPLER_FAILED, "a state beyond the last one is a failure");
	control_set_state(control, (enum sampler_state) - 1);
	control_get_counts(control, &got);
	check_u64(got.state, SAMPLER_FAILED, "a state before the first one is a failure");
	end();
}

int main(void)
{
	test_distributions();
	test_few();
	test_extremes();
	test_stack_hints();
	test_hostile_hints();
	test_hint_collisions();
	test_hint_spaces();
	test_recipes();
	test_stacks();
	test_stacks_race();
	test_rate_and_budget();
	test_all_counts();
	test_signals();
	test_message();
	test_times();
	test_states();
	return tap_done();
}
