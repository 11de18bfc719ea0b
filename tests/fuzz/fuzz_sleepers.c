/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tasks of a Linux guest that wait: tree of pids, task_structs, stacks. The structures come
 * from the input, or are valid ones that the input changes. They change again between turns. What
 * the sink gets is unwound, without tables. The sink says of each task which kind of lock it waits
 * for; the valid tasks wait for one of each kind, which others of them hold.
 */
#include "config.h"

#include "guest.h"
#include "linux/event_channels.h"
#include "linux/kernel/arch.h"
#include "linux/process/processes.h"
#include "linux/sleepers.h"
#include "xtop/base/registers_x86.h"
#include "xtop/sample/sample.h"
#include "xtop/unwind/unwind.h"

/* Where things are in a valid guest's memory. */
#define PID_NS      0x0000
#define ROOT        0x0400 /* nodes of the tree */
#define LEAF        0x0800
#define PIDS        0x1000 /* one every 0x100 */
#define TASKS       0x2000 /* one every 0x400 */
#define LOCKS       0x4000 /* one every 0x100 */
#define EVENTS      0x5000 /* the list's head, and one entry every 0x100 */
#define N_EVENTS    5
#define STACKS      0x8000 /* one every 0x1000 */
#define STACK_BYTES 0x1000
#define USER_TABLES 0xf000 /* an empty table of task 2's */
#define RECORD      0x100  /* record of a wait for a lock: so far from the stack's end */
#define N_TASKS     6
#define CONTEXT     0x300 /* arm64's saved registers in a task */
#define CALL_32     240

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

static void put_word(struct fuzz_guest *guest, uint64_t address, uint64_t value)
{
	guest->pool[address % FUZZ_GUEST_BYTES / 8] = value;
}

/* Task I is the only one that waits for lock I, whose WAIT_LIST the record on its stack is in. */
static void put_record(struct fuzz_guest *guest, unsigned i, enum layout_member wait_list,
		       enum layout_member task, enum layout_member list)
{
	const uint64_t base = FUZZ_GUEST_BASE;
	uint64_t record = STACKS + (i + 1) * STACK_BYTES - RECORD,
		 entry = record + offset(guest, list),
		 head = LOCKS + i * 0x100 + offset(guest, wait_list);

	put(guest, record, task, base + TASKS + i * 0x400);
	put_word(guest, entry, base + head);
	put_word(guest, entry + 8, base + head);
	put_word(guest, head, base + entry);
	put_word(guest, head + 8, base + entry);
}

/* Task 5 has closed lock 5, and waits for its readers. */
static void put_writer(struct fuzz_guest *guest)
{
	const uint64_t base = FUZZ_GUEST_BASE, lock = LOCKS + 0x500,
		       head = lock + offset(guest, PERCPU_RWSEM_WAIT_LIST);

	put_word(guest, head, base + head);
	put_word(guest, head + 8, base + head);
	put(guest, lock, PERCPU_RWSEM_WRITER, base + TASKS + 5 * 0x400);
	put(guest, lock, PERCPU_RWSEM_BLOCK, 1);
	put_word(guest, STACKS + 6 * STACK_BYTES - 0x1f0, base + lock);
}

/* Task 2 waits for a futex, by the system call CALL. Programs of 32 bits call CALL_32. */
static void put_call(struct fuzz_guest *guest, uint64_t call)
{
	const uint64_t end = STACKS + 2 * STACK_BYTES + arch_stack_bytes(&guest->linux_guest),
		       arm64 = end - PT_ARM64_BYTES, x86 = end - PT_REGS_BYTES;
	bool is_32 = call == CALL_32;

	if (guest->arm64) {
		put_word(guest, arm64 + PT_ARM64_AT(PT_ARM64_SYSCALL), call == 202 ? 98 : call);
		put_word(guest, arm64 + PT_ARM64_AT(PT_ARM64_ORIG_X0), 0x1000);
		put_word(guest, arm64 + PT_ARM64_AT(1), 0x86);
		put_word(guest, arm64 + PT_ARM64_AT(PT_ARM64_PSTATE), is_32 ? 0x10 : 0);
		return;
	}
	put_word(guest, x86 + 8 * PT_REGS_ORIG_RAX, call);
	put_word(guest, x86 + 8 * PT_REGS_RDI, 0x1000);
	put_word(guest, x86 + 8 * PT_REGS_RSI, 0x86);
	put_word(guest, x86 + 8 * PT_REGS_CS, is_32 ? 0x23 : 0x33);
}

/* Each lock is held by the next task. */
static void put_locks(struct fuzz_guest *guest, uint64_t call)
{
	const uint64_t base = FUZZ_GUEST_BASE;

	put_record(guest, 0, MUTEX_WAIT_LIST, MUTEX_WAITER_TASK, MUTEX_WAITER_LIST);
	put(guest, LOCKS, MUTEX_OWNER, (base + TASKS + 0x400) | 1);
	put_record(guest, 1, RWSEM_WAIT_LIST, RWSEM_WAITER_TASK, RWSEM_WAITER_LIST);
	put(guest, LOCKS + 0x100, RWSEM_COUNT, 0x103);
	put(guest, LOCKS + 0x100, RWSEM_OWNER, base + TASKS + 0x800);
	put(guest, TASKS + 0x800, TASK_PI_BLOCKED_ON, base + LOCKS + 0x280);
	put(guest, LOCKS + 0x280, RT_MUTEX_WAITER_LOCK, base + LOCKS + 0x200);
	put(guest, LOCKS + 0x200, RT_MUTEX_OWNER, (base + TASKS) | 1);
	put(guest, TASKS + 0x800, TASK_MM, base + LOCKS + 0x400);
	put(guest, LOCKS + 0x400, MM_PGD, base + USER_TABLES);
	put_call(guest, call);
	put_record(guest, 3, SEMAPHORE_WAIT_LIST, SEMAPHORE_WAITER_TASK, SEMAPHORE_WAITER_LIST);
	put_record(guest, 4, PERCPU_RWSEM_WAIT_LIST, WAIT_ENTRY_TASK, WAIT_ENTRY_LIST);
	put_writer(guest);
}

/* A channel for each kind of event; the last one has a device. */
static void put_events(struct fuzz_guest *guest)
{
	const uint64_t base = FUZZ_GUEST_BASE;
	uint64_t link = EVENTS;

	for (unsigned i = 0; i < N_EVENTS; i++) {
		uint64_t info = EVENTS + (i + 1) * 0x100;

		put(guest, info, IRQ_INFO_TYPE, i);
		put(guest, info, IRQ_INFO_PORT, i + 1);
		put(guest, info, IRQ_INFO_CPU, i & 1);
		put(guest, info, IRQ_INFO_DEVICE, base + EVENTS + 0x800);
		put_word(guest, link, base + info + offset(guest, IRQ_INFO_LIST));
		link = info + offset(guest, IRQ_INFO_LIST);
	}
	put_word(guest, link, base + EVENTS);
	put(guest, EVENTS + 0x800, XENBUS_DEVICE_PATH, base + EVENTS + 0x900);
	put_word(guest, EVENTS + 0x900, 0x642f656369766564); /* "device/d" */
}

static void read_events(const struct linux_guest *linux_guest)
{
	struct os_events events[2];
	bool known = event_channels_read(linux_guest, events, 2);

	for (unsigned i = 0; i < 2; i++) {
		unsigned n = events[i].ipis + events[i].virqs + events[i].pirqs + events[i].domains;

		fuzz_must(events[i].known == known && n <= EVENT_CHANNELS_MAX,
			  "events are counted within limits");
		fuzz_must(memchr(events[i].names, 0, sizeof(events[i].names)) != NULL,
			  "names end");
	}
}

static void put_guest(struct fuzz_guest *guest, uint64_t call)
{
	const uint64_t base = FUZZ_GUEST_BASE;

	put(guest, PID_NS + offset(guest, PID_NS_IDR), XARRAY_HEAD, base + ROOT + 2);
	put(guest, ROOT, XA_NODE_SHIFT, 6);
	put_slot(guest, ROOT, 0, base + LEAF + 2);
	put(guest, LEAF, XA_NODE_SHIFT, 0);
	for (unsigned i = 0; i < N_TASKS; i++)
		put_task(guest, i);
	put_locks(guest, call);
	put_events(guest);
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

static unsigned kinds; /* task PID waits for a lock of kind KINDS + PID */

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
	*wait->lock = (enum os_lock_kind)((kinds + wait->task->pid) % N_OS_LOCK_KINDS);
}

static void end_wait(void *context, void *kept, uint64_t waited_ns)
{
	(void)context;
	(void)waited_ns;
	fuzz_must(kept != NULL, "what was kept");
}

static void tell_lock(void *context, const struct os_lock_wait *wait)
{
	(void)context;
	fuzz_must(wait->kind != OS_LOCK_NONE && wait->kind < N_OS_LOCK_KINDS && wait->waiter.pid &&
			  wait->waiter.kept && memchr(wait->name, 0, sizeof(wait->name)),
		  "a task, a lock, a name that ends");
	fuzz_must(wait->certainty < N_OS_HOLDERS &&
			  (wait->certainty == OS_HOLDER_UNKNOWN ||
			   wait->certainty == OS_HOLDER_NO_TASK) == !wait->holder.address &&
			  !wait->holder.pid == !wait->holder.address &&
			  wait->holder.address != wait->waiter.address,
		  "a holder that is another task, or none");
	fuzz_must(!wait->is_over || (!wait->name[0] && !wait->holder.address),
		  "of a wait that is over, neither name nor holder");
}

static void read_turns(struct fuzz_guest *guest, struct sleepers *sleepers, struct fuzz *fuzz)
{
	const struct os_waits_sink sink = { add, end_wait, tell_lock, NULL };
	uint64_t now_ns = 1000000000;

	for (unsigned i = 0; i < 6; i++) {
		struct os_waits_counts counts;

		now_ns += fuzz_u16(fuzz) * 100000ULL;
		sleepers_read(sleepers, now_ns, 500000000, &sink);
		counts = sleepers_counts(sleepers);
		fuzz_must(counts.tasks <= SLEEPERS_MAX && counts.looks <= 6 * SLEEPERS_TURN,
			  "tasks and looks are limited");
		read_events(&guest->linux_guest);
		spoil(guest, fuzz, 4);
	}
}

/* Where a task of arm64 has its registers, and how many words of user code's it has saved. */
static void lay_out_arm64(struct layout *layout)
{
	layout->values[TASK_CONTEXT] = CONTEXT;
	layout->values[TASK_SP] = CONTEXT + 8 * 11;
	layout->values[PT_REGS_SIZEOF] = PT_ARM64_BYTES;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
	static const struct processes_settings settings = { .debug.root_fd = -1 };
	static const uint64_t calls[] = { 202, CALL_32, 449, 455 }; /* futexes */
	struct fuzz fuzz = fuzz_begin(bytes, size_bytes);
	struct fuzz_guest *guest = fuzz_guest();
	struct linux_guest *linux_guest = &guest->linux_guest;
	struct sleepers *sleepers = NULL;
	struct processes *processes = NULL;
	struct tasks *tasks = NULL;
	uint8_t how;

	fuzz_guest_layout(guest, &fuzz);
	linux_guest->layout.values[IRQ_STACK_SIZEOF] = STACK_BYTES;
	memset(linux_guest->symbols, 0, sizeof(linux_guest->symbols));
	linux_guest->symbols[LINUX_INIT_PID_NS] = FUZZ_GUEST_BASE + PID_NS;
	linux_guest->symbols[LINUX_EVENT_CHANNELS] = FUZZ_GUEST_BASE + EVENTS;
	how = fuzz_u8(&fuzz);
	kinds = how >> 1;
	guest->arm64 = size_bytes & 1;
	if (guest->arm64)
		lay_out_arm64(&linux_guest->layout);
	if (how & 1) {
		fuzz_guest_fill(guest, &(struct fuzz){ 0 });
		put_guest(guest, calls[how >> 6]);
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
