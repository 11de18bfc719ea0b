/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tasks of a Linux guest that wait: tree of pids, task_structs, stacks. The structures come
 * from the input, or are valid ones that the input changes. They change again between turns. What
 * the sink gets is unwound, without tables.
 */
#include "config.h"

#include "guest.h"
#include "linux/process/processes.h"
#include "linux/sleepers.h"
#include "xtop/sample.h"
#include "xtop/unwind.h"

/* Where things are in a valid guest's memory. */
#define PID_NS      0x0000
#define ROOT        0x0400 /* nodes of the tree */
#define LEAF        0x0800
#define PIDS        0x1000 /* one every 0x100 */
#define TASKS       0x2000 /* one every 0x400 */
#define STACKS      0x8000 /* one every 0x1000 */
#define STACK_BYTES 0x1000
#define N_TASKS     4

static void put(struct fuzz_guest *guest, uint64_t object, enum layout_member member,
		uint64_t value)
{
	if (layout_has(&guest->linux_guest.layout, member))
		object += layout_offset(&guest->linux_guest.layout, member);
	guest->pool[object % FUZZ_GUEST_BYTES / 8] = value;
}

static uint64_t offset(const struct fuzz_guest *guest, enum layout_member member)
{
	return layout_has(&guest->linux_guest.layout, member)
		       ? layout_offset(&guest->linux_guest.layout, member)
		       : 0;
}

static void put_slot(struct fuzz_guest *guest, uint64_t node, unsigned slot, uint64_t entry)
{
	node += offset(guest, XA_NODE_SLOTS) + 8 * slot;
	guest->pool[node % FUZZ_GUEST_BYTES / 8] = entry;
}

static void put_task(struct fuzz_guest *guest, unsigned i)
{
	uint64_t pid = PIDS + i * 0x100, task = TASKS + i * 0x400, stack = STACKS + i * STACK_BYTES;
	const uint64_t base = FUZZ_GUEST_BASE;

	put(guest, pid, PID_TASKS, base + task + offset(guest, TASK_PID_LINKS));
	put(guest, task, TASK_PID, i + 1);
	put(guest, task, TASK_TGID, i + 1);
	put(guest, task, TASK_COMM, 0x68736162);
	put(guest, task, TASK_GROUP_LEADER, base + task);
	put(guest, task, TASK_STATE, i);
	put(guest, task, TASK_STACK, base + stack);
	put(guest, task, TASK_SP, base + stack + STACK_BYTES - 0x200);
	put(guest, task, TASK_START_TIME, 1000 + i);
	put(guest, task, TASK_LAST_ARRIVAL, 5000 + i);
	put_slot(guest, LEAF, i + 1, base + pid);
}

static void put_guest(struct fuzz_guest *guest)
{
	const uint64_t base = FUZZ_GUEST_BASE;

	put(guest, PID_NS + offset(guest, PID_NS_IDR), XARRAY_HEAD, base + ROOT + 2);
	put(guest, ROOT, XA_NODE_SHIFT, 6);
	put_slot(guest, ROOT, 0, base + LEAF + 2);
	put(guest, LEAF, XA_NODE_SHIFT, 0);
	for (unsigned i = 0; i < N_TASKS; i++)
		put_task(guest, i);
}

/* Changes words, two of three among the structures. The input tells which, and to what. */
static void spoil(struct fuzz_guest *guest, struct fuzz *fuzz, unsigned most)
{
	unsigned n = fuzz_u8(fuzz) % most;

	for (unsigned i = 0; i < n && fuzz->left_bytes; i++) {
		uint8_t how = fuzz_u8(fuzz);
		size_t bytes = how & 8 ? FUZZ_GUEST_BYTES : STACKS;
		uint64_t *word = &guest->pool[fuzz_u16(fuzz) % (bytes / 8)];

		*word = how & 1   ? FUZZ_GUEST_BASE + fuzz_u16(fuzz)
			: how & 2 ? fuzz_u64(fuzz)
				  : *word ^ 1ULL << how / 4;
	}
}

static void add(void *context, const struct os_wait *wait)
{
	static const struct unwind_spaces none = { 0 };
	static struct unwind_stack stack;

	(void)context;
	fuzz_must(wait->state < N_OS_WAIT_STATES && wait->kept, "a state, a place to keep");
	if (!wait->vcpu)
		return;
	fuzz_must(wait->task && !*wait->kept && wait->vcpu->n_stacks >= 1 &&
			  wait->vcpu->size_bytes <= sizeof(struct sample_vcpu) +
							    SAMPLE_STACK_LIMIT_BYTES,
		  "a stack with its task");
	unwind_stack(wait->vcpu, &none, UNWIND_AUTO, &stack);
	*wait->kept = malloc(1);
}

static void end_wait(void *context, const void *kept, uint64_t waited_ns)
{
	(void)context;
	(void)waited_ns;
	fuzz_must(kept != NULL, "what was kept");
}

static void read_turns(struct fuzz_guest *guest, struct sleepers *sleepers, struct fuzz *fuzz)
{
	const struct os_waits_sink sink = { add, end_wait, NULL };
	uint64_t now_ns = 1000000000;

	for (unsigned i = 0; i < 6; i++) {
		struct os_waits_counts counts;

		now_ns += fuzz_u16(fuzz) * 100000ULL;
		sleepers_read(sleepers, now_ns, 500000000, &sink);
		counts = sleepers_counts(sleepers);
		fuzz_must(counts.tasks <= SLEEPERS_MAX && counts.looks <= 6 * SLEEPERS_TURN,
			  "tasks and looks are limited");
		spoil(guest, fuzz, 4);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
	static const struct processes_settings settings = { .root_fd = -1 };
	struct fuzz fuzz = fuzz_begin(bytes, size_bytes);
	struct fuzz_guest *guest = fuzz_guest();
	struct linux_guest *linux_guest = &guest->linux_guest;
	struct sleepers *sleepers = NULL;
	struct processes *processes = NULL;
	struct tasks *tasks = NULL;

	fuzz_guest_layout(guest, &fuzz);
	linux_guest->layout.values[IRQ_STACK_SIZEOF] = STACK_BYTES;
	memset(linux_guest->symbols, 0, sizeof(linux_guest->symbols));
	linux_guest->symbols[LINUX_INIT_PID_NS] = FUZZ_GUEST_BASE + PID_NS;
	if (fuzz_u8(&fuzz) & 1) {
		fuzz_guest_fill(guest, &(struct fuzz){ 0 });
		put_guest(guest);
		spoil(guest, &fuzz, 16);
	} else {
		fuzz_guest_fill(guest, &fuzz);
	}
	error_destroy(tasks_create(linux_guest, &tasks));
	error_destroy(processes_create(linux_guest, &settings, &processes));
	if (tasks && processes && sleepers_can_read(linux_guest)) {
		fuzz_succeed(sleepers_create(linux_guest, tasks, processes, &sleepers));
		read_turns(guest, sleepers, &fuzz);
	}
	sleepers_destroy(sleepers);
	processes_destroy(processes);
	tasks_destroy(tasks);
	return 0;
}
