/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The resolver replays notes: guest memory, polls and clocks that a recording has between samples.
 * A live resolver measures how late samples come.
 */
#include "config.h"

#include "recording/format.h"
#include "tests/profile/resolver_stage.h"
#include "xtop/base/clock.h"
#include "xtop/memory/memory.h"
#include "xtop/os/os.h"

#define NOTE_ROOT 0x3000ULL /* page tables in frame 3 */

struct note {
	struct recording_note note;
	union {
		uint64_t time_ns;
		struct {
			struct recording_page page;
			uint64_t words[PAGE_LINE_BYTES / 8];
		} line;
	};
};

static size_t note_bytes(const struct note *note)
{
	return sizeof(note->note) +
	       (note->note.type == RECORDING_PAGE ? sizeof(note->line) : sizeof(note->time_ns));
}

static void stage_add_note(struct stage *stage, const struct note *note)
{
	resolver_add(stage->resolver, note, note_bytes(note));
}

static uint64_t bad_records(struct stage *stage)
{
	struct snapshot *snapshot = stage_snapshot(stage);
	uint64_t n = snapshot->resolver.bad_records;

	snapshot_destroy(snapshot);
	return n;
}

static void add_notes(struct stage *stage)
{
	struct note page = { .note.type = RECORDING_PAGE,
			     .line = { .page = { .frame = NOTE_ROOT >> 12, .lines = 1 },
				       .words = { 0x4001 } } };

	stage_add_note(stage, &(struct note){ .note.type = RECORDING_TIME, .time_ns = 77 });
	stage_add_note(stage, &page);
	stage_add_note(stage, &(struct note){ .note.type = RECORDING_POLL, .time_ns = 78 });
}

/* Notes go to the recorded memory. Without such a memory they are bad records. */
static void test_notes(void)
{
	struct memory_root root = { .cr3 = NOTE_ROOT };
	struct note late = { .note.type = RECORDING_PAGE,
			     .line = { .page = { .frame = 4, .lines = 1, .read = 9 } } };
	struct os_settings os_settings = { 0 };
	struct resolver_settings with = { 0 };
	uint64_t word = 0, refused;
	struct stage stage;
	frame_t frame;

	stage.symbols = os_settings.symbols = guest_symbols();
	guest_must(control_create(&os_settings.control));
	guest_must(recorded_memory_open(&os_settings.memory, &with.recorded));
	guest_must(os_create(&os_settings, &with.os));
	stage_open_settings(&stage, with);
	add_notes(&stage);
	check_u64(bad_records(&stage), 0, "all notes are accepted");
	check_u64(memory_now_ns(os_settings.memory), 77, "a replay has the recorded time");
	check(!memory_translate(os_settings.memory, root, 0, &frame),
	      "a read without its page table fails");
	check_u64(memory_counts(os_settings.memory).pages, 1, "a read of a recorded page succeeds");
	stage_add_note(&stage, &late);
	memory_refresh(os_settings.memory);
	check(!memory_read_u64(os_settings.memory, root, 0, &word) &&
		      memory_counts(os_settings.memory).refused == 2,
	      "a page that comes later is not there yet");
	stage_add_chain(&stage, "start_kernel;serve;hash");
	check_folded(&stage, false, "start_kernel;serve;hash 1|",
		     "a sample with missing memory is folded");
	memory_refresh(os_settings.memory);
	refused = memory_counts(os_settings.memory).refused;
	memory_translate(os_settings.memory, root, 0, &frame);
	check_u64(memory_counts(os_settings.memory).refused, refused,
		  "the page is there after the sample");
	late.line.page.lines = 3;
	stage_add_note(&stage, &late);
	check_u64(bad_records(&stage), 1, "a note whose lengths do not fit is a bad record");
	stage_close(&stage);
	os_destroy(with.os);
	memory_destroy(os_settings.memory);
	control_destroy(os_settings.control);

	stage_open(&stage);
	add_notes(&stage);
	check_u64(bad_records(&stage), 3, "notes without a recorded memory are bad records");
	stage_close(&stage);
}

/* A recording tells what dom0's clocks showed. Without a system nobody knows the guest's clocks. */
static void test_clocks(void)
{
	const struct {
		struct recording_note note;
		struct recording_clocks clocks;
	} first = { { .type = RECORDING_CLOCKS }, { 1000, 5000, 77 } },
	  second = { { .type = RECORDING_CLOCKS }, { 2000, 6500, 78 } };
	struct resolver_settings with = { 0 };
	struct memory *memory;
	struct snapshot *snapshot;
	struct stage stage;
	uint64_t told;

	stage_open(&stage);
	resolver_add(stage.resolver, &first, sizeof(first));
	check_u64(bad_records(&stage), 1,
		  "notes of clocks without a recorded memory are bad records");
	stage_close(&stage);

	stage.symbols = guest_symbols();
	guest_must(recorded_memory_open(&memory, &with.recorded));
	stage_open_settings(&stage, with);
	resolver_add(stage.resolver, &first, sizeof(first));
	resolver_add(stage.resolver, &second, sizeof(second));
	snapshot = stage_snapshot(&stage);
	check(clocks_convert(&snapshot->clocks, CLOCK_UTC, 2000, &told) && told == 6500,
	      "the snapshot has the newest reading of the clocks");
	check(clocks_convert(&snapshot->first_clocks, CLOCK_UTC, 1000, &told) && told == 5000,
	      "the snapshot has the first reading of the clocks");
	check(!clocks_convert(&snapshot->clocks, CLOCK_GUEST, 2000, &told),
	      "without a system the guest's clock is not known");
	snapshot_destroy(snapshot);
	resolver_add(stage.resolver, &first, sizeof(first) - 8);
	check_u64(bad_records(&stage), 1, "a note that is too short is a bad record");
	stage_close(&stage);
	memory_destroy(memory);

	stage_open_with(&stage, true, true);
	stage_add_chain(&stage, "start_kernel;serve;hash");
	snapshot = stage_snapshot(&stage);
	check(clocks_convert(&snapshot->clocks, CLOCK_UTC, clock_now_ns(), &told) &&
		      told / 1000000000 - clock_ns(CLOCK_REALTIME) / 1000000000 + 1 <= 2,
	      "a live resolver reads dom0's clocks itself");
	snapshot_destroy(snapshot);
	stage_close(&stage);
}

/* The lag is how long a sample has waited when its turn comes. */
static void test_lag(void)
{
	struct guest_record *record = malloc(sizeof(*record));
	struct snapshot *snapshot = NULL;
	struct stage stage;

	stage_open_with(&stage, true, true);
	for (unsigned ms = 30; ms > 0; ms -= 10) {
		guest_begin(record, clock_now_ns() - ms * 1000000, 1);
		guest_add_chain(record, 0, "start_kernel;serve;hash");
		stage_add(&stage, record);
	}
	guest_must(resolver_snapshot(stage.resolver, &snapshot));
	check(snapshot->run->lag_ns >= 30000000 && snapshot->run->lag_ns < 1000000000,
	      "the longest of three: %" PRIu64 " ns", snapshot->run->lag_ns);
	snapshot_destroy(snapshot);
	guest_must(resolver_snapshot(stage.resolver, &snapshot));
	check_u64(snapshot->run->lag_ns, 0,
		  "the lag is 0 without a sample since the last snapshot");
	check(snapshot->resolver.lag_ns >= 30000000, "the longest of all: %" PRIu64 " ns",
	      snapshot->resolver.lag_ns);
	snapshot_destroy(snapshot);
	stage_close(&stage);
	free(record);
}

int main(void)
{
	test_notes();
	test_clocks();
	test_lag();
	return tap_done();
}
