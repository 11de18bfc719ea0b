/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks of tasks that wait: who spins for a spinlock and who may hold it, where the holder of a lock
 * is, when a wait ends, and what happens when names change.
 */
#include "config.h"

#include "tests/profile/waits_guest.h"

/* --- spinlocks -------------------------------------------------------------------------------- */

/* The last sample of a vCPU, at TIME_NS: its functions are kernel functions, outermost first. */
static void saw(unsigned vcpu, enum vcpu_state state, uint32_t pid, bool user, uint64_t time_ns,
		const char *functions)
{
	static struct fold fold;
	struct sample_vcpu of = {
		.vcpu = (uint16_t)vcpu, .state = state, .task = TASK_ADDRESS + pid, .user = user
	};
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
#define SLOW  "_raw_spin_lock __pv_queued_spin_lock_slowpath xen_qlock_wait xen_poll_irq_timeout"
#define KICKS "__raw_callee_save___pv_queued_spin_unlock __pv_queued_spin_unlock_slowpath"

static void test_spinlocks(void)
{
	struct snapshot *snapshot;
	const struct snapshot_lock *lock;

	begin();
	saw(0, VCPU_LOCK_WAIT, 10, false, 99 * S, "ksys_dup fget " SLOW);
	saw(1, VCPU_RUNNABLE, 11, false, 99 * S + 900 * MS, "ksys_close filp_close");
	saw(2, VCPU_LOCK_WAIT, 12, false, 99 * S + 900 * MS, "ksys_dup fget " SLOW);
	saw(3, VCPU_RUNNING, 13, true, 99 * S + 900 * MS, "main");
	poll_at(100 * S);
	snapshot = take(100 * S);
	check_u64(snapshot->waits->n_locks, 1, "a vCPU waits for a spinlock");
	lock = snapshot->waits->locks;
	check(lock->kind == OS_LOCK_SPINLOCK && lock->now == 1,
	      "only the last stop counts: %u wait", lock->now);
	check_string(lock->name, "taken in fget", "name of a spinlock without an owner");
	check(lock->certainty == OS_HOLDER_GUESS && lock->holder_pid == 11,
	      "the only other vCPU in the kernel may hold it, though it has no CPU");
	check(stack_is(&snapshot->waits->lock_tasks[0], "filp_close ksys_close") &&
		      stack_is(&snapshot->waits->lock_tasks[1],
			       "xen_poll_irq_timeout xen_qlock_wait __pv_queued_spin_lock_slowpath "
			       "_raw_spin_lock fget ksys_dup"),
	      "waiter and holder have stacks, the innermost function first");
	check(snapshot->waits->n_lock_tasks == 2 && snapshot->waits->lock_tasks[1].pid == 12 &&
		      snapshot->waits->lock_tasks[1].on_cpu &&
		      snapshot->waits->lock_tasks[1].cpu == 2,
	      "a waiter has its vCPU");
	snapshot_destroy(snapshot);

	saw(0, VCPU_RUNNING, 10, false, 100 * S + 400 * MS, "ksys_read");
	saw(1, VCPU_RUNNING, 11, false, 100 * S + 400 * MS, "ksys_close filp_close");
	saw(2, VCPU_LOCK_WAIT, 12, false, 100 * S + 400 * MS, "ksys_dup fget " SLOW);
	poll_at(100 * S + PERIOD);
	snapshot = take(100 * S + PERIOD);
	check(snapshot->waits->locks[0].certainty == OS_HOLDER_UNKNOWN &&
		      !snapshot->waits->locks[0].holder_pid,
	      "two other vCPUs in the kernel give no guess");
	snapshot_destroy(snapshot);
	saw(0, VCPU_RUNNING, 10, false, 100 * S + 900 * MS, "ksys_dup fget " SPINS);
	saw(1, VCPU_RUNNABLE, 14, false, 100 * S + 900 * MS, "ksys_dup fget " SPINS);
	saw(2, VCPU_RUNNING, 12, false, 100 * S + 900 * MS, "ksys_dup fget _raw_spin_lock");
	poll_at(101 * S);
	snapshot = take(101 * S);
	check_u64(snapshot->waits->locks[0].now, 2, "vCPUs that spin wait, too");
	check_u64(snapshot->waits->locks[0].holder_pid, 12,
		  "a vCPU that has just taken a spinlock is its holder");
	snapshot_destroy(snapshot);
	saw(0, VCPU_RUNNABLE, 10, false, 101 * S + 400 * MS,
	    "ksys_dup fget " SLOW " xen_hypercall_pv");
	saw(1, VCPU_RUNNABLE, 14, false, 101 * S + 400 * MS, "ksys_dup fget " SLOW);
	saw(2, VCPU_RUNNING, 12, false, 101 * S + 400 * MS, "ksys_dup fget");
	poll_at(101 * S + PERIOD);
	snapshot = take(101 * S + PERIOD);
	check_u64(snapshot->waits->locks[0].now, 2, "halted vCPUs wait until they run again");
	check(snapshot->waits->locks[0].certainty == OS_HOLDER_GUESS &&
		      snapshot->waits->locks[0].holder_pid == 12,
	      "a halted waiter is not guessed as holder");
	snapshot_destroy(snapshot);
	saw(0, VCPU_LOCK_WAIT, 10, false, 101 * S + 900 * MS, "ksys_dup fget " SLOW);
	saw(1, VCPU_RUNNABLE, 14, false, 101 * S + 900 * MS,
	    "ksys_dup fget " KICKS " xen_send_IPI_one xen_hypercall_pv");
	saw(2, VCPU_RUNNING, 12, true, 101 * S + 900 * MS, "main");
	poll_at(102 * S);
	snapshot = take(102 * S);
	check(snapshot->waits->locks[0].now == 1 && snapshot->waits->locks[0].holder_pid == 14,
	      "a lock's waker is not listed as a waiter");
	snapshot_destroy(snapshot);
	saw(0, VCPU_LOCK_WAIT, 10, false, 102 * S + 400 * MS, "ksys_dup fget " SLOW);
	saw(1, VCPU_RUNNING, 14, false, 102 * S + 400 * MS, "ksys_dup fget");
	saw(2, VCPU_RUNNABLE, 12, false, 102 * S + 400 * MS, "ksys_read");
	poll_at(102 * S + PERIOD);
	snapshot = take(102 * S + PERIOD);
	check_u64(snapshot->waits->locks[0].holder_pid, 14,
		  "of two vCPUs in the kernel, the one inside the lock's function is the guess");
	snapshot_destroy(snapshot);
	saw(0, VCPU_RUNNABLE, 10, false, 102 * S + 900 * MS, "ksys_dup fget " SLOW);
	saw(1, VCPU_RUNNING, 14, false, 102 * S + 900 * MS, "ksys_read");
	saw(2, VCPU_RUNNING, 12, true, 102 * S + 900 * MS, "main");
	poll_at(103 * S);
	snapshot = take(103 * S);
	check(snapshot->waits->locks[0].now == 1 &&
		      snapshot->waits->locks[0].certainty == OS_HOLDER_UNKNOWN,
	      "after a waiter was woken, another vCPU in the kernel is no guess");
	snapshot_destroy(snapshot);
	poll_at(104 * S);
	snapshot = take(104 * S);
	check(!snapshot->waits->locks[0].now, "an old stop tells no waiters");
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
	guest.has_lock = true;
	tasks[1].address += 0x1000;
	poll_at(100 * S);
	snapshot = take(100 * S);
	holder = &snapshot->waits->lock_tasks[1];
	check(snapshot->waits->n_lock_tasks == 2 && holder->pid == 11 && holder->n_frames == 1 &&
		      holder->frames[0] == holder->site &&
		      snapshot->waits->lock_tasks[0].n_frames == 1 &&
		      snapshot->waits->lock_tasks[0].frames[0] != holder->site,
	      "a sleeping holder and its waiter have stacks");
	snapshot_destroy(snapshot);

	guest.holder_moved = true;
	poll_at(101 * S);
	snapshot = take(101 * S);
	check(!snapshot->waits->lock_tasks[1].n_frames, "a holder that has moved on has no stack");
	snapshot_destroy(snapshot);

	for (int i = 0; i < 2 * SNAPSHOT_LOCK_FRAMES; i++)
		snprintf(functions + strlen(functions), sizeof(functions) - strlen(functions),
			 " f%d", i);
	saw(0, VCPU_RUNNING, 11, false, 101 * S + 900 * MS, functions);
	guest.holder_runs = true;
	poll_at(102 * S);
	snapshot = take(102 * S);
	holder = &snapshot->waits->lock_tasks[1];
	check(holder->n_frames == SNAPSHOT_LOCK_FRAMES &&
		      !strcmp(frames_get(frames, holder->frames[0])->name, "f63") &&
		      !strcmp(frames_get(frames, holder->frames[31])->name, "f32"),
	      "a running holder has the stack of its last sample");
	snapshot_destroy(snapshot);
	guest.has_lock = guest.holder_moved = guest.holder_runs = false;
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
	guest.has_lock = true;
	tasks[1].address += 0x1000;
	tasks[0].waited_ns = 2 * S;
	poll_at(100 * S);
	waits_rename(waits);
	guest.has_lock = false;
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
	check_u64(snapshot->waits->locks[0].longest_ns, 3 * S,
		  "a wait for something else does not count for the lock");
	snapshot_destroy(snapshot);
	end();
}

/* Names change between the look at a task and the look at its lock. */
static void test_renamed(void)
{
	struct snapshot *snapshot;

	begin();
	guest.has_lock = guest.renames = true;
	poll_at(100 * S);
	snapshot = take(100 * S);
	check(snapshot->waits->lock_tasks[0].site != FRAME_NONE &&
		      snapshot->waits->lock_tasks[0].n_frames == 1,
	      "after names change, a waiter still has its site");
	snapshot_destroy(snapshot);
	guest.has_lock = guest.renames = false;
	end();
}

int main(void)
{
	test_spinlocks();
	test_stacks();
	test_end();
	test_renamed();
	return tap_done();
}
