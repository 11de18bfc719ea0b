/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The resolver. Samples of the made-up guest (tests/recordings/guest.h) go in, by call or through
 * the ring. Folded stacks and counts come out, and what the sampler learns.
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "recording/format.h"
#include "tests/recordings/guest.h"
#include "tests/support/make_go.h"
#include "tests/support/tap.h"
#include "xtop/base/clock.h"
#include "xtop/base/registers_x86.h"
#include "xtop/base/work.h"
#include "xtop/export/export.h"
#include "xtop/memory/memory.h"
#include "xtop/os/os.h"
#include "xtop/profile/resolver.h"
#include "xtop/symbol/image.h"
#include "xtop/unwind/go.h"

#define RING_BYTES (16 << 20) /* some 40,000 records: the resolver is busy for a while */
#define WAIT_S     60         /* how long to wait: a slow machine is no failure */

struct stage {
	struct symbols *symbols;
	struct ring *ring;
	struct control *control;
	struct snapshot_slot *slot;
	struct resolver *resolver;
	struct work work; /* the resolver's */
	pthread_t thread;
};

/* SETTINGS has what the stage itself does not fill in. */
static void stage_open_settings(struct stage *stage, struct resolver_settings settings)
{
	settings.n_vcpus = 2;
	settings.max_nodes = 4096;
	guest_must(ring_create(RING_BYTES, &stage->ring));
	guest_must(control_create(&stage->control));
	guest_must(snapshot_slot_create(&stage->slot));
	settings.ring = stage->ring;
	settings.control = stage->control;
	settings.slot = stage->slot;
	settings.symbols = stage->symbols;
	stage->work = (struct work){ 0 };
	settings.work = &stage->work;
	guest_must(resolver_create(&settings, &stage->resolver));
}

static void stage_open_with(struct stage *stage, bool live, bool with_symbols)
{
	stage->symbols = guest_symbols();
	if (!with_symbols) {
		symbols_destroy(stage->symbols);
		guest_must(symbols_create(&stage->symbols));
	}
	stage_open_settings(stage, (struct resolver_settings){ .live = live });
}

static void stage_open(struct stage *stage)
{
	stage_open_with(stage, false, true);
}

static void stage_close(struct stage *stage)
{
	snapshot_slot_destroy(stage->slot);
	resolver_destroy(stage->resolver);
	control_destroy(stage->control);
	ring_destroy(stage->ring);
	symbols_destroy(stage->symbols);
}

static void stage_add(struct stage *stage, const struct guest_record *record)
{
	resolver_add(stage->resolver, record->words, record->size_bytes);
}

static void stage_add_chain(struct stage *stage, const char *chain)
{
	static struct guest_record record;

	guest_begin(&record, 1000000, 1);
	guest_add_chain(&record, 0, chain);
	stage_add(stage, &record);
}

static void make_record(struct guest_record *record, const char *chain)
{
	guest_begin(record, 1000, 1);
	guest_add_chain(record, 0, chain);
}

static struct snapshot *stage_snapshot(struct stage *stage)
{
	struct snapshot *snapshot;

	guest_must(resolver_snapshot(stage->resolver, &snapshot));
	return snapshot;
}

/* The profile as folded stacks; the caller frees it. */
static char *folded(const struct snapshot *snapshot, bool addresses)
{
	char *text;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	guest_must(export_folded(snapshot,
				 &(struct export_settings){ .addresses = addresses }, file));
	fclose(file);
	return text;
}

static void check_folded(struct stage *stage, bool addresses, const char *want, const char *name)
{
	struct snapshot *snapshot = stage_snapshot(stage);
	char *got = folded(snapshot, addresses);

	for (char *at = got; *at; at++)
		*at = *at == '\n' ? '|' : *at; /* TAP is lines */
	check_string(got, want, name);
	free(got);
	snapshot_destroy(snapshot);
}

/* --- folding ---------------------------------------------------------------------------------- */

static void test_folds(void)
{
	struct stage stage;
	struct snapshot *snapshot;

	stage_open(&stage);
	for (int i = 0; i < 3; i++)
		stage_add_chain(&stage, "start_kernel;serve;hash");
	stage_add_chain(&stage, "start_kernel;serve;compress");
	stage_add_chain(&stage, "start_kernel;walk;walk;walk");
	stage_add_chain(&stage, "start_kernel;_ZN4disk5Queue4pushEv");
	stage_add_chain(&stage, "_start;main;loop");
	check_folded(
		&stage, false,
		"_start;main;loop 1|start_kernel;disk::Queue::push 1|start_kernel;serve;compress 1|"
		"start_kernel;serve;hash 3|start_kernel;walk;walk;walk 1|",
		"equal stacks are one, names are demangled");
	snapshot = stage_snapshot(&stage);
	check_u64(snapshot->resolver.samples, 7, "samples");
	check_u64(snapshot->resolver.user, 1, "samples in user code");
	check_u64(snapshot->resolver.frames, 3 * 4 + 4 + 2 + 3, "frames");
	check_u64(snapshot->resolver.stops[UNWIND_COMPLETE], 7, "complete");
	check_u64(snapshot->total_weight, 7, "weight");
	check_u64(snapshot->run->n_vcpus, 2, "vCPUs");
	check_u64(snapshot->run->vcpus[0].user, 1, "user ticks of vCPU 0");
	snapshot_destroy(snapshot);
	stage_close(&stage);
}

static void stage_add_weight(struct stage *stage, uint32_t weight, enum vcpu_state other,
			     const char *chain)
{
	static struct guest_record record;

	guest_begin(&record, 1000000, 1)->weight = weight;
	guest_add_chain(&record, 0, chain);
	guest_add_vcpu(&record, 1, other);
	stage_add(stage, &record);
}

/* A sample stands for as many ticks as it says: in shares, in files, in the times of vCPUs. */
static void test_weights(void)
{
	struct stage stage;
	struct snapshot *snapshot;

	stage_open(&stage);
	stage_add_weight(&stage, 29 * SAMPLE_WEIGHT_TICK / 2, VCPU_BLOCKED,
			 "start_kernel;serve;hash");
	stage_add_weight(&stage, 11 * SAMPLE_WEIGHT_TICK / 2, VCPU_BLOCKED,
			 "start_kernel;serve;hash");
	stage_add_weight(&stage, SAMPLE_WEIGHT_TICK, VCPU_OFFLINE, "_start;main;loop");
	check_folded(&stage, false, "_start;main;loop 1|start_kernel;serve;hash 20|", "ticks");
	snapshot = stage_snapshot(&stage);
	check_u64(snapshot->resolver.samples, 3, "samples");
	check_u64(snapshot->resolver.user, 1, "samples in user code");
	check(snapshot->resolver.weight == 21 && snapshot->total_weight == 21, "%g ticks",
	      snapshot->resolver.weight);
	check(snapshot->nodes[0].children_total == 3, "the tree counts samples, too");
	check_u64(snapshot->run->vcpus[0].states[VCPU_RUNNING], 21, "vCPU 0 ran");
	check_u64(snapshot->run->vcpus[0].user, 1, "in user code");
	check_u64(snapshot->run->vcpus[1].states[VCPU_BLOCKED], 20, "vCPU 1 was blocked");
	check_u64(snapshot->resolver.states[VCPU_OFFLINE], 1, "and offline");
	check(snapshot->found_by && snapshot->found_by[snapshot->run->vcpus[0].last_frame] ==
					    1 << UNWIND_BY_REGISTERS,
	      "the registers told where its last frame is");
	snapshot_destroy(snapshot);
	stage_close(&stage);
}

static void test_kinds(void)
{
	struct stage stage;
	struct snapshot *snapshot;
	unsigned kernel = 0, user = 0;

	stage_open(&stage);
	stage_add_chain(&stage, "start_kernel;serve");
	stage_add_chain(&stage, "_start;main");
	snapshot = stage_snapshot(&stage);
	for (size_t i = 0; i < snapshot->n_nodes; i++) {
		const struct frame *frame = frames_get(snapshot->frames, snapshot->nodes[i].frame);

		kernel +=
			frame->kind == FRAME_KIND_KERNEL && strcmp(frame->module, "[kernel]") == 0;
		user += frame->kind == FRAME_KIND_USERLAND && strcmp(frame->module, "httpd") == 0;
	}
	check(kernel == 2 && user == 2, "2 kernel frames (%u), 2 of the program (%u)", kernel,
	      user);
	snapshot_destroy(snapshot);
	stage_close(&stage);
}

/*
 * A function may end with a call of a function that never returns. Then the return address belongs
 * to the next function.
 */
static void test_return_addresses(void)
{
	struct stage stage;

	stage_open(&stage);
	stage_add_chain(&stage, "start_kernel;compress!;panic");
	check_folded(&stage, false, "start_kernel;compress;panic 1|",
		     "a call that never returns belongs to the caller");
	stage_add_chain(&stage, "start_kernel;copy");
	stage_add_chain(&stage, "start_kernel;compress!");
	check_folded(&stage, false, "start_kernel;compress;panic 1|start_kernel;copy 2|",
		     "the innermost frame is looked up by its own address");
	stage_close(&stage);
}

static void check_call(const struct snapshot *snapshot, unsigned at, const char *name, double ticks)
{
	const struct snapshot_call *call = &snapshot->run->calls[0].calls[at];

	check_string(frames_get(snapshot->frames, call->frame)->name, name, "what tells the call");
	check(call->ticks == ticks, "%s: %.0f ticks", name, call->ticks);
}

/* Newer kernels have one stub for all hypercalls: the caller tells which one a vCPU is in. */
static void test_calls(void)
{
	static const char *const stubs[] = { "xen_hypercall_amd", "xen_hypercall_sched_op",
					     "HYPERCALL_console_io" }; /* the last one is XTF's */
	struct snapshot *snapshot;
	struct stage stage;

	stage.symbols = guest_symbols();
	guest_add_image(stage.symbols, "[kernel]", GUEST_KERNEL + 0x10000, stubs, 3, NULL);
	stage_open_settings(&stage, (struct resolver_settings){ 0 });
	stage_add_chain(&stage, "start_kernel;idle;0xffffffff81010080");
	stage_add_chain(&stage, "start_kernel;serve;0xffffffff81010080");
	stage_add_chain(&stage, "start_kernel;idle;0xffffffff81010080");
	stage_add_chain(&stage, "start_kernel;idle;0xffffffff81010180");
	stage_add_chain(&stage, "0xffffffff81010080");
	for (unsigned i = 0; i < 3; i++)
		stage_add_chain(&stage, "start_kernel;idle;0xffffffff81010280");
	stage_add_chain(&stage, "start_kernel;idle");
	snapshot = stage_snapshot(&stage);
	check_call(snapshot, 0, "idle", 2);
	check_call(snapshot, 1, "serve", 1);
	check_call(snapshot, 2, "xen_hypercall_sched_op", 1);
	check_call(snapshot, 3, "xen_hypercall_amd", 1);
	check_call(snapshot, 4, "HYPERCALL_console_io", 3);
	check(snapshot->run->calls[0].calls[5].ticks == 0, "no other calls");
	snapshot_destroy(snapshot);
	stage_close(&stage);
}

static void test_unknown(void)
{
	struct stage stage;
	struct snapshot *snapshot;

	stage_open_with(&stage, false, false);
	stage_add_chain(&stage, "0xffffffff81000110;0xffffffff81000210");
	stage_add_chain(&stage, "0xffffffff81000110;0xffffffff81000220");
	check_folded(&stage, false, "[unknown];[unknown] 2|", "nobody can name them");
	check_folded(
		&stage, true,
		"0xffffffff8100010f;0xffffffff81000210 1|0xffffffff8100010f;0xffffffff81000220 1|",
		"by addresses");
	snapshot = stage_snapshot(&stage);
	check_u64(snapshot->resolver.frames_unknown, 4, "unknown frames");
	check_u64(snapshot->resolver.samples_unknown, 2, "samples in unknown code");
	check_u64(snapshot->resolver.unknown_causes[UNKNOWN_NO_SYMBOLS], 2,
		  "no symbols were given");
	snapshot_destroy(snapshot);
	stage_close(&stage);
	stage_open(&stage);
	stage_add_chain(&stage,
			"start_kernel;0xffffffff81000c10;hash"); /* behind the last function */
	snapshot = stage_snapshot(&stage);
	check_u64(snapshot->resolver.samples_unknown, 0, "an unknown caller of a known function");
	snapshot_destroy(snapshot);
	stage_add_chain(&stage, "start_kernel;0xffffffff81000c10");
	snapshot = stage_snapshot(&stage);
	check_u64(snapshot->resolver.samples_unknown, 1, "an unknown innermost function");
	check_u64(snapshot->resolver.unknown_causes[UNKNOWN_BETWEEN] +
			  snapshot->resolver.unknown_causes[UNKNOWN_NO_AREA],
		  1, "of a kernel whose symbols are known");
	snapshot_destroy(snapshot);
	stage_close(&stage);
}

/* Addresses that differ in only one bit, or in kernel and user code, are different places. */
static void test_near_addresses(void)
{
	static const uint64_t addresses[] = { GUEST_KERNEL + 0x510,
					      (GUEST_KERNEL + 0x510) & ~(1ULL << 63), 0 };
	struct guest_record *record = malloc(sizeof(*record));
	struct stage stage;

	stage_open(&stage);
	for (size_t i = 0; i < GUEST_COUNT(addresses); i++) {
		guest_begin(record, 1000, 1);
		guest_add_addresses(record, 0, &addresses[i], 1);
		record->vcpu->user = 0;
		stage_add(&stage, record);
		stage_add(&stage, record);
	}
	check_folded(&stage, true,
		     "[truncated];0x7fffffff81000510 2|[truncated];[unknown] 2|[truncated];hash 2|",
		     "each address has its own name");
	stage_close(&stage);
	free(record);
}

/* --- stacks that are not whole ---------------------------------------------------------------- */

static void test_truncated(void)
{
	struct guest_record *record = malloc(sizeof(*record));
	char deep[8192] = "walk";
	struct snapshot *snapshot;
	struct stage stage;
	char *text;

	stage_open(&stage);
	make_record(record, "start_kernel;serve;hash;copy");
	guest_cut(record, 2 * 48, CUT_LIMIT);
	stage_add(&stage, record);
	check_folded(&stage, false, "[truncated];serve;hash;copy 1|", "cut short");
	make_record(record, "start_kernel;serve;hash;copy");
	guest_cut(record, 48, CUT_NOT_PRESENT);
	stage_add(&stage, record);
	make_record(record, "start_kernel;serve;parse");
	*guest_stack_word(record, 10) = GUEST_STACK + 32; /* serve's link leads back to parse */
	stage_add(&stage, record);
	make_record(record, "start_kernel;entry;compress");
	*guest_stack_word(record, 11) = 0x1234567; /* no code there */
	stage_add(&stage, record);
	check_folded(&stage, false,
		     "[truncated];entry;compress 1|[truncated];hash;copy 1|"
		     "[truncated];serve;hash;copy 1|"
		     "[truncated];start_kernel;serve;parse 1|",
		     "cut, loop, bad return address");
	for (int i = 0; i < UNWIND_MAX_FRAMES + 10; i++)
		strcat(deep, ";walk");
	stage_add_chain(&stage, deep);
	snapshot = stage_snapshot(&stage);
	check_u64(snapshot->resolver.stops[UNWIND_CUT], 2, "stops: cut");
	check_u64(snapshot->resolver.cuts[CUT_LIMIT], 1, "cuts: limit");
	check_u64(snapshot->resolver.cuts[CUT_NOT_PRESENT], 1, "cuts: not present");
	check_u64(snapshot->resolver.stops[UNWIND_LOOP], 1, "stops: loop");
	check_u64(snapshot->resolver.stops[UNWIND_BAD], 1, "stops: bad");
	check_u64(snapshot->resolver.stops[UNWIND_TOO_DEEP], 1, "stops: too deep");
	check_u64(snapshot->resolver.stops[UNWIND_COMPLETE], 0, "stops: complete");
	text = folded(snapshot, false);
	check(strstr(text, "[truncated];walk;walk;"),
	      "a stack that is too deep starts with [truncated]");
	free(text);
	snapshot_destroy(snapshot);
	stage_close(&stage);
	free(record);
}

static void test_states(void)
{
	struct guest_record *record = malloc(sizeof(*record));
	struct snapshot *snapshot;
	struct stage stage;

	stage_open(&stage);
	for (int state = VCPU_OFFLINE; state <= VCPU_BLOCKED; state++) {
		make_record(record, "start_kernel;hash");
		guest_add_vcpu(record, 1, (enum vcpu_state)state);
		stage_add(&stage, record);
	}
	guest_begin(record, 1000, 1);
	guest_add_chain(record, 1, "start_kernel;copy")->state = VCPU_RUNNABLE;
	stage_add(&stage, record);
	guest_begin(record, 1000, 1);
	guest_add_chain(record, 1, "start_kernel;walk")->state = VCPU_LOCK_WAIT;
	stage_add(&stage, record);
	check_folded(&stage, false, "start_kernel;copy 1|start_kernel;hash 2|start_kernel;walk 1|",
		     "only vCPUs that run, want to run or wait for a lock are folded");
	snapshot = stage_snapshot(&stage);
	check_u64(snapshot->resolver.samples, 4, "samples");
	check_u64(snapshot->resolver.states[VCPU_LOCK_WAIT], 1, "waits for a lock");
	check_u64(snapshot->run->vcpus[1].states[VCPU_LOCK_WAIT], 1, "waits for a lock, vCPU 1");
	check_u64(snapshot->resolver.states[VCPU_OFFLINE], 1, "offline");
	check_u64(snapshot->resolver.states[VCPU_BLOCKED], 1, "blocked");
	check_u64(snapshot->resolver.states[VCPU_RUNNABLE], 1, "runnable");
	check_u64(snapshot->resolver.states[VCPU_RUNNING], 2, "running");
	check_u64(snapshot->run->vcpus[1].states[VCPU_RUNNABLE], 1, "runnable, vCPU 1");
	check_u64(snapshot->run->vcpus[0].states[VCPU_RUNNING], 2, "running, vCPU 0");
	snapshot_destroy(snapshot);
	stage_close(&stage);
	free(record);
}

/* Times of vCPUs come from the sampler. */
static void test_times(void)
{
	struct vcpu_times times[2] = { { 1000, 600, 100 }, { 1000, 0, 0 } };
	struct snapshot *snapshot;
	struct stage stage;

	stage_open(&stage);
	control_set_times(stage.control, times, 2);
	snapshot = stage_snapshot(&stage);
	check(snapshot->run->vcpus[0].times.span_ns == 1000 &&
		      snapshot->run->vcpus[0].times.ran_ns == 600 &&
		      snapshot->run->vcpus[0].times.waited_ns == 100 &&
		      snapshot->run->vcpus[1].times.span_ns == 1000,
	      "times since the start");
	snapshot_destroy(snapshot);
	stage_close(&stage);
}

static void test_bad_records(void)
{
	struct guest_record *record = malloc(sizeof(*record));
	struct snapshot *snapshot;
	struct stage stage;

	stage_open(&stage);
	make_record(record, "start_kernel;hash");
	resolver_add(stage.resolver, record->words, record->size_bytes - 8);
	((struct sample_stack *)(record->vcpu + 1))->size_bytes += 8;
	stage_add(&stage, record);
	resolver_add(stage.resolver, record->words, 0);
	snapshot = stage_snapshot(&stage);
	check_u64(snapshot->resolver.bad_records, 3, "refused");
	check_u64(snapshot->resolver.samples, 0, "none of them gave a sample");
	check_u64(snapshot->n_nodes, 1, "nodes: the root");
	snapshot_destroy(snapshot);
	stage_close(&stage);
	free(record);
}

/* --- recordings with guest memory ------------------------------------------------------------- */

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
	check_u64(bad_records(&stage), 0, "all notes were taken");
	check_u64(memory_now_ns(os_settings.memory), 77, "the recorded time");
	check(!memory_translate(os_settings.memory, root, 0, &frame), "one page table is missing");
	check_u64(memory_counts(os_settings.memory).pages, 1, "one page was read");
	stage_add_note(&stage, &late);
	memory_refresh(os_settings.memory);
	check(!memory_read_u64(os_settings.memory, root, 0, &word) &&
		      memory_counts(os_settings.memory).refused == 2,
	      "a page that comes later is not there yet");
	stage_add_chain(&stage, "start_kernel;serve;hash");
	check_folded(&stage, false, "start_kernel;serve;hash 1|", "a sample is still a sample");
	memory_refresh(os_settings.memory);
	refused = memory_counts(os_settings.memory).refused;
	memory_translate(os_settings.memory, root, 0, &frame);
	check_u64(memory_counts(os_settings.memory).refused, refused,
		  "the page is there after the sample");
	late.line.page.lines = 3;
	stage_add_note(&stage, &late);
	check_u64(bad_records(&stage), 1, "a note with lengths that do not fit");
	stage_close(&stage);
	os_destroy(with.os);
	memory_destroy(os_settings.memory);
	control_destroy(os_settings.control);

	stage_open(&stage);
	add_notes(&stage);
	check_u64(bad_records(&stage), 3, "notes without a memory");
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
	check_u64(bad_records(&stage), 1, "without a recording's memory they are a bad record");
	stage_close(&stage);

	stage.symbols = guest_symbols();
	guest_must(recorded_memory_open(&memory, &with.recorded));
	stage_open_settings(&stage, with);
	resolver_add(stage.resolver, &first, sizeof(first));
	resolver_add(stage.resolver, &second, sizeof(second));
	snapshot = stage_snapshot(&stage);
	check(clocks_tell(&snapshot->clocks, CLOCK_UTC, 2000, &told) && told == 6500,
	      "the newest reading");
	check(clocks_tell(&snapshot->first_clocks, CLOCK_UTC, 1000, &told) && told == 5000,
	      "and the first");
	check(!clocks_tell(&snapshot->clocks, CLOCK_GUEST, 2000, &told), "no guest's clock");
	snapshot_destroy(snapshot);
	resolver_add(stage.resolver, &first, sizeof(first) - 8);
	check_u64(bad_records(&stage), 1, "a note that is too short");
	stage_close(&stage);
	memory_destroy(memory);

	stage_open_with(&stage, true, true);
	stage_add_chain(&stage, "start_kernel;serve;hash");
	snapshot = stage_snapshot(&stage);
	check(clocks_tell(&snapshot->clocks, CLOCK_UTC, clock_now_ns(), &told) &&
		      told / 1000000000 - clock_ns(CLOCK_REALTIME) / 1000000000 + 1 <= 2,
	      "a live one reads dom0's clocks itself");
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
	check_u64(snapshot->run->lag_ns, 0, "no sample since the snapshot before");
	check(snapshot->resolver.lag_ns >= 30000000, "the longest of all: %" PRIu64 " ns",
	      snapshot->resolver.lag_ns);
	snapshot_destroy(snapshot);
	stage_close(&stage);
	free(record);
}

/* --- what the sampler learns ------------------------------------------------------------------ */

static void test_learning(void)
{
	struct guest_record *record = malloc(sizeof(*record));
	struct stage stage;

	stage_open_with(&stage, true, true);
	check_u64(control_get_stack_top(stage.control, 0, GUEST_STACK), 0, "nothing known yet");
	make_record(record, "start_kernel;serve;hash");
	stage_add(&stage, record);
	check_u64(control_get_stack_top(stage.control, 0, GUEST_STACK), GUEST_STACK + 3 * 48,
		  "complete: the end of the stack");
	make_record(record, "start_kernel;serve;hash;copy;copy");
	guest_cut(record, 3 * 48, CUT_LIMIT);
	stage_add(&stage, record);
	check_u64(control_get_stack_top(stage.control, 0, GUEST_STACK), GUEST_STACK + 6 * 48 + 4096,
		  "cut short: twice as much and a page");
	guest_begin(record, 1000, 1);
	guest_add_chain(record, 1, "start_kernel;serve;hash");
	guest_cut(record, 48, CUT_NOT_PRESENT);
	stage_add(&stage, record);
	check_u64(control_get_stack_top(stage.control, 0, GUEST_STACK + GUEST_STACK_STEP), 0,
		  "nothing more to copy: nothing is learned");
	guest_begin(record, 1000, 1);
	guest_add_chain(record, 2, "0x1234;serve;hash");
	stage_add(&stage, record);
	check_u64(control_get_stack_top(stage.control, 0, GUEST_STACK + 2 * GUEST_STACK_STEP),
		  GUEST_STACK + 2 * GUEST_STACK_STEP + 2 * 48,
		  "ended early: a first guess is what was used");
	make_record(record, "0x1234;serve;hash");
	stage_add(&stage, record);
	check_u64(control_get_stack_top(stage.control, 0, GUEST_STACK), GUEST_STACK + 6 * 48 + 4096,
		  "ended early: what is known stays");
	stage_close(&stage);
	stage_open(&stage);
	stage_add_chain(&stage, "start_kernel;serve;hash");
	check_u64(control_get_stack_top(stage.control, 0, GUEST_STACK), 0,
		  "in a replay nobody learns");
	stage_close(&stage);
	free(record);
}

#define LEFT_SPACE 0x1234000ULL /* page tables */
#define NEXT_SPACE 0x5678000ULL
#define LEFT_STACK 0x7ffc12340000ULL
#define LEFT_FRAMES 3

/*
 * A sample of the kernel while it switches tasks: CR3 is already the next task's, and the stacks are
 * those of the last one, which runs "_start;main;loop".
 */
static void make_switching_record(struct guest_record *record)
{
	static const char *const chain[LEFT_FRAMES] = { "loop", "main", "_start" };
	struct sample_stack *stack;
	uint64_t *words;

	guest_begin(record, 1000, 1);
	guest_add_chain(record, 0, "0x1234;serve;hash");
	stack = (struct sample_stack *)(record->vcpu + 1);
	stack->size_bytes += N_PT_REGS * sizeof(*words);
	words = guest_append(record, N_PT_REGS * sizeof(*words));
	words[PT_REGS_RIP] = guest_address(chain[0]);
	words[PT_REGS_RBP] = LEFT_STACK + 32;
	words[PT_REGS_RSP] = LEFT_STACK;
	words[PT_REGS_CS] = 0x33;
	words[PT_REGS_SS] = 0x2b;
	words[PT_REGS_RFLAGS] = 0x202;
	stack = guest_append(record, sizeof(*stack));
	*stack = (struct sample_stack){ .address = LEFT_STACK,
					.size_bytes = LEFT_FRAMES * 48,
					.kind = STACK_USER };
	words = guest_append(record, stack->size_bytes);
	for (unsigned i = 0; i + 1 < LEFT_FRAMES; i++) {
		words[6 * i + 4] = LEFT_STACK + 48 * (i + 1) + 32;
		words[6 * i + 5] = guest_address(chain[i + 1]);
	}
	record->vcpu->n_stacks = 2;
	record->vcpu->user_cut = CUT_LIMIT;
	record->vcpu->regs.cr3 = NEXT_SPACE;
	sample_set_frame(record->vcpu, FRAME(LEFT_SPACE >> GUEST_PAGE_SHIFT));
}

static const struct go_stacks go_stacks = { .g = -8, .gsignal = 80, .curg = 192 };

static bool knows_go(const struct stage *stage, uint64_t space)
{
	struct go_stacks stacks;
	bool callbacks;

	return control_get_go_stacks(stage->control, space, &stacks, &callbacks);
}

static void test_learning_between_tasks(void)
{
	struct guest_record *record = malloc(sizeof(*record));
	struct stage stage;

	stage_open_with(&stage, true, true);
	control_set_go_stacks(stage.control, NEXT_SPACE, &go_stacks, false);
	control_set_go_stacks(stage.control, LEFT_SPACE, &go_stacks, false);
	make_switching_record(record);
	stage_add(&stage, record);
	check_folded(&stage, false, "_start;main;loop;[truncated];serve;hash 1|", "a switch");
	check_u64(control_get_stack_top(stage.control, LEFT_SPACE, LEFT_STACK),
		  LEFT_STACK + LEFT_FRAMES * 48, "the stack of the task that is left");
	check_u64(control_get_stack_top(stage.control, NEXT_SPACE, LEFT_STACK), 0,
		  "is none of the next one's");
	check(!knows_go(&stage, LEFT_SPACE), "it ran no Go");
	check(knows_go(&stage, NEXT_SPACE), "the next one does");
	stage_close(&stage);
	free(record);
}

/* Gives a file a table of Go, for code that is somewhere else. */
static void add_go(struct image *image)
{
	static const struct make_go_function goexit = { "runtime.goexit", 0x20,
							GO_TOP | GO_ASSEMBLY, { { 0, 0x20 } } };
	static uint8_t bytes[4096];
	struct go_table table = { .bytes = bytes };

	table.size_bytes = make_go(MAKE_GO_1_20, 0x900000, true, &goexit, 1, bytes, sizeof(bytes));
	check(go_table_init(&table), "a table of Go");
	guest_must(unwind_tables_build_go(&image->tables, &table));
	check(image->tables.go, "is the file's");
}

static void test_learning_go(void)
{
	struct guest_record *record = malloc(sizeof(*record));
	struct stage stage;

	stage_open_with(&stage, true, true);
	control_set_go_stacks(stage.control, 0, &go_stacks, false);
	make_record(record, "_start;main;loop");
	guest_cut(record, 48, CUT_LIMIT);
	stage_add(&stage, record);
	check(knows_go(&stage, 0), "a chain that is not whole tells nothing");
	stage_add_chain(&stage, "_start;main;loop");
	check(!knows_go(&stage, 0), "a program without Go");
	add_go(symbols_image(stage.symbols, 0)); /* not the file that has the chain */
	control_set_go_stacks(stage.control, 0, &go_stacks, false);
	stage_add_chain(&stage, "_start;main;loop");
	check(knows_go(&stage, 0), "a thread of C in a program of Go");
	stage_close(&stage);
	free(record);
}

/* --- the thread ------------------------------------------------------------------------------- */

static void *run_resolver(void *context)
{
	resolver_run(context);
	return NULL;
}

static void stage_start(struct stage *stage)
{
	if (pthread_create(&stage->thread, NULL, run_resolver, stage->resolver) != 0)
		abort();
}

static void stage_finish(struct stage *stage)
{
	control_finish(stage->control);
	pthread_join(stage->thread, NULL);
}

static void nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

/* NULL: none came within WAIT_S. Does not sleep, so that the resolver is still at work then. */
static struct snapshot *wait_snapshot(struct snapshot_slot *slot)
{
	struct snapshot *snapshot = snapshot_take(slot);
	time_t end = time(NULL) + WAIT_S;

	while (!snapshot && time(NULL) < end) {
		sched_yield();
		snapshot = snapshot_take(slot);
	}
	return snapshot;
}

static bool put(struct ring *ring, const struct guest_record *record)
{
	void *room = ring_reserve(ring, record->size_bytes);

	if (!room)
		return false;
	memcpy(room, record->words, record->size_bytes);
	ring_commit(ring, record->size_bytes);
	return true;
}

/*
 * All records that are in the ring when the end is announced are resolved. There are more records
 * than the ring holds, so the thread runs meanwhile.
 */
static void test_finish_drains(void)
{
	const unsigned n = 60000;
	struct guest_record *record = malloc(sizeof(*record));
	struct snapshot *snapshot;
	struct stage stage;

	stage_open(&stage);
	make_record(record, "start_kernel;serve;hash");
	stage_start(&stage);
	for (unsigned i = 0; i < n; i++)
		while (!put(stage.ring, record))
			nap();
	stage_finish(&stage);
	snapshot = snapshot_take(stage.slot);
	if (check(snapshot, "a last snapshot comes without a request")) {
		check(snapshot->at_end, "it is marked as the last");
		check_u64(snapshot->resolver.samples, n, "samples");
		check_u64(snapshot->run->ring_permille, 0, "left in the ring");
		check_u64(snapshot->run->lag_ns, 0, "samples that are not live have no lag");
		check_u64(snapshot->resolver.lag_ns, 0, "in all");
	}
	snapshot_destroy(snapshot);
	stage_close(&stage);
	free(record);
}

/* A full disk: the error reaches main through a snapshot. */
static void test_recording_fails(void)
{
	const struct recording_info info = { .domain = "web01", .n_vcpus = 2 };
	struct rlimit limit = { 4096, RLIM_INFINITY };
	struct guest_record *record = malloc(sizeof(*record));
	char folder[] = "/tmp/xtop-test-XXXXXX", path[64];
	struct recording_writer *writer;
	struct snapshot *snapshot;
	struct stage stage;

	signal(SIGXFSZ, SIG_IGN);
	if (!mkdtemp(folder) || setrlimit(RLIMIT_FSIZE, &limit))
		abort();
	snprintf(path, sizeof(path), "%s/recording", folder);
	guest_must(recording_writer_open(path, &writer));
	recording_writer_begin(writer, &info, NULL);
	make_record(record, "start_kernel;serve;hash");
	for (unsigned i = 0; i < 10000 && !recording_writer_get_errno(writer); i++)
		recording_writer_write(writer, (const struct sample *)record->words, NULL);
	limit.rlim_cur = RLIM_INFINITY;
	setrlimit(RLIMIT_FSIZE, &limit);
	stage.symbols = guest_symbols();
	stage_open_settings(&stage, (struct resolver_settings){ .writer = writer });
	stage_start(&stage);
	snapshot_request(stage.slot);
	snapshot = wait_snapshot(stage.slot);
	check(snapshot && snapshot->run->recording_errno == EFBIG,
	      "the snapshot has the error of the recording");
	snapshot_destroy(snapshot);
	stage_finish(&stage);
	error_destroy(recording_writer_close(writer));
	stage_close(&stage);
	free(record);
	unlink(path);
	rmdir(folder);
}

struct producer {
	struct ring *ring;
	struct control *control; /* told to quit through it */
	struct guest_record record;
};

static void *run_producer(void *context)
{
	struct producer *producer = context;

	while (!control_is_quitting(producer->control))
		put(producer->ring, &producer->record);
	return NULL;
}

/*
 * Samples come faster than they can be resolved: a request for a snapshot must not wait for an
 * empty ring.
 */
static void test_snapshot_under_load(void)
{
	struct producer *producer = malloc(sizeof(*producer));
	uint64_t sequence = 0;
	struct stage stage;
	pthread_t thread;
	bool came = true;

	stage_open(&stage);
	producer->ring = stage.ring;
	producer->control = stage.control;
	guest_begin(&producer->record, 1000, 1);
	guest_add_chain(&producer->record, 0, "start_kernel;serve;hash");
	stage_start(&stage);
	if (pthread_create(&thread, NULL, run_producer, producer) != 0)
		abort();
	for (int i = 0; i < 5 && came; i++) {
		struct snapshot *snapshot;

		snapshot_request(stage.slot);
		snapshot = wait_snapshot(stage.slot);
		came = snapshot && snapshot->sequence > sequence && !snapshot->at_end;
		if (snapshot)
			sequence = snapshot->sequence;
		snapshot_destroy(snapshot);
	}
	check(came, "five snapshots while the ring is never empty (%" PRIu64 ")", sequence);
	control_quit(stage.control);
	pthread_join(thread, NULL);
	stage_finish(&stage);
	stage_close(&stage);
	free(producer);
}

/* Makes two calls: one before the resolver begins with a full ring, and another at once. */
struct caller {
	struct stage stage;
	pthread_t thread;
	size_t left_bytes; /* in the ring, at the last call */
};

static void look_at_ring(void *context)
{
	struct caller *caller = context;

	caller->left_bytes = ring_used_bytes(caller->stage.ring);
}

static void *run_caller(void *context)
{
	struct caller *caller = context;

	for (int i = 0; i < 2; i++)
		resolver_call(caller->stage.resolver, look_at_ring, caller);
	return NULL;
}

static bool call_comes_between(const struct guest_record *record)
{
	struct caller caller = { .left_bytes = 0 };

	stage_open(&caller.stage);
	while (put(caller.stage.ring, record))
		;
	if (pthread_create(&caller.thread, NULL, run_caller, &caller) != 0)
		abort();
	for (int i = 0; i < 10; i++)
		nap();
	stage_start(&caller.stage);
	pthread_join(caller.thread, NULL);
	stage_finish(&caller.stage);
	stage_close(&caller.stage);
	return caller.left_bytes;
}

/*
 * A call must not wait for an empty ring either: the reattacher makes the calls, and main waits for
 * the reattacher before it ends the sampler. On a busy machine the call may come too late, so it is
 * tried again.
 */
static void test_call_under_load(void)
{
	struct guest_record *record = malloc(sizeof(*record));
	unsigned tries = 0;

	make_record(record, "start_kernel;serve;hash");
	while (tries++ < 10 && !call_comes_between(record))
		;
	check(tries <= 10, "a call between two records of a full ring");
	free(record);
}

/*
 * The user resets and asks for a snapshot while the resolver works on a full ring: the snapshot has
 * no sample from before the reset.
 */
static void test_reset_while_running(void)
{
	struct guest_record *record = malloc(sizeof(*record));
	struct snapshot *snapshot;
	uint64_t n = 0, before = 0;
	struct stage stage;

	stage_open(&stage);
	make_record(record, "start_kernel;serve;hash");
	while (put(stage.ring, record))
		n++;
	stage_start(&stage);
	while (before <= n / 2) {
		snapshot_request(stage.slot);
		snapshot = wait_snapshot(stage.slot);
		if (!snapshot)
			break;
		before = snapshot->resolver.samples;
		snapshot_destroy(snapshot);
	}
	control_reset_profile(stage.control); /* at once: the resolver is still at work */
	snapshot_request(stage.slot);
	snapshot = wait_snapshot(stage.slot);
	check(before > n / 2 && before <= n, "resolved %" PRIu64 " of %" PRIu64, before, n);
	if (check(snapshot, "a snapshot after the reset")) {
		check(snapshot->resolver.samples <= n - before,
		      "it has %" PRIu64 " samples, at most those that were left",
		      snapshot->resolver.samples);
		check_u64(snapshot->total_weight, snapshot->resolver.samples, "weight");
		check_u64(snapshot->run->vcpus[0].states[VCPU_RUNNING], snapshot->resolver.samples,
			  "ticks of vCPU 0");
	}
	snapshot_destroy(snapshot);
	stage_finish(&stage);
	snapshot = snapshot_take(stage.slot);
	check(snapshot && snapshot->at_end && snapshot->resolver.samples <= n - before,
	      "the last snapshot has no older ones either");
	snapshot_destroy(snapshot);
	stage_close(&stage);
	free(record);
}

/* A reset at the very end: the last snapshot has nothing from before. */
static void test_reset_at_end(void)
{
	struct guest_record *record = malloc(sizeof(*record));
	struct snapshot *snapshot;
	struct stage stage;

	stage_open(&stage);
	make_record(record, "start_kernel;serve;hash");
	stage_add(&stage, record);
	control_set_times(stage.control, &(struct vcpu_times){ 1000, 600, 100 }, 1);
	control_reset_profile(stage.control);
	control_finish(stage.control);
	resolver_run(stage.resolver);
	snapshot = snapshot_take(stage.slot);
	check(snapshot && snapshot->resolver.samples == 0 && snapshot->n_nodes == 1 &&
		      !snapshot->run->vcpus[0].times.span_ns &&
		      !snapshot->run->vcpus[0].times.waited_ns,
	      "a reset just before the end");
	snapshot_destroy(snapshot);
	stage_close(&stage);
	free(record);
}

/* Another ring replaces the first one. The records left in the first ring are not lost. */
struct switch_over {
	struct stage *stage;
	struct ring *ring;
	pthread_t thread;
	bool called;
};

static void switch_over(void *context)
{
	struct switch_over *over = context;
	struct guest_record *record = malloc(sizeof(*record));

	over->thread = pthread_self();
	over->called = true;
	guest_begin(record, 2000, 1);
	guest_add_chain(record, 0, "start_kernel;copy");
	put(over->stage->ring, record);
	resolver_switch_guest(over->stage->resolver, over->ring, 1);
	free(record);
}

static void test_switch_guest(void)
{
	struct guest_record *record = malloc(sizeof(*record));
	struct switch_over over = { .called = false };
	struct snapshot *snapshot;
	struct stage stage;

	stage_open(&stage);
	over.stage = &stage;
	guest_must(ring_create(RING_BYTES, &over.ring));
	stage_start(&stage);
	make_record(record, "start_kernel;hash");
	put(stage.ring, record);
	resolver_call(stage.resolver, switch_over, &over);
	check(over.called && pthread_equal(over.thread, stage.thread),
	      "the call ran on the resolver's thread");
	put(over.ring, record);
	stage_finish(&stage);
	snapshot = wait_snapshot(stage.slot);
	check(snapshot && snapshot->resolver.samples == 3 && snapshot->run->n_vcpus == 1,
	      "all of both rings: %llu samples, of %u vCPU",
	      snapshot ? (unsigned long long)snapshot->resolver.samples : 0,
	      snapshot ? snapshot->run->n_vcpus : 0);
	snapshot_destroy(snapshot);
	stage_close(&stage);
	ring_destroy(over.ring);
	free(record);
}

/* --- the guest's memory ----------------------------------------------------------------------- */

static void refuse_read(void *context, const frame_t *frames, size_t n, void *pages, bool *ok)
{
	(void)context, (void)frames, (void)pages;
	memset(ok, 0, n * sizeof(ok[0]));
}

static void ignore_close(void *context)
{
	(void)context;
}

static void note_pages(void *context, uint64_t guest_pages)
{
	atomic_store((_Atomic uint64_t *)context, guest_pages);
}

static const struct memory_ops noting_ops = { .read = refuse_read,
					      .close = ignore_close,
					      .update_pages = note_pages };

/*
 * The sampler is in STATE and the guest has 1,000 pages. True: the memory hears GUEST_PAGES then.
 */
static bool memory_hears(struct stage *stage, enum sampler_state state,
			 const _Atomic uint64_t *heard, uint64_t guest_pages)
{
	time_t end = time(NULL) + WAIT_S;

	control_set_counts(stage->control,
			   &(struct sampler_counts){ .state = state, .guest_pages = 1000 });
	while (atomic_load(heard) != guest_pages && time(NULL) < end)
		nap();
	return atomic_load(heard) == guest_pages;
}

/* Mappings of a dead guest's memory would keep the guest as a zombie. */
static void test_update_pages(void)
{
	_Atomic uint64_t heard = 1;
	struct stage stage = { .symbols = guest_symbols() };
	struct memory *memory;
	struct os *os;

	guest_must(memory_create(&noting_ops, &heard, &memory));
	guest_must(os_create(&(struct os_settings){ .memory = memory, .symbols = stage.symbols },
			     &os));
	stage_open_settings(&stage, (struct resolver_settings){ .live = true, .os = os });
	stage_start(&stage);
	check(memory_hears(&stage, SAMPLER_STARTING, &heard, 0), "nobody has seen the guest yet");
	check(memory_hears(&stage, SAMPLER_RUNNING, &heard, 1000), "the guest runs");
	check(memory_hears(&stage, SAMPLER_GUEST_AWAY, &heard, 0), "the guest is away");
	check(memory_hears(&stage, SAMPLER_GUEST_PAUSED, &heard, 1000),
	      "the guest is back, paused");
	check(memory_hears(&stage, SAMPLER_HUNG, &heard, 0), "the sampler hangs");
	check(memory_hears(&stage, SAMPLER_RUNNING, &heard, 1000), "the sampler works again");
	stage_finish(&stage);
	check_u64(atomic_load(&heard), 0, "nobody looks any more");
	stage_close(&stage);
	os_destroy(os);
	memory_destroy(memory);
}

/*
 * The registers of a vCPU that sleeps lead to the guest's system before any other vCPU has run. They
 * are no sample.
 */
static void test_asleep(void)
{
	struct os_settings settings = { .type = GUEST_PVH };
	struct stage stage = { .symbols = settings.symbols = guest_symbols() };
	struct {
		struct sample head;
		struct sample_vcpu vcpu;
	} record = {
		.head = { .size_bytes = sizeof(record),
			  .n_vcpus = 1,
			  .period_ns = 10000000,
			  .weight = SAMPLE_WEIGHT_TICK },
		.vcpu = { .size_bytes = sizeof(record.vcpu), .state = VCPU_BLOCKED },
	};
	_Atomic uint64_t heard = 0;
	struct snapshot *snapshot;
	struct os *os;

	guest_must(memory_create(&noting_ops, &heard, &settings.memory));
	guest_must(control_create(&settings.control));
	control_set_hold(settings.control);
	guest_must(os_create(&settings, &os));
	stage_open_settings(&stage, (struct resolver_settings){ .live = true, .os = os });
	resolver_add(stage.resolver, &record, sizeof(record));
	check(control_is_on_hold(settings.control), "no registers: nobody looked at the guest");
	record.vcpu.regs = (struct registers){ .rsp = 0xffffffff82003e00, .cr3 = 0x1000 };
	resolver_add(stage.resolver, &record, sizeof(record));
	check(!control_is_on_hold(settings.control), "registers: the guest was looked at");
	snapshot = stage_snapshot(&stage);
	check(snapshot->resolver.samples == 0 && snapshot->resolver.states[VCPU_BLOCKED] == 2 &&
		      snapshot->resolver.bad_records == 0,
	      "asleep: no sample, two ticks");
	snapshot_destroy(snapshot);
	stage_close(&stage);
	os_destroy(os);
	control_destroy(settings.control);
	memory_destroy(settings.memory);
}

/* --- the end, while the resolver is busy ------------------------------------------------------ */

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
	/* CPU time from control_hurry() to a snapshot, and to the thread's end. */
	uint64_t answer_ns, end_ns;
	uint64_t resolved;          /* samples */
	bool busy, complete;
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
	uint64_t begin_ns;
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
	begin_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	control_hurry(stage.control);
	snapshot = wait_snapshot(stage.slot);
	hurry.answer_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin_ns;
	snapshot_destroy(snapshot);
	stage_finish(&stage);
	hurry.end_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin_ns;
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
 * not resolved by then is counted. CPU time counts here, as the machine may be busy. On a guest the
 * user's time is measured (tests/lab/end-long.test).
 */
static void test_hurry(void)
{
	struct hurry hurry = try_hurry();

	check(hurry.busy, "the resolver is busy with the guest's memory");
	check(hurry.answer_ns <= 200000000, "a snapshot comes within 200 ms of CPU: %" PRIu64 " us",
	      hurry.answer_ns / 1000);
	check(hurry.end_ns <= 200000000, "the end comes within 200 ms of CPU: %" PRIu64 " us",
	      hurry.end_ns / 1000);
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
	check_u64(snapshot->resolver.unresolved, 0, "none is left out");
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
	stage_open_settings(&stage, (struct resolver_settings){ .live = true,
								.intervals = intervals });
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
	check(snapshot && answer_ms < 400, "and has a snapshot after %" PRIu64 " ms", answer_ms);
	snapshot_destroy(snapshot);
	control_finish(stage.control);
	resolver_wake(stage.resolver);
	begin_ns = clock_now_ns();
	pthread_join(stage.thread, NULL);
	check(since_ms(begin_ns) < 400, "and ends after %" PRIu64 " ms", since_ms(begin_ns));
	stage_close(&stage);
	free(record);
}

/* A slow or busy machine only makes these numbers smaller. */
static void test_naps(void)
{
	long screen = count_naps(false, 0), slow = count_naps(true, 0);
	long slowest = count_naps(true, 100);

	check(slow <= 5, "20 Hz, for a store: %ld looks a second instead of %ld", slow, screen);
	check(slowest <= 5, "and with the host's budget spent %ld", slowest);
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
	check_u64(snapshot->time_ns, begin_ns + FIRST * 10000000 - 1, "it ends where it should");
	snapshot_destroy(snapshot);
	now_ns = clock_now_ns();
	snapshot_request_until(stage.slot, now_ns + 50000000);
	resolver_wake(stage.resolver);
	snapshot = wait_snapshot(stage.slot);
	check(clock_now_ns() > now_ns + 50000000, "the second one is not there before its end");
	check_u64(snapshot->resolver.samples, N - FIRST, "it has the others");
	check_u64(snapshot->time_ns, now_ns + 50000000, "and ends where it should");
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
	      "the last one brings the one that was not taken");
	for (const struct snapshot *last = snapshot; last; last = last->before) {
		samples += last->resolver.samples;
		weight += last->total_weight;
	}
	check_u64(samples, N_BATCHES * BATCH, "samples of all intervals");
	check_u64((uint64_t)weight, N_BATCHES * BATCH, "their weight");
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
	test_asleep();
	test_hurry();
	test_hurry_without_cpu();
	test_folds();
	test_weights();
	test_kinds();
	test_return_addresses();
	test_calls();
	test_lag();
	test_unknown();
	test_near_addresses();
	test_truncated();
	test_states();
	test_times();
	test_bad_records();
	test_notes();
	test_clocks();
	test_learning();
	test_learning_between_tasks();
	test_learning_go();
	test_finish_drains();
	test_recording_fails();
	test_snapshot_under_load();
	test_call_under_load();
	for (int i = 0; i < 10; i++) /* it is a race: met one time in five where it was lost */
		test_reset_while_running();
	test_reset_at_end();
	test_interval_ends();
	test_intervals();
	test_naps();
	test_woken();
	test_switch_guest();
	test_update_pages();
	return tap_done();
}
