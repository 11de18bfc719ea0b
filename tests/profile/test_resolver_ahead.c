/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * While samples wait, the resolver looks at the processes of all of them before it adds the oldest,
 * so that the sampler soon has their recipes. os.c is replaced: this one tells which processes it is
 * asked for.
 */
#include "config.h"

#include "tests/profile/resolver_stage.h"
#include "xtop/base/clock.h"
#include "xtop/os/os.h"

#define LATE_NS  1000000000ULL
#define MAX_ASKED 16

static uint64_t asked[MAX_ASKED], asked_ns[MAX_ASKED]; /* page tables, and the times given */
static unsigned n_asked;
static const struct space *user; /* the code of all processes */

/* --- stand-in for os.c ------------------------------------------------------------------------ */

bool os_is_known(const struct os *os)
{
	return os;
}

void os_find_task(struct os *os, const struct sample_vcpu *vcpu, uint64_t now_ns,
		  struct os_task *task)
{
	(void)os;
	*task = (struct os_task){ .process = "program", .user = user };
	if (n_asked == MAX_ASKED)
		abort();
	asked[n_asked] = vcpu->regs.cr3;
	asked_ns[n_asked++] = now_ns;
}

const struct space *os_get_kernel(const struct os *os)
{
	(void)os;
	return NULL;
}

struct memory *os_get_memory(const struct os *os)
{
	(void)os;
	return NULL;
}

bool os_get_kernel_root(const struct os *os, struct memory_root *root)
{
	(void)os, (void)root;
	return false;
}

bool os_is_early(const struct os *os, const struct sample_vcpu *vcpu, uint64_t now_ns)
{
	(void)os, (void)vcpu, (void)now_ns;
	return false;
}

bool os_is_other(const struct os *os)
{
	(void)os;
	return false;
}

void os_update(struct os *os, const struct sample_vcpu *vcpu, uint64_t now_ns)
{
	(void)os, (void)vcpu, (void)now_ns;
}

void os_update_pages(struct os *os, uint64_t guest_pages)
{
	(void)os, (void)guest_pages;
}

bool os_poll(struct os *os, uint64_t now_ns)
{
	(void)os, (void)now_ns;
	return false;
}

enum os_waits_turn os_read_waits(struct os *os, uint64_t now_ns, uint64_t period_ns,
				 const struct os_waits_sink *sink)
{
	(void)os, (void)now_ns, (void)period_ns, (void)sink;
	return OS_WAITS_NONE;
}

bool os_read_tasks(struct os *os, uint64_t now_ns, const struct os_waits_sink *sink)
{
	(void)os, (void)now_ns, (void)sink;
	return false;
}

void os_get_waits_counts(const struct os *os, struct os_waits_counts *counts)
{
	(void)os;
	*counts = (struct os_waits_counts){ 0 };
}

void os_get_counts(const struct os *os, struct os_counts *counts)
{
	(void)os;
	*counts = (struct os_counts){ 0 };
}

void os_describe(const struct os *os, struct os_description *description)
{
	(void)os;
	*description = (struct os_description){ 0 };
}

void os_read_log(const struct os *os, struct os_log *log)
{
	(void)os, (void)log;
}

bool os_read_clock(struct os *os, uint64_t xen_ns, struct os_clock *clock)
{
	(void)os, (void)xen_ns, (void)clock;
	return false;
}

bool os_read_timer(struct os *os, unsigned vcpu, uint64_t *timer_ns)
{
	(void)os, (void)vcpu, (void)timer_ns;
	return false;
}

bool os_read_events(struct os *os, struct os_events *events, unsigned n)
{
	(void)os, (void)events, (void)n;
	return false;
}

size_t os_read_file(struct os *os, uint32_t tgid, const char *path, void *buffer,
		    size_t size_bytes)
{
	(void)os, (void)tgid, (void)path, (void)buffer, (void)size_bytes;
	return 0;
}

/* --- the test --------------------------------------------------------------------------------- */

/* Puts a sample of the process with the page tables CR3 into the ring. */
static void wait_in_ring(struct stage *stage, uint64_t time_ns, uint64_t cr3)
{
	static struct guest_record record;
	void *room;

	guest_begin(&record, time_ns, 1);
	guest_add_chain(&record, 0, "start_kernel;serve;hash");
	record.vcpu->regs.cr3 = cr3;
	record.vcpu->user = 1;
	room = ring_reserve(stage->ring, record.size_bytes);
	memcpy(room, record.words, record.size_bytes);
	ring_commit(stage->ring, record.size_bytes);
}

/* Adds the oldest sample. Returns the page tables that were asked for: one digit each. */
static uint64_t add(struct stage *stage)
{
	size_t size_bytes;
	const void *record = ring_peek(stage->ring, &size_bytes);
	uint64_t digits = 0;

	n_asked = 0;
	resolver_add(stage->resolver, record, size_bytes);
	ring_release(stage->ring);
	for (unsigned i = 0; i < n_asked; i++)
		digits = digits * 16 + (asked[i] >> 20);
	return digits;
}

static void test_late(struct stage *stage)
{
	uint64_t old_ns = clock_now_ns() - LATE_NS;

	wait_in_ring(stage, old_ns, 9 << 20);
	wait_in_ring(stage, old_ns, 1 << 20);
	wait_in_ring(stage, old_ns + 1, 2 << 20);
	wait_in_ring(stage, old_ns + 2, 1 << 20);
	wait_in_ring(stage, old_ns + 3, 3 << 20);
	check_u64(add(stage), 0x9, "before a function has a name, one sample after the other");
	check_u64(add(stage), 0x1231, "processes of all samples, once each, before the oldest");
	check_u64(asked_ns[2], old_ns, "no process is asked for with a time that comes later");
	check_u64(add(stage), 0x2, "nothing has come since");
	wait_in_ring(stage, old_ns + 4, 4 << 20);
	check_u64(add(stage), 0x41, "the process of a sample that has come since, before the next");
	check_u64(add(stage), 0x3, "the fourth");
	check_u64(add(stage), 0x4, "and the last one");
}

static void test_soon(struct stage *stage)
{
	wait_in_ring(stage, clock_now_ns() + LATE_NS, 5 << 20);
	wait_in_ring(stage, clock_now_ns() + LATE_NS, 6 << 20);
	check_u64(add(stage), 0x5, "a sample that has just come is added at once");
	check_u64(add(stage), 0x6, "and so is the next one");
}

int main(void)
{
	struct stage stage = { .symbols = guest_symbols() };
	struct resolver_settings settings = { .live = true, .os = (struct os *)&stage };

	user = symbols_space(stage.symbols);
	stage_open_settings(&stage, settings);
	test_late(&stage);
	test_soon(&stage);
	stage_close(&stage);
	settings.live = false;
	stage.symbols = guest_symbols();
	user = symbols_space(stage.symbols);
	stage_open_settings(&stage, settings);
	wait_in_ring(&stage, 1, 7 << 20);
	wait_in_ring(&stage, 2, 8 << 20);
	wait_in_ring(&stage, 3, 9 << 20);
	add(&stage);
	check_u64(add(&stage), 0x8, "a replay looks at one sample after the other");
	stage_close(&stage);
	return tap_done();
}
