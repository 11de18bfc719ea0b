/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The profile of tasks that wait, from a system that tells what the test wants: weights, means, what
 * is now, the longest wait, when passes begin, what happens when names change and after a reset.
 */
#include "config.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "profile/wait_profile.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/os/os.h"
#include "xtop/os/os_ops.h"
#include "xtop/profile/resolver.h"
#include "xtop/profile/snapshot.h"
#include "xtop/profile/wait_sites.h"
#include "xtop/sample/control.h"
#include "xtop/sample/ring.h"

#define MS     1000000ULL
#define S      (1000 * MS)
#define PERIOD (500 * MS)
#define N      3

/* One task: what a look at it tells. */
static struct task {
	bool waits, moved, ended;
	enum os_wait_state state;
	uint64_t waited_ns, ended_ns, weight_ns, address;
	void *kept;
	enum os_lock_kind lock;
} tasks[N];
static _Atomic unsigned turns;
static enum os_waits_turn answer = OS_WAITS_WHOLE;
static bool known = true, other;
static bool has_lock, holder_moved, holder_runs; /* task 1 holds a lock that task 0 waits for */
static bool renames; /* names change when a pass has seen the tasks, before it tells of locks */

/* Made-up CPU time: it passes when a turn reads the tasks, and when a pass is over. */
static uint64_t cpu_ns, turn_cpu_ns, end_cpu_ns;

/* Stands in for the C library's. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
	if (clock != CLOCK_THREAD_CPUTIME_ID)
		return (int)syscall(SYS_clock_gettime, clock, now);
	*now = (struct timespec){ .tv_sec = (time_t)(cpu_ns / S), .tv_nsec = (long)(cpu_ns % S) };
	return 0;
}

/* These functions stand in for those of os.c. */

bool os_is_known(const struct os *os)
{
	(void)os;
	return known;
}

bool os_is_other(const struct os *os)
{
	(void)os;
	return other;
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
	(void)os;
	(void)root;
	return false;
}

void os_update(struct os *os, const struct sample_vcpu *vcpu, uint64_t now_ns)
{
	(void)os;
	(void)vcpu;
	(void)now_ns;
}

bool os_is_early(const struct os *os, const struct sample_vcpu *vcpu, uint64_t now_ns)
{
	(void)os;
	(void)vcpu;
	(void)now_ns;
	return false;
}

void os_find_task(struct os *os, const struct sample_vcpu *vcpu, uint64_t now_ns,
		  struct os_task *task)
{
	(void)os;
	(void)vcpu;
	(void)now_ns;
	(void)task;
}

void os_get_waits_counts(const struct os *os, struct os_waits_counts *counts)
{
	(void)os;
	*counts = (struct os_waits_counts){ .tasks = N };
}

bool os_read_timer(struct os *os, unsigned vcpu, uint64_t *timer_ns)
{
	(void)os;
	*timer_ns = vcpu ? 5 * S : OS_NO_TIMER;
	return vcpu < 2;
}

bool os_read_events(struct os *os, struct os_events *events, unsigned n)
{
	(void)os;
	cpu_ns += end_cpu_ns;
	memset(events, 0, n * sizeof(*events));
	events[0] = (struct os_events){ .known = true, .domains = 1, .names = "vbd/\033[2J" };
	return true;
}

void os_read_log(const struct os *os, struct os_log *log)
{
	(void)os;
	(void)log;
}

bool os_read_tasks(struct os *os, uint64_t now_ns, const struct os_waits_sink *sink)
{
	(void)os;
	(void)now_ns;
	(void)sink;
	return false;
}

bool os_poll(struct os *os, uint64_t now_ns)
{
	(void)os;
	(void)now_ns;
	return false;
}

void os_update_pages(struct os *os, uint64_t guest_pages)
{
	(void)os;
	(void)guest_pages;
}

bool os_read_clock(struct os *os, uint64_t xen_ns, struct os_clock *clock)
{
	(void)os;
	(void)xen_ns;
	(void)clock;
	return false;
}

void os_describe(const struct os *os, struct os_description *description)
{
	(void)os;
	memset(description, 0, sizeof(*description));
}

void os_get_counts(const struct os *os, struct os_counts *counts)
{
	(void)os;
	memset(counts, 0, sizeof(*counts));
}

static void tell(struct task *task, const struct os_waits_sink *sink)
{
	static const struct os_task of = { .process = "cat", .thread = "cat" };
	const struct sample_vcpu vcpu = { .size_bytes = sizeof(vcpu),
					  .state = VCPU_RUNNING,
					  .regs = { .rip = task->address } };
	const struct os_wait wait = {
		.vcpu = task->moved ? &vcpu : NULL,
		.task = task->moved ? &of : NULL,
		.state = task->state,
		.waited_ns = task->waited_ns,
		.weight_ns = task->weight_ns,
		.kept = &task->kept,
		.lock = &task->lock,
	};

	if (task->moved && task->kept) {
		sink->end(sink->context, task->kept, task->ended_ns);
		free(task->kept);
		task->kept = NULL;
	}
	sink->add(sink->context, &wait);
	task->moved = !task->kept;
}

#define TASK_ADDRESS 0xffff888000000000ULL /* plus pid */

static void tell_lock(const struct os_waits_sink *sink)
{
	const struct os_lock_wait wait = {
		.kind = OS_LOCK_MUTEX,
		.address = 0xffff888004a3c0d0,
		.certainty = OS_HOLDER_EXACT,
		.waiter = { .pid = 10, .address = TASK_ADDRESS + 10, .kept = tasks[0].kept },
		.holder = { .pid = 11,
			    .address = TASK_ADDRESS + 11,
			    .kept = holder_runs ? NULL : tasks[1].kept,
			    .on_cpu = holder_runs,
			    .has_moved = holder_moved && !holder_runs },
	};

	sink->lock(sink->context, &wait);
}

enum os_waits_turn os_read_waits(struct os *os, uint64_t now_ns, uint64_t period_ns,
				 const struct os_waits_sink *sink)
{
	(void)os;
	(void)now_ns;
	(void)period_ns;
	turns++;
	cpu_ns += turn_cpu_ns;
	for (int i = 0; i < N; i++)
		if (tasks[i].waits)
			tell(&tasks[i], sink);
	if (renames)
		waits_rename(sink->context);
	if (has_lock)
		tell_lock(sink);
	return answer;
}

/* --- the tests -------------------------------------------------------------------------------- */

static struct frames *frames;
static struct names *names;
static struct symbols *symbols;
static struct waits *waits;
static int system_;

static void begin(void)
{
	struct waits_settings settings = { .how = UNWIND_AUTO,
					   .half_life_ns = 10 * S,
					   .max_nodes = 1024,
					   .n_vcpus = 3 };

	must(frames_create(NULL, &frames));
	must(names_create(frames, &names));
	must(symbols_create(&symbols));
	settings.frames = frames;
	settings.names = names;
	settings.symbols = symbols;
	settings.os = (struct os *)(void *)&system_;
	must(waits_create(&settings, &waits));
	memset(tasks, 0, sizeof(tasks));
	for (int i = 0; i < N; i++)
		tasks[i] = (struct task){ .waits = true,
					  .moved = true,
					  .state = OS_WAIT_SLEEPING,
					  .weight_ns = PERIOD,
					  .address = 0xffffffff81000000 };
}

static void end(void)
{
	for (int i = 0; i < N; i++)
		free(tasks[i].kept);
	waits_destroy(waits);
	symbols_destroy(symbols);
	names_destroy(names);
	frames_destroy(frames);
}

static bool poll_at(uint64_t now_ns)
{
	bool done, more;

	waits_poll(waits, now_ns, PERIOD, &done, &more);
	return done;
}

static struct snapshot *take(uint64_t now_ns)
{
	struct snapshot *snapshot;

	must(waits_snapshot(waits, now_ns, &snapshot));
	return snapshot;
}

static void test_weights(void)
{
	struct snapshot *snapshot;

	begin();
	tasks[1].address += 0x1000; /* another site */
	tasks[2].state = OS_WAIT_BLOCKED;
	tasks[2].waited_ns = 3 * S;
	for (int i = 0; i < 10; i++) {
		poll_at(100 * S + i * PERIOD);
		tasks[2].waited_ns += PERIOD;
	}
	snapshot = take(105 * S);
	check(snapshot->waits && !snapshot->waits->unsupported, "a snapshot of waits");
	check(snapshot->waits->span_ticks == 5000, "the span is what passes stand for, in ms");
	check(snapshot->total_weight == 15000, "three tasks, 5 s each");
	check(snapshot->live_weight / snapshot->waits->span_live > 2.99 &&
		      snapshot->live_weight / snapshot->waits->span_live < 3.01,
	      "live means decay as the span does");
	check_u64(snapshot->waits->n_rows, 2, "a row for each site");
	check(snapshot->waits->rows[0].now == 2 &&
		      snapshot->waits->rows[0].states ==
			      (1 << OS_WAIT_SLEEPING | 1 << OS_WAIT_BLOCKED),
	      "how many are there now, in which states");
	check_u64(snapshot->waits->rows[0].longest_ns, 3 * S + 9 * PERIOD, "the longest wait");
	snapshot_destroy(snapshot);

	tasks[2].moved = true;
	tasks[2].waited_ns = 0;
	tasks[2].ended_ns = 9 * S;
	tasks[0].waits = false;
	poll_at(106 * S);
	snapshot = take(106 * S);
	check(snapshot->waits->rows[0].longest_ns == 9 * S && snapshot->waits->rows[0].now == 1,
	      "the end of a wait may be longer than its last look");
	snapshot_destroy(snapshot);
	waits_reset(waits);
	poll_at(107 * S);
	snapshot = take(107 * S);
	check(snapshot->waits->n_rows == 2 && snapshot->total_weight == 1000,
	      "after a reset tasks that wait on are there again");
	snapshot_destroy(snapshot);
	end();
}

static void test_passes(void)
{
	begin();
	turns = 0;
	check(poll_at(100 * S) && !poll_at(100 * S + 400 * MS), "a pass in each period");
	check(poll_at(100 * S + 500 * MS), "the next one");
	answer = OS_WAITS_MORE;
	check(!waits_is_torn(waits, 101 * S), "the passes are whole");
	check(poll_at(101 * S) && poll_at(101 * S + MS), "a pass goes on at once");
	check(waits_is_torn(waits, 101 * S + MS), "it is torn");
	check(!waits_is_torn(waits, 102 * S), "after a second nobody waits for its end");
	answer = OS_WAITS_WHOLE;
	check(poll_at(101 * S + 2 * MS) && !poll_at(101 * S + 3 * MS), "until it is whole");
	check(!waits_is_torn(waits, 101 * S + 3 * MS), "and whole it is");
	check_u64(turns, 5, "turns");
	end();
}

/* Turns of a pass that begins at NOW_NS and never ends, until it leaves the CPU to others. */
static unsigned turns_at(uint64_t now_ns, uint64_t period_ns)
{
	unsigned before = turns;
	bool done, more;

	do
		waits_poll(waits, now_ns, period_ns, &done, &more);
	while (more && turns - before < 1000);
	return turns - before;
}

/* A guest with so many tasks that a pass takes longer than a period. */
static void test_cost(void)
{
	struct snapshot *snapshot;

	begin();
	answer = OS_WAITS_MORE;
	turn_cpu_ns = 10 * MS;
	check_u64(turns_at(100 * S, S), 20, "a pass may use 200 ms of CPU time");
	check_u64(turns_at(100 * S + 500 * MS, S), 0, "then it is the next period's turn");
	check_u64(turns_at(101 * S, S), 20, "in which it goes on");
	check_u64(turns_at(102 * S, 100 * MS), 5, "at 10 Hz it may use half of a period");
	check_u64(turns_at(102 * S + 50 * MS, 100 * MS), 0, "the other half is for samples");
	answer = OS_WAITS_WHOLE;
	end_cpu_ns = 7 * MS;
	check_u64(turns_at(103 * S, 100 * MS), 1, "the end of the pass");
	turn_cpu_ns = end_cpu_ns = 0;
	snapshot = take(103 * S);
	check_u64(snapshot->waits->cpu_ns, 46 * 10 * MS + 7 * MS,
		  "what all that cost, with what is read at the end of a pass");
	snapshot_destroy(snapshot);
	end();
}

/* Two tasks that wait all the time. A pass sees the second one two half-lives after the first. */
static void test_slow_pass(void)
{
	struct snapshot *snapshot;

	begin();
	tasks[1].address += 0x1000;
	tasks[0].weight_ns = tasks[1].weight_ns = 20 * S;
	for (unsigned i = 0; i < 4; i++) {
		tasks[0].waits = !(i & 1);
		tasks[1].waits = i & 1;
		tasks[2].waits = false;
		answer = i & 1 ? OS_WAITS_WHOLE : OS_WAITS_MORE;
		poll_at((100 + 20 * i) * S);
		snapshot_destroy(take((105 + 20 * i) * S));
	}
	snapshot = take(170 * S);
	for (size_t i = 1; i < snapshot->n_nodes; i++) {
		double mean = snapshot->nodes[i].self_live / snapshot->waits->span_live;

		if (snapshot->nodes[i].self_total)
			check(mean > 0.99 && mean < 1.01, "a slow pass: one task, mean %.2f", mean);
	}
	snapshot_destroy(snapshot);
	end();
}

static void test_runnable(void)
{
	struct snapshot *snapshot;
	const struct snapshot_node *last;

	begin();
	tasks[1].waits = tasks[2].waits = false;
	tasks[0].state = OS_WAIT_RUNNABLE;
	poll_at(100 * S);
	snapshot = take(100 * S);
	last = &snapshot->nodes[snapshot->n_nodes - 1];
	check_string(frames_get(frames, last->frame)->name, WAIT_RUNNABLE_MARK,
		     "a task that wants a CPU has a mark");
	check(snapshot->waits->rows[0].kind == WAIT_CPU, "it waits for a CPU");
	snapshot_destroy(snapshot);
	end();
}

static void test_other(void)
{
	struct snapshot *snapshot;

	begin();
	known = false;
	poll_at(100 * S);
	snapshot = take(100 * S);
	check(!snapshot->waits->unsupported, "before a vCPU ran nothing is known");
	snapshot_destroy(snapshot);
	other = true;
	poll_at(101 * S);
	snapshot = take(101 * S);
	check(snapshot->waits->unsupported, "a unikernel has no list of tasks");
	snapshot_destroy(snapshot);
	known = true;
	answer = OS_WAITS_NONE;
	poll_at(102 * S);
	snapshot = take(102 * S);
	check(snapshot->waits->unsupported, "a kernel that lacks what is needed neither");
	snapshot_destroy(snapshot);
	end();
}

static void test_timers(void)
{
	struct snapshot *snapshot;

	begin();
	poll_at(100 * S);
	snapshot = take(100 * S);
	snapshot->run->n_vcpus = 3;
	waits_get_wakes(waits, snapshot);
	check(snapshot->run->vcpus[0].timer_ns == OS_NO_TIMER &&
		      snapshot->run->vcpus[0].timer_read_ns == 100 * S,
	      "a vCPU without a timer");
	check(snapshot->run->vcpus[1].timer_ns == 5 * S &&
		      snapshot->run->vcpus[1].timer_read_ns == 100 * S,
	      "one with a timer");
	check(!snapshot->run->vcpus[2].timer_read_ns, "one of which nothing is known");
	check(snapshot->run->events && snapshot->run->events[0].known &&
		      snapshot->run->events[0].domains == 1,
	      "event channels of a vCPU");
	check_string(snapshot->run->events[0].names, "vbd/_[2J", "names of devices are cleaned");
	check(!snapshot->run->events[1].known, "a vCPU whose channels are not known");
	snapshot_destroy(snapshot);
	end();
}

/* --- spinlocks -------------------------------------------------------------------------------- */

/* The last sample of a vCPU, at TIME_NS: its functions are kernel functions, outermost first. */
static void saw(unsigned vcpu, enum vcpu_state state, uint32_t pid, bool user, uint64_t time_ns,
		const char *functions)
{
	static struct fold fold;
	struct sample_vcpu of = { .vcpu = (uint16_t)vcpu,
				  .state = state,
				  .task = TASK_ADDRESS + pid,
				  .user = user };
	char text[2048], *rest = text, *word;

	fold.settings.frames = frames;
	fold.time_ns = time_ns;
	fold.task.pid = pid;
	fold.n_frames = 0;
	fold.frames[fold.n_frames++] = frames_intern_process(frames, "app", "");
	snprintf(text, sizeof(text), "%s", functions);
	while ((word = strsep(&rest, " ")))
		fold.frames[fold.n_frames++] =
			frames_intern(frames, FRAME_KIND_KERNEL, word, "[kernel]", 0);
	fold.vcpus[vcpu].last_frame = fold.frames[fold.n_frames - 1];
	waits_update_vcpu(waits, &fold, &of);
}

/* Whether the stack of TASK has these functions, the innermost first. */
static bool stack_is(const struct snapshot_lock_task *task, const char *functions)
{
	char text[512] = "";

	for (uint32_t i = 0; i < task->n_frames; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? " " : "",
			 frames_get(frames, task->frames[i])->name);
	return !strcmp(text, functions);
}

#define SPINS "_raw_spin_lock native_queued_spin_lock_slowpath.part.0"
#define SLOW "_raw_spin_lock __pv_queued_spin_lock_slowpath xen_qlock_wait xen_poll_irq_timeout"
#define KICKS "__raw_callee_save___pv_queued_spin_unlock __pv_queued_spin_unlock_slowpath"

static void test_spinlocks(void)
{
	struct snapshot *snapshot;
	const struct snapshot_lock *lock;

	begin();
	known = true;
	answer = OS_WAITS_WHOLE;
	saw(0, VCPU_LOCK_WAIT, 10, false, 99 * S, "ksys_dup fget " SLOW);
	saw(1, VCPU_RUNNABLE, 11, false, 99 * S + 900 * MS, "ksys_close filp_close");
	saw(2, VCPU_LOCK_WAIT, 12, false, 99 * S + 900 * MS, "ksys_dup fget " SLOW);
	saw(3, VCPU_RUNNING, 13, true, 99 * S + 900 * MS, "main");
	poll_at(100 * S);
	snapshot = take(100 * S);
	check_u64(snapshot->waits->n_locks, 1, "a vCPU waits for a spinlock");
	lock = snapshot->waits->locks;
	check(lock->kind == OS_LOCK_SPINLOCK && lock->now == 1,
	      "of the last stop alone: %u wait", lock->now);
	check_string(lock->name, "taken in fget", "where");
	check(lock->certainty == OS_HOLDER_GUESS && lock->holder_pid == 11,
	      "the only other vCPU in the kernel may hold it, though it has no CPU");
	check(stack_is(&snapshot->waits->lock_tasks[0], "filp_close ksys_close") &&
		      stack_is(&snapshot->waits->lock_tasks[1],
			       "xen_poll_irq_timeout xen_qlock_wait __pv_queued_spin_lock_slowpath "
			       "_raw_spin_lock fget ksys_dup"),
	      "their stacks, the innermost function first");
	check(snapshot->waits->n_lock_tasks == 2 && snapshot->waits->lock_tasks[1].pid == 12 &&
		      snapshot->waits->lock_tasks[1].on_cpu &&
		      snapshot->waits->lock_tasks[1].cpu == 2,
	      "who waits, on which vCPU");
	snapshot_destroy(snapshot);

	saw(0, VCPU_RUNNING, 10, false, 100 * S + 400 * MS, "ksys_read");
	saw(1, VCPU_RUNNING, 11, false, 100 * S + 400 * MS, "ksys_close filp_close");
	saw(2, VCPU_LOCK_WAIT, 12, false, 100 * S + 400 * MS, "ksys_dup fget " SLOW);
	poll_at(100 * S + PERIOD);
	snapshot = take(100 * S + PERIOD);
	check(snapshot->waits->locks[0].certainty == OS_HOLDER_UNKNOWN &&
		      !snapshot->waits->locks[0].holder_pid,
	      "of two in the kernel, either may hold it");
	snapshot_destroy(snapshot);
	saw(0, VCPU_RUNNING, 10, false, 100 * S + 900 * MS, "ksys_dup fget " SPINS);
	saw(1, VCPU_RUNNABLE, 14, false, 100 * S + 900 * MS, "ksys_dup fget " SPINS);
	saw(2, VCPU_RUNNING, 12, false, 100 * S + 900 * MS, "ksys_dup fget _raw_spin_lock");
	poll_at(101 * S);
	snapshot = take(101 * S);
	check_u64(snapshot->waits->locks[0].now, 2, "vCPUs that spin wait, too");
	check_u64(snapshot->waits->locks[0].holder_pid, 12, "who has just taken one does not");
	snapshot_destroy(snapshot);
	saw(0, VCPU_RUNNABLE, 10, false, 101 * S + 400 * MS, "ksys_dup fget " SLOW " xen_hypercall_pv");
	saw(1, VCPU_RUNNABLE, 14, false, 101 * S + 400 * MS, "ksys_dup fget " SLOW);
	saw(2, VCPU_RUNNING, 12, false, 101 * S + 400 * MS, "ksys_dup fget");
	poll_at(101 * S + PERIOD);
	snapshot = take(101 * S + PERIOD);
	check_u64(snapshot->waits->locks[0].now, 2, "so do those that were halted, until they run again");
	check(snapshot->waits->locks[0].certainty == OS_HOLDER_GUESS &&
		      snapshot->waits->locks[0].holder_pid == 12,
	      "and none of them may hold it");
	snapshot_destroy(snapshot);
	saw(0, VCPU_LOCK_WAIT, 10, false, 101 * S + 900 * MS, "ksys_dup fget " SLOW);
	saw(1, VCPU_RUNNABLE, 14, false, 101 * S + 900 * MS,
	    "ksys_dup fget " KICKS " xen_send_IPI_one xen_hypercall_pv");
	saw(2, VCPU_RUNNING, 12, true, 101 * S + 900 * MS, "main");
	poll_at(102 * S);
	snapshot = take(102 * S);
	check(snapshot->waits->locks[0].now == 1 && snapshot->waits->locks[0].holder_pid == 14,
	      "who wakes the next one does not wait");
	snapshot_destroy(snapshot);
	saw(0, VCPU_LOCK_WAIT, 10, false, 102 * S + 400 * MS, "ksys_dup fget " SLOW);
	saw(1, VCPU_RUNNING, 14, false, 102 * S + 400 * MS, "ksys_dup fget");
	saw(2, VCPU_RUNNABLE, 12, false, 102 * S + 400 * MS, "ksys_read");
	poll_at(102 * S + PERIOD);
	snapshot = take(102 * S + PERIOD);
	check_u64(snapshot->waits->locks[0].holder_pid, 14,
		  "of two in the kernel, the one in the function that takes it");
	snapshot_destroy(snapshot);
	saw(0, VCPU_RUNNABLE, 10, false, 102 * S + 900 * MS, "ksys_dup fget " SLOW);
	saw(1, VCPU_RUNNING, 14, false, 102 * S + 900 * MS, "ksys_read");
	saw(2, VCPU_RUNNING, 12, true, 102 * S + 900 * MS, "main");
	poll_at(103 * S);
	snapshot = take(103 * S);
	check(snapshot->waits->locks[0].now == 1 &&
		      snapshot->waits->locks[0].certainty == OS_HOLDER_UNKNOWN,
	      "after its waiter was woken, nobody else in the kernel need hold it");
	snapshot_destroy(snapshot);
	poll_at(104 * S);
	snapshot = take(104 * S);
	check(!snapshot->waits->locks[0].now, "an old stop says nothing of now");
	snapshot_destroy(snapshot);
	end();
}

/* --- stacks ----------------------------------------------------------------------------------- */

/* Task 0 waits for a mutex that task 1 holds; the system tells so in os_read_waits(). */
static void test_stacks(void)
{
	struct snapshot *snapshot;
	char functions[2048] = "outermost";
	const struct snapshot_lock_task *holder;

	begin();
	has_lock = true;
	tasks[1].address += 0x1000;
	poll_at(100 * S);
	snapshot = take(100 * S);
	holder = &snapshot->waits->lock_tasks[1];
	check(snapshot->waits->n_lock_tasks == 2 && holder->pid == 11 && holder->n_frames == 1 &&
		      holder->frames[0] == holder->site &&
		      snapshot->waits->lock_tasks[0].n_frames == 1 &&
		      snapshot->waits->lock_tasks[0].frames[0] != holder->site,
	      "a holder that sleeps has its stack, and so has who waits for it");
	snapshot_destroy(snapshot);

	holder_moved = true;
	poll_at(101 * S);
	snapshot = take(101 * S);
	check(!snapshot->waits->lock_tasks[1].n_frames, "one that has moved on since has none");
	snapshot_destroy(snapshot);

	for (int i = 0; i < 2 * SNAPSHOT_LOCK_FRAMES; i++)
		snprintf(functions + strlen(functions), sizeof(functions) - strlen(functions),
			 " f%d", i);
	saw(0, VCPU_RUNNING, 11, false, 101 * S + 900 * MS, functions);
	holder_runs = true;
	poll_at(102 * S);
	snapshot = take(102 * S);
	holder = &snapshot->waits->lock_tasks[1];
	check(holder->n_frames == SNAPSHOT_LOCK_FRAMES &&
		      !strcmp(frames_get(frames, holder->frames[0])->name, "f63") &&
		      !strcmp(frames_get(frames, holder->frames[31])->name, "f32"),
	      "one that runs has that of its last sample, the innermost functions");
	snapshot_destroy(snapshot);
	has_lock = holder_moved = holder_runs = false;
	end();
}

/*
 * Task 0 waits for a lock until after the last look. Meanwhile names have changed, as they do all the
 * time while xtop gets to know programs.
 */
static void test_end(void)
{
	struct snapshot *snapshot;

	begin();
	has_lock = true;
	tasks[1].address += 0x1000;
	tasks[0].waited_ns = 2 * S;
	poll_at(100 * S);
	waits_rename(waits);
	has_lock = false;
	tasks[0].moved = true;
	tasks[0].waited_ns = 0;
	tasks[0].ended_ns = 3 * S;
	poll_at(101 * S);
	snapshot = take(101 * S);
	check_u64(snapshot->waits->rows[0].longest_ns, 3 * S, "the longest wait at a site");
	check_u64(snapshot->waits->locks[0].longest_ns, 3 * S, "the longest wait for a lock");
	snapshot_destroy(snapshot);
	tasks[0].moved = true;
	tasks[0].ended_ns = 9 * S;
	poll_at(102 * S);
	snapshot = take(102 * S);
	check_u64(snapshot->waits->locks[0].longest_ns, 3 * S, "a wait for something else");
	snapshot_destroy(snapshot);
	end();
}

/* Names change between the look at a task and the look at its lock. */
static void test_renamed(void)
{
	struct snapshot *snapshot;

	begin();
	has_lock = renames = true;
	poll_at(100 * S);
	snapshot = take(100 * S);
	check(snapshot->waits->lock_tasks[0].site != FRAME_NONE &&
		      snapshot->waits->lock_tasks[0].n_frames == 1,
	      "it is known where who waits for a lock waits");
	snapshot_destroy(snapshot);
	has_lock = renames = false;
	end();
}

/* --- intervals -------------------------------------------------------------------------------- */

static void *run_resolver(void *resolver)
{
	resolver_run(resolver);
	return NULL;
}

static void nap(unsigned ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000L }, NULL);
}

/* The weight of SNAPSHOT and those that it brings along; frees it. */
static double drain(struct snapshot *snapshot)
{
	double weight = 0;

	for (const struct snapshot *at = snapshot; at; at = at->before)
		weight += at->total_weight;
	snapshot_destroy(snapshot);
	return weight;
}

/*
 * Samples and waits have intervals of their own. The end of one of samples forgets no waits, and
 * each wait is in one interval: with those that nobody took, their sum is all that was told.
 */
static void test_intervals(void)
{
	struct resolver_settings settings = { .n_vcpus = 1, .max_nodes = 1024, .live = true,
					      .intervals = true,
					      .os = (struct os *)(void *)&system_ };
	struct snapshot_slot *slots[2];
	struct resolver *resolver;
	double weight = 0, least = 1e9;
	pthread_t thread;

	begin();
	must(ring_create(1 << 20, &settings.ring));
	must(control_create(&settings.control));
	must(snapshot_slot_create(&slots[0]));
	must(snapshot_slot_create(&slots[1]));
	settings.slot = slots[0];
	settings.waits_slot = slots[1];
	settings.symbols = symbols;
	control_set_waits_hz(settings.control, 10);
	must(resolver_create(&settings, &resolver));
	turns = 0;
	if (pthread_create(&thread, NULL, run_resolver, resolver) != 0)
		abort();
	for (int i = 0; i < 3; i++) {
		struct snapshot *snapshot = NULL;
		unsigned before = turns;
		double one;

		while (turns - before < 5)
			nap(1);
		snapshot_request(slots[0]);
		nap(100); /* the interval of samples ends before that of waits */
		snapshot_request(slots[1]);
		for (int j = 0; j < 10000 && !snapshot; j++, nap(1))
			snapshot = snapshot_take(slots[1]);
		one = drain(snapshot);
		least = one < least ? one : least;
		weight += one;
		snapshot_destroy(snapshot_take(slots[0]));
	}
	nap(250);
	snapshot_request(slots[1]); /* nobody takes that one */
	nap(250);
	control_finish(settings.control);
	pthread_join(thread, NULL);
	weight += drain(snapshot_take(slots[1]));
	/* The first of five looks may belong to the interval before, and the last not be over. */
	check(least >= 3 * N * 500, "an interval has all its looks, not those since samples were "
				    "published: %g ms", least);
	check(turns >= 10 && weight == turns * N * 500.0, "%u looks: %g ms in all intervals",
	      turns, weight);
	resolver_destroy(resolver);
	snapshot_slot_destroy(slots[0]);
	snapshot_slot_destroy(slots[1]);
	control_destroy(settings.control);
	ring_destroy(settings.ring);
	end();
}

int main(void)
{
	test_weights();
	test_passes();
	test_cost();
	test_slow_pass();
	test_runnable();
	test_other();
	test_spinlocks();
	test_stacks();
	test_end();
	test_renamed();
	test_timers();
	test_intervals();
	return tap_done();
}
