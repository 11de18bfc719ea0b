/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tasks that do not run; see sleepers.h. Resolver's thread, while the guest runs.
 *
 *   init_pid_ns.idr ─► struct pid ─► task_struct ─► look ─┬─ as at the last look: nothing to read
 *   (by pid, 64 at a time)                                └─ moved: kernel stack, user stack, and
 *                                                            then the look again
 *
 * Whether a task has moved. Each time that a task leaves a CPU, the scheduler adds one to its nvcsw
 * or nivcsw. A task that is on no CPU, with the same sum as at the look before, has not run in
 * between: its stack is the same. So a task that sleeps on costs one read. After the stack of a
 * task has been read, the look is repeated; if it differs, the stack may be torn and is read again.
 *
 * Since when it waits. sched_info.last_arrival says when the task got a CPU last, on the
 * scheduler's clock; se.sum_exec_runtime - se.prev_sum_exec_runtime how long it ran then. Both
 * together are when it left (Linux kernel/sched/stats.h sched_info_arrive(), kernel/sched/fair.c
 * set_next_entity()). That clock is not ours. No arrival is seen before it happened, so
 *
 *     gap = our clock at a look - last_arrival
 *
 * is never less than that clock is behind ours, and close to it if the task had just got a CPU. The
 * smallest gap of the last seconds turns times of the guest into ours, as in past_task.c. What we
 * saw bounds the result: a wait began after the last look at which it had not begun, and before the
 * first at which it had.
 *
 * Who holds what. When all tasks have been seen, those that wait for locks are gone through: the
 * lock's owner is read, then the look is repeated. If it is the same, the task has waited for that
 * lock all the time. So if tasks wait for each other in a circle, they do so at one time: none of
 * them can have given its lock away.
 *
 * Tasks of the pass before are kept in an array by ascending pid, as the tree gives them. A pass
 * reads along the old array and writes a new one.
 */
#include "config.h"

#include "linux/sleepers.h"

#include <stdlib.h>
#include <string.h>

#include "linux/kernel/member.h"
#include "linux/locks.h"
#include "linux/process/process_arch.h"
#include "linux/process/sleeper_arch.h"
#include "linux/process/upid.h"
#include "linux/process/xarray.h"
#include "xtop/cleanup.h"
#include "xtop/sample.h"
#include "xtop/vector.h"

#define SLEEPER_PID_MAX      (4U << 20)     /* Linux PID_MAX_LIMIT */
#define SLEEPER_SPAN_BYTES   (16U << 10)    /* of a task_struct, as in tasks.c */
#define SLEEPER_CLOSE_BYTES  128            /* members so close are read together */
#define SLEEPER_STACK_BYTES  (32U << 10)    /* THREAD_SIZE is 16 KiB, with KASAN 32 */
#define SLEEPER_USER_BYTES   (2 * GUEST_PAGE_SIZE)
#define SLEEPER_GAP_SPAN_NS  30000000000ULL /* clocks of guest and dom0 drift apart */
#define SLEEPER_MAX_PERIODS  20             /* a look stands for at most so many periods */

/* Linux include/linux/sched.h; the same since v4.14. */
#define TASK_INTERRUPTIBLE   0x0001U
#define TASK_UNINTERRUPTIBLE 0x0002U
#define TASK_STOPPED         0x000cU /* by a signal, by a tracer */
#define TASK_PARKED          0x0040U
#define TASK_DEAD            0x0080U
#define TASK_NOLOAD          0x0400U

/* What a look tells of a task. Two looks that are equal are of the same wait. */
struct look {
	uint64_t switches, start_time;
	uint32_t pid, state, exit_state, on_cpu;
};

struct look_times {
	uint64_t arrival, queued, run_ns;
};

struct sleeper {
	uint32_t pid;
	uint64_t struct_pid, task; /* addresses */
	struct look look;
	uint64_t seen_ns;  /* of that look, on our clock */
	uint64_t began_ns; /* the wait, on our clock; 0: the task ran */
	void *kept;        /* the sink's */
	struct lock_wait lock;
	bool lock_told; /* to the sink */
};

struct sleepers_pass {
	struct sleeper *list; /* ascending by pid */
	size_t n, capacity;
};

static const struct {
	enum layout_member member;
	uint32_t size_bytes;
	bool needed;
} look_members[] = {
	{ TASK_STATE, 4, true },       { TASK_EXIT_STATE, 4, true },
	{ TASK_ON_CPU, 4, true },      { TASK_PID, 4, true },
	{ TASK_SWITCHES, 8, true },    { TASK_PREEMPTIONS, 8, true },
	{ TASK_START_TIME, 8, true },  { TASK_LAST_ARRIVAL, 8, false },
	{ TASK_LAST_QUEUED, 8, false }, { TASK_RUN_SUM, 8, false },
	{ TASK_RUN_SUM_THEN, 8, false },
};
#define N_LOOK_MEMBERS (sizeof(look_members) / sizeof(look_members[0]))

struct sleepers {
	const struct linux_guest *guest;
	struct tasks *tasks;
	struct processes *processes;
	uint32_t span_start; /* where a task_struct has the first of what a look reads */
	struct {
		uint32_t offset, size_bytes;
	} parts[N_LOOK_MEMBERS]; /* what of it is read at a time: members that lie close together */
	unsigned n_parts;
	uint32_t stack_bytes;
	struct sleepers_pass before, now;
	size_t at_before;    /* in BEFORE: the first one that is not behind the next pid */
	bool going;          /* a pass has begun */
	uint64_t next_pid;
	uint64_t pass_ns, before_ns; /* beginnings of this pass and of the one before; 0: none */
	/* the leaf of the tree that the pass is in */
	uint64_t leaf[XARRAY_NODE_SLOTS], leaf_first, leaf_behind;
	bool has_leaf;
	size_t next_lock; /* in NOW, when all tasks have been seen */
	bool seen_all;
	/* the smallest gap of this span of time, and of the one before */
	uint64_t gap_ns, previous_gap_ns, gap_since_ns;
	bool has_gap;
	struct os_waits_counts counts;
	unsigned char span[SLEEPER_SPAN_BYTES];
	/* a sample of one vCPU with two stacks */
	struct {
		struct sample_vcpu vcpu;
		unsigned char stacks[2 * sizeof(struct sample_stack) + SLEEPER_STACK_BYTES +
				     SLEEPER_USER_BYTES];
	} sample;
};

/* --- life ------------------------------------------------------------------------------------- */

static uint32_t sleepers_find_span(const struct layout *layout, uint32_t *startp)
{
	uint32_t start = UINT32_MAX, end = 0;

	for (size_t i = 0; i < N_LOOK_MEMBERS; i++) {
		uint32_t offset, behind;

		if (!layout_has(layout, look_members[i].member))
			continue;
		offset = layout_offset(layout, look_members[i].member);
		behind = offset + look_members[i].size_bytes;
		start = offset < start ? offset : start;
		end = behind > end ? behind : end;
	}
	*startp = start;
	return end - start;
}

/* Adds a member to the parts, which ascend: to one that it lies close behind, or as a new one. */
static void sleepers_add_part(struct sleepers *sleepers, uint32_t offset, uint32_t size_bytes)
{
	unsigned i = sleepers->n_parts;

	for (; i > 0 && sleepers->parts[i - 1].offset > offset; i--)
		sleepers->parts[i] = sleepers->parts[i - 1];
	sleepers->parts[i].offset = offset;
	sleepers->parts[i].size_bytes = size_bytes;
	sleepers->n_parts++;
}

static void sleepers_find_parts(struct sleepers *sleepers)
{
	const struct layout *layout = &sleepers->guest->layout;
	unsigned n = 0;

	sleepers_find_span(layout, &sleepers->span_start);
	for (size_t i = 0; i < N_LOOK_MEMBERS; i++)
		if (layout_has(layout, look_members[i].member))
			sleepers_add_part(sleepers, layout_offset(layout, look_members[i].member),
					  look_members[i].size_bytes);
	for (unsigned i = 1; i < sleepers->n_parts; i++) {
		uint32_t start = sleepers->parts[n].offset,
			 end = start + sleepers->parts[n].size_bytes;

		if (sleepers->parts[i].offset > end + SLEEPER_CLOSE_BYTES)
			sleepers->parts[++n] = sleepers->parts[i];
		else if (sleepers->parts[i].offset + sleepers->parts[i].size_bytes > end)
			sleepers->parts[n].size_bytes = sleepers->parts[i].offset +
							sleepers->parts[i].size_bytes - start;
	}
	sleepers->n_parts = n + 1;
}

bool sleepers_can_read(const struct linux_guest *guest)
{
	static const enum layout_member needed[] = { TASK_SP, TASK_STACK, TASK_PID_LINKS,
						     PID_TASKS, PID_NS_IDR };
	const struct layout *layout = &guest->layout;
	uint32_t start;

	if (!guest->has_layout || !guest->symbols[LINUX_INIT_PID_NS] ||
	    !xarray_has_layout(layout) ||
	    layout_missing(layout, needed, sizeof(needed) / sizeof(needed[0])) != LAYOUT_MEMBERS)
		return false;
	for (size_t i = 0; i < N_LOOK_MEMBERS; i++)
		if (look_members[i].needed && !layout_has(layout, look_members[i].member))
			return false;
	return sleepers_find_span(layout, &start) <= SLEEPER_SPAN_BYTES &&
	       process_arch_stack_bytes(layout) <= SLEEPER_STACK_BYTES;
}

struct xtop_error *sleepers_create(const struct linux_guest *guest, struct tasks *tasks,
				   struct processes *processes, struct sleepers **sleepersp)
{
	struct sleepers *sleepers = calloc(1, sizeof(*sleepers));

	if (!sleepers)
		return error_create("out of memory");
	sleepers->guest = guest;
	sleepers->tasks = tasks;
	sleepers->processes = processes;
	sleepers_find_parts(sleepers);
	sleepers->stack_bytes = process_arch_stack_bytes(&guest->layout);
	*sleepersp = sleepers;
	return NULL;
}

static void sleepers_clear(struct sleepers_pass *pass)
{
	for (size_t i = 0; i < pass->n; i++)
		free(pass->list[i].kept);
	pass->n = 0;
}

void sleepers_destroy(struct sleepers *sleepers)
{
	if (!sleepers)
		return;
	sleepers_clear(&sleepers->before);
	sleepers_clear(&sleepers->now);
	free(sleepers->before.list);
	free(sleepers->now.list);
	free(sleepers);
}

struct os_waits_counts sleepers_counts(const struct sleepers *sleepers)
{
	return sleepers->counts;
}

/* --- a look ----------------------------------------------------------------------------------- */

/* The member of the task_struct in sleepers->span; 0: there is none. */
static uint64_t look_get(const struct sleepers *sleepers, enum layout_member member, size_t bytes)
{
	uint64_t value = 0;

	if (layout_has(&sleepers->guest->layout, member))
		memcpy(&value,
		       sleepers->span + (layout_offset(&sleepers->guest->layout, member) -
					 sleepers->span_start),
		       bytes);
	return value;
}

/*
 * All parts of the task_struct, ascending. `state` and on_cpu lie in front of the switches in every
 * kernel so far; the order does not matter for what a look is used for.
 */
static bool sleepers_read_parts(struct sleepers *sleepers, uint64_t task)
{
	const struct linux_guest *guest = sleepers->guest;

	if (!linux_is_kernel(task))
		return false;
	for (unsigned i = 0; i < sleepers->n_parts; i++) {
		uint32_t offset = sleepers->parts[i].offset, bytes = sleepers->parts[i].size_bytes;

		if (memory_read_again(guest->memory, guest->root, task + offset,
				      sleepers->span + (offset - sleepers->span_start),
				      bytes) != bytes)
			return false;
	}
	return true;
}

/* False: it cannot be read. */
static bool sleepers_look(struct sleepers *sleepers, uint64_t task, struct look *look,
			  struct look_times *times)
{
	uint64_t sum, then;

	if (!sleepers_read_parts(sleepers, task))
		return false;
	*look = (struct look){
		.switches = look_get(sleepers, TASK_SWITCHES, 8) +
			    look_get(sleepers, TASK_PREEMPTIONS, 8),
		.start_time = look_get(sleepers, TASK_START_TIME, 8),
		.pid = (uint32_t)look_get(sleepers, TASK_PID, 4),
		.state = (uint32_t)look_get(sleepers, TASK_STATE, 4),
		.exit_state = (uint32_t)look_get(sleepers, TASK_EXIT_STATE, 4),
		.on_cpu = (uint32_t)look_get(sleepers, TASK_ON_CPU, 4),
	};
	sum = look_get(sleepers, TASK_RUN_SUM, 8);
	then = look_get(sleepers, TASK_RUN_SUM_THEN, 8);
	*times = (struct look_times){
		.arrival = look_get(sleepers, TASK_LAST_ARRIVAL, 8),
		.queued = look_get(sleepers, TASK_LAST_QUEUED, 8),
		.run_ns = sum > then ? sum - then : 0,
	};
	return true;
}

static bool look_equal(const struct look *a, const struct look *b)
{
	return a->switches == b->switches && a->start_time == b->start_time && a->pid == b->pid &&
	       a->state == b->state && a->exit_state == b->exit_state && !a->on_cpu == !b->on_cpu;
}

static bool look_is_gone(const struct look *look)
{
	return look->exit_state || look->state & TASK_DEAD;
}

static enum os_wait_state look_state(const struct look *look)
{
	if (look->state & TASK_INTERRUPTIBLE)
		return OS_WAIT_SLEEPING;
	if (look->state & TASK_UNINTERRUPTIBLE)
		return look->state & TASK_NOLOAD ? OS_WAIT_IDLE : OS_WAIT_BLOCKED;
	return look->state & (TASK_STOPPED | TASK_PARKED) ? OS_WAIT_STOPPED : OS_WAIT_RUNNABLE;
}

/* --- times ------------------------------------------------------------------------------------ */

static void sleepers_update_gap(struct sleepers *sleepers, uint64_t now_ns, uint64_t arrival)
{
	uint64_t gap_ns = now_ns - arrival;

	if (!arrival)
		return;
	if (!sleepers->has_gap) {
		sleepers->previous_gap_ns = sleepers->gap_ns = gap_ns;
		sleepers->gap_since_ns = now_ns;
		sleepers->has_gap = true;
	} else if (now_ns - sleepers->gap_since_ns >= SLEEPER_GAP_SPAN_NS) {
		sleepers->previous_gap_ns = sleepers->gap_ns;
		sleepers->gap_ns = gap_ns;
		sleepers->gap_since_ns = now_ns;
	}
	/* The guest's clock may be ahead of ours: gaps compare by the sign of their difference. */
	if ((int64_t)(gap_ns - sleepers->gap_ns) < 0)
		sleepers->gap_ns = gap_ns;
}

static uint64_t sleepers_gap(const struct sleepers *sleepers)
{
	bool previous = (int64_t)(sleepers->previous_gap_ns - sleepers->gap_ns) < 0;

	return previous ? sleepers->previous_gap_ns : sleepers->gap_ns;
}

/* TIME of the guest's scheduler on our clock, at least FROM and at most TO. */
static uint64_t sleepers_time(const struct sleepers *sleepers, uint64_t time, uint64_t from,
			      uint64_t to)
{
	uint64_t ours = time + sleepers_gap(sleepers);

	if (!time || !sleepers->has_gap || (int64_t)(ours - to) > 0)
		return to;
	return (int64_t)(ours - from) < 0 ? from : ours;
}

/* When the wait of LOOK began, which had not begun at FROM_NS. */
static uint64_t sleepers_began(const struct sleepers *sleepers, const struct look *look,
			       const struct look_times *times, uint64_t from_ns, uint64_t now_ns)
{
	uint64_t left = times->arrival ? times->arrival + times->run_ns : 0;

	if (look_state(look) == OS_WAIT_RUNNABLE && times->queued)
		left = times->queued;
	return sleepers_time(sleepers, left, from_ns, now_ns);
}

/*
 * The wait of SLEEPER is over. If the task got a CPU once since then, that was its end; else it may
 * have ended at any time since the last look.
 */
static void sleepers_end(const struct sleepers *sleepers, struct sleeper *sleeper,
			 const struct look *look, const struct look_times *times, uint64_t now_ns,
			 const struct os_waits_sink *sink)
{
	uint64_t end_ns = sleeper->seen_ns, runs = look->switches - sleeper->look.switches;

	if (runs == 1 || (!runs && look->on_cpu))
		end_ns = sleepers_time(sleepers, times->arrival, sleeper->seen_ns, now_ns);
	if (sleeper->kept && sleeper->began_ns && end_ns > sleeper->began_ns)
		sink->end(sink->context, sleeper->kept, end_ns - sleeper->began_ns);
	free(sleeper->kept);
	sleeper->kept = NULL;
	sleeper->began_ns = 0;
	sleeper->lock.kind = OS_LOCK_NONE;
	sleeper->lock_told = false;
}

/* --- stacks ----------------------------------------------------------------------------------- */

/* Adds a piece behind the others of the sample. Returns where its bytes go. */
static unsigned char *sleepers_next_piece(struct sleepers *sleepers)
{
	return (unsigned char *)&sleepers->sample + sleepers->sample.vcpu.size_bytes +
	       sizeof(struct sample_stack);
}

static void sleepers_add_piece(struct sleepers *sleepers, enum sample_stack_kind kind,
			       uint64_t address, size_t size_bytes)
{
	struct sample_vcpu *vcpu = &sleepers->sample.vcpu;
	struct sample_stack *piece =
		(struct sample_stack *)(void *)((char *)vcpu + vcpu->size_bytes);

	*piece = (struct sample_stack){ address, (uint32_t)size_bytes, kind };
	vcpu->size_bytes += (uint32_t)(sizeof(*piece) + ((size_bytes + 7) & ~(size_t)7));
	vcpu->n_stacks++;
}

/*
 * Reads the kernel's memory not from copies of pages: a copy may be from before the look that comes
 * first, and the look that follows would not tell.
 */
static bool sleepers_read_now(const struct linux_guest *guest, uint64_t address, void *bytes,
			      size_t size_bytes)
{
	return memory_read_again(guest->memory, guest->root, address, bytes, size_bytes) ==
	       size_bytes;
}

static bool sleepers_read_word(const struct linux_guest *guest, uint64_t task,
			       enum layout_member member, uint64_t *word)
{
	return sleepers_read_now(guest, task + layout_offset(&guest->layout, member), word,
				 sizeof(*word)) &&
	       linux_is_kernel(*word) && *word % sizeof(*word) == 0;
}

/* The live part of the kernel stack of the task at ADDRESS, and registers. */
static bool sleepers_read_kernel(struct sleepers *sleepers, uint64_t address)
{
	const struct linux_guest *guest = sleepers->guest;
	struct sample_vcpu *vcpu = &sleepers->sample.vcpu;
	unsigned char *bytes;
	uint64_t stack, sp;
	size_t size;

	*vcpu = (struct sample_vcpu){ .size_bytes = sizeof(*vcpu),
				      .state = VCPU_RUNNING,
				      .task = address };
	if (!sleepers_read_word(guest, address, TASK_STACK, &stack) ||
	    !sleepers_read_word(guest, address, TASK_SP, &sp) ||
	    sp - stack >= sleepers->stack_bytes)
		return false;
	size = stack + sleepers->stack_bytes - sp;
	bytes = sleepers_next_piece(sleepers);
	if (!sleepers_read_now(guest, sp, bytes, size) ||
	    !sleeper_arch_get_registers(sp, bytes, size, &vcpu->regs))
		return false;
	sleepers_add_piece(sleepers, STACK_FIRST, sp, size);
	return true;
}

/* The innermost pages of the user stack, where the task entered the kernel. */
static void sleepers_read_user(struct sleepers *sleepers, const struct task *task)
{
	const struct sample_stack *kernel = sample_first_stack(&sleepers->sample.vcpu);
	struct sample_vcpu *vcpu = &sleepers->sample.vcpu;
	struct memory_root root;
	size_t size, there;
	uint64_t sp;

	if (!task->mm || !processes_get_root(sleepers->processes, task->mm, &root) ||
	    !sleeper_arch_get_user_sp(kernel + 1, kernel->size_bytes, &sp))
		return;
	vcpu->regs.cr3 = root.cr3;
	size = SLEEPER_USER_BYTES - (sp & GUEST_PAGE_MASK);
	there = memory_read_again(sleepers->guest->memory, root, sp,
				  sleepers_next_piece(sleepers), size);
	vcpu->user_cut = there == size ? CUT_LIMIT : CUT_NOT_PRESENT;
	sleepers_add_piece(sleepers, STACK_USER, sp, there);
}

/* NULL: it cannot be read. What tasks.c keeps for a moment may be of the task that was there. */
static const struct task *sleepers_find_task(struct sleepers *sleepers, uint64_t address,
					     const struct look *look, uint64_t now_ns)
{
	const struct task *task = tasks_find(sleepers->tasks, address, now_ns);

	if (task && (task->pid != look->pid || task->start_time != look->start_time)) {
		tasks_invalidate(sleepers->tasks, address);
		task = tasks_find(sleepers->tasks, address, now_ns);
	}
	return task;
}

/* Fills in sleepers->sample and OF. False: the task cannot be read. */
static bool sleepers_read_stacks(struct sleepers *sleepers, uint64_t address,
				 const struct look *look, uint64_t now_ns, struct os_task *of)
{
	const struct task *task = sleepers_find_task(sleepers, address, look, now_ns);
	const struct space *user;

	if (!task)
		return false;
	user = processes_find_space(sleepers->processes, task, now_ns);
	if (!sleepers_read_kernel(sleepers, address))
		return false;
	sleepers_read_user(sleepers, task);
	*of = (struct os_task){
		.process = task->process,
		.thread = task->comm,
		.cgroup = task->cgroup,
		.pid = task->pid,
		.tgid = task->tgid,
		.kernel_thread = task->kernel_thread,
		.user = user,
	};
	return true;
}

/* --- one task --------------------------------------------------------------------------------- */

/* The sink has said that the task whose stack is in the sample waits for a lock of KIND. */
static void sleepers_find_lock(struct sleepers *sleepers, struct sleeper *sleeper,
			       enum os_lock_kind kind)
{
	const struct sample_stack *stack = sample_first_stack(&sleepers->sample.vcpu);
	struct lock_task task = { .address = sleeper->task,
				  .sp = stack->address,
				  .stack = stack + 1,
				  .stack_bytes = stack->size_bytes };

	if (!member_read_u64(sleepers->guest, sleeper->task, TASK_MM, &task.mm))
		task.mm = 0;
	if (locks_find(sleepers->guest, &task, kind, &sleeper->lock))
		sleepers->counts.locks_found++;
	else if (kind != OS_LOCK_FUTEX) /* most futexes that threads wait for are not locks */
		sleepers->counts.locks_unknown++;
}

static void sleepers_add(struct sleepers *sleepers, struct sleeper *sleeper,
			 const struct sample_vcpu *vcpu, const struct os_task *task,
			 uint64_t now_ns, const struct os_waits_sink *sink)
{
	enum os_lock_kind kind = OS_LOCK_NONE;
	const struct os_wait wait = {
		.vcpu = vcpu,
		.task = task,
		.state = look_state(&sleeper->look),
		.waited_ns = now_ns > sleeper->began_ns ? now_ns - sleeper->began_ns : 0,
		.weight_ns = sleepers->counts.interval_ns,
		.kept = &sleeper->kept,
		.lock = &kind,
	};

	sink->add(sink->context, &wait);
	if (vcpu && kind != OS_LOCK_NONE)
		sleepers_find_lock(sleepers, sleeper, kind);
}

/* SLEEPER's task is on no CPU, and not where it was. Reads where it is. */
static void sleepers_read_moved(struct sleepers *sleepers, struct sleeper *sleeper,
				uint64_t now_ns, const struct os_waits_sink *sink)
{
	struct os_task task;
	struct look look, again;
	struct look_times times;

	for (int tries = 0; tries < SLEEPERS_TRIES; tries++) {
		if (!sleepers_look(sleepers, sleeper->task, &look, &times) ||
		    look.on_cpu || look_is_gone(&look))
			return;
		sleepers->counts.retried += tries > 0;
		sleepers->counts.stacks++;
		if (!sleepers_read_stacks(sleepers, sleeper->task, &look, now_ns, &task)) {
			sleepers->counts.unreadable++;
			return;
		}
		if (!sleepers_look(sleepers, sleeper->task, &again, &times))
			return;
		if (look_equal(&look, &again)) {
			sleeper->look = look;
			sleepers_add(sleepers, sleeper, &sleepers->sample.vcpu, &task, now_ns,
				     sink);
			return;
		}
		memory_refresh(sleepers->guest->memory);
	}
	sleepers->counts.left_out++;
}

/* SLEEPER is as the look before left it, or zeroed but for its pid and task. */
static void sleepers_see(struct sleepers *sleepers, struct sleeper *sleeper,
			 const struct look *look, const struct look_times *times, uint64_t now_ns,
			 const struct os_waits_sink *sink)
{
	bool same = look_equal(look, &sleeper->look);
	uint64_t seen_ns = sleeper->seen_ns;

	if (!same || !sleeper->kept)
		sleepers_end(sleepers, sleeper, look, times, now_ns, sink);
	sleeper->seen_ns = now_ns;
	sleeper->look = *look;
	if (look->on_cpu || look_is_gone(look)) {
		sleepers->counts.running += look->on_cpu != 0;
		return;
	}
	if (sleeper->kept) {
		sleepers_add(sleepers, sleeper, NULL, NULL, now_ns, sink);
		return;
	}
	sleeper->began_ns = sleepers_began(sleepers, look, times, same ? 0 : seen_ns, now_ns);
	sleepers_read_moved(sleepers, sleeper, now_ns, sink);
}

/* --- who holds a lock ------------------------------------------------------------------------- */

/* The task with PID, among those of this pass. NULL: there is none. */
static struct sleeper *sleepers_find_pid(const struct sleepers *sleepers, uint32_t pid)
{
	size_t low = 0, high = sleepers->now.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (sleepers->now.list[middle].pid < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return low < sleepers->now.n && sleepers->now.list[low].pid == pid
		       ? &sleepers->now.list[low]
		       : NULL;
}

/* The task whose pid the struct pid at STRUCT_PID is; 0: none. */
static uint64_t sleepers_task_of(const struct sleepers *sleepers, uint64_t struct_pid)
{
	uint64_t link;

	if (!member_read_pointer(sleepers->guest, struct_pid, PID_TASKS, &link))
		return 0;
	return link - layout_offset(&sleepers->guest->layout, TASK_PID_LINKS);
}

/* The struct pid of NUMBER in the namespace at NS; 0: none. */
static uint64_t sleepers_find_number(const struct sleepers *sleepers, uint64_t ns, uint32_t number)
{
	const struct linux_guest *guest = sleepers->guest;
	uint64_t entry;

	if (!linux_is_kernel(ns) ||
	    !xarray_find(guest, ns + layout_offset(&guest->layout, PID_NS_IDR), number, &entry) ||
	    !linux_is_kernel(entry))
		return 0;
	return entry;
}

/* The namespace in which the thread of SLEEPER knows others; 0: not known. */
static uint64_t sleepers_namespace(const struct sleepers *sleepers, const struct sleeper *sleeper)
{
	const struct linux_guest *guest = sleepers->guest;
	uint64_t upid, ns;
	uint32_t level;

	if (!member_read_u32(guest, sleeper->struct_pid, PID_LEVEL, &level))
		return 0;
	if (!level)
		return guest->symbols[LINUX_INIT_PID_NS];
	upid = upid_find(guest, sleeper->struct_pid, level);
	if (!upid || !layout_has(&guest->layout, UPID_NS) ||
	    !linux_read_u64(guest, upid + layout_offset(&guest->layout, UPID_NS), &ns))
		return 0;
	return ns;
}

/* The task that user code calls TID, if it may hold the futex that SLEEPER waits for; 0: none. */
static uint64_t sleepers_find_thread(const struct sleepers *sleepers,
				     const struct sleeper *sleeper, uint32_t tid)
{
	const struct linux_guest *guest = sleepers->guest;
	uint64_t task = sleepers_task_of(
		sleepers,
		sleepers_find_number(sleepers, sleepers_namespace(sleepers, sleeper), tid));
	uint32_t tgid, waiter_tgid;

	if (!task || !member_read_u32(guest, task, TASK_TGID, &tgid) ||
	    !member_read_u32(guest, sleeper->task, TASK_TGID, &waiter_tgid) ||
	    (!sleeper->lock.is_shared && tgid != waiter_tgid))
		return 0;
	return task;
}

static uint64_t sleepers_waited(const struct sleeper *sleeper, uint64_t now_ns)
{
	return sleeper->began_ns && now_ns > sleeper->began_ns ? now_ns - sleeper->began_ns : 0;
}

/* What is known of the task at ADDRESS now. False: it is no task. */
static bool sleepers_describe(struct sleepers *sleepers, uint64_t address, uint64_t now_ns,
			      struct os_lock_task *task)
{
	const struct linux_guest *guest = sleepers->guest;
	const struct sleeper *sleeper;
	struct look_times times;
	struct look look;
	uint64_t struct_pid;

	if (address % sizeof(uint64_t) || !sleepers_look(sleepers, address, &look, &times))
		return false;
	struct_pid = sleepers_find_number(sleepers, guest->symbols[LINUX_INIT_PID_NS], look.pid);
	if (!struct_pid || sleepers_task_of(sleepers, struct_pid) != address)
		return false;
	*task = (struct os_lock_task){ .pid = look.pid,
				       .on_cpu = look.on_cpu,
				       .state = (uint8_t)look_state(&look),
				       .address = address };
	if (look.on_cpu) {
		if (!member_read_u32(guest, address, TASK_CPU, &task->cpu))
			task->cpu = UINT32_MAX;
		return true;
	}
	sleeper = sleepers_find_pid(sleepers, look.pid);
	if (sleeper && sleeper->task == address && look_equal(&look, &sleeper->look)) {
		task->waited_ns = sleepers_waited(sleeper, now_ns);
		task->kept = sleeper->kept;
	}
	return true;
}

static void sleepers_find_holder(struct sleepers *sleepers, const struct sleeper *sleeper,
				 uint64_t now_ns, struct os_lock_wait *wait)
{
	const struct linux_guest *guest = sleepers->guest;
	const struct lock_wait *lock = &sleeper->lock;
	struct memory_root user;
	bool has_user = lock->space && processes_get_root(sleepers->processes, lock->space, &user);
	struct lock_owner owner = locks_read_owner(guest, lock, has_user ? &user : NULL);

	if (owner.certainty == OS_HOLDER_GUESS) {
		owner.task = sleepers_find_thread(sleepers, sleeper, owner.tid);
		if (!owner.task)
			owner.certainty = OS_HOLDER_UNKNOWN; /* it was no mutex of glibc */
	}
	/* Who has just got the lock, and is about to wake up, does not wait for itself. */
	if (owner.task == sleeper->task)
		owner = (struct lock_owner){ .certainty = OS_HOLDER_UNKNOWN };
	wait->certainty = owner.certainty;
	if (owner.task && !sleepers_describe(sleepers, owner.task, now_ns, &wait->holder))
		wait->certainty = OS_HOLDER_NO_TASK;
}

/* The task of SLEEPER has waited for a lock when this pass looked at it. */
static void sleepers_read_lock(struct sleepers *sleepers, struct sleeper *sleeper, uint64_t now_ns,
			       const struct os_waits_sink *sink)
{
	const struct lock_wait *lock = &sleeper->lock;
	struct os_lock_wait wait = { .kind = lock->kind,
				     .address = lock->address,
				     .space = lock->space,
				     .is_new = !sleeper->lock_told };
	struct look_times times;
	struct look look;
	uint64_t mm;

	sleepers->counts.locks++;
	sleepers_find_holder(sleepers, sleeper, now_ns, &wait);
	if (!member_read_u64(sleepers->guest, sleeper->task, TASK_MM, &mm))
		mm = 0;
	locks_read_name(sleepers->guest, lock, mm, wait.name);
	if (!sleepers_look(sleepers, sleeper->task, &look, &times) ||
	    !look_equal(&look, &sleeper->look)) {
		sleepers->counts.locks_moved++;
		return;
	}
	wait.waiter = (struct os_lock_task){ .pid = sleeper->pid,
					     .state = (uint8_t)look_state(&look),
					     .waited_ns = sleepers_waited(sleeper, now_ns),
					     .address = sleeper->task,
					     .kept = sleeper->kept };
	sleeper->lock_told = true;
	sink->lock(sink->context, &wait);
}

/* At most *LEFT tasks that wait for locks. False: there are more. */
static bool sleepers_read_locks(struct sleepers *sleepers, unsigned *left, uint64_t now_ns,
				const struct os_waits_sink *sink)
{
	struct sleepers_pass *pass = &sleepers->now;

	for (; sleepers->next_lock < pass->n; sleepers->next_lock++) {
		struct sleeper *sleeper = &pass->list[sleepers->next_lock];

		if (!sleeper->kept || sleeper->lock.kind == OS_LOCK_NONE)
			continue;
		if (!*left)
			return false;
		--*left;
		sleepers_read_lock(sleepers, sleeper, now_ns, sink);
	}
	return true;
}

/* --- a pass ----------------------------------------------------------------------------------- */

/* Moves what is known of PID from the pass before to SLEEPER; what ended before it is dropped. */
static void sleepers_take_known(struct sleepers *sleepers, uint32_t pid, struct sleeper *sleeper)
{
	struct sleepers_pass *before = &sleepers->before;

	while (sleepers->at_before < before->n &&
	       before->list[sleepers->at_before].pid < pid)
		sleepers->at_before++;
	if (sleepers->at_before == before->n || before->list[sleepers->at_before].pid != pid)
		return;
	*sleeper = before->list[sleepers->at_before];
	before->list[sleepers->at_before++].kept = NULL;
}

/* False: another task, or none, has PID now. */
static bool sleepers_look_at(struct sleepers *sleepers, struct sleeper *sleeper, uint32_t pid,
			     uint64_t struct_pid, struct look *look, struct look_times *times)
{
	if (sleeper->struct_pid == struct_pid &&
	    sleepers_look(sleepers, sleeper->task, look, times) && look->pid == pid &&
	    look->start_time == sleeper->look.start_time)
		return true;
	free(sleeper->kept);
	*sleeper = (struct sleeper){ .pid = pid,
				     .struct_pid = struct_pid,
				     .task = sleepers_task_of(sleepers, struct_pid) };
	return sleepers_look(sleepers, sleeper->task, look, times) && look->pid == pid;
}

/*
 * A time behind what was read last. The turn began at NOW_NS, and dom0 may have stood still since.
 */
static uint64_t sleepers_after(const struct sleepers *sleepers, uint64_t now_ns)
{
	uint64_t after_ns = memory_now_ns(sleepers->guest->memory);

	return after_ns > now_ns ? after_ns : now_ns;
}

static void sleepers_read_pid(struct sleepers *sleepers, uint32_t pid, uint64_t struct_pid,
			      uint64_t now_ns, const struct os_waits_sink *sink)
{
	struct sleepers_pass *pass = &sleepers->now;
	struct sleeper sleeper = { .pid = pid };
	struct look_times times;
	struct look look;

	sleepers->counts.looks++;
	sleepers_take_known(sleepers, pid, &sleeper);
	if (!sleepers_look_at(sleepers, &sleeper, pid, struct_pid, &look, &times)) {
		sleepers->counts.unreadable++;
		return;
	}
	if (!look_equal(&look, &sleeper.look)) /* else the arrival is known */
		sleepers_update_gap(sleepers, sleepers_after(sleepers, now_ns), times.arrival);
	if (pass->n == SLEEPERS_MAX || !vector_reserve(pass->list, pass->capacity, pass->n + 1)) {
		sleepers->counts.no_room++;
		free(sleeper.kept);
		return;
	}
	sleepers_see(sleepers, &sleeper, &look, &times, now_ns, sink);
	pass->list[pass->n++] = sleeper;
}

static void sleepers_begin_pass(struct sleepers *sleepers, uint64_t now_ns, uint64_t period_ns)
{
	uint64_t since_ns = now_ns - sleepers->pass_ns, most_ns = SLEEPER_MAX_PERIODS * period_ns;

	if (!sleepers->pass_ns || since_ns > most_ns)
		since_ns = sleepers->pass_ns ? most_ns : period_ns;
	sleepers->counts.interval_ns = since_ns;
	sleepers->pass_ns = now_ns;
	sleepers->going = true;
	sleepers->has_leaf = sleepers->seen_all = false;
	sleepers->next_pid = 0;
	sleepers->at_before = sleepers->next_lock = 0;
}

/* What was seen in this pass is what the next one goes on from. */
static void sleepers_end_pass(struct sleepers *sleepers)
{
	struct sleepers_pass before = sleepers->before;

	sleepers_clear(&before);
	sleepers->before = sleepers->now;
	sleepers->now = before;
	sleepers->counts.passes++;
	sleepers->counts.tasks = sleepers->before.n;
	sleepers->going = false;
}

/* The leaf that has next_pid, or the next one. False: there is none up to leaf_behind. */
static bool sleepers_read_leaf(struct sleepers *sleepers)
{
	const struct linux_guest *guest = sleepers->guest;
	uint64_t tree = guest->symbols[LINUX_INIT_PID_NS] +
			layout_offset(&guest->layout, PID_NS_IDR);
	uint64_t pid = sleepers->next_pid;

	sleepers->has_leaf = xarray_read_leaf(guest, tree, &sleepers->next_pid, sleepers->leaf,
					      &sleepers->leaf_behind);
	/* The tree may have changed on the way, or be made to keep us busy. */
	if (sleepers->leaf_behind <= pid || sleepers->leaf_behind > SLEEPER_PID_MAX)
		sleepers->leaf_behind = 0;
	sleepers->leaf_first = sleepers->next_pid & ~(uint64_t)(XARRAY_NODE_SLOTS - 1);
	return sleepers->has_leaf;
}

/* The rest of the leaf, as far as this turn goes: *LEFT tasks. */
static void sleepers_read_rest(struct sleepers *sleepers, unsigned *left, uint64_t now_ns,
			       const struct os_waits_sink *sink)
{
	uint64_t end = sleepers->leaf_first + XARRAY_NODE_SLOTS;

	for (; *left && sleepers->next_pid < end; sleepers->next_pid++) {
		uint64_t entry = sleepers->leaf[sleepers->next_pid - sleepers->leaf_first];

		if (!linux_is_kernel(entry) || entry % sizeof(entry))
			continue; /* nothing, or an internal entry */
		sleepers_read_pid(sleepers, (uint32_t)sleepers->next_pid, entry, now_ns, sink);
		--*left;
	}
	if (sleepers->next_pid < end)
		return;
	sleepers->has_leaf = false;
	sleepers->next_pid = sleepers->leaf_behind;
}

/* The next tasks of the pass, at most *LEFT. */
static void sleepers_read_tasks(struct sleepers *sleepers, unsigned *left, uint64_t now_ns,
				const struct os_waits_sink *sink)
{
	for (unsigned leaves = 0; *left && leaves < SLEEPERS_TURN_READ; leaves++) {
		if (!sleepers->has_leaf && !sleepers_read_leaf(sleepers))
			sleepers->next_pid = sleepers->leaf_behind;
		else
			sleepers_read_rest(sleepers, left, now_ns, sink);
		if (!sleepers->next_pid) {
			sleepers->seen_all = true;
			return;
		}
	}
}

enum os_waits_turn sleepers_read(struct sleepers *sleepers, uint64_t now_ns, uint64_t period_ns,
				 const struct os_waits_sink *sink)
{
	unsigned left = SLEEPERS_TURN;

	memory_refresh(sleepers->guest->memory);
	if (!sleepers->going)
		sleepers_begin_pass(sleepers, now_ns, period_ns);
	if (!sleepers->seen_all)
		sleepers_read_tasks(sleepers, &left, now_ns, sink);
	if (!sleepers->seen_all || !sleepers_read_locks(sleepers, &left, now_ns, sink))
		return OS_WAITS_MORE;
	sleepers_end_pass(sleepers);
	return OS_WAITS_WHOLE;
}
