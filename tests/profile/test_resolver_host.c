/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording has what was known of the host: Xen's trace as it came, and who takes the physical
 * CPUs. A replay shows the same; files that say anything else are refused.
 */
#include "config.h"

#include <math.h>
#include <unistd.h>

#include "recording/format.h"
#include "tests/profile/resolver_stage.h"
#include "xtop/os/os.h"

#define HOST_DOMID 5
#define HOST_KHZ   1000000 /* a cycle is a nanosecond */

static char path[] = "/tmp/test_resolver_host.XXXXXX";

static void write_chunk(struct recording_writer *writer, uint64_t cpu_ns, uint32_t cpu,
			const void *bytes, size_t size_bytes)
{
	static struct trace_chunk chunk;

	chunk = (struct trace_chunk){ .cpu = cpu,
				      .size_bytes = (uint32_t)size_bytes,
				      .cpu_ns = cpu_ns };
	memcpy(chunk.bytes, bytes, size_bytes);
	recording_writer_write_trace(writer, HOST_DOMID, &chunk);
}

/*
 * vCPU 1 runs on CPU 3; it exits for CPUID for 40 us. The record of the exit is cut in two. Then
 * another process reads the buffers.
 */
static void write_trace(struct recording_writer *writer)
{
	const struct trace_hello hello = { .khz = HOST_KHZ };
	const uint32_t words[] = {
		0x21001U | 1 << 8 | 1 << 28 | 1U << 31, 1000, 0, HOST_DOMID << 16 | 1,
		0x81102U | 3 << 28 | 1U << 31,		2000, 0, 0x72, 0x1000, 0,
		0x81001U | 1U << 31,			42000, 0,
	};

	write_chunk(writer, 345, UINT32_MAX, &hello, sizeof(hello));
	write_chunk(writer, 12000, 3, words, 5 * sizeof(words[0]));
	write_chunk(writer, 12000, 3, words + 5, sizeof(words) - 5 * sizeof(words[0]));
	write_chunk(writer, 345, UINT32_MAX, &hello, sizeof(hello));
}

static void write_takers(struct recording_writer *writer)
{
	static struct takers_table table;

	table = (struct takers_table){
		.looks = 7,
		.domid = HOST_DOMID,
		.steal = { 0.25, NAN },
		.n_takers = 1,
		.n_vcpus = 2,
	};
	table.takers[0] = (struct taker){ .domid = 9, .share = { 1, 0.5 } };
	memset(table.takers[0].name, 'x', sizeof(table.takers[0].name)); /* the name has no end */
	table.vcpus[1].cpu = 3;
	memset(&table.vcpus[1].online, 0x55, 1);
	strcpy(table.vcpus[1].affinity, "0-3\033[2J");
	recording_writer_write_takers(writer, &table);
}

static void write_recording(void)
{
	const struct recording_info info = { .domain = "web01", .n_vcpus = 2, .freq_hz = 99 };
	struct recording_writer *writer;
	struct guest_record record;

	unlink(path);
	guest_must(recording_writer_open(path, &writer));
	recording_writer_begin(writer, &info, NULL);
	write_trace(writer);
	guest_begin(&record, 1000000, 1);
	guest_add_chain(&record, 0, "start_kernel;serve;hash");
	recording_writer_write(writer, (const struct sample *)record.words, NULL);
	write_takers(writer);
	guest_must(recording_writer_close(writer));
}

/* Replays the file. SKIPPED: a type of notes that is left out, as an older reader does. */
static struct snapshot *replay(struct stage *stage, uint32_t skipped)
{
	struct recording_reader *reader;
	size_t size_bytes;
	const void *record;

	guest_must(recording_reader_open(path, NULL, &reader));
	while ((record = recording_reader_next(reader, &size_bytes))) {
		const struct recording_note *note = record;

		if (!recording_is_note(note) || note->type != skipped)
			resolver_add(stage->resolver, record, size_bytes);
	}
	check(!recording_reader_get_complaint(reader), "the reader has no complaint");
	recording_reader_close(reader);
	return stage_snapshot(stage);
}

static void check_exits(const struct snapshot *snapshot)
{
	const struct exits_table *exits = snapshot->run->exits;

	if (!check(exits && exits->n_rows == 1, "the replay has exits of one reason"))
		return;
	check_u64(exits->rows[0].reason.code, 0x72, "code of the exit's reason");
	check_u64(exits->rows[0].total.count, 1, "number of exits");
	check(fabs(exits->rows[0].total.ns - 40000) < 1, "the replay's exits took %g ns",
	      exits->rows[0].total.ns);
	check_u64(exits->records, 3, "number of records, one of which was cut in two");
	check_u64(exits->cpu_ns, 12345, "the readers' CPU time");
	check(exits->tracing, "the replay does not say that tracing is off");
}

static void check_takers(const struct snapshot *snapshot)
{
	const struct takers_table *takers = snapshot->run->takers;

	if (!check(takers, "the replay has who takes the CPUs"))
		return;
	check_u64(takers->looks, 7, "number of looks");
	check_u64(takers->n_vcpus, 2, "number of vCPUs");
	check(takers->steal.live == 0.25 && takers->steal.total == 0,
	      "the live steal is kept, and a total that is no number becomes 0");
	check(takers->takers[0].domid == 9 && takers->takers[0].share.live == 1,
	      "the taker has its domid and share");
	check_u64(strlen(takers->takers[0].name), 63, "length of a taker's name that had no end");
	check(takers->vcpus[1].cpu == 3 && takers->vcpus[1].online,
	      "the second vCPU has its CPU and is online");
	check(strcmp(takers->vcpus[1].affinity, "0-3_[2J") == 0, "no escape reaches a terminal: %s",
	      takers->vcpus[1].affinity);
}

static void test_replay(uint32_t skipped)
{
	struct resolver_settings with = { 0 };
	struct snapshot *snapshot;
	struct memory *memory;
	struct stage stage;

	stage.symbols = guest_symbols();
	guest_must(recorded_memory_open(&memory, &with.recorded));
	stage_open_settings(&stage, with);
	snapshot = replay(&stage, skipped);
	check_u64(snapshot->resolver.bad_records, 0, "records of the replay that are bad");
	check_u64(snapshot->resolver.samples, 1, "samples of the replay");
	if (skipped == RECORDING_TRACE)
		check(!snapshot->run->exits, "without its notes there are no exits");
	else
		check_exits(snapshot);
	check_takers(snapshot);
	snapshot_destroy(snapshot);
	stage_close(&stage);
	memory_destroy(memory);
}

/* Notes whose lengths lie. */
static void test_damage(void)
{
	static struct trace_chunk chunk;
	static struct takers_table table;
	struct {
		struct recording_note note;
		struct recording_trace trace;
		uint32_t words[2];
	} trace = { .note.type = RECORDING_TRACE, .trace.size_bytes = 8 };
	struct {
		struct recording_note note;
		struct takers_table table;
	} *takers = calloc(1, sizeof(*takers));
	uint32_t domid;

	check(recorded_trace_decode(&trace.note, sizeof(trace), &domid, &chunk) &&
		      chunk.size_bytes == 8,
	      "a whole note of a trace is decoded");
	check(!recorded_trace_decode(&trace.note, sizeof(trace) - 8, &domid, &chunk),
	      "a note with fewer bytes than it says is refused");
	check(!recorded_trace_decode(&trace.note, sizeof(trace.note) + 8, &domid, &chunk),
	      "a note of a trace without room for its head is refused");
	trace.trace.size_bytes = UINT32_MAX;
	check(!recorded_trace_decode(&trace.note, sizeof(trace), &domid, &chunk),
	      "a note with more bytes than a chunk is refused");
	takers->table.n_takers = TAKERS_MAX;
	memset(takers->table.failure, '\033', sizeof(takers->table.failure));
	check(recorded_takers_decode(&takers->note, sizeof(*takers), &table),
	      "a full table is decoded");
	check(strspn(table.failure, "_") == sizeof(table.failure) - 1 &&
		      !table.failure[sizeof(table.failure) - 1],
	      "a failure of escapes without an end");
	takers->table.failure[0] = '\0';
	check(!recorded_takers_decode(&takers->note, 8 + RECORDING_TAKERS_BYTES + 128, &table),
	      "a note with more takers than bytes is refused");
	takers->table.n_takers = TAKERS_MAX + 1;
	check(!recorded_takers_decode(&takers->note, sizeof(*takers), &table),
	      "a note with too many takers is refused");
	takers->table.n_takers = 0;
	takers->table.n_vcpus = UINT32_MAX;
	check(!recorded_takers_decode(&takers->note, sizeof(*takers), &table),
	      "a note with too many vCPUs is refused");
	check(!recorded_takers_decode(&takers->note, 16, &table),
	      "a note of takers without room for its head is refused");
	free(takers);
}

int main(void)
{
	close(mkstemp(path));
	write_recording();
	test_replay(0);
	test_replay(RECORDING_TRACE);
	test_damage();
	unlink(path);
	return tap_done();
}
