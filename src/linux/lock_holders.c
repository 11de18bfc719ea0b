/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the task that holds a lock; see lock_holders.h.
 *
 *   lock ─► owner: a task's address ─► its state ─► pid ─► tree of pids ─► the same address?
 *           or a thread id           ─► tree of pids of the waiter's namespace ─► task
 */
#include "config.h"

#include "linux/lock_holders.h"

#include <string.h>

#include "linux/kernel/arch.h"
#include "linux/kernel/member.h"
#include "linux/lock_name.h"
#include "linux/lock_owner.h"
#include "linux/process/pids.h"
#include "xtop/base/sorted.h"

/* The task with PID among those of this pass; NULL if there is none. */
static const struct sleeper *lock_holders_find_pid(const struct lock_holders *holders, uint32_t pid)
{
	const struct sleeper *list = holders->pass->list;
	size_t n = sorted_count(list, holders->pass->n, pid, pid);

	return n && list[n - 1].pid == pid ? &list[n - 1] : NULL;
}

/* The task that user code calls TID, if it may hold the futex that SLEEPER waits for; 0 if none. */
static uint64_t lock_holders_find_thread(const struct lock_holders *holders,
					 const struct sleeper *sleeper, uint32_t tid)
{
	const struct linux_guest *guest = holders->guest;
	uint64_t ns = pids_get_namespace(guest, sleeper->struct_pid),
		 task = pids_get_task(guest, pids_find(guest, ns, tid));
	uint32_t tgid, waiter_tgid;

	if (!task || !member_read_u32(guest, task, TASK_TGID, &tgid) ||
	    !member_read_u32(guest, sleeper->task, TASK_TGID, &waiter_tgid) ||
	    (!sleeper->lock.is_shared && tgid != waiter_tgid))
		return 0;
	return task;
}

static uint64_t lock_holders_waited(const struct sleeper *sleeper, uint64_t now_ns)
{
	return sleeper->began_ns && now_ns > sleeper->began_ns ? now_ns - sleeper->began_ns : 0;
}

/* Fills in TASK with the state of the task at ADDRESS. Returns false if ADDRESS is no task. */
static bool lock_holders_describe(const struct lock_holders *holders, uint64_t address,
				  uint64_t now_ns, struct os_lock_task *task)
{
	const struct linux_guest *guest = holders->guest;
	const struct sleeper *sleeper;
	struct task_state_times times;
	struct task_state state;
	uint64_t struct_pid;

	if (address % sizeof(uint64_t) ||
	    !task_state_reader_read(holders->reader, address, &state, &times))
		return false;
	struct_pid = pids_find(guest, guest->symbols[LINUX_INIT_PID_NS], state.pid);
	if (!struct_pid || pids_get_task(guest, struct_pid) != address)
		return false;
	*task = (struct os_lock_task){ .pid = state.pid,
				       .on_cpu = state.on_cpu,
				       .state = (uint8_t)task_state_wait_state(&state),
				       .address = address };
	if (state.on_cpu && !member_read_u32(guest, address, TASK_CPU, &task->cpu))
		task->cpu = UINT32_MAX;
	sleeper = lock_holders_find_pid(holders, state.pid);
	if (!sleeper || sleeper->task != address || sleeper->state.start_time != state.start_time)
		return true;
	task->kept = sleeper->kept;
	task->has_moved = !task_state_equal(&state, &sleeper->state);
	if (!task->has_moved && !state.on_cpu)
		task->waited_ns = lock_holders_waited(sleeper, now_ns);
	return true;
}

/*
 * Reads the page tables of the mm_struct at MM. processes.c may have dropped the process, because a
 * task that waits long is in no new sample.
 */
static bool lock_holders_read_root(const struct linux_guest *guest, uint64_t mm,
				   struct memory_root *root)
{
	uint64_t pgd;

	return member_read_pointer(guest, mm, MM_PGD, &pgd) && arch_read_root(guest, pgd, root);
}

static void lock_holders_find(const struct lock_holders *holders, const struct sleeper *sleeper,
			      uint64_t now_ns, struct os_lock_wait *wait)
{
	const struct linux_guest *guest = holders->guest;
	const struct lock_wait *lock = &sleeper->lock;
	struct memory_root user;
	bool has_user = lock->space && lock_holders_read_root(guest, lock->space, &user);
	struct lock_owner owner = lock_owner_read(guest, lock, has_user ? &user : NULL);

	if (owner.certainty == OS_HOLDER_GUESS) {
		owner.task = lock_holders_find_thread(holders, sleeper, owner.tid);
		if (!owner.task)
			owner.certainty = OS_HOLDER_UNKNOWN; /* the futex was no mutex of glibc */
	}
	/* A task that has just got the lock is about to wake up. It does not wait for itself. */
	if (owner.task == sleeper->task)
		owner = (struct lock_owner){ .certainty = OS_HOLDER_UNKNOWN };
	wait->certainty = owner.certainty;
	if (owner.task && !lock_holders_describe(holders, owner.task, now_ns, &wait->holder))
		wait->certainty = OS_HOLDER_NO_TASK;
}

static void lock_holders_name(const struct lock_holders *holders, struct sleeper *sleeper)
{
	uint64_t mm;
	uint32_t tgid;

	if (!member_read_u64(holders->guest, sleeper->task, TASK_MM, &mm))
		mm = 0;
	if (!member_read_u32(holders->guest, sleeper->task, TASK_TGID, &tgid))
		tgid = 0;
	lock_name_read(holders->names, &sleeper->lock, mm, tgid, sleeper->lock_name);
}

void lock_holders_read(const struct lock_holders *holders, struct sleeper *sleeper,
		       uint64_t now_ns, struct os_lock_wait *wait)
{
	const struct lock_wait *lock = &sleeper->lock;
	const struct os_lock_wait over = {
		.kind = lock->kind,
		.address = lock->address,
		.space = lock->space,
		.is_new = !sleeper->lock_reported,
		.is_over = true,
		.waiter = { .pid = sleeper->pid,
			    .state = (uint8_t)task_state_wait_state(&sleeper->state),
			    .waited_ns = lock_holders_waited(sleeper, sleeper->seen_ns),
			    .address = sleeper->task,
			    .kept = sleeper->kept },
	};
	struct task_state_times times;
	struct task_state state;

	*wait = over;
	lock_holders_find(holders, sleeper, now_ns, wait);
	if (!sleeper->lock_reported)
		lock_holders_name(holders, sleeper);
	memcpy(wait->name, sleeper->lock_name, sizeof(wait->name));
	if (!task_state_reader_read(holders->reader, sleeper->task, &state, &times) ||
	    !task_state_equal(&state, &sleeper->state)) {
		*wait = over;
		return;
	}
	wait->is_over = false;
	wait->waiter.waited_ns = lock_holders_waited(sleeper, now_ns);
}
