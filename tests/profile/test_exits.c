/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Exits out of records of Xen's trace; all records are cut into pieces at every word once. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "tests/profile/trace_records.h"
#include "tests/support/tap.h"
#include "xtop/profile/exit_names.h"

/* An MSR is written at ADDRESS, which takes US_TAKEN. */
static void put_msr_write(uint32_t msr, uint64_t address, unsigned us_taken)
{
	put_exit(0x7c, address);
	put(0x8200d, false, 3, (const uint32_t[]){ msr, 0, 0 });
	put(0x82004, false, 2, (const uint32_t[]){ 0x30, 0 }); /* an interrupt is injected */
	now += us_taken * US;
	put_entry();
	now += 10 * US;
}

static const struct exits_row *find_row(const struct exits_table *table, const char *name)
{
	static const struct exits_row none;
	char text[EXIT_NAME_BYTES];

	for (size_t i = 0; i < table->n_rows; i++)
		if (strcmp(exit_name(&table->rows[i].reason, text), name) == 0)
			return &table->rows[i];
	for (size_t i = 0; i < table->n_rows; i++)
		printf("# %s\n", exit_name(&table->rows[i].reason, text));
	return &none;
}

static void put_all(void)
{
	begin();
	put_msr_write(0x80b, 0x1000, 3); /* nobody knows whose this is */
	put_runstate(GUEST, 1, 1, 0);
	for (unsigned i = 0; i < 90; i++)
		put_msr_write(0x80b, i < 60 ? 0x1000 : 0xffffffff81002000, 2);
	for (unsigned i = 0; i < 10; i++)
		put_msr_write(0x80b, 0x1000, 50);
	put_exit(0x72, 0x3000);
	put(0x8200e, false, 6, (const uint32_t[]){ 0xb, 0, 1, 2, 3, 4 });
	now += 20 * US;
	put_entry();
	put_exit(0x78, 0x4000); /* halts: the vCPU stops running within the exit */
	put(0x82013, false, 1, (const uint32_t[]){ 0 });
	now += 5 * US;
	put_runstate(GUEST, 1, 0, 2);
	put_runstate(7, 0, 1, 0);
	put_msr_write(0x80b, 0x1000, 500); /* another domain's */
	put_runstate(GUEST, 1, 2, 1);
	now += 300 * US;
	put_runstate(7, 0, 0, 1);
	put_runstate(GUEST, 1, 1, 0);
	put_entry();
}

static void check_all(const struct exits_table *table, const char *what)
{
	const struct exits_row *msr = find_row(table, "MSR write 0x80b APIC_EOI");
	const struct exits_wakes *wakes = &table->wakes[1];

	check_u64(msr->total.count, 100, what);
	check(fabs(msr->total.ns - 680e3) < 1, "%s: %.0f ns in all", what, msr->total.ns);
	check_u64(msr->longest_ns, 50000, "longest exit of an MSR");
	check(msr->p99_ns > 45000 && msr->p99_ns <= 50000, "99 %% take up to %" PRIu64 " ns",
	      msr->p99_ns);
	check(find_row(table, "CPUID leaf 0xb")->total.ns == 20e3, "a leaf of CPUID has its time");
	check(find_row(table, "HLT")->total.ns == 5e3, "a halt ends when the vCPU does not run");
	check_u64(wakes->count, 1, "number of wake-ups");
	check(wakes->longest_ns == 300000 && wakes->longest_by == 7,
	      "the vCPU waited %" PRIu64 " ns for domain %" PRIu32, wakes->longest_ns,
	      wakes->longest_by);
	check(table->causes[0].place.process == 2 && table->causes[1].place.process == 0,
	      "code of a process has the vCPU's process, code of the kernel none");
	check(table->causes[0].row == 0 && table->causes[0].place.frame == 1 &&
		      table->causes[0].total.count == 70 && table->causes[1].total.count == 30,
	      "functions: %" PRIu64 " and %" PRIu64, table->causes[0].total.count,
	      table->causes[1].total.count);
	check(!table->bad && !table->lost && !table->refused, "nothing was bad or lost");
}

static void test_exits(void)
{
	static const size_t pieces[] = { 0, 4, 8, 12, 20, 44, 4096 };

	put_all();
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		struct exits *exits = make_exits(false);
		struct exits_table *table = add_settled(exits, pieces[i]);
		struct exits_table *copy = exits_table_copy(table, SIZE_MAX, SIZE_MAX);

		exits_table_destroy(table);
		check_all(copy, "in pieces");
		exits_table_destroy(copy);
		exits_reset(exits);
		table = exits_get(exits);
		check(!table->n_rows && !table->n_causes && !table->records,
		      "a reset leaves no exits");
		exits_table_destroy(table);
		exits_destroy(exits);
	}
}

static void test_lost(void)
{
	struct exits *exits = make_exits(false);
	struct exits_table *table;

	begin();
	put_runstate(GUEST, 0, 1, 0);
	put_exit(0x72, 0x3000);
	put(0x1f001, true, 4, (const uint32_t[]){ 123, 0, 0, 0 });
	put_entry(); /* its exit was lost */
	table = add_all(exits, 0);
	check(table->lost == 123 && !table->n_rows, "%" PRIu64 " records are lost", table->lost);
	exits_table_destroy(table);
	exits_destroy(exits);
}

/* Xen may emulate an instruction, after another exit: it counts as the instruction. */
static void test_emulated(void)
{
	struct exits *exits = make_exits(false);
	struct exits_table *table;

	begin();
	put_runstate(GUEST, 0, 1, 0);
	for (unsigned i = 0; i < 2; i++) {
		put_exit(i ? 0x400 : 0x72, 0x3000);
		put(0x8200e, false, 6, (const uint32_t[]){ 0xb, 0, 1, 2, 3, 4 });
		now += US;
		put_entry();
	}
	put(0x201103, false, 3, (const uint32_t[]){ 0x3000, 0, 0x8000 | 13 });
	table = add_all(exits, 0);
	check(table->n_rows == 2, "%zu reasons", table->n_rows);
	check(find_row(table, "CPUID leaf 0xb")->total.count == 2, "both are CPUID");
	check(find_row(table, "trap 0xd")->total.count == 1, "a trap of PV has its number");
	exits_table_destroy(table);
	exits_destroy(exits);
}

/* A handler's record that says nothing new makes no second row of one name. */
static void test_names(void)
{
	static const uint32_t events[] = { 0, 0x82013, 0, 0x82021, 0x82025, 0x82017 };
	struct exits *exits = make_exits(false);
	struct exits_table *table;

	begin();
	put_runstate(GUEST, 0, 1, 0);
	for (unsigned i = 0; i < 6; i++) {
		put_exit(i < 2 ? 0x78 : 0x400, 0x3000);
		if (i == 5)
			put(0x82021, false, 1, (const uint32_t[]){ 0 });
		if (events[i])
			put(events[i], false, 1, (const uint32_t[]){ 0 });
		now += US;
		put_entry();
	}
	table = add_all(exits, 0);
	check_u64(table->n_rows, 3, "number of reasons");
	check_u64(find_row(table, "HLT")->total.count, 2,
		  "HLT with a record of its handler, and without one");
	check_u64(find_row(table, "NPT fault")->total.count, 3, "NPT faults");
	check_u64(find_row(table, "device memory read")->total.count, 1,
		  "a read from a device after an NPT fault");
	exits_table_destroy(table);
	exits_destroy(exits);
}

/* Where the records of PV guests have the instruction's address: Xen 4.17 xen/arch/x86/trace.c. */
static void test_pv(void)
{
	static const struct {
		uint32_t event;
		size_t n;
		uint32_t words[6];
		const char *name;
		uint32_t frame;
	} entries[] = {
		{ 0x201104, 5, { 0x81003000, ~0U, 0x9000, 0, 2 }, "page fault", 0x81003 },
		{ 0x20110b,
		  6,
		  { 0x67, 1, 0x9000, 0, 0x81004000, ~0U },
		  "page-table write",
		  0x81004 },
		{ 0x20100c, 4, { 0x67, 1, 0x9000, 0xc1005000 }, "page-table write", 0xc1005 },
		{ 0x20110b, 4, { 0x67, 1, 0x9000, 0x81004000 }, "page-table write", 0 },
		{ 0x201106, 2, { 0x81006000, ~0U }, "emulated instruction", 0x81006 },
		{ 0x201008, 0, { 0 }, "FPU state", 0 },
	};

	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		struct exits *exits = make_exits(false);
		struct exits_table *table;

		begin();
		put_runstate(GUEST, 0, 1, 0);
		put(entries[i].event, true, entries[i].n, entries[i].words);
		table = add_all(exits, 0);
		check(find_row(table, entries[i].name)->total.count == 1 && table->n_causes == 1 &&
			      table->causes[0].place.frame == entries[i].frame,
		      "%s of %zu words: the code at page %#x", entries[i].name, entries[i].n,
		      table->causes[0].place.frame);
		exits_table_destroy(table);
		exits_destroy(exits);
	}
}

static void test_vmx(void)
{
	struct exits *exits = make_exits(true);
	struct exits_table *table;

	begin();
	put_runstate(GUEST, 0, 1, 0);
	put_exit(1, 0x3000);
	put(0x8200f, false, 1, (const uint32_t[]){ 0xfb });
	now += US;
	put_entry();
	put_exit(48, 0x3000);
	now += US;
	put_entry();
	put(0x20110d, false, 1, (const uint32_t[]){ 29 });
	table = add_all(exits, 0);
	check(find_row(table, "external interrupt 0xfb")->total.count == 1,
	      "an exit by an interrupt counts for its vector");
	check(find_row(table, "EPT fault")->total.count == 1, "a fault of EPT");
	check(find_row(table, "hypercall sched_op")->total.count == 1, "a hypercall of PV");
	exits_table_destroy(table);
	exits_destroy(exits);
}

/* Any bytes: only figures are wrong. */
static void test_hostile(void)
{
	struct exits *exits = make_exits(false);
	struct exits_table *table;
	uint64_t state = 1;

	for (unsigned i = 0; i < 200; i++) {
		for (size_t j = 0; j < 4096; j++) {
			state = state * 6364136223846793005ULL + 1442695040888963407ULL;
			words[j] = (uint32_t)(state >> 32);
			if (j % 4 == 0)
				words[j] = (words[j] & 0xf0000fff) | (j % 8    ? 0x81000
								      : j % 16 ? 0x21000
									       : 0x82000);
		}
		exits_add(exits, i * 7 % 2000, words, 4 * (1000 + i), name_page, NULL);
	}
	exits_add(exits, 0, words, 3, name_page, NULL);
	table = exits_get(exits);
	check(table->bad > 0 && table->n_rows <= EXITS_MAX_ROWS &&
		      table->n_causes <= EXITS_MAX_CAUSES,
	      "%zu reasons, %zu causes, %" PRIu64 " refused", table->n_rows, table->n_causes,
	      table->refused);
	exits_table_destroy(table);
	exits_destroy(exits);
}

/* Xen traces, pauses for a second, and traces again. */
static void test_pause(void)
{
	struct exits *exits = make_exits(false);
	struct exits_table *table;

	begin();
	put_runstate(GUEST, 0, 2, 1);
	now += 40 * US;
	put_runstate(GUEST, 1, 2, 0);
	table = add_all(exits, 0);
	check(fabs(table->span_ns - 40e3) < 1, "records of %.0f ns", table->span_ns);
	exits_table_destroy(table);
	exits_set_host(exits, GUEST, KHZ, false);
	begin();
	now += 1000000 * US;
	put_runstate(GUEST, 0, 1, 0);
	now += 60 * US;
	put_runstate(GUEST, 0, 0, 2);
	table = add_all(exits, 0);
	check(fabs(table->span_ns - 100e3) < 1 && fabs(table->live_span_ns - 100e3) < 1,
	      "the pause is no time of the trace: %.0f ns", table->span_ns);
	exits_table_destroy(table);
	table = add_settled(exits, 0);
	check_u64(table->wakes[0].count, 0, "waits that ended while nobody traced");
	exits_table_destroy(table);
	exits_destroy(exits);
}

/* An exit a second, seen by a table a second. */
static void test_rare(void)
{
	struct exits_table *table = NULL;
	struct exits *exits;
	double rate;

	must(exits_create(10000000000, &exits));
	exits_set_host(exits, GUEST, KHZ, false);
	begin();
	put_runstate(GUEST, 1, 1, 0);
	for (unsigned i = 0; i < 100; i++) {
		put_msr_write(0x80b, 0x1000, 2);
		now += 1000000 * US;
		exits_table_destroy(table);
		table = add_all(exits, 0);
		n_words = 0;
	}
	rate = (double)table->rows[0].live.count * 1e9 / table->live_span_ns;
	check(fabs(rate - 1) < 0.05, "a rare exit keeps its rate: %.2f a second", rate);
	check_u64(table->causes[0].live.count, table->rows[0].live.count,
		  "live exits of a rare exit's function");
	exits_table_destroy(table);
	exits_destroy(exits);
}

static uint32_t better(void *context, uint32_t frame)
{
	(void)context;
	return frame == 0x81002 || frame == 0x81003 ? 0x81004 : frame;
}

static void test_rename(void)
{
	static const uint64_t addresses[] = { 0xffffffff81001000, 0xffffffff81002000,
					      0xffffffff81003000, 0xffffffff81004000 };
	struct exits *exits = make_exits(false);
	struct exits_table *table;

	begin();
	put_runstate(GUEST, 1, 1, 0);
	for (unsigned i = 0; i < 10; i++)
		put_msr_write(0x80b, addresses[i % 4], i % 4 ? 2 : 200);
	exits_table_destroy(add_all(exits, 0));
	exits_rename(exits, better, NULL);
	begin();
	put_msr_write(0x80b, addresses[3], 2);
	table = add_all(exits, 0);
	check(table->n_causes == 2 && table->causes[0].place.frame == 0x81001 &&
		      table->causes[1].place.frame == 0x81004,
	      "functions with one name become one");
	check(table->causes[0].total.count == 3 && table->causes[1].total.count == 8 &&
		      table->causes[1].live.count == 8,
	      "a function with a better name has %" PRIu64 " exits", table->causes[1].total.count);
	check(fabs(table->causes[1].total.ns - 16e3) < 1,
	      "a function with a better name has %.0f ns", table->causes[1].total.ns);
	exits_table_destroy(table);
	exits_destroy(exits);
}

int main(void)
{
	test_exits();
	test_lost();
	test_emulated();
	test_names();
	test_pv();
	test_pause();
	test_rare();
	test_rename();
	test_vmx();
	test_hostile();
	return tap_done();
}
