/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parses records of Xen's trace and sums them up; see exits.h. Resolver's thread.
 *
 * A record is a word (event 28 bits, number of extra words 3 bits, "with TSC" 1 bit), two words of
 * TSC if it has one, and up to 7 extra words. Sources: Xen 4.17 public/trace.h; xen/common/trace.c;
 * trace_runstate_change() of xen/common/sched/core.c; HVMTRACE_* of xen/arch/x86/hvm/ and
 * hvmtrace_io_assist(). Until 4.18 SVM and VMX have one event; 4.19 gave SVM one of its own.
 */
#include "config.h"

#include "xtop/profile/exits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile/run_waits.h"
#include "xtop/base/cleanup.h"
#include "xtop/base/hash.h"
#include "xtop/profile/exit_names.h"
#include "xtop/profile/time_histogram.h"
#include "xtop/sample/takers.h"

/* Xen 4.17 public/trace.h, and TRC_HVM_SVM_EXIT of 4.19. */
enum {
	EVENT_LOST = 0x1f001,
	EVENT_RUNSTATE = 0x21001,
	EVENT_RUNSTATE_STATES = 0x330, /* old state << 8, new state << 4 */
	EVENT_HVM_ENTRY = 0x81001,
	EVENT_HVM_EXIT = 0x81002,
	EVENT_SVM_EXIT = 0x81003,
	EVENT_HVM_HANDLERS = 0x82000,
	EVENT_HVM_CR_READ = 0x82008,
	EVENT_PV = 0x201000,
	EVENT_PV_TRAP = 0x201003,
	EVENT_PV_TABLE_WRITE = 0x20100b,
	EVENT_PV_TABLE_WRITE_PAE = 0x20100c,
	EVENT_PV_HYPERCALL = 0x20100d,
	EVENT_64 = 0x100,
	EVENT_NESTED = 0x400,
};

#define EXITS_WORDS   10   /* the longest record */
#define EXITS_GAP_NS  1e9  /* an exit that lasts longer has lost its entry */
#define EXITS_MOST_NS 1e18 /* longer times are cut: they might not fit into a uint64_t */

struct exits_entry {
	struct exits_row row;
	struct exits_weight last; /* the total at the last table */
	double live_count;        /* row.live.count before it is rounded */
	struct time_histogram times;
};

struct exits_pair {
	struct exits_cause cause;
	struct exits_weight last;
	double live_count;
};

/* What is known of one physical CPU. */
struct exits_cpu {
	bool is_known; /* the vCPU that runs there is known */
	uint16_t domid, vcpu;
	uint64_t idle_since; /* TSC; 0: the CPU is not idle */
	uint32_t by_earlier; /* domid that ran there before it was idle; UINT32_MAX: not known */
	bool is_out;         /* an exit has begun, and has not ended */
	struct exit_reason reason;
	uint64_t address, begin;
	uint32_t left[EXITS_WORDS]; /* the beginning of a record whose end has not come */
	size_t left_bytes;
};

struct exits {
	uint64_t half_life_ns;
	uint32_t domid;
	double ns_per_cycle;
	bool is_vmx;
	uint64_t first, newest; /* TSC of records since Xen last began to trace; 0: none yet */
	double past_ns;         /* how long Xen had traced before it last began */
	double last_span_ns, live_span_ns;
	uint64_t records, lost, bad, refused;
	size_t n_entries, n_pairs, n_named;
	struct exits_entry *entries;
	struct exits_pair *pairs;
	struct hash_table entry_index, pair_index;
	struct run_waits waits;
	struct exits_cpu cpus[EXITS_MAX_CPUS];
};

/* --- life ------------------------------------------------------------------------------------- */

struct xtop_error *exits_create(uint64_t half_life_ns, struct exits **exitsp)
{
	struct exits *exits = calloc(1, sizeof(*exits));

	if (exits) {
		exits->entries = calloc(EXITS_MAX_ROWS, sizeof(*exits->entries));
		exits->pairs = calloc(EXITS_MAX_CAUSES, sizeof(*exits->pairs));
	}
	if (!exits || !exits->entries || !exits->pairs) {
		exits_destroy(exits);
		return error_create("out of memory");
	}
	exits->half_life_ns = half_life_ns;
	exits->domid = UINT32_MAX;
	*exitsp = exits;
	return NULL;
}

void exits_destroy(struct exits *exits)
{
	if (!exits)
		return;
	hash_table_deinit(&exits->entry_index);
	hash_table_deinit(&exits->pair_index);
	run_waits_deinit(&exits->waits);
	free(exits->entries);
	free(exits->pairs);
	free(exits);
}

void exits_reset(struct exits *exits)
{
	hash_table_deinit(&exits->entry_index);
	hash_table_deinit(&exits->pair_index);
	exits->n_entries = exits->n_pairs = exits->n_named = 0;
	exits->first = exits->newest = 0;
	exits->past_ns = 0;
	exits->last_span_ns = exits->live_span_ns = 0;
	exits->records = exits->lost = exits->bad = exits->refused = 0;
	run_waits_reset(&exits->waits);
}

static double exits_ns(const struct exits *exits, uint64_t from, uint64_t to)
{
	return from && to > from ? fmin((double)(to - from) * exits->ns_per_cycle, EXITS_MOST_NS)
				 : 0;
}

void exits_set_host(struct exits *exits, uint32_t domid, uint64_t khz, bool is_vmx)
{
	/* Xen may not have traced for a while: that time does not count, and ends no wait. */
	exits->past_ns += exits_ns(exits, exits->first, exits->newest);
	exits->first = exits->newest = 0;
	run_waits_begin(&exits->waits, exits->ns_per_cycle);
	exits->domid = domid;
	exits->ns_per_cycle = khz ? 1e6 / (double)khz : 0;
	exits->is_vmx = is_vmx;
	memset(exits->cpus, 0, sizeof(exits->cpus));
}

/* --- sums ------------------------------------------------------------------------------------- */

struct exits_key {
	const struct exits *exits;
	struct exit_reason reason;
	uint32_t row;
	struct exits_place place;
};

static bool exits_is_row(const void *context, uint32_t number)
{
	const struct exits_key *key = context;
	const struct exit_reason *reason = &key->exits->entries[number].row.reason;

	return reason->kind == key->reason.kind && reason->code == key->reason.code &&
	       reason->handler == key->reason.handler && reason->detail == key->reason.detail;
}

static bool exits_is_cause(const void *context, uint32_t number)
{
	const struct exits_key *key = context;
	const struct exits_cause *cause = &key->exits->pairs[number].cause;

	return cause->row == key->row && cause->place.frame == key->place.frame &&
	       cause->place.process == key->place.process;
}

static uint64_t exits_hash(const struct exit_reason *reason)
{
	uint64_t hash = hash_word(reason->kind, reason->code);

	return hash_word(hash_word(hash, reason->handler), reason->detail);
}

/* The row's number; added if there is room. HASH_NONE: there is none. */
static uint32_t exits_find_or_add_row(struct exits *exits, const struct exit_reason *reason)
{
	const struct exits_key key = { .exits = exits, .reason = *reason };
	uint64_t hash = exits_hash(reason);
	uint32_t number = hash_table_find(&exits->entry_index, hash, exits_is_row, &key);

	if (number != HASH_NONE)
		return number;
	if (exits->n_entries == EXITS_MAX_ROWS ||
	    !hash_table_add(&exits->entry_index, hash, (uint32_t)exits->n_entries))
		return HASH_NONE;
	exits->entries[exits->n_entries] =
		(struct exits_entry){ .row = { .reason = *reason, .frame = UINT32_MAX } };
	return (uint32_t)exits->n_entries++;
}

static struct exits_pair *exits_find_or_add_cause(struct exits *exits, uint32_t row,
						  struct exits_place place)
{
	const struct exits_key key = { .exits = exits, .row = row, .place = place };
	uint64_t hash = hash_word(hash_word(row, place.frame), place.process);
	uint32_t number = hash_table_find(&exits->pair_index, hash, exits_is_cause, &key);

	if (number != HASH_NONE)
		return &exits->pairs[number];
	if (exits->n_pairs == EXITS_MAX_CAUSES ||
	    !hash_table_add(&exits->pair_index, hash, (uint32_t)exits->n_pairs))
		return NULL;
	exits->pairs[exits->n_pairs] =
		(struct exits_pair){ .cause = { .row = row, .place = place } };
	return &exits->pairs[exits->n_pairs++];
}

static void exits_weigh(struct exits_weight *weight, double ns)
{
	weight->count++;
	weight->ns += ns;
}

/* Records of one CPU that are being added, and who names the code in them. */
struct exits_batch {
	struct exits *exits;
	struct exits_cpu *cpu;
	exits_name_fn *name;
	void *context;
};

/* Counts an exit that took NS. */
static void exits_count(const struct exits_batch *batch, const struct exit_reason *reason,
			uint64_t address, double ns)
{
	struct exits *exits = batch->exits;
	uint32_t row = exits_find_or_add_row(exits, reason);
	struct exits_entry *entry = row != HASH_NONE ? &exits->entries[row] : NULL;
	struct exits_pair *pair = NULL;

	if (entry) {
		exits_weigh(&entry->row.total, ns);
		time_histogram_add(&entry->times, ns);
		if (ns > (double)entry->row.longest_ns)
			entry->row.longest_ns = (uint64_t)ns;
		pair = exits_find_or_add_cause(
			exits, row, batch->name(batch->context, batch->cpu->vcpu, address));
	}
	if (pair)
		exits_weigh(&pair->cause.total, ns);
	else
		exits->refused++;
}

/* --- records ---------------------------------------------------------------------------------- */

struct exits_record {
	uint32_t event;
	uint64_t tsc; /* 0: the record has none */
	size_t n;     /* extra words */
	const uint32_t *words;
};

static bool exits_is_ours(const struct exits_batch *batch)
{
	return batch->cpu->is_known && batch->cpu->domid == batch->exits->domid;
}

/* The exit of this CPU is over at TSC. */
static void exits_end(const struct exits_batch *batch, uint64_t tsc)
{
	struct exits_cpu *cpu = batch->cpu;
	double ns = exits_ns(batch->exits, cpu->begin, tsc);

	if (cpu->is_out && exits_is_ours(batch) && ns < EXITS_GAP_NS)
		exits_count(batch, &cpu->reason, cpu->address, ns);
	cpu->is_out = false;
}

static void exits_add_exit(const struct exits_batch *batch, const struct exits_record *record)
{
	struct exits_cpu *cpu = batch->cpu;
	bool is_svm = !batch->exits->is_vmx ||
		      (record->event & ~(EVENT_64 | EVENT_NESTED)) == EVENT_SVM_EXIT;

	if (record->n < 2) {
		batch->exits->bad++;
		return;
	}
	cpu->is_out = true;
	cpu->begin = record->tsc;
	cpu->reason = (struct exit_reason){
		.kind = is_svm ? EXIT_SVM : EXIT_VMX,
		.code = is_svm ? record->words[0] : record->words[0] & 0xffff,
		.detail = EXIT_NO_DETAIL,
	};
	cpu->address = record->words[1];
	if (record->event & EVENT_64 && record->n > 2)
		cpu->address |= (uint64_t)record->words[2] << 32;
}

/* Whether the first word of EVENT's record tells exits apart, as the number of an MSR does. */
static bool exits_has_number(uint32_t event)
{
	switch (event) {
	case EVENT_HVM_CR_READ:
	case EVENT_HVM_CR_READ + 1: /* CR write */
	case 0x8200c:               /* MSR read */
	case 0x8200d:               /* MSR write */
	case 0x8200e:               /* CPUID */
	case 0x8200f:               /* external interrupt */
	case 0x82012:               /* VMMCALL */
	case 0x82016:               /* port read */
	case 0x82216:               /* port write */
	case 0x82023:               /* exception */
		return true;
	default:
		return false;
	}
}

/*
 * The first record of a handler that says more than the exit's code names the exit alone: codes
 * differ where Xen emulates an instruction. Its first word may tell what the exit was for.
 */
static void exits_add_handler(const struct exits_batch *batch, const struct exits_record *record)
{
	struct exits_cpu *cpu = batch->cpu;
	uint32_t event = record->event & ~(uint32_t)EVENT_64;

	if (!cpu->is_out || cpu->reason.handler || !exit_handler_has_name(event))
		return;
	cpu->reason.handler = event;
	cpu->reason.code = 0;
	if (record->n && exits_has_number(event))
		cpu->reason.detail = record->words[0];
}

/* The address in N_WORDS words at AT of the record; 0: the record is too short. */
static uint64_t exits_read_address(const struct exits_record *record, size_t at, size_t n_words)
{
	if (at + n_words > record->n)
		return 0;
	return record->words[at] | (n_words > 1 ? (uint64_t)record->words[at + 1] << 32 : 0);
}

/*
 * Adds an entry from a PV guest. The record begins with the instruction's address. The record of a
 * write to a page table has the new value (64 bits) and the written address before that.
 */
static void exits_add_pv(const struct exits_batch *batch, const struct exits_record *record)
{
	struct exit_reason reason = { .kind = EXIT_PV,
				      .code = record->event & ~(uint32_t)EVENT_64,
				      .detail = EXIT_NO_DETAIL };
	size_t n_words = record->event & EVENT_64 ? 2 : 1;
	bool writes_table =
		reason.code == EVENT_PV_TABLE_WRITE || reason.code == EVENT_PV_TABLE_WRITE_PAE;
	uint64_t address = 0;

	if (!exits_is_ours(batch))
		return;
	if (reason.code != EVENT_PV_HYPERCALL)
		address = exits_read_address(record, writes_table ? 2 + n_words : 0, n_words);
	else if (record->n)
		reason.detail = record->words[0] & 0xfffff;
	/* Xen 4.17 __trace_pv_trap(): the address, then the trap's number in 15 bits. */
	if (reason.code == EVENT_PV_TRAP && record->n > n_words)
		reason.detail = record->words[n_words] & 0x7fff;
	exits_count(batch, &reason, address, 0);
}

/* --- run states ------------------------------------------------------------------------------- */

static void exits_add_runstate(const struct exits_batch *batch, const struct exits_record *record)
{
	struct exits *exits = batch->exits;
	struct exits_cpu *cpu = batch->cpu;
	unsigned before = record->event >> 8 & 3, now = record->event >> 4 & 3;
	uint16_t number, domid;
	struct run_change change;
	uint32_t by = cpu->is_known ? cpu->domid : UINT32_MAX;

	if (!record->n) {
		exits->bad++;
		return;
	}
	number = (uint16_t)record->words[0];
	domid = (uint16_t)(record->words[0] >> 16);
	if (before == RUN_STATE_RUNNING && cpu->is_known && cpu->domid == domid &&
	    cpu->vcpu == number)
		exits_end(batch, record->tsc);
	change = (struct run_change){ .tsc = record->tsc,
				      .vcpu = number,
				      .was = (uint8_t)before,
				      .is = (uint8_t)now,
				      .by = by,
				      .idle_since = cpu->idle_since,
				      .by_earlier = cpu->by_earlier };
	if (now == RUN_STATE_RUNNING) {
		if (domid == TAKER_XEN && by != TAKER_XEN)
			cpu->by_earlier = by;
		if (domid != TAKER_XEN)
			cpu->idle_since = 0;
		else if (!cpu->idle_since)
			cpu->idle_since = record->tsc;
		cpu->is_known = true;
		cpu->domid = domid;
		cpu->vcpu = number;
		cpu->is_out = false;
	}
	if (domid != exits->domid || number >= GUEST_MAX_VCPUS)
		return;
	if (record->tsc && !run_waits_add(&exits->waits, &change))
		exits->refused++;
}

/*
 * The lost records may have ended an exit or a wait that had begun. The record has their number,
 * the vCPU, and when the first one was lost (Xen 4.17 xen/common/trace.c, insert_lost_records()).
 */
static void exits_add_lost(const struct exits_batch *batch, const struct exits_record *record)
{
	struct exits *exits = batch->exits;
	uint64_t end = record->tsc ? record->tsc : exits->newest;
	uint64_t first = exits_read_address(record, 2, 2);

	exits->lost += record->n ? record->words[0] : 1;
	batch->cpu->is_out = false;
	if (!run_waits_add(&exits->waits,
			   &(struct run_change){ .tsc = first && first < end ? first : end,
						 .vcpu = UINT16_MAX,
						 .lost_until = end }))
		exits->refused++;
}

static void exits_add_record(const struct exits_batch *batch, const struct exits_record *record)
{
	struct exits *exits = batch->exits;
	uint32_t event = record->event & ~(uint32_t)(EVENT_64 | EVENT_NESTED);

	exits->records++;
	if (record->tsc > exits->newest)
		exits->newest = record->tsc;
	if (!exits->first)
		exits->first = record->tsc;
	if ((record->event & ~(uint32_t)EVENT_RUNSTATE_STATES) == EVENT_RUNSTATE)
		exits_add_runstate(batch, record);
	else if (event == EVENT_HVM_EXIT || event == EVENT_SVM_EXIT)
		exits_add_exit(batch, record);
	else if (event == EVENT_HVM_ENTRY)
		exits_end(batch, record->tsc);
	else if (record->event >> 12 == EVENT_HVM_HANDLERS >> 12)
		exits_add_handler(batch, record);
	else if (record->event >> 12 == EVENT_PV >> 12)
		exits_add_pv(batch, record);
	if (event == EVENT_LOST)
		exits_add_lost(batch, record);
}

/*
 * Adds the first record of N WORDS. Returns the record's length in words; 0: a part of the record
 * is not there yet.
 */
static size_t exits_take_record(const struct exits_batch *batch, const uint32_t *words, size_t n)
{
	size_t extra = n ? words[0] >> 28 & 7 : 0, with_tsc = n ? words[0] >> 31 : 0;
	size_t length = 1 + 2 * with_tsc + extra;
	struct exits_record record;

	if (!n || length > n)
		return 0;
	record = (struct exits_record){
		.event = words[0] & 0xfffffff,
		.tsc = with_tsc ? words[1] | (uint64_t)words[2] << 32 : 0,
		.n = extra,
		.words = words + 1 + 2 * with_tsc,
	};
	exits_add_record(batch, &record);
	return length;
}

/* Completes the record that the last batch began. Returns how many BYTES belong to it. */
static size_t exits_take_rest(const struct exits_batch *batch, const char *bytes, size_t size_bytes)
{
	struct exits_cpu *cpu = batch->cpu;
	size_t taken = 0;

	while (cpu->left_bytes && taken + 4 <= size_bytes) {
		memcpy((char *)cpu->left + cpu->left_bytes, bytes + taken, 4);
		cpu->left_bytes += 4;
		taken += 4;
		if (exits_take_record(batch, cpu->left, cpu->left_bytes / 4))
			cpu->left_bytes = 0;
	}
	return taken;
}

void exits_add(struct exits *exits, unsigned cpu, const void *bytes, size_t size_bytes,
	       exits_name_fn *name, void *context)
{
	struct exits_batch batch = { exits, NULL, name, context };
	const char *next = bytes;
	uint32_t words[EXITS_WORDS];
	size_t taken, n, length;

	if (cpu >= EXITS_MAX_CPUS || size_bytes % 4) {
		exits->bad++;
		return;
	}
	run_waits_pass(&exits->waits, exits->newest, exits->ns_per_cycle);
	batch.cpu = &exits->cpus[cpu];
	taken = exits_take_rest(&batch, next, size_bytes);
	for (next += taken, size_bytes -= taken; size_bytes;
	     next += 4 * length, size_bytes -= 4 * length) {
		n = size_bytes / 4 < EXITS_WORDS ? size_bytes / 4 : EXITS_WORDS;
		memcpy(words, next, 4 * n);
		length = exits_take_record(&batch, words, n);
		if (length)
			continue;
		memcpy(batch.cpu->left, words, 4 * n);
		batch.cpu->left_bytes = 4 * n;
		return;
	}
}

void exits_name_rows(struct exits *exits, exits_name_row_fn *name, void *context)
{
	for (; exits->n_named < exits->n_entries; exits->n_named++) {
		struct exits_row *row = &exits->entries[exits->n_named].row;

		row->frame = name(context, &row->reason);
	}
}

/* --- better names ----------------------------------------------------------------------------- */

static void exits_merge(struct exits_pair *into, const struct exits_pair *from)
{
	into->cause.total.count += from->cause.total.count;
	into->cause.total.ns += from->cause.total.ns;
	into->cause.live.ns += from->cause.live.ns;
	into->last.count += from->last.count;
	into->last.ns += from->last.ns;
	into->live_count += from->live_count;
}

/* The pairs move to the front: none is overwritten before it was read. */
void exits_rename(struct exits *exits, uint32_t (*better)(void *context, uint32_t frame),
		  void *context)
{
	size_t n = exits->n_pairs;
	bool changed = false;

	for (size_t i = 0; i < n; i++) {
		uint32_t *frame = &exits->pairs[i].cause.place.frame, now = better(context, *frame);

		changed |= now != *frame;
		*frame = now;
	}
	if (!changed)
		return;
	hash_table_deinit(&exits->pair_index);
	exits->n_pairs = 0;
	for (size_t i = 0; i < n; i++) {
		struct exits_pair pair = exits->pairs[i], *into;

		into = exits_find_or_add_cause(exits, pair.cause.row, pair.cause.place);
		if (into)
			exits_merge(into, &pair);
		else
			exits->refused += pair.cause.total.count;
	}
}

/* --- the table -------------------------------------------------------------------------------- */

/* LIVE_COUNT keeps the fraction: without it a rare exit would be forgotten at the next table. */
static void exits_decay(struct exits_weight *live, const struct exits_weight *total,
			struct exits_weight *last, double *live_count, double factor)
{
	*live_count = *live_count * factor + (double)(total->count - last->count);
	live->count = (uint64_t)(*live_count + 0.5);
	live->ns = live->ns * factor + total->ns - last->ns;
	*last = *total;
}

static void exits_update_live(struct exits *exits)
{
	double span_ns = exits->past_ns + exits_ns(exits, exits->first, exits->newest);
	double step_ns = span_ns - exits->last_span_ns;
	double factor = exits->half_life_ns ? exp2(-step_ns / (double)exits->half_life_ns) : 1;

	exits->last_span_ns = span_ns;
	exits->live_span_ns = exits->live_span_ns * factor + step_ns;
	for (size_t i = 0; i < exits->n_entries; i++)
		exits_decay(&exits->entries[i].row.live, &exits->entries[i].row.total,
			    &exits->entries[i].last, &exits->entries[i].live_count, factor);
	for (size_t i = 0; i < exits->n_pairs; i++)
		exits_decay(&exits->pairs[i].cause.live, &exits->pairs[i].cause.total,
			    &exits->pairs[i].last, &exits->pairs[i].live_count, factor);
}

struct exits_table *exits_table_create(unsigned n_vcpus, size_t n_rows, size_t n_causes)
{
	struct exits_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->n_vcpus = n_vcpus;
	table->n_rows = n_rows;
	table->n_causes = n_causes;
	table->wakes = calloc(n_vcpus + 1, sizeof(*table->wakes));
	table->rows = calloc(n_rows + 1, sizeof(*table->rows));
	table->causes = calloc(n_causes + 1, sizeof(*table->causes));
	if (table->wakes && table->rows && table->causes)
		return table;
	exits_table_destroy(table);
	return NULL;
}

void exits_table_destroy(struct exits_table *table)
{
	if (!table)
		return;
	free(table->wakes);
	free(table->rows);
	free(table->causes);
	free(table->times);
	free(table);
}

void exits_sum_waits(const struct exits_table *table, uint64_t log2[EXITS_LOG2])
{
	for (unsigned i = 0; i < EXITS_LOG2; i++) {
		log2[i] = 0;
		for (unsigned j = 0; j < table->n_vcpus; j++)
			log2[i] += table->wakes[j].log2[i];
	}
}

struct time_histogram *exits_table_copy_times(const struct exits_table *table)
{
	size_t bytes = (table->n_rows + table->n_vcpus) * sizeof(*table->times);
	struct time_histogram *copy = table->times ? malloc(bytes + 1) : NULL;

	if (copy)
		memcpy(copy, table->times, bytes);
	return copy;
}

struct exits_table *exits_table_copy(const struct exits_table *table, size_t n_rows,
				     size_t n_causes)
{
	size_t rows = table->n_rows < n_rows ? table->n_rows : n_rows, of_row = 0, n = 0;
	struct exits_table *copy = exits_table_create(table->n_vcpus, rows, table->n_causes);
	struct exits_table parts;

	if (!copy)
		return NULL;
	parts = *copy;
	memcpy(parts.wakes, table->wakes, table->n_vcpus * sizeof(*parts.wakes));
	memcpy(parts.rows, table->rows, rows * sizeof(*parts.rows));
	for (size_t i = 0; i < table->n_causes && table->causes[i].row < rows; i++) {
		of_row = i && table->causes[i].row == table->causes[i - 1].row ? of_row + 1 : 0;
		if (of_row < n_causes)
			parts.causes[n++] = table->causes[i];
	}
	*copy = *table;
	copy->times = n_rows == SIZE_MAX ? exits_table_copy_times(table) : NULL;
	copy->n_rows = rows;
	copy->n_causes = n;
	copy->wakes = parts.wakes;
	copy->rows = parts.rows;
	copy->causes = realloc(parts.causes, (n + 1) * sizeof(*parts.causes));
	if (!copy->causes)
		copy->causes = parts.causes;
	return copy;
}

size_t exits_table_memory_bytes(const struct exits_table *table)
{
	return sizeof(*table) + table->n_vcpus * sizeof(*table->wakes) +
	       table->n_rows * sizeof(*table->rows) + table->n_causes * sizeof(*table->causes);
}

static int exits_compare_weights(const struct exits_weight *a, const struct exits_weight *b)
{
	if (a->ns != b->ns)
		return a->ns < b->ns ? 1 : -1;
	return (a->count < b->count) - (a->count > b->count);
}

static int exits_compare_rows(const void *a, const void *b, void *context)
{
	const struct exits_row *rows = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int order = exits_compare_weights(&rows[x].live, &rows[y].live);

	return order ? order : (x > y) - (x < y);
}

static int exits_compare_causes(const void *pointer_a, const void *pointer_b)
{
	const struct exits_cause *a = pointer_a, *b = pointer_b;

	if (a->row != b->row)
		return a->row < b->row ? -1 : 1;
	return exits_compare_weights(&a->live, &b->live);
}

bool exits_table_sort(struct exits_table *table)
{
	size_t n = table->n_rows;
	struct exits_row *rows = calloc(n + 1, sizeof(*rows));
	_cleanup_free_ uint32_t *order = calloc(n + 1, sizeof(*order));
	_cleanup_free_ uint32_t *place = calloc(n + 1, sizeof(*place));

	if (!rows || !order || !place) {
		free(rows);
		return false;
	}
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	qsort_r(order, n, sizeof(order[0]), exits_compare_rows, table->rows);
	for (uint32_t i = 0; i < n; i++) {
		rows[i] = table->rows[order[i]];
		place[order[i]] = i;
	}
	free(table->rows);
	table->rows = rows;
	for (size_t i = 0; i < table->n_causes; i++)
		table->causes[i].row = place[table->causes[i].row];
	qsort(table->causes, table->n_causes, sizeof(table->causes[0]), exits_compare_causes);
	return true;
}

static bool exits_fill(const struct exits *exits, struct exits_table *table)
{
	table->times = calloc(table->n_rows + table->n_vcpus + 1, sizeof(*table->times));
	if (!table->times)
		return false;
	for (uint32_t i = 0; i < table->n_rows; i++) {
		const struct exits_entry *entry = &exits->entries[i];

		table->rows[i] = entry->row;
		table->rows[i].times = i;
		table->times[i] = entry->times;
		table->rows[i].p99_ns =
			time_histogram_quantile(&entry->times, 0.99, entry->row.longest_ns);
	}
	for (size_t i = 0; i < table->n_causes; i++)
		table->causes[i] = exits->pairs[i].cause;
	for (unsigned i = 0; i < table->n_vcpus; i++)
		table->times[table->n_rows + i] = exits->waits.vcpus[i].times;
	return exits_table_sort(table);
}

struct exits_table *exits_get(struct exits *exits)
{
	struct exits_table *table =
		exits_table_create(exits->waits.n_vcpus, exits->n_entries, exits->n_pairs);

	if (!table)
		return NULL;
	exits_update_live(exits);
	table->live_span_ns = exits->live_span_ns;
	table->span_ns = exits->last_span_ns;
	table->records = exits->records;
	table->lost = exits->lost;
	table->bad = exits->bad;
	table->refused = exits->refused;
	run_waits_get(&exits->waits, table);
	if (exits_fill(exits, table))
		return table;
	exits_table_destroy(table);
	return NULL;
}
