/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When the resolver sleeps and when it ends: sleeps between samples, the end while it is busy, and
 * the ends of intervals.
 */
#include "config.h"

#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/profile/resolver_stage.h"
#include "xtop/base/clock.h"
#include "xtop/memory/memory.h"
#include "xtop/os/os.h"

static atomic_uint slow_reads;

/*
 * A guest that makes the search for its kernel last: each page looks like a page table, all of
 * whose entries are valid and lead to ever-new pages. To read a page takes a millisecond.
 */
static void slow_read(void *context, const frame_t *frames, size_t n, void *pages, bool *ok)
{
	uint64_t *entry = pages;

	(void)context;
	slow_reads++;
	nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	for (size_t i = 0; i < n; i++) {
		for (uint64_t j = 0; j < GUEST_PAGE_SIZE / sizeof(*entry); j++)
			*entry++ = (frames[i].value * 512 + j + 1) << 40 >> 28 | 3; /* 24 bits */
		ok[i] = true;
	}
}

static void slow_close(void *context)
{
	(void)context;
}

static const struct memory_ops slow_ops = { .read = slow_read, .close = slow_close };

static void stage_open_slow(struct stage *stage, struct os_settings *settings, struct os **osp)
{
	stage->symbols = settings->symbols = guest_symbols();
	guest_must(memory_create(&slow_ops, NULL, &settings->memory));
	guest_must(control_create(&settings->control));
	settings->work = &stage->work;
	guest_must(os_create(settings, osp));
	stage_open_settings(stage, (struct resolver_settings){ .live = true, .os = *osp });
}

struct hurry {
	/* Reads from control_hurry() to a snapshot, and to the thread's end. */
	unsigned answer_reads, end_reads;
	uint64_t resolved; /* samples */
	bool busy, answered, complete;
};

/* Asks for the end while the resolver looks for the guest's kernel. */
static struct hurry try_hurry(void)
{
	const unsigned n = 50;
	struct hurry hurry;
	struct guest_record *record = malloc(sizeof(*record));
	struct os_settings settings = { .type = GUEST_PVH };
	struct snapshot *snapshot;
	struct stage stage;
	unsigned reads;
	struct os *os;

	stage_open_slow(&stage, &settings, &os);
	make_record(record, "start_kernel;serve;hash");
	for (unsigned i = 0; i < n; i++)
		put(stage.ring, record);
	stage_start(&stage);
	for (int i = 0; i < 100 || !slow_reads; i++)
		nap();
	snapshot_request(stage.slot);
	nap();
	hurry.busy = !snapshot_take(stage.slot);
	reads = slow_reads;
	control_hurry(stage.control);
	snapshot = wait_snapshot(stage.slot);
	hurry.answer_reads = slow_reads - reads;
	hurry.answered = snapshot != NULL;
	snapshot_destroy(snapshot);
	stage_finish(&stage);
	hurry.end_reads = slow_reads - reads;
	snapshot = stage_snapshot(&stage);
	hurry.resolved = snapshot->resolver.samples;
	hurry.complete = snapshot->resolver.samples + snapshot->resolver.unresolved == n;
	snapshot_destroy(snapshot);
	stage_close(&stage);
	os_destroy(os);
	control_destroy(settings.control);
	memory_destroy(settings.memory);
	free(record);
	return hurry;
}

/*
 * Whatever the resolver is doing, it ends soon after the user has asked for the end. What it has
 * not resolved by then is counted. Reads count here, each of which takes a millisecond, as the
 * machine may be busy. On a guest the user's time is measured (tests/lab/end-long.test).
 */
static void test_hurry(void)
{
	struct hurry hurry = try_hurry();

	check(hurry.busy, "the resolver is busy with the guest's memory");
	check(hurry.answered && hurry.answer_reads <= 200,
	      "a snapshot comes within 200 reads: %u", hurry.answer_reads);
	check(hurry.end_reads <= 200, "the end comes within 200 reads: %u", hurry.end_reads);
	check(hurry.complete, "samples and those that are not resolved are all");
	check_u64(hurry.resolved, 0, "the sample that the end came upon is not resolved");
}

static void sleep_ms(void *context)
{
	nanosleep(&(struct timespec){ .tv_nsec = *(const long *)context * 1000000 }, NULL);
}

/* A busy machine lets the resolver wait for a CPU. That is no reason to leave samples out. */
static void test_hurry_without_cpu(void)
{
	struct guest_record *record = malloc(sizeof(*record));
	struct snapshot *snapshot;
	struct stage stage;
	long ms = 30;

	stage_open(&stage);
	make_record(record, "start_kernel;serve;hash");
	stage_start(&stage);
	control_hurry(stage.control);
	for (int i = 0; i < 4; i++) {
		resolver_call(stage.resolver, sleep_ms, &ms);
		put(stage.ring, record);
	}
	stage_finish(&stage);
	snapshot = stage_snapshot(&stage);
	check_u64(snapshot->resolver.samples, 4, "samples of four turns, each of which waited");
	check_u64(snapshot->resolver.unresolved, 0, "no sample is left out during long sleeps");
	snapshot_destroy(snapshot);
	stage_close(&stage);
	free(record);
}

static void *run_counted(void *context)
{
	static long naps;
	struct rusage usage = { .ru_nvcsw = 0 };

	resolver_run(context);
	getrusage(RUSAGE_THREAD, &usage);
	naps = usage.ru_nvcsw;
	return &naps;
}

/* How often in a second a resolver wakes whose guest has a sample in 50 ms. */
static long count_naps(bool intervals, double stride)
{
	struct guest_record *record = calloc(1, sizeof(*record));
	struct stage stage;
	void *naps = NULL;

	make_record(record, "start_kernel;serve;hash");
	((struct sample *)(void *)record->words)->period_ns = 50000000;
	stage.symbols = guest_symbols();
	stage_open_settings(&stage,
			    (struct resolver_settings){ .live = true, .intervals = intervals });
	control_set_stride(stage.control, stride);
	put(stage.ring, record);
	if (pthread_create(&stage.thread, NULL, run_counted, stage.resolver) != 0)
		abort();
	sleep(1);
	control_finish(stage.control);
	pthread_join(stage.thread, &naps);
	stage_close(&stage);
	free(record);
	return *(long *)naps;
}

static void do_nothing(void *context)
{
	(void)context;
}

static uint64_t since_ms(uint64_t begin_ns)
{
	return (clock_now_ns() - begin_ns) / 1000000;
}

/* A resolver that sleeps for most of a second is there at once when somebody wants something. */
static void test_woken(void)
{
	struct guest_record *record = calloc(1, sizeof(*record));
	struct snapshot *snapshot = NULL;
	uint64_t begin_ns, call_ms, answer_ms;
	struct stage stage;

	make_record(record, "start_kernel;serve;hash");
	((struct sample *)(void *)record->words)->period_ns = 100000000;
	stage.symbols = guest_symbols();
	stage_open_settings(&stage, (struct resolver_settings){ .live = true, .intervals = true });
	put(stage.ring, record);
	stage_start(&stage);
	usleep(100000);
	begin_ns = clock_now_ns();
	resolver_call(stage.resolver, do_nothing, NULL);
	call_ms = since_ms(begin_ns);
	usleep(50000);
	begin_ns = clock_now_ns();
	snapshot_request(stage.slot);
	resolver_wake(stage.resolver);
	while (!snapshot && since_ms(begin_ns) < 5000) {
		usleep(1000);
		snapshot = snapshot_take(stage.slot);
	}
	answer_ms = since_ms(begin_ns);
	check(call_ms < 400, "a sleeping resolver answers a call after %" PRIu64 " ms", call_ms);
	check(snapshot && answer_ms < 400,
	      "a sleeping resolver has a snapshot after %" PRIu64 " ms", answer_ms);
	snapshot_destroy(snapshot);
	control_finish(stage.control);
	resolver_wake(stage.resolver);
	begin_ns = clock_now_ns();
	pthread_join(stage.thread, NULL);
	check(since_ms(begin_ns) < 400, "a sleeping resolver ends after %" PRIu64 " ms",
	      since_ms(begin_ns));
	stage_close(&stage);
	free(record);
}

/* A slow or busy machine only makes these numbers smaller. */
static void test_naps(void)
{
	long screen = count_naps(false, 0), slow = count_naps(true, 0);
	long slowest = count_naps(true, 100);

	check(slow <= 5, "20 Hz, for a store: %ld looks a second instead of %ld", slow, screen);
	check(slowest <= 5, "20 Hz, with the host's budget spent: %ld looks a second", slowest);
}

/*
 * An interval has the samples until its end, and ends there, however late the resolver comes to
 * them. Samples are 10 ms apart.
 */
static void test_interval_ends(void)
{
	enum { N = 20, FIRST = 7 };
	uint64_t begin_ns = clock_now_ns() - 1000000000, now_ns;
	struct guest_record *record = calloc(1, sizeof(*record));
	struct snapshot *snapshot;
	struct stage stage;

	make_record(record, "start_kernel;serve;hash");
	stage.symbols = guest_symbols();
	stage_open_settings(&stage, (struct resolver_settings){ .live = true, .intervals = true });
	for (unsigned i = 0; i < N; i++) {
		((struct sample *)(void *)record->words)->time_ns = begin_ns + i * 10000000;
		put(stage.ring, record);
	}
	snapshot_request_until(stage.slot, begin_ns + FIRST * 10000000 - 1);
	stage_start(&stage);
	snapshot = wait_snapshot(stage.slot);
	check_u64(snapshot->resolver.samples, FIRST, "samples of the first interval");
	check_u64(snapshot->time_ns, begin_ns + FIRST * 10000000 - 1,
		  "the first interval ends where it should");
	snapshot_destroy(snapshot);
	now_ns = clock_now_ns();
	snapshot_request_until(stage.slot, now_ns + 50000000);
	resolver_wake(stage.resolver);
	snapshot = wait_snapshot(stage.slot);
	check(clock_now_ns() > now_ns + 50000000,
	      "the second interval's snapshot does not come before its end");
	check_u64(snapshot->resolver.samples, N - FIRST,
		  "the second interval has the other samples");
	check_u64(snapshot->time_ns, now_ns + 50000000, "the second interval ends where it should");
	snapshot_destroy(snapshot);
	stage_finish(&stage);
	stage_close(&stage);
	free(record);
}

/*
 * Intervals: while samples come, and the last two when nobody takes snapshots any more. Each sample
 * is in one of them, and only there.
 */
static void test_intervals(void)
{
	enum { N_BATCHES = 6, BATCH = 1000 };
	struct guest_record *record = calloc(1, sizeof(*record));
	uint64_t samples = 0, nodes_of_first = 0;
	struct snapshot *snapshot;
	unsigned filled = 0;
	double weight = 0;
	struct stage stage;

	make_record(record, "start_kernel;serve;hash");
	stage.symbols = guest_symbols();
	stage_open_settings(&stage, (struct resolver_settings){ .intervals = true });
	stage_start(&stage);
	for (unsigned batch = 0; batch < N_BATCHES; batch++) {
		for (unsigned i = 0; i < BATCH; i++)
			put(stage.ring, record);
		if (batch == N_BATCHES - 1)
			break;
		snapshot_request(stage.slot);
		snapshot = wait_snapshot(stage.slot);
		if (!snapshot)
			break;
		nodes_of_first = nodes_of_first ? nodes_of_first : snapshot->n_nodes;
		samples += snapshot->resolver.samples;
		weight += snapshot->total_weight;
		filled += snapshot->total_weight > 0;
		snapshot_destroy(snapshot);
	}
	check_u64(filled, N_BATCHES - 1, "intervals with samples");
	snapshot_request(stage.slot);
	stage_finish(&stage);
	snapshot = wait_snapshot(stage.slot);
	check(snapshot && snapshot->at_end && snapshot->before && !snapshot->before->before,
	      "the last snapshot brings the one that was not taken");
	for (const struct snapshot *last = snapshot; last; last = last->before) {
		samples += last->resolver.samples;
		weight += last->total_weight;
	}
	check_u64(samples, N_BATCHES * BATCH, "samples of all intervals");
	check_u64((uint64_t)weight, N_BATCHES * BATCH, "weight of all intervals");
	snapshot_destroy(snapshot);
	snapshot = stage_snapshot(&stage);
	check(snapshot->n_nodes == 1 && nodes_of_first == 4,
	      "the profile began anew: %zu nodes, %" PRIu64 " before", snapshot->n_nodes,
	      nodes_of_first);
	snapshot_destroy(snapshot);
	stage_close(&stage);
	free(record);
}

int main(void)
{
	test_hurry();
	test_hurry_without_cpu();
	test_interval_ends();
	test_intervals();
	test_naps();
	test_woken();
	return tap_done();
}
