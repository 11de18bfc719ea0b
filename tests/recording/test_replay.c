/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Replaying: a recording comes back through ring and resolver with the same samples and the
 * sampler's counts, at its own pace or as fast as possible. Times in a file may be anything.
 */
#include "config.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "tests/recordings/guest.h"
#include "tests/support/made_memory.h"
#include "tests/support/tap.h"
#include "xtop/profile/resolver.h"
#include "xtop/recording/replay.h"

#define MS     1000000ULL
#define WAIT_S 60 /* the longest wait: a slow machine is no failure */

static char folder[] = "/tmp/xtop-test-replay-XXXXXX";
static char path[64];

struct stage {
	struct symbols *symbols;
	struct recording_reader *reader;
	struct ring *ring;
	struct control *control;
	struct snapshot_slot *slot;
	struct resolver *resolver;
	bool paced;
};

/* --- recordings ------------------------------------------------------------------------------- */

static struct recording_writer *record_begin(void)
{
	struct recording_info info = {
		.domain = "made-up", .domid = 7, .type = GUEST_PVH, .n_vcpus = 2, .freq_hz = 100
	};
	struct symbols *symbols = guest_symbols();
	struct recording_writer *writer;

	unlink(path);
	guest_must(recording_writer_open(path, &writer));
	recording_writer_begin(writer, &info, symbols);
	symbols_destroy(symbols);
	return writer;
}

static void record_tick(struct recording_writer *writer, uint64_t time_ns, const char *chain)
{
	static struct guest_record record;

	guest_begin(&record, time_ns, 20000);
	guest_add_chain(&record, 0, chain);
	recording_writer_write(writer, (const struct sample *)record.words, NULL);
}

/* N ticks at these times. */
static void record_times(const uint64_t *times_ns, size_t n)
{
	struct recording_writer *writer = record_begin();

	for (size_t i = 0; i < n; i++)
		record_tick(writer, times_ns[i], "start_kernel;serve;hash");
	guest_must(recording_writer_close(writer));
}

/* --- the stages ------------------------------------------------------------------------------- */

static struct {
	struct moment {
		uint64_t resolved, counted, time_ns;
	} list[8];
	size_t n;
} moments;

static void add_moment(void *context, const struct snapshot *snapshot)
{
	(void)context;
	if (moments.n < sizeof(moments.list) / sizeof(moments.list[0]))
		moments.list[moments.n] =
			(struct moment){ snapshot->resolver.samples, snapshot->run->sampler.samples,
					 snapshot->time_ns };
	moments.n++;
}

static void stage_open(struct stage *stage, size_t ring_bytes)
{
	struct resolver_settings settings = { .n_vcpus = 2, .max_nodes = 4096,
					      .moment = add_moment };

	stage->paced = false;
	guest_must(symbols_create(&stage->symbols));
	guest_must(recording_reader_open(path, stage->symbols, &stage->reader));
	guest_must(ring_create(ring_bytes, &stage->ring));
	guest_must(control_create(&stage->control));
	guest_must(snapshot_slot_create(&stage->slot));
	settings.ring = stage->ring;
	settings.control = stage->control;
	settings.slot = stage->slot;
	settings.symbols = stage->symbols;
	guest_must(resolver_create(&settings, &stage->resolver));
}

static void stage_close(struct stage *stage)
{
	snapshot_slot_destroy(stage->slot);
	resolver_destroy(stage->resolver);
	control_destroy(stage->control);
	ring_destroy(stage->ring);
	recording_reader_close(stage->reader);
	symbols_destroy(stage->symbols);
}

static void *run_replay(void *context)
{
	struct stage *stage = context;

	replay_run(stage->reader, stage->control, stage->ring, stage->paced);
	return NULL;
}

static pthread_t stage_start(struct stage *stage)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run_replay, stage) != 0)
		abort();
	return thread;
}

/* Runs both stages to the end. Returns the last snapshot, which the caller destroys. */
static struct snapshot *stage_play(struct stage *stage)
{
	pthread_t thread = stage_start(stage);

	resolver_run(stage->resolver);
	pthread_join(thread, NULL);
	return snapshot_take(stage->slot);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

static uint64_t counted_ticks(struct stage *stage)
{
	struct sampler_counts counts;

	control_get_counts(stage->control, &counts);
	return counts.ticks;
}

/* Waits until N samples have gone into the ring. False: not within WAIT_S. */
static bool wait_ticks(struct stage *stage, uint64_t n)
{
	time_t end = time(NULL) + WAIT_S;
	struct sampler_counts counts = { .ticks = 0 };

	while (counts.ticks < n && time(NULL) < end) {
		nap();
		control_get_counts(stage->control, &counts);
	}
	return counts.ticks >= n;
}

/* --- tests ------------------------------------------------------------------------------------ */

/* 200 ticks at 100 Hz: 3 of 4 in hash, every tenth idle, one late, one with a retake. */
static void record_whole(void)
{
	struct recording_writer *writer = record_begin();
	struct guest_record *record = malloc(sizeof(*record));

	for (unsigned i = 0; i < 200; i++) {
		bool idle = i % 10 == 9;
		struct sample *sample =
			guest_begin(record, 5000 * MS + 10 * MS * i, idle ? 0 : 10000 + i);

		sample->period_ns = 10 * MS;
		sample->flags = i == 20 ? SAMPLE_LATE : i == 30 ? SAMPLE_RETAKE : 0;
		if (idle)
			guest_add_vcpu(record, 0, VCPU_BLOCKED);
		else
			guest_add_chain(record, 0,
					i % 4 ? "start_kernel;serve;hash"
					      : "start_kernel;serve;compress");
		guest_add_vcpu(record, 1, VCPU_BLOCKED);
		recording_writer_write(writer, (const struct sample *)record->words, NULL);
	}
	recording_writer_set_counts(
		writer,
		&(struct sampler_counts){
			.missed = 1, .skipped_budget = 2, .waited = 3, .lost = 4, .refused = 5 });
	guest_must(recording_writer_close(writer));
	free(record);
}

static uint64_t weight_of(const struct snapshot *snapshot, const char *name)
{
	uint64_t weight = 0;

	for (size_t i = 0; i < snapshot->n_nodes; i++)
		if (strcmp(frames_get(snapshot->frames, snapshot->nodes[i].frame)->name, name) == 0)
			weight += snapshot->nodes[i].self_total;
	return weight;
}

/* A ring smaller than the recording is filled many times, and nothing is lost. */
static void test_whole(void)
{
	struct snapshot *snapshot;
	struct stage stage;

	record_whole();
	stage_open(&stage, 4096);
	snapshot = stage_play(&stage);
	if (!check(snapshot && snapshot->at_end, "the replay has a last snapshot"))
		return;
	check_u64(weight_of(snapshot, "compress"), 50, "samples of compress() in the replay");
	check_u64(weight_of(snapshot, "hash"), 130, "samples of hash() in the replay");
	check_u64(snapshot->total_weight, 180, "samples in the profile: all");
	check_u64(snapshot->resolver.bad_records, 0, "records that the resolver refused");
	check_u64(snapshot->run->vcpus[1].states[VCPU_BLOCKED], 200, "vCPU 1 blocked");
	check_u64(snapshot->time_ns, 5000 * MS + 1990 * MS,
		  "time of the snapshot: the last sample's");
	check_u64(snapshot->started_ns, 5000 * MS, "the start of the profile");
	check_u64(snapshot->run->sampler.state, SAMPLER_ENDED, "the state after a replay");
	check_u64(snapshot->run->sampler.ticks, 200, "ticks of a replay: one for each sample");
	check_u64(snapshot->run->sampler.samples, 200, "samples of a replay");
	check_u64(snapshot->run->sampler.stops, 180, "stops of a replay");
	check_u64(snapshot->run->sampler.idle_ticks, 20, "idle ticks of a replay");
	check_u64(snapshot->run->sampler.late, 1, "late ticks of a replay");
	check_u64(snapshot->run->sampler.retakes, 1, "retakes of a replay");
	check_u64(snapshot->run->sampler.lost, 4, "lost ticks, as the end mark has them");
	check_u64(snapshot->run->sampler.missed, 1, "missed ticks, as the end mark has them");
	check_u64(snapshot->run->sampler.skipped_budget, 2,
		  "skipped ticks, as the end mark has them");
	check_u64(snapshot->run->sampler.waited, 3, "waiting ticks, as the end mark has them");
	check_u64(snapshot->run->sampler.refused, 5, "refused ticks, as the end mark has them");
	check_u64(snapshot->run->sampler.elapsed_ns, 2000 * MS, "elapsed: 200 periods");
	check(snapshot->run->sampler.rate_asked_hz == 100 &&
		      snapshot->run->sampler.rate_now_hz == 100,
	      "100 Hz asked and reached (%g)", snapshot->run->sampler.rate_now_hz);
	check_u64(snapshot->run->stopped.n, 180, "stopped times of a replay");
	check_u64(snapshot->run->stopped.min_ns, 10000, "the shortest stopped time of a replay");
	check_u64(snapshot->run->stopped.max_ns, 10198, "the longest stopped time of a replay");
	snapshot_destroy(snapshot);
	stage_close(&stage);
}

static void test_no_samples(void)
{
	struct snapshot *snapshot;
	struct stage stage;

	record_times(NULL, 0);
	stage_open(&stage, 4096);
	snapshot = stage_play(&stage);
	check(snapshot && snapshot->at_end && snapshot->run->sampler.state == SAMPLER_ENDED &&
		      snapshot->n_nodes == 1,
	      "a recording without samples ends");
	snapshot_destroy(snapshot);
	stage_close(&stage);
}

/* The ring has room for the whole recording, so the replay is far ahead of the resolver. */
static void test_moments(void)
{
	uint64_t times[350];
	struct stage stage;

	for (size_t i = 0; i < 350; i++)
		times[i] = 7000 * MS + i * 10 * MS;
	record_times(times, 350);
	stage_open(&stage, 1U << 20);
	moments.n = 0;
	run_replay(&stage);
	check_u64(counted_ticks(&stage), 350, "the whole recording is in the ring");
	resolver_run(stage.resolver);
	check_u64(moments.n, 3, "moments of three and a half seconds");
	for (size_t i = 0; i < 3; i++) {
		check_u64(moments.list[i].time_ns, (8000 + 1000 * i) * MS,
			  "the elapsed time in a moment's counters");
		check_u64(moments.list[i].resolved, 101 + 100 * i, "samples in front of a moment");
		check_u64(moments.list[i].counted, 101 + 100 * i,
			  "a moment counts the samples in front of it");
	}
	stage_close(&stage);
}

static void test_paced(void)
{
	static const uint64_t times[] = { 9000 * MS, 9050 * MS, 9300 * MS };
	struct snapshot *snapshot;
	struct stage stage;
	uint64_t start;

	record_times(times, 3);
	stage_open(&stage, 4096);
	stage.paced = true;
	start = now_ns();
	snapshot = stage_play(&stage);
	check(now_ns() - start >= 300 * MS, "0.3 s of recording take no less");
	check(snapshot && snapshot->total_weight == 3, "samples of a paced replay");
	snapshot_destroy(snapshot);
	stage_close(&stage);
}

/*
 * Samples are an hour apart: as fast as possible that takes no time; a paced replay waits, and ends
 * when it is told to.
 */
static void test_fast_and_quit(void)
{
	static const uint64_t times[] = { 1, 3600000 * MS, 7200000 * MS };
	struct sampler_counts counts;
	struct snapshot *snapshot;
	struct stage stage;
	pthread_t thread;

	record_times(times, 3);
	stage_open(&stage, 4096);
	snapshot = stage_play(&stage);
	check(snapshot && snapshot->total_weight == 3, "samples of two hours, replayed at once");
	snapshot_destroy(snapshot);
	stage_close(&stage);

	stage_open(&stage, 4096);
	stage.paced = true;
	thread = stage_start(&stage);
	check(wait_ticks(&stage, 1), "the first sample is due at once");
	control_quit(stage.control);
	pthread_join(thread, NULL);
	control_get_counts(stage.control, &counts);
	check(counts.ticks == 1 && counts.state == SAMPLER_ENDED,
	      "told to quit while it waits: %" PRIu64 " ticks", counts.ticks);
	stage_close(&stage);
}

/* Nobody empties the ring. Only samples that went into the ring are counted. */
static void test_quit_ring_full(void)
{
	struct sampler_counts counts;
	struct stage stage;
	size_t size_bytes;
	uint64_t n = 0;
	pthread_t thread;

	record_whole();
	stage_open(&stage, 4096);
	thread = stage_start(&stage);
	check(wait_ticks(&stage, 3), "the replay waits when the ring is full");
	while (ring_used_bytes(stage.ring) < 3200)
		nap(); /* records here have up to 640 bytes */
	for (int i = 0; i < 20; i++)
		nap();
	control_quit(stage.control);
	pthread_join(thread, NULL);
	control_get_counts(stage.control, &counts);
	while (ring_peek(stage.ring, &size_bytes)) {
		ring_release(stage.ring);
		n++;
	}
	check(n > 0 && n < 200, "%" PRIu64 " samples in the ring", n);
	check_u64(counts.ticks, n, "ticks of a replay whose ring was full");
	stage_close(&stage);
}

/* Times in a file that go back, jump, go back again, jump to the end of time and back. */
static void test_wild_times(void)
{
	static const uint64_t back[] = { 1000 * MS, 1010 * MS, 400 * MS, 420 * MS, 0, 5 * MS };
	static const uint64_t wild[] = { UINT64_MAX - 5, UINT64_MAX, 0, UINT64_MAX, 7, UINT64_MAX };
	struct snapshot *snapshot;
	struct stage stage;

	record_times(back, 6);
	stage_open(&stage, 4096);
	stage.paced = true; /* takes 35 ms; with the times of the file it would take 584 years */
	snapshot = stage_play(&stage);
	check_u64(snapshot->total_weight, 6, "times go back: samples");
	check_u64(snapshot->run->sampler.elapsed_ns, 35 * MS, "elapsed: what went forward");
	check_u64(snapshot->time_ns, 1035 * MS, "time of the snapshot");
	check(snapshot->run->sampler.rate_now_hz > 142 && snapshot->run->sampler.rate_now_hz < 143,
	      "5 periods in 35 ms: %g Hz", snapshot->run->sampler.rate_now_hz);
	snapshot_destroy(snapshot);
	stage_close(&stage);

	record_times(wild, 6);
	stage_open(&stage, 4096);
	snapshot = stage_play(&stage);
	check_u64(snapshot->total_weight, 6, "times jump: samples");
	check_u64(snapshot->run->sampler.elapsed_ns, 5, "elapsed stops at the end of time");
	check_u64(snapshot->time_ns, UINT64_MAX, "time of the snapshot");
	snapshot_destroy(snapshot);
	stage_close(&stage);
}

/*
 * Memory that was read for a sample comes before it in the ring, paced or not, and is no tick.
 */
static void test_notes(void)
{
	struct made_memory *made = made_create();
	struct memory_root root = made_root(made);
	struct recording_writer *writer = record_begin();
	char order[16] = "";
	struct stage stage;
	const void *record;
	size_t size_bytes;
	pthread_t thread;

	recording_writer_watch(writer, made_memory(made));
	record_tick(writer, 100 * MS, "start_kernel;serve;hash");
	memory_ranges(made_memory(made), root, 0, 1, &(struct memory_range){ 0 }, 1);
	memory_now_ns(made_memory(made));
	record_tick(writer, 110 * MS, "start_kernel;serve;hash");
	recording_writer_write_poll(writer, 115 * MS);
	record_tick(writer, 120 * MS, "start_kernel;serve;hash");
	guest_must(recording_writer_close(writer));
	made_destroy(made);

	stage_open(&stage, 1 << 16);
	stage.paced = true;
	thread = stage_start(&stage);
	pthread_join(thread, NULL);
	while ((record = ring_peek(stage.ring, &size_bytes)) && strlen(order) < 15) {
		uint32_t type = ((const struct recording_note *)record)->type;

		order[strlen(order)] = recording_is_note(record) ? (char)type : 's';
		ring_release(stage.ring);
	}
	check_string(order, "sPTsPs", "samples, Page, Time and Poll");
	check_u64(counted_ticks(&stage), 3, "ticks that the replay counts");
	stage_close(&stage);
}

int main(void)
{
	if (!mkdtemp(folder))
		abort();
	snprintf(path, sizeof(path), "%s/recording", folder);
	test_whole();
	test_no_samples();
	test_moments();
	test_paced();
	test_fast_and_quit();
	test_quit_ring_full();
	test_wild_times();
	test_notes();
	unlink(path);
	rmdir(folder);
	return tap_done();
}
