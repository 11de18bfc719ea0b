/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the tasks that do not run; see sleepers.h. Resolver's thread, while the guest runs.
 *
 *   init_pid_ns.idr ─► struct pid ─► task_struct ─► state ─┬─ unchanged since the last pass: done
 *   (by pid, 64 at a time)                                 └─ changed: kernel stack, user stack,
 *                                                             and then the state again
 *
 * A task whose state is unchanged costs one read. Only the pages of SLEEPERS_FEW tasks stay mapped;
 * in a guest with more tasks, the pages for the states of a turn are copied in one batch. After the
 * stack of a task has been read, its state is read again; if the state differs, the stack may be
 * torn and is read again.
 *
 * How the begin of a wait is found. sched_info.last_arrival is when the task last got a CPU, on the
 * scheduler's clock; se.sum_exec_runtime - se.prev_sum_exec_runtime is how long it ran then. The
 * sum of both is when it left the CPU (Linux kernel/sched/stats.h sched_info_arrive(),
 * kernel/sched/fair.c set_next_entity()). clock_gap.h turns that clock into ours. Our own
 * observations bound the result: a wait began after the last look at which it had not begun, and
 * before the first look at which it had.
 *
 * Tasks of the previous pass are kept in an array by ascending pid, the order of the tree. A pass
 * reads along the old array and writes a new one. A task for which the array has no room is new in
 * each pass: its stack is read each time, and its lock is not reported.
 */
#include "config.h"

#include "linux/sleepers.h"

#include <stdlib.h>

#include "linux/lock_finder.h"
#include "linux/lock_holders.h"
#include "linux/lock_memory.h"
#include "linux/process/clock_gap.h"
#include "linux/process/pids.h"
#include "linux/process/xarray.h"
#include "linux/sleeper_stacks.h"
#include "xtop/base/clock.h"
#include "xtop/base/vector.h"
#include "xtop/base/work.h"

#define SLEEPER_PID_MAX     (4U << 20) /* Linux PID_MAX_LIMIT */
#define SLEEPER_GAP_SPAN_NS 30000000000ULL
#define SLEEPER_MAX_PERIODS 20 /* a look represents at most so many periods */

struct sleepers {
	const struct linux_guest *guest;
	struct processes *processes;
	struct task_state_reader reader;
	struct sleeper_stacks stacks;
	struct data_names names;
	struct sleeper_list before, now;
	size_t at_before;    /* index in BEFORE of the first task with next_pid or a higher pid */
	size_t n_not_kept;   /* tasks of this pass that did not fit into NOW */
	bool in_pass;        /* a pass has begun */
	uint64_t next_pid;
	/* times at which this pass and the previous one began; 0: there was none */
	uint64_t pass_ns, before_ns;
	/* the leaf of the tree at which the pass is */
	uint64_t leaf[XARRAY_NODE_SLOTS], leaf_first, leaf_end;
	bool has_leaf;
	/* index in NOW of the next waiter whose lock is read, once all tasks have been seen */
	size_t next_lock;
	bool seen_all;
	struct clock_gap gap; /* relates the scheduler's clock to ours */
	struct os_waits_counts counts;
};

/* --- life ------------------------------------------------------------------------------------- */

bool sleepers_can_read(const struct linux_guest *guest)
{
	static const enum layout_member needed[] = { TASK_PID_LINKS, PID_TASKS, PID_NS_IDR };
	const struct layout *layout = &guest->layout;

	return guest->has_layout && guest->symbols[LINUX_INIT_PID_NS] &&
	       xarray_has_layout(layout) && layout_has_all(layout, needed) &&
	       task_state_reader_can_read(guest) && sleeper_stacks_can_read(guest);
}

struct xtop_error *sleepers_create(const struct linux_guest *guest, struct tasks *tasks,
				   struct processes *processes, struct sleepers **sleepersp)
{
	struct sleepers *sleepers = calloc(1, sizeof(*sleepers));

	if (!sleepers)
		return error_create("out of memory");
	sleepers->guest = sleepers->names.guest = guest;
	sleepers->processes = processes;
	task_state_reader_init(&sleepers->reader, guest);
	sleeper_stacks_init(&sleepers->stacks, guest, tasks, processes);
	*sleepersp = sleepers;
	return NULL;
}

void sleepers_set_modules(struct sleepers *sleepers, struct modules *modules)
{
	sleepers->names.modules = modules;
}

static void sleepers_clear(struct sleeper_list *pass)
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
	data_names_deinit(&sleepers->names);
	free(sleepers->before.list);
	free(sleepers->now.list);
	free(sleepers);
}

struct os_waits_counts sleepers_counts(const struct sleepers *sleepers)
{
	return sleepers->counts;
}

/* --- times ------------------------------------------------------------------------------------ */

/* TIME of the guest's scheduler on our clock, clamped to FROM .. TO. */
static uint64_t sleepers_time(const struct sleepers *sleepers, uint64_t time, uint64_t from,
			      uint64_t to)
{
	uint64_t ours;

	if (!clock_gap_get(&sleepers->gap, time, &ours) || (int64_t)(ours - to) > 0)
		return to;
	return (int64_t)(ours - from) < 0 ? from : ours;
}

/* Begins the wait of SLEEPER in STATE. The wait had not begun at FROM_NS. */
static void sleepers_begin(const struct sleepers *sleepers, struct sleeper *sleeper,
			   const struct task_state *state, const struct task_state_times *times,
			   uint64_t from_ns, uint64_t now_ns)
{
	sleeper->left = times->arrival ? times->arrival + times->run_ns : 0;
	if (task_state_wait_state(state) == OS_WAIT_RUNNABLE && times->queued)
		sleeper->left = times->queued;
	sleeper->from_ns = from_ns;
	sleeper->began_ns = sleepers_time(sleepers, sleeper->left, from_ns, now_ns);
}

/*
 * When the task first got a CPU after the last look, on the scheduler's clock. The task has slept
 * at most once since then. If the task was preempted, only the start of the last of its RUNS is
 * known. From this start, the time of the earlier runs is subtracted, and half of the time that the
 * task waited for a CPU, because it waited partly before the first run.
 */
static uint64_t sleepers_first_run(const struct sleeper *sleeper,
				   const struct task_state_times *times, uint64_t runs)
{
	uint64_t ran_ns = times->sums.ran_ns - sleeper->sums.ran_ns - times->run_ns;
	uint64_t delay_ns = times->sums.delay_ns - sleeper->sums.delay_ns;

	return runs > 1 ? times->arrival - ran_ns - delay_ns / 2 : times->arrival;
}

/*
 * Ends the wait of SLEEPER. If the task has slept at most once since the last look, the wait ended
 * with its first run. If the task was woken and wants a CPU, the wait ended when it was woken.
 * Otherwise the wait may have ended at any time since the last look.
 */
static void sleepers_end(const struct sleepers *sleepers, struct sleeper *sleeper,
			 const struct task_state *state, const struct task_state_times *times,
			 uint64_t now_ns, const struct os_waits_sink *sink)
{
	uint64_t runs = state->switches - sleeper->state.switches + (state->on_cpu != 0);
	uint64_t end_ns = sleeper->seen_ns;

	if (times->sums.sleeps - sleeper->sums.sleeps <= 1 && runs)
		end_ns = sleepers_time(sleepers, sleepers_first_run(sleeper, times, runs),
				       sleeper->seen_ns, now_ns);
	else if (!runs && task_state_wait_state(state) == OS_WAIT_RUNNABLE && times->queued)
		end_ns = sleepers_time(sleepers, times->queued, sleeper->seen_ns, now_ns);
	if (sleeper->kept && sleeper->began_ns && end_ns > sleeper->began_ns)
		sink->end(sink->context, sleeper->kept, end_ns - sleeper->began_ns);
	free(sleeper->kept);
	sleeper->kept = NULL;
	sleeper->began_ns = 0;
	sleeper->lock.kind = OS_LOCK_NONE;
	sleeper->lock_reported = false;
}

/* --- one task --------------------------------------------------------------------------------- */

/* Finds the lock of KIND for which SLEEPER waits. SLEEPER's stack is in the sample. */
static void sleepers_find_lock(struct sleepers *sleepers, struct sleeper *sleeper,
			       enum os_lock_kind kind)
{
	const struct sample_stack *stack = sample_first_stack(&sleepers->stacks.sample.vcpu);
	struct lock_task task = { .address = sleeper->task,
				  .sp = stack->address,
				  .stack = stack + 1,
				  .stack_bytes = stack->size_bytes };
	struct memory_root user;

	if (!lock_memory_read_member(sleepers->guest, sleeper->task, TASK_MM, &task.mm))
		task.mm = 0;
	if (task.mm && processes_get_root(sleepers->processes, task.mm, &user))
		task.user = &user;
	if (lock_finder_find(sleepers->guest, &task, kind, &sleeper->lock))
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
		.state = task_state_wait_state(&sleeper->state),
		.waited_ns = now_ns > sleeper->began_ns ? now_ns - sleeper->began_ns : 0,
		.weight_ns = sleepers->counts.interval_ns,
		.kept = &sleeper->kept,
		.lock = &kind,
	};

	sink->add(sink->context, &wait);
	if (vcpu && kind != OS_LOCK_NONE) {
		uint64_t cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

		sleepers_find_lock(sleepers, sleeper, kind);
		sleepers->counts.locks_cpu_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	}
}

/* Reads the stack of SLEEPER's task, which is on no CPU and has moved since the last look. */
static void sleepers_read_moved(struct sleepers *sleepers, struct sleeper *sleeper,
				uint64_t now_ns, const struct os_waits_sink *sink)
{
	struct os_task task;
	struct task_state state, again;
	struct task_state_times times;

	for (int tries = 0; tries < SLEEPERS_TRIES; tries++) {
		if (!task_state_reader_read(&sleepers->reader, sleeper->task, &state, &times) ||
		    state.on_cpu || task_state_is_gone(&state))
			return;
		sleepers->counts.retried += tries > 0;
		sleepers->counts.stacks++;
		if (!sleeper_stacks_read(&sleepers->stacks, sleeper->task, &state, now_ns, &task)) {
			sleepers->counts.unreadable++;
			return;
		}
		if (!task_state_reader_read(&sleepers->reader, sleeper->task, &again, &times))
			return;
		if (task_state_equal(&state, &again)) {
			/*
			 * In another state the wait is new: the pass has reported the previous
			 * wait.
			 */
			if (!task_state_equal(&again, &sleeper->state))
				sleepers_begin(sleepers, sleeper, &again, &times, now_ns, now_ns);
			sleeper->state = again;
			sleepers_add(sleepers, sleeper, &sleepers->stacks.sample.vcpu, &task,
				     now_ns, sink);
			return;
		}
		memory_refresh(sleepers->guest->memory);
	}
	sleepers->counts.left_out++;
}

/*
 * Updates SLEEPER, a task whose state is STATE now. SLEEPER is as the last pass left it, or zeroed
 * except for its pid and task.
 */
static void sleepers_update_task(struct sleepers *sleepers, struct sleeper *sleeper,
				 const struct task_state *state,
				 const struct task_state_times *times, uint64_t now_ns,
				 const struct os_waits_sink *sink)
{
	bool same = task_state_equal(state, &sleeper->state);
	uint64_t seen_ns = sleeper->seen_ns;

	/*
	 * The scheduler's clock is better known by now. At first it seems to be behind by the time
	 * for which no task of the guest got a CPU.
	 */
	if (sleeper->began_ns)
		sleeper->began_ns = sleepers_time(sleepers, sleeper->left, sleeper->from_ns,
						  sleeper->began_ns);
	if (!same || !sleeper->kept)
		sleepers_end(sleepers, sleeper, state, times, now_ns, sink);
	sleeper->seen_ns = now_ns;
	sleeper->state = *state;
	sleeper->sums = times->sums;
	if (state->on_cpu || task_state_is_gone(state)) {
		sleepers->counts.running += state->on_cpu != 0;
		return;
	}
	if (sleeper->kept) {
		sleepers_add(sleepers, sleeper, NULL, NULL, now_ns, sink);
		return;
	}
	sleepers_begin(sleepers, sleeper, state, times, same ? 0 : seen_ns, now_ns);
	sleepers_read_moved(sleepers, sleeper, now_ns, sink);
}

/* --- who holds a lock ------------------------------------------------------------------------- */

/* Reports the holder of the lock that SLEEPER waited for when this pass looked at it. */
static void sleepers_read_lock(struct sleepers *sleepers, struct sleeper *sleeper, uint64_t now_ns,
			       const struct os_waits_sink *sink)
{
	const struct lock_holders holders = { sleepers->guest, &sleepers->reader, &sleepers->now,
					      &sleepers->names };
	struct os_lock_wait wait;

	sleepers->counts.locks++;
	lock_holders_read(&holders, sleeper, now_ns, &wait);
	sleepers->counts.locks_moved += wait.is_over;
	sleeper->lock_reported = true;
	sink->lock(sink->context, &wait);
}

/* Reads the locks of at most *LEFT waiters. Returns false if more remain. */
static bool sleepers_read_locks(struct sleepers *sleepers, unsigned *left, uint64_t now_ns,
				const struct os_waits_sink *sink)
{
	struct sleeper_list *pass = &sleepers->now;

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

/* Moves the data about PID from the previous pass to SLEEPER. Skipped tasks have ended. */
static void sleepers_take_known(struct sleepers *sleepers, uint32_t pid, struct sleeper *sleeper)
{
	struct sleeper_list *before = &sleepers->before;

	while (sleepers->at_before < before->n &&
	       before->list[sleepers->at_before].pid < pid)
		sleepers->at_before++;
	if (sleepers->at_before == before->n || before->list[sleepers->at_before].pid != pid)
		return;
	*sleeper = before->list[sleepers->at_before];
	before->list[sleepers->at_before++].kept = NULL;
}

/* Whether the guest has more tasks than may stay mapped. */
static bool sleepers_are_many(const struct sleepers *sleepers)
{
	return sleepers->before.n > SLEEPERS_FEW || sleepers->now.n > SLEEPERS_FEW;
}

/* Reads a task's state for the first time in this pass. */
static bool sleepers_read_state(struct sleepers *sleepers, uint64_t task, struct task_state *state,
				struct task_state_times *times)
{
	return sleepers_are_many(sleepers)
		       ? task_state_reader_read_copy(&sleepers->reader, task, state, times)
		       : task_state_reader_read(&sleepers->reader, task, state, times);
}

/* Reads the state of the task with PID. Returns false if PID has no readable task. */
static bool sleepers_read_task(struct sleepers *sleepers, struct sleeper *sleeper, uint32_t pid,
			       uint64_t struct_pid, struct task_state *state,
			       struct task_state_times *times)
{
	if (sleeper->struct_pid == struct_pid &&
	    sleepers_read_state(sleepers, sleeper->task, state, times) && state->pid == pid &&
	    state->start_time == sleeper->state.start_time)
		return true;
	free(sleeper->kept);
	*sleeper = (struct sleeper){ .pid = pid,
				     .struct_pid = struct_pid,
				     .task = pids_get_task(sleepers->guest, struct_pid) };
	return sleepers_read_state(sleepers, sleeper->task, state, times) && state->pid == pid;
}

/* A time after the latest read. The turn began at NOW_NS, and dom0 may have been paused since. */
static uint64_t sleepers_after(const struct sleepers *sleepers, uint64_t now_ns)
{
	uint64_t after_ns = memory_now_ns(sleepers->guest->memory);

	return after_ns > now_ns ? after_ns : now_ns;
}

static void sleepers_read_pid(struct sleepers *sleepers, uint32_t pid, uint64_t struct_pid,
			      uint64_t now_ns, const struct os_waits_sink *sink)
{
	struct sleeper_list *pass = &sleepers->now;
	struct sleeper sleeper = { .pid = pid };
	struct task_state_times times;
	struct task_state state;
	bool has_room;

	sleepers->counts.looks++;
	sleepers_take_known(sleepers, pid, &sleeper);
	if (!sleepers_read_task(sleepers, &sleeper, pid, struct_pid, &state, &times)) {
		sleepers->counts.unreadable++;
		return;
	}
	if (!task_state_equal(&state, &sleeper.state)) /* otherwise the arrival is known */
		clock_gap_update(&sleepers->gap, times.arrival, sleepers_after(sleepers, now_ns),
				 SLEEPER_GAP_SPAN_NS);
	has_room = pass->n < SLEEPERS_MAX &&
		   vector_reserve(pass->list, pass->capacity, pass->n + 1);
	sleepers_update_task(sleepers, &sleeper, &state, &times, now_ns, sink);
	if (has_room) {
		pass->list[pass->n++] = sleeper;
		return;
	}
	sleepers->n_not_kept++;
	sleepers->counts.no_room++;
	free(sleeper.kept);
}

static void sleepers_begin_pass(struct sleepers *sleepers, uint64_t now_ns, uint64_t period_ns)
{
	uint64_t since_ns = now_ns - sleepers->pass_ns, most_ns = SLEEPER_MAX_PERIODS * period_ns;

	if (!sleepers->pass_ns || since_ns > most_ns)
		since_ns = sleepers->pass_ns ? most_ns : period_ns;
	sleepers->counts.interval_ns = since_ns;
	sleepers->pass_ns = now_ns;
	sleepers->in_pass = true;
	sleepers->has_leaf = sleepers->seen_all = false;
	sleepers->next_pid = 1; /* 0 is not in the tree, and the sink takes it for "none" */
	sleepers->at_before = sleepers->next_lock = sleepers->n_not_kept = 0;
}

/* Makes the list of this pass the list of the previous one. */
static void sleepers_end_pass(struct sleepers *sleepers)
{
	struct sleeper_list before = sleepers->before;

	sleepers_clear(&before);
	sleepers->before = sleepers->now;
	sleepers->now = before;
	sleepers->counts.passes++;
	sleepers->counts.tasks = sleepers->before.n + sleepers->n_not_kept;
	sleepers->in_pass = false;
}

/*
 * Reads the leaf with next_pid, or the next one. Returns false if none is found up to leaf_end.
 */
static bool sleepers_read_leaf(struct sleepers *sleepers)
{
	const struct linux_guest *guest = sleepers->guest;
	uint64_t tree = guest->symbols[LINUX_INIT_PID_NS] +
			layout_offset(&guest->layout, PID_NS_IDR);
	uint64_t pid = sleepers->next_pid;

	sleepers->has_leaf = xarray_read_leaf(guest, tree, &sleepers->next_pid, sleepers->leaf,
					      &sleepers->leaf_end);
	/* The tree may have changed meanwhile, or be crafted to keep xtop busy. */
	if (sleepers->leaf_end <= pid || sleepers->leaf_end > SLEEPER_PID_MAX)
		sleepers->leaf_end = 0;
	sleepers->leaf_first = sleepers->next_pid & ~(uint64_t)(XARRAY_NODE_SLOTS - 1);
	return sleepers->has_leaf;
}

/* Whether ENTRY is a struct pid. Otherwise the entry is empty or internal. */
static bool sleepers_is_pid(const struct linux_guest *guest, uint64_t entry)
{
	return linux_is_kernel_of(guest, entry) && entry % linux_word_bytes(guest) == 0;
}

/* Reads in one batch the pages for the states of the leaf's next tasks, at most LEFT. */
static void sleepers_prefetch(struct sleepers *sleepers, unsigned left)
{
	const struct linux_guest *guest = sleepers->guest;
	uint64_t addresses[MEMORY_BATCH_PAGES], end = sleepers->leaf_first + XARRAY_NODE_SLOTS;
	size_t n = 0;

	for (uint64_t pid = sleepers->next_pid; left && pid < end; pid++) {
		uint64_t entry = sleepers->leaf[pid - sleepers->leaf_first];

		if (!sleepers_is_pid(sleepers->guest, entry))
			continue;
		n += task_state_reader_list_pages(&sleepers->reader, pids_get_task(guest, entry),
						  addresses + n, MEMORY_BATCH_PAGES - n);
		left--;
	}
	memory_prefetch(guest->memory, guest->root, addresses, n);
}

/* Looks at the rest of the leaf, at most *LEFT tasks. */
static void sleepers_read_rest(struct sleepers *sleepers, unsigned *left, uint64_t now_ns,
			       const struct os_waits_sink *sink)
{
	uint64_t end = sleepers->leaf_first + XARRAY_NODE_SLOTS;

	if (sleepers_are_many(sleepers))
		sleepers_prefetch(sleepers, *left);
	for (; *left && sleepers->next_pid < end; sleepers->next_pid++) {
		uint64_t entry = sleepers->leaf[sleepers->next_pid - sleepers->leaf_first];

		if (!sleepers_is_pid(sleepers->guest, entry))
			continue;
		sleepers_read_pid(sleepers, (uint32_t)sleepers->next_pid, entry, now_ns, sink);
		--*left;
	}
	if (sleepers->next_pid < end)
		return;
	sleepers->has_leaf = false;
	sleepers->next_pid = sleepers->leaf_end;
}

/* Looks at the next tasks of the pass, at most *LEFT. */
static void sleepers_read_tasks(struct sleepers *sleepers, unsigned *left, uint64_t now_ns,
				const struct os_waits_sink *sink)
{
	for (unsigned leaves = 0; *left && leaves < SLEEPERS_TURN_READ; leaves++) {
		if (!sleepers->has_leaf && !sleepers_read_leaf(sleepers))
			sleepers->next_pid = sleepers->leaf_end;
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
	struct work *work = memory_work(sleepers->guest->memory);
	unsigned left = SLEEPERS_TURN;
	uint64_t cpu_ns;
	bool whole;

	memory_refresh(sleepers->guest->memory);
	if (!sleepers->in_pass)
		sleepers_begin_pass(sleepers, now_ns, period_ns);
	if (!sleepers->seen_all)
		sleepers_read_tasks(sleepers, &left, now_ns, sink);
	/* When the work is over, reads fail, so the pass has not seen all tasks. */
	if (!sleepers->seen_all || work_is_over(work))
		return OS_WAITS_MORE;
	cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	whole = sleepers_read_locks(sleepers, &left, now_ns, sink);
	sleepers->counts.locks_cpu_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	if (!whole || work_is_over(work))
		return OS_WAITS_MORE;
	sleepers_end_pass(sleepers);
	return OS_WAITS_WHOLE;
}
