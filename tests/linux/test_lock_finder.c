/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which lock a task waits for, by its stack, and who holds that lock; names of locks; and lists and
 * owners that cannot be right. At the end the same by way of sleepers_read().
 */
#include "config.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "linux/lock_finder.h"
#include "linux/lock_name.h"
#include "linux/lock_owner.h"
#include "linux/sleepers.h"
#include "tests/support/made_linux.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/base/registers_x86.h"
#include "xtop/os/os_waits.h"

#define STACK_BYTES 16384
#define LIVE_BYTES  1024 /* of a stack: the record in front, registers at the end */
#define RECORD_AT   256

static struct made_linux *made;
static struct memory_root user; /* page tables of the tasks with an mm_struct */

/* A task that sleeps. */
struct waiter {
	uint64_t task, stack, record; /* record: the list_head's address */
	unsigned char bytes[LIVE_BYTES];
	struct lock_task lock_task;
};

static void put(uint64_t address, uint64_t value)
{
	made_put_u64(made->memory, made->guest.root, address, value);
	memory_refresh(made->guest.memory);
}

static struct waiter make_waiter(uint32_t pid, enum layout_member list, uint64_t mm)
{
	struct waiter waiter = { .task = made_task(made, pid, pid, "waiter", mm, 0),
				 .stack = made_object(made, STACK_BYTES, STACK_BYTES) };

	made_set(made, waiter.task, TASK_STACK, waiter.stack);
	made_set(made, waiter.task, TASK_SP, waiter.stack + STACK_BYTES - LIVE_BYTES);
	waiter.record = waiter.stack + STACK_BYTES - LIVE_BYTES + RECORD_AT +
			made_offset(made, list);
	return waiter;
}

/* The stack's bytes as sleeper_stacks.c reads them. */
static const struct lock_task *as_read(struct waiter *waiter, uint64_t mm)
{
	uint64_t sp = waiter->stack + STACK_BYTES - LIVE_BYTES;

	memory_read(made->guest.memory, made->guest.root, sp, waiter->bytes, LIVE_BYTES);
	waiter->lock_task = (struct lock_task){ .address = waiter->task,
						.mm = mm,
						.sp = sp,
						.stack = waiter->bytes,
						.stack_bytes = LIVE_BYTES,
						.user = mm ? &user : NULL };
	return &waiter->lock_task;
}

static bool finds(struct waiter *waiter, uint64_t mm, enum os_lock_kind kind,
		  struct lock_wait *wait)
{
	return lock_finder_find(&made->guest, as_read(waiter, mm), kind, wait);
}

/* Puts N waiters into the list at HEAD, in that order. */
static void link_waiters(uint64_t head, const struct waiter *waiters, size_t n,
			 enum layout_member list, enum layout_member task)
{
	uint64_t at = head;

	for (size_t i = 0; i < n; i++) {
		uint64_t record = waiters[i].record;

		put(record - made_offset(made, list) + made_offset(made, task), waiters[i].task);
		put(at, record);
		put(record + 8, at);
		at = record;
	}
	put(at, head);
	put(head + 8, at);
}

static void begin(void)
{
	made = made_linux_create(MADE_TREE);
}

static void end(void)
{
	made_linux_destroy(made);
}

/* --- locks of the kernel ---------------------------------------------------------------------- */

static void check_owner(const struct lock_wait *wait, enum os_holder certainty, uint64_t task,
			const char *what)
{
	struct lock_owner owner = lock_owner_read(&made->guest, wait, NULL);

	check(owner.certainty == certainty && owner.task == task, "%s: %d, %llx", what,
	      (int)owner.certainty, (unsigned long long)owner.task);
}

static void test_mutex(void)
{
	struct waiter waiters[3];
	struct lock_wait wait;
	uint64_t mutex, holder;

	begin();
	mutex = made_object(made, 64, 64);
	holder = made_task(made, 5, 5, "holder", 0, 0);
	for (uint32_t i = 0; i < 3; i++)
		waiters[i] = make_waiter(10 + i, MUTEX_WAITER_LIST, 0);
	link_waiters(mutex + made_offset(made, MUTEX_WAIT_LIST), waiters, 3, MUTEX_WAITER_LIST,
		     MUTEX_WAITER_TASK);
	for (uint32_t i = 0; i < 3; i++)
		check(finds(&waiters[i], 0, OS_LOCK_MUTEX, &wait) &&
			      wait.address == mutex && !wait.space,
		      "the mutex, by waiter %u of 3", i);
	made_set(made, mutex, MUTEX_OWNER, holder | 1);
	check_owner(&wait, OS_HOLDER_EXACT, holder, "its owner");
	made_set(made, mutex, MUTEX_OWNER, holder | 7);
	check_owner(&wait, OS_HOLDER_EXACT, holder, "whatever flags are set");
	made_set(made, mutex, MUTEX_OWNER, 1);
	check_owner(&wait, OS_HOLDER_UNKNOWN, 0, "nobody has it between two holders");
	made_set(made, mutex, MUTEX_OWNER, holder);
	check_owner(&wait, OS_HOLDER_UNKNOWN, 0, "a mutex without waiters is not that one");

	/* What cannot be right. */
	put(waiters[1].record, waiters[1].record);
	check(!finds(&waiters[0], 0, OS_LOCK_MUTEX, &wait),
	      "an entry behind points back to another one");
	check(!finds(&waiters[1], 0, OS_LOCK_MUTEX, &wait), "the record is in no list");
	link_waiters(waiters[0].record, waiters + 1, 2, MUTEX_WAITER_LIST, MUTEX_WAITER_TASK);
	check(!finds(&waiters[0], 0, OS_LOCK_MUTEX, &wait), "a list of waiters alone has no lock");
	check(!finds(&waiters[0], 0, OS_LOCK_RT_MUTEX, &wait), "it waits for no rt_mutex");
	made_without(made, MUTEX_WAIT_LIST);
	check(!finds(&waiters[0], 0, OS_LOCK_MUTEX, &wait), "the kernel's mutex has no such list");
	end();
}

#define LIST_POISON 0xdead000000000100ULL /* Linux include/linux/poison.h, list_del() */

/* The list changes after the stack was read. */
static void test_changed_list(void)
{
	struct waiter waiters[3];
	struct lock_wait wait;
	uint64_t mutex;

	begin();
	mutex = made_object(made, 64, 64);
	for (uint32_t i = 0; i < 3; i++)
		waiters[i] = make_waiter(10 + i, MUTEX_WAITER_LIST, 0);
	link_waiters(mutex + made_offset(made, MUTEX_WAIT_LIST), waiters, 3, MUTEX_WAITER_LIST,
		     MUTEX_WAITER_TASK);
	as_read(&waiters[1], 0);
	link_waiters(mutex + made_offset(made, MUTEX_WAIT_LIST), waiters + 1, 1, MUTEX_WAITER_LIST,
		     MUTEX_WAITER_TASK);
	put(waiters[0].record, LIST_POISON);
	put(waiters[2].record + 8, LIST_POISON);
	check(lock_finder_find(&made->guest, &waiters[1].lock_task, OS_LOCK_MUTEX, &wait) &&
		      wait.address == mutex,
	      "other waiters have got the lock since the stack was read");
	end();
}

/* A waiter gets the lock while the list is followed, and its stack has other contents. */
static struct waiter leaver, stayer;
static uint64_t left_mutex;
static frame_t leaver_frame;
static unsigned copies;

static void on_copy(void *context, frame_t frame, const void *page, bool ok)
{
	(void)context;
	(void)page;
	(void)ok;
	if (frame.value != leaver_frame.value || ++copies != 2)
		return;
	link_waiters(left_mutex + made_offset(made, MUTEX_WAIT_LIST), &stayer, 1, MUTEX_WAITER_LIST,
		     MUTEX_WAITER_TASK);
	put(leaver.record - made_offset(made, MUTEX_WAITER_LIST) +
		    made_offset(made, MUTEX_WAITER_TASK),
	    0);
}

static void test_leaver(void)
{
	const struct memory_watcher watcher = { .copy = on_copy };
	struct waiter waiters[2];
	struct lock_wait wait;

	begin();
	left_mutex = made_object(made, 64, 64);
	for (uint32_t i = 0; i < 2; i++)
		waiters[i] = make_waiter(10 + i, MUTEX_WAITER_LIST, 0);
	stayer = waiters[0];
	leaver = waiters[1];
	link_waiters(left_mutex + made_offset(made, MUTEX_WAIT_LIST), waiters, 2, MUTEX_WAITER_LIST,
		     MUTEX_WAITER_TASK);
	leaver_frame = made_frame(made->memory, made->guest.root, leaver.record);
	as_read(&stayer, 0);
	memory_set_watcher(made->guest.memory, &watcher);
	check(lock_finder_find(&made->guest, &stayer.lock_task, OS_LOCK_MUTEX, &wait) &&
		      wait.address == left_mutex,
	      "what was a record is not taken for the lock");
	check(copies > 2, "it was one when it was read first");
	end();
}

static void test_long_list(void)
{
	static struct waiter waiters[LOCK_FINDER_MAX_STEPS + 1];
	struct lock_wait wait;
	uint64_t mutex;

	begin();
	mutex = made_object(made, 64, 64);
	for (uint32_t i = 0; i <= LOCK_FINDER_MAX_STEPS; i++)
		waiters[i] = make_waiter(10 + i, MUTEX_WAITER_LIST, 0);
	link_waiters(mutex + made_offset(made, MUTEX_WAIT_LIST), waiters, LOCK_FINDER_MAX_STEPS + 1,
		     MUTEX_WAITER_LIST, MUTEX_WAITER_TASK);
	check(!finds(&waiters[0], 0, OS_LOCK_MUTEX, &wait), "a list is followed for so many steps");
	check(finds(&waiters[1], 0, OS_LOCK_MUTEX, &wait) &&
		      wait.address == mutex,
	      "and not for fewer");
	end();
}

static void test_rwsem(void)
{
	struct waiter waiter;
	struct lock_wait wait;
	uint64_t rwsem, task;

	begin();
	rwsem = made_object(made, 64, 64);
	task = made_task(made, 5, 5, "holder", 0, 0);
	waiter = make_waiter(10, RWSEM_WAITER_LIST, 0);
	link_waiters(rwsem + made_offset(made, RWSEM_WAIT_LIST), &waiter, 1, RWSEM_WAITER_LIST,
		     RWSEM_WAITER_TASK);
	check(finds(&waiter, 0, OS_LOCK_RWSEM, &wait) &&
		      wait.address == rwsem,
	      "an rw_semaphore");
	made_set(made, rwsem, RWSEM_COUNT, 3);
	made_set(made, rwsem, RWSEM_OWNER, task);
	check_owner(&wait, OS_HOLDER_EXACT, task, "its writer");
	made_set(made, rwsem, RWSEM_OWNER, task | 1);
	check_owner(&wait, OS_HOLDER_UNKNOWN, 0, "a writer who has not yet said who it is");
	made_set(made, rwsem, RWSEM_COUNT, 0x102);
	check_owner(&wait, OS_HOLDER_LAST, task, "the last reader");
	made_set(made, rwsem, RWSEM_COUNT, 2);
	check_owner(&wait, OS_HOLDER_UNKNOWN, 0, "readers who have gone");
	made_set(made, rwsem, RWSEM_COUNT, 0x102);
	made_set(made, rwsem, RWSEM_OWNER, 3);
	check_owner(&wait, OS_HOLDER_UNKNOWN, 0, "a reader without a name");
	end();
}

static void test_others(void)
{
	struct waiter waiter;
	struct lock_wait wait;
	uint64_t semaphore, rt_mutex, rt_waiter, task;

	begin();
	semaphore = made_object(made, 64, 64);
	waiter = make_waiter(10, SEMAPHORE_WAITER_LIST, 0);
	link_waiters(semaphore + made_offset(made, SEMAPHORE_WAIT_LIST), &waiter, 1,
		     SEMAPHORE_WAITER_LIST, SEMAPHORE_WAITER_TASK);
	check(finds(&waiter, 0, OS_LOCK_SEMAPHORE, &wait) &&
		      wait.address == semaphore,
	      "a semaphore");
	check_owner(&wait, OS_HOLDER_UNKNOWN, 0, "which has no owner");
	made->guest.layout.values[SEMAPHORE_LAST_HOLDER] = 0x18;
	task = made_task(made, 6, 6, "taker", 0, 0);
	made_set(made, semaphore, SEMAPHORE_LAST_HOLDER, task);
	check_owner(&wait, OS_HOLDER_LAST, task, "a kernel that notes who took it last");
	made_set(made, semaphore, SEMAPHORE_LAST_HOLDER, 0);
	check_owner(&wait, OS_HOLDER_UNKNOWN, 0, "until that task gives it back");

	rt_mutex = made_object(made, 64, 64);
	rt_waiter = made_object(made, 128, 64);
	task = made_task(made, 5, 5, "holder", 0, 0);
	made_set(made, waiter.task, TASK_PI_BLOCKED_ON, rt_waiter);
	made_set(made, rt_waiter, RT_MUTEX_WAITER_LOCK, rt_mutex);
	made_set(made, rt_mutex, RT_MUTEX_OWNER, task | 1);
	check(finds(&waiter, 0, OS_LOCK_RT_MUTEX, &wait) &&
		      wait.address == rt_mutex && wait.kind == OS_LOCK_RT_MUTEX,
	      "an rt_mutex");
	check_owner(&wait, OS_HOLDER_EXACT, task, "its owner");
	made_set(made, waiter.task, TASK_PI_BLOCKED_ON, 0x1234);
	check(!finds(&waiter, 0, OS_LOCK_RT_MUTEX, &wait), "no address of the kernel");
	end();
}

static void test_percpu_rwsem(void)
{
	struct waiter waiters[2];
	struct lock_wait wait;
	uint64_t rwsem, writer;

	begin();
	rwsem = made_object(made, 128, 64);
	writer = made_task(made, 5, 5, "writer", 0, 0);
	for (uint32_t i = 0; i < 2; i++)
		waiters[i] = make_waiter(10 + i, WAIT_ENTRY_LIST, 0);
	link_waiters(rwsem + made_offset(made, PERCPU_RWSEM_WAIT_LIST), waiters, 2,
		     WAIT_ENTRY_LIST, WAIT_ENTRY_TASK);
	for (uint32_t i = 0; i < 2; i++)
		check(finds(&waiters[i], 0, OS_LOCK_PERCPU_RWSEM, &wait) && wait.address == rwsem &&
			      !wait.space,
		      "a percpu rw_semaphore, by waiter %u of 2", i);
	check(!finds(&waiters[0], 0, OS_LOCK_MUTEX, &wait), "which is no mutex");
	check_owner(&wait, OS_HOLDER_UNKNOWN, 0, "a writer that has it is not noted");
	made_set(made, rwsem, PERCPU_RWSEM_WRITER, writer);
	check_owner(&wait, OS_HOLDER_EXACT, writer, "one that waits for readers is");
	put(waiters[0].record + 8, waiters[0].record);
	check(!finds(&waiters[0], 0, OS_LOCK_PERCPU_RWSEM, &wait), "the record is in no list");
	end();
}

/* What a writer has on its stack while it waits for readers: the lock, or its member writer. */
static void check_writer(struct waiter *waiter, unsigned at, uint64_t word, uint64_t rwsem,
			 const char *what)
{
	uint64_t place = waiter->stack + STACK_BYTES - LIVE_BYTES + at;
	struct lock_wait wait = { .kind = OS_LOCK_NONE };
	bool found;

	put(place, word);
	found = finds(waiter, 0, OS_LOCK_PERCPU_RWSEM, &wait);
	check(found == (rwsem != 0) && wait.address == rwsem &&
		      wait.kind == (rwsem ? OS_LOCK_PERCPU_READERS : OS_LOCK_NONE),
	      "%s", what);
	put(place, 0);
}

static void test_percpu_writer(void)
{
	struct lock_wait wait = { .kind = OS_LOCK_PERCPU_READERS };
	struct waiter waiter;
	uint64_t rwsem, head, other;

	begin();
	rwsem = made_object(made, 128, 64);
	other = made_task(made, 5, 5, "other", 0, 0);
	waiter = make_waiter(10, WAIT_ENTRY_LIST, 0);
	head = rwsem + made_offset(made, PERCPU_RWSEM_WAIT_LIST);
	link_waiters(head, NULL, 0, WAIT_ENTRY_LIST, WAIT_ENTRY_TASK);
	made_set(made, rwsem, PERCPU_RWSEM_WRITER, waiter.task);
	put(rwsem + made_offset(made, PERCPU_RWSEM_BLOCK), 1);
	check_writer(&waiter, 120, rwsem, rwsem, "a writer that waits for readers");
	check_writer(&waiter, 0, rwsem + made_offset(made, PERCPU_RWSEM_WRITER), rwsem,
		     "by the address of the member that names the writer");
	check_writer(&waiter, LIVE_BYTES - 8, rwsem, rwsem, "at the end of the stack");
	check_writer(&waiter, 120, rwsem + 8, 0, "another address");
	check_writer(&waiter, 120, 0x1234, 0, "no address of the kernel");
	wait.address = rwsem;
	check_owner(&wait, OS_HOLDER_UNKNOWN, 0, "its readers are a counter");

	made_set(made, rwsem, PERCPU_RWSEM_WRITER, other);
	check_writer(&waiter, 120, rwsem, 0, "a lock that another task has closed");
	made_set(made, rwsem, PERCPU_RWSEM_WRITER, waiter.task);
	put(rwsem + made_offset(made, PERCPU_RWSEM_BLOCK), 0);
	check_writer(&waiter, 120, rwsem, 0, "a lock that is open");
	put(rwsem + made_offset(made, PERCPU_RWSEM_BLOCK), 1);
	put(head + 8, rwsem);
	check_writer(&waiter, 120, rwsem, 0, "what has no list of waiters");
	put(head + 8, head);
	made_without(made, PERCPU_RWSEM_BLOCK);
	check_writer(&waiter, 120, rwsem, 0, "a kernel whose lock is another one");
	end();
}

static void test_blocker(void)
{
	struct waiter waiter;
	struct lock_wait wait;
	uint64_t lock;

	begin();
	made->guest.layout.values[TASK_BLOCKER] = 0x5c0;
	lock = made_object(made, 64, 64);
	waiter = make_waiter(10, MUTEX_WAITER_LIST, 0);
	made_set(made, waiter.task, TASK_BLOCKER, lock | 3);
	check(finds(&waiter, 0, OS_LOCK_RWSEM, &wait) &&
		      wait.address == lock,
	      "the kernel says which lock");
	check(!finds(&waiter, 0, OS_LOCK_MUTEX, &wait), "one of another kind");
	made_set(made, waiter.task, TASK_BLOCKER, 8);
	check(!finds(&waiter, 0, OS_LOCK_MUTEX, &wait), "no address of the kernel");
	end();
}

static void test_blocked_on(void)
{
	struct waiter waiter;
	struct lock_wait wait;
	uint64_t lock;

	begin();
	made->guest.layout.values[TASK_BLOCKED_ON] = 0x5c8;
	lock = made_object(made, 64, 64);
	waiter = make_waiter(10, MUTEX_WAITER_LIST, 0);
	made_set(made, waiter.task, TASK_BLOCKED_ON, lock);
	check(finds(&waiter, 0, OS_LOCK_MUTEX, &wait) && wait.address == lock,
	      "the kernel says which mutex");
	check(!finds(&waiter, 0, OS_LOCK_RWSEM, &wait), "it is no lock of another kind");
	made_set(made, waiter.task, TASK_BLOCKED_ON, UINT64_MAX);
	check(!finds(&waiter, 0, OS_LOCK_MUTEX, &wait), "a marker instead of a mutex");
	made_set(made, waiter.task, TASK_BLOCKED_ON, waiter.stack + STACK_BYTES - 64);
	check(!finds(&waiter, 0, OS_LOCK_MUTEX, &wait), "a record of older kernels, on the stack");
	end();
}

/* --- futexes ---------------------------------------------------------------------------------- */

#define WORD 0x7f0000001000ULL

/* The waiter's system call: futex(WORD, COMMAND, VALUE). */
static void put_value(const struct waiter *waiter, uint64_t value)
{
	put(waiter->stack + STACK_BYTES - PT_REGS_BYTES + 8 * PT_REGS_RDX, value);
}

static void put_call(const struct waiter *waiter, uint64_t number, uint64_t command)
{
	uint64_t saved = waiter->stack + STACK_BYTES - PT_REGS_BYTES;

	put(saved + 8 * PT_REGS_ORIG_RAX, number);
	put(saved + 8 * PT_REGS_RDI, WORD);
	put(saved + 8 * PT_REGS_RSI, command);
	put_value(waiter, 2);
	put(saved + 8 * PT_REGS_CS, 0x33);
	put(saved + 8 * PT_REGS_RSP, 0x7ffffff0);
}

static void put_glibc(uint32_t lock, uint32_t owner, uint32_t users, uint32_t kind)
{
	const uint32_t words[] = { lock, 0, owner, users, kind };

	made_put(made->memory, user, WORD, words, sizeof(words));
	memory_refresh(made->guest.memory);
}

static void check_glibc(const struct lock_wait *wait, enum os_holder certainty, uint32_t tid,
			const char *what)
{
	struct lock_owner owner = lock_owner_read(&made->guest, wait, &user);

	check(owner.certainty == certainty && owner.tid == tid, "%s: %d, %u", what,
	      (int)owner.certainty, owner.tid);
}

static void test_futex(void)
{
	struct waiter waiter;
	struct lock_wait wait;
	uint64_t mm, rt_waiter, rt_mutex, task;

	begin();
	user = made_root(made->memory);
	mm = made_mm(made, NULL, 0);
	waiter = make_waiter(10, MUTEX_WAITER_LIST, mm);
	put_call(&waiter, 202, 0x80);
	check(finds(&waiter, mm, OS_LOCK_FUTEX, &wait) &&
		      wait.address == WORD && wait.space == mm && !wait.is_shared,
	      "a private futex");
	put_glibc(2, 77, 3, 0);
	check_glibc(&wait, OS_HOLDER_GUESS, 77, "a mutex of glibc names a thread");
	put_glibc(1, 77, 3, 0);
	check_glibc(&wait, OS_HOLDER_UNKNOWN, 0, "a mutex without waiters is none");
	put_glibc(2, 0, 3, 0);
	check_glibc(&wait, OS_HOLDER_UNKNOWN, 0, "between two owners");
	put_glibc(2, 77, 0, 0);
	check_glibc(&wait, OS_HOLDER_UNKNOWN, 0, "nobody uses it: no mutex");
	put_glibc(2, 77, 3, 0x10000);
	check_glibc(&wait, OS_HOLDER_UNKNOWN, 0, "no kind of mutex");
	put_glibc(0x8000004d, 77, 1, 0x10);
	check_glibc(&wait, OS_HOLDER_GUESS, 77, "a robust one");
	put_glibc(0x8000004e, 77, 1, 0x10);
	check_glibc(&wait, OS_HOLDER_UNKNOWN, 0, "a robust one whose owners differ");
	check(lock_owner_read(&made->guest, &wait, NULL).certainty == OS_HOLDER_UNKNOWN,
	      "page tables that are not known");

	put_call(&waiter, 202, 1);
	check(!finds(&waiter, mm, OS_LOCK_FUTEX, &wait), "FUTEX_WAKE does not wait");
	put_call(&waiter, 0, 0x80);
	check(!finds(&waiter, mm, OS_LOCK_FUTEX, &wait), "another system call");
	put_call(&waiter, 202, 9);
	check(finds(&waiter, mm, OS_LOCK_FUTEX, &wait) &&
		      wait.is_shared,
	      "a shared one");

	put_value(&waiter, 0);
	check(!finds(&waiter, mm, OS_LOCK_FUTEX, &wait), "a condition variable is no lock");
	put_value(&waiter, 0x80000005);
	check(finds(&waiter, mm, OS_LOCK_FUTEX, &wait), "a robust mutex is one");
	put_call(&waiter, 202, 0x86);
	check(!finds(&waiter, mm, OS_LOCK_FUTEX, &wait), "FUTEX_LOCK_PI without an rt_mutex");
	rt_mutex = made_object(made, 64, 64);
	rt_waiter = made_object(made, 128, 64);
	task = made_task(made, 5, 5, "holder", 0, 0);
	made_set(made, waiter.task, TASK_PI_BLOCKED_ON, rt_waiter);
	made_set(made, rt_waiter, RT_MUTEX_WAITER_LOCK, rt_mutex);
	made_set(made, rt_mutex, RT_MUTEX_OWNER, task | 1);
	check(finds(&waiter, mm, OS_LOCK_FUTEX, &wait) &&
		      wait.kind == OS_LOCK_FUTEX_PI && wait.address == WORD && wait.space == mm,
	      "a futex with priority inheritance");
	check_owner(&wait, OS_HOLDER_EXACT, task, "the kernel knows its owner");
	put_call(&waiter, 202, 0x8b);
	check(finds(&waiter, mm, OS_LOCK_FUTEX, &wait) && wait.kind == OS_LOCK_RT_MUTEX &&
		      wait.address == rt_mutex,
	      "FUTEX_WAIT_REQUEUE_PI, after it was requeued: the rt_mutex");
	end();
}

#ifdef __GLIBC__
static pthread_mutex_t real;

static void *wait_for_real(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&real);
	pthread_mutex_unlock(&real);
	return NULL;
}

/* REAL, which this thread has, with a thread that waits for it: what is in its memory. */
static void put_contended(void)
{
	unsigned char bytes[sizeof(real)];
	pthread_t thread;
	uint32_t word;

	pthread_mutex_lock(&real);
	if (pthread_create(&thread, NULL, wait_for_real, NULL))
		abort();
	do {
		memcpy(&word, &real, sizeof(word));
		usleep(100);
	} while (word != 2 && !(word & 0x80000000));
	memcpy(bytes, &real, sizeof(bytes));
	pthread_mutex_unlock(&real);
	pthread_join(thread, NULL);
	made_put(made->memory, user, WORD, bytes, sizeof(bytes));
	memory_refresh(made->guest.memory);
}

/* Each kind of mutex that this machine's glibc makes. */
static void test_glibc(void)
{
	static const int types[] = { PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE,
				     PTHREAD_MUTEX_ERRORCHECK };
	const struct lock_wait wait = { .kind = OS_LOCK_FUTEX, .address = WORD, .space = 1 };

	begin();
	user = made_root(made->memory);
	made_map(made->memory, user, WORD, GUEST_PAGE_SIZE, MADE_WRITE);
	for (unsigned i = 0; i < 12; i++) {
		pthread_mutexattr_t attributes;
		char text[64];

		pthread_mutexattr_init(&attributes);
		pthread_mutexattr_settype(&attributes, types[i / 4]);
		pthread_mutexattr_setrobust(&attributes, i & 1);
		pthread_mutexattr_setpshared(&attributes, i >> 1 & 1);
		pthread_mutex_init(&real, &attributes);
		put_contended();
		pthread_mutex_destroy(&real);
		pthread_mutexattr_destroy(&attributes);
		snprintf(text, sizeof(text), "type %d, robust %u, shared %u", types[i / 4], i & 1,
			 i >> 1 & 1);
		check_glibc(&wait, OS_HOLDER_GUESS, (uint32_t)gettid(), text);
	}
	end();
}
#endif

/* futex_wait(WORD, VALUE, ..., FLAGS), from Linux 6.7 */
static void test_futex_wait(void)
{
	struct waiter waiter;
	struct lock_wait wait;
	uint64_t mm, saved;

	begin();
	user = made_root(made->memory);
	mm = made_mm(made, NULL, 0);
	waiter = make_waiter(10, MUTEX_WAITER_LIST, mm);
	saved = waiter.stack + STACK_BYTES - PT_REGS_BYTES;
	put_call(&waiter, 455, 2);
	put(saved + 8 * PT_REGS_R10, 0x82);
	check(finds(&waiter, mm, OS_LOCK_FUTEX, &wait) && wait.kind == OS_LOCK_FUTEX &&
		      wait.address == WORD && wait.space == mm && !wait.is_shared,
	      "futex_wait()");
	put_glibc(2, 77, 3, 0);
	check_glibc(&wait, OS_HOLDER_GUESS, 77, "its mutex of glibc");
	put(saved + 8 * PT_REGS_R10, 2);
	check(finds(&waiter, mm, OS_LOCK_FUTEX, &wait) && wait.is_shared, "a shared one");
	put(saved + 8 * PT_REGS_RSI, 7);
	check(!finds(&waiter, mm, OS_LOCK_FUTEX, &wait), "a value that is no mutex's");
	end();
}

/* futex_waitv(WAITERS, N), from Linux 5.16 */
static void test_futex_waitv(void)
{
	const uint64_t waiters = WORD + 0x800;
	const struct {
		uint64_t value, word;
		uint32_t flags, reserved;
	} one = { 2, WORD, 0x82, 0 };
	struct waiter waiter;
	struct lock_wait wait;
	uint64_t mm, saved;

	begin();
	user = made_root(made->memory);
	mm = made_mm(made, NULL, 0);
	waiter = make_waiter(10, MUTEX_WAITER_LIST, mm);
	saved = waiter.stack + STACK_BYTES - PT_REGS_BYTES;
	put_call(&waiter, 449, 1);
	put(saved + 8 * PT_REGS_RDI, waiters);
	check(!finds(&waiter, mm, OS_LOCK_FUTEX, &wait), "futex_waitv(): no page is there");
	made_put(made->memory, user, waiters, &one, sizeof(one));
	memory_refresh(made->guest.memory);
	check(finds(&waiter, mm, OS_LOCK_FUTEX, &wait) && wait.kind == OS_LOCK_FUTEX &&
		      wait.address == WORD && wait.space == mm && !wait.is_shared,
	      "futex_waitv() for one futex");
	put(saved + 8 * PT_REGS_RSI, 2);
	check(!finds(&waiter, mm, OS_LOCK_FUTEX, &wait),
	      "who waits for any of two waits for neither");
	put(saved + 8 * PT_REGS_RSI, 1);
	put(saved + 8 * PT_REGS_RDI, MADE_OBJECTS);
	check(!finds(&waiter, mm, OS_LOCK_FUTEX, &wait), "not in user memory");
	end();
}

/* --- names ------------------------------------------------------------------------------------ */

static void check_name(uint64_t lock, uint64_t mm, const char *want, const char *what)
{
	struct data_names names = { .guest = &made->guest, .is_read = true };
	const struct lock_wait wait = { .kind = OS_LOCK_RWSEM, .address = lock };
	char name[OS_LOCK_NAME_BYTES];

	lock_name_read(&names, &wait, mm, 4711, name);
	check_string(name, want, what);
}

static void test_inodes(void)
{
	uint64_t inode, lock, directory, dentry, root, mount, part, super;

	begin();
	inode = made_inode(made, 0);
	lock = inode + made_offset(made, INODE_RWSEM);
	directory = made_dentry(made, made->root_dentry, "log", made_inode(made, 0));
	mount = made_mount(made, made->root_mount, directory, &root);
	part = made_mount(made, made->root_mount, directory, &dentry);
	dentry = made_dentry(made, made_dentry(made, root, "web", made_inode(made, 0)),
			     "access.log", inode);
	made_set(made, inode, INODE_MAPPING, inode + made_offset(made, INODE_DATA));
	made_set(made, inode, INODE_DENTRIES, dentry + made_offset(made, DENTRY_ALIAS));
	check_name(lock, 0, "i_rwsem of /web/access.log", "a path from the file system's root");
	super = made_object(made, 256, 64);
	made_set(made, inode, INODE_SB, super);
	made_set(made, super, SUPER_MOUNTS, mount + made_offset(made, MOUNT_OF_SUPER));
	made_set(made, mount, MOUNT_OF_SUPER, super + made_offset(made, SUPER_MOUNTS));
	check_name(lock, 0, "i_rwsem of /log/web/access.log", "where that is mounted");
	check_name(inode + made_offset(made, INODE_MMAP_RWSEM), 0,
		   "i_mmap_rwsem of /log/web/access.log", "the lock of a file's mappings");
	check_name(inode + made_offset(made, INODE_INVALIDATE_LOCK), 0,
		   "invalidate_lock of /log/web/access.log", "that of its pages");
	check_name(inode + made_offset(made, INODE_DATA), 0, "", "another place in an inode");
	made_set(made, mount + made_offset(made, MOUNT_MNT), VFSMOUNT_ROOT, dentry);
	check_name(lock, 0, "i_rwsem of /web/access.log", "a mount of a part does not count");
	made_set(made, mount, MOUNT_OF_SUPER, mount + made_offset(made, MOUNT_OF_SUPER));
	check_name(lock, 0, "i_rwsem of /web/access.log", "a list of mounts that is a knot ends");
	made->guest.layout.values[SUPER_FIRST_MOUNT] = made_offset(made, SUPER_MOUNTS);
	made->guest.layout.values[MOUNT_NEXT_OF_SUPER] = made_offset(made, MOUNT_OF_SUPER);
	made_set(made, super, SUPER_FIRST_MOUNT, part);
	made_set(made, part, MOUNT_NEXT_OF_SUPER, mount);
	made_set(made, part + made_offset(made, MOUNT_MNT), VFSMOUNT_ROOT, dentry);
	made_set(made, mount + made_offset(made, MOUNT_MNT), VFSMOUNT_ROOT, root);
	made_set(made, mount, MOUNT_NEXT_OF_SUPER, 0);
	check_name(lock, 0, "i_rwsem of /log/web/access.log", "the second mount of a chain");
	made_set(made, mount + made_offset(made, MOUNT_MNT), VFSMOUNT_ROOT, dentry);
	made_set(made, mount, MOUNT_NEXT_OF_SUPER, part);
	check_name(lock, 0, "i_rwsem of /web/access.log", "a chain that is a knot ends");
	for (unsigned i = 0; i < 8; i++)
		dentry = made_dentry(made, dentry, "directory", inode);
	made_set(made, inode, INODE_DENTRIES, dentry + made_offset(made, DENTRY_ALIAS));
	check_name(lock, 0, "i_rwsem of ...directory/directory/directory/directory/directory",
		   "a long path keeps its end");
	made_set(made, inode, INODE_DENTRIES, 0);
	check_name(lock, 0, "i_rwsem of an inode", "an inode without a name");
	made_set(made, inode, INODE_MAPPING, inode);
	check_name(lock, 0, "", "what is no inode");
	end();
}

static void test_mmap_locks(void)
{
	uint64_t mm, lock, owner;

	begin();
	mm = made_mm(made, NULL, 0);
	lock = mm + made_offset(made, MM_MMAP_LOCK);
	check_name(lock, mm, "mmap_lock of 4711", "the waiter's own address space");
	check_name(lock + 8, mm, "", "another lock");
	check_name(lock, 0, "", "one that nobody owns");
	owner = made_task(made, 12, 10, "owner", mm, 0);
	made_set(made, mm, MM_OWNER, owner);
	check_name(lock, 0, "mmap_lock of 10", "that of another process");
	made_set(made, owner, TASK_MM, mm + 8);
	check_name(lock, 0, "", "who is named as owner does not know of it");
	end();
}

static void test_variables(void)
{
	struct data_names names = { .guest = &made->guest, .is_read = true };
	struct lock_wait wait = { .kind = OS_LOCK_MUTEX, .address = 0xffffffff82001000 };
	char name[OS_LOCK_NAME_BYTES];

	begin();
	names.guest = &made->guest;
	made->guest.text_start = 0xffffffff81000000;
	made->guest.text_end = 0xffffffff83000000;
	must(symtab_create(&names.tab));
	must(symtab_add(names.tab, wait.address, 0, made->guest.text_end, SYMBOL_LOCAL,
			"cgroup_mutex", 12));
	must(symtab_add(names.tab, wait.address + 32, 0, made->guest.text_end, SYMBOL_LOCAL,
			"init_mm", 7));
	must(symtab_seal(names.tab));
	lock_name_read(&names, &wait, 0, 0, name);
	check_string(name, "cgroup_mutex", "a static lock");
	wait.address += 32 + 0x78;
	lock_name_read(&names, &wait, 0, 0, name);
	check_string(name, "init_mm+0x78", "a lock inside of a static object");
	wait.address = MADE_OBJECTS;
	lock_name_read(&names, &wait, 0, 0, name);
	check_string(name, "", "an address elsewhere");
	wait.space = 1;
	wait.address = 0xffffffff82001000;
	lock_name_read(&names, &wait, 0, 0, name);
	check_string(name, "", "an address of user code");
	data_names_deinit(&names);
	end();
}

/* --- by way of sleepers ----------------------------------------------------------------------- */

static enum os_lock_kind wanted;
static struct os_lock_wait told[8];
static unsigned n_told;
static uint64_t wakes; /* a task that is awake once all have been looked at; 0: none */

static void add(void *context, const struct os_wait *wait)
{
	(void)context;
	if (wakes)
		made_set(made, wakes, TASK_SWITCHES, 99);
	if (!wait->vcpu)
		return;
	*wait->kept = malloc(1);
	*wait->lock = wanted;
}

static void end_wait(void *context, void *kept, uint64_t waited_ns)
{
	(void)context;
	(void)kept;
	(void)waited_ns;
}

static void lock(void *context, const struct os_lock_wait *wait)
{
	(void)context;
	if (n_told < sizeof(told) / sizeof(told[0]))
		told[n_told++] = *wait;
}

static const struct os_waits_sink sink = { add, end_wait, lock, NULL };

static uint64_t leaf, ns;

/* TASK, which begins to sleep, gets a place in the tree of pids. */
static uint64_t register_task(uint64_t task, uint32_t pid)
{
	uint64_t struct_pid = made_object(made, 256, 64);

	made_set_u32(made, task, TASK_STATE, 2);
	made_set(made, task, TASK_SWITCHES, 10);
	made_set(made, struct_pid, PID_TASKS, task + made_offset(made, TASK_PID_LINKS));
	made_xa_slot(made, leaf, pid, struct_pid);
	return struct_pid;
}

static void make_tree(void)
{
	uint64_t root = made_xa_node(made, 6);

	ns = made_object(made, 64, 64);
	made->guest.symbols[LINUX_INIT_PID_NS] = ns;
	leaf = made_xa_node(made, 0);
	made_xa_slot(made, root, 0, made_xa_entry(leaf));
	put(ns + made_offset(made, PID_NS_IDR) + made_offset(made, XARRAY_HEAD),
	    made_xa_entry(root));
}

static void pass(struct sleepers *sleepers, uint64_t time_s)
{
	n_told = 0;
	while (sleepers_read(sleepers, (1000000 + time_s) * 1000000000, 500000000, &sink) !=
	       OS_WAITS_WHOLE)
		;
}

/* Two tasks wait for each other's mutex; a third one waits for the first one's. */
static void test_circle(void)
{
	static const struct processes_settings none = { .root_fd = -1 };
	struct processes *processes;
	struct sleepers *sleepers;
	struct waiter waiters[3];
	struct tasks *tasks;
	uint64_t mutexes[2], stray;

	begin();
	make_tree();
	for (uint32_t i = 0; i < 3; i++) {
		waiters[i] = make_waiter(10 + i, MUTEX_WAITER_LIST, 0);
		register_task(waiters[i].task, 10 + i);
	}
	for (uint32_t i = 0; i < 2; i++) {
		mutexes[i] = made_object(made, 64, 64);
		made_set(made, mutexes[i], MUTEX_OWNER, waiters[i].task | 1);
	}
	link_waiters(mutexes[1] + made_offset(made, MUTEX_WAIT_LIST), waiters, 1,
		     MUTEX_WAITER_LIST, MUTEX_WAITER_TASK);
	link_waiters(mutexes[0] + made_offset(made, MUTEX_WAIT_LIST), waiters + 1, 2,
		     MUTEX_WAITER_LIST, MUTEX_WAITER_TASK);
	must(tasks_create(&made->guest, &tasks));
	must(processes_create(&made->guest, &none, &processes));
	must(sleepers_create(&made->guest, tasks, processes, &sleepers));
	wanted = OS_LOCK_MUTEX;
	pass(sleepers, 10);
	check(n_told == 3, "three tasks wait for locks: %u", n_told);
	check(told[0].waiter.pid == 10 && told[0].holder.pid == 11 &&
		      told[0].address == mutexes[1] && told[0].certainty == OS_HOLDER_EXACT &&
		      told[0].is_new,
	      "the first one waits for the second");
	check(told[1].waiter.pid == 11 && told[1].holder.pid == 10 && told[2].holder.pid == 10,
	      "and that one for the first");
	check(told[1].holder.kept != NULL, "where the holder sleeps is known");
	pass(sleepers, 11);
	check(n_told == 3 && !told[0].is_new && told[0].waiter.waited_ns == 1000000000,
	      "the next pass tells the same waits");

	made_set_u32(made, waiters[0].task, TASK_ON_CPU, 1);
	made_set_u32(made, waiters[0].task, TASK_CPU, 3);
	pass(sleepers, 12);
	check(n_told == 2 && told[0].holder.on_cpu && told[0].holder.cpu == 3 &&
		      !told[0].holder.kept,
	      "a holder runs");
	stray = made_task(made, 40, 40, "stray", 0, 0);
	made_set(made, mutexes[0], MUTEX_OWNER, stray | 1);
	pass(sleepers, 13);
	check(n_told == 2 && told[0].certainty == OS_HOLDER_NO_TASK && !told[0].holder.pid,
	      "what looks like a task but is not in the tree of pids is none");
	made_set(made, mutexes[0], MUTEX_OWNER, 0xffffff0000000001);
	pass(sleepers, 14);
	check(told[0].certainty == OS_HOLDER_NO_TASK, "nor is what cannot be read");
	made_set(made, mutexes[0], MUTEX_OWNER, waiters[1].task | 1);
	pass(sleepers, 15);
	check(told[0].waiter.pid == 11 && told[0].certainty == OS_HOLDER_UNKNOWN &&
		      told[1].holder.pid == 11,
	      "who has got the lock does not wait for itself");
	wakes = waiters[1].task;
	pass(sleepers, 16);
	wakes = 0;
	check(n_told == 2 && told[0].is_over && told[0].address == mutexes[0] &&
		      told[0].waiter.pid == 11 && !told[0].name[0] && !told[0].holder.pid &&
		      told[0].waiter.waited_ns && !told[1].is_over,
	      "a wait that was over before the holder was read has a time alone");
	check(sleepers_counts(sleepers).locks_moved == 1, "such a wait is counted");
	check(told[1].waiter.pid == 12 && told[1].holder.pid == 11 && told[1].holder.kept &&
		      told[1].holder.has_moved && !told[1].holder.waited_ns,
	      "of a holder that has moved on it is known who it is");
	wanted = OS_LOCK_NONE;
	pass(sleepers, 17);
	check(n_told == 1 && told[0].waiter.pid == 12, "a wait that is over has no lock");
	check(sleepers_counts(sleepers).locks_found == 3, "each wait's lock is found once");
	sleepers_destroy(sleepers);
	processes_destroy(processes);
	tasks_destroy(tasks);
	end();
}

/* Other processes are sampled. So many are kept that PROCESSES has no room for any earlier one. */
static void forget_processes(struct processes *processes, struct tasks *tasks, uint64_t now_ns)
{
	for (uint32_t i = 0; i < PROCESSES_MAX; i++) {
		uint64_t mm = made_mm(made, NULL, 0),
			 address = made_task(made, 1000 + i, 1000 + i, "other", mm, 0);
		const struct task *task = tasks_find(tasks, address, now_ns);

		if (!task || !processes_find_space(processes, task, now_ns))
			check(false, "process %u", i);
	}
}

/* A thread waits for a mutex of glibc so long that its process is not kept any more. */
static void test_long_futex(void)
{
	static const struct processes_settings none = { .root_fd = -1 };
	struct processes *processes;
	struct sleepers *sleepers;
	struct waiter waiter, holder;
	struct memory_root root;
	struct tasks *tasks;
	uint64_t mm;

	begin();
	make_tree();
	mm = made_mm(made, NULL, 0);
	user = made_mm_root(made, mm);
	waiter = make_waiter(10, MUTEX_WAITER_LIST, mm);
	holder = make_waiter(11, MUTEX_WAITER_LIST, mm);
	made_set_u32(made, holder.task, TASK_TGID, 10);
	register_task(waiter.task, 10);
	register_task(holder.task, 11);
	put_call(&waiter, 202, 0x80);
	put_glibc(2, 11, 3, 0);
	must(tasks_create(&made->guest, &tasks));
	must(processes_create(&made->guest, &none, &processes));
	must(sleepers_create(&made->guest, tasks, processes, &sleepers));
	wanted = OS_LOCK_FUTEX;
	pass(sleepers, 10);
	check(n_told == 1 && told[0].certainty == OS_HOLDER_GUESS && told[0].holder.pid == 11,
	      "a thread waits for a mutex of glibc");
	forget_processes(processes, tasks, 1000020ULL * 1000000000);
	check(!processes_get_root(processes, mm, &root), "its process is not kept any more");
	pass(sleepers, 30);
	check(n_told == 1 && told[0].certainty == OS_HOLDER_GUESS && told[0].holder.pid == 11 &&
		      told[0].waiter.waited_ns == 20000000000,
	      "its mutex names the same thread all the same");
	made_set(made, mm, MM_PGD, 0xffffff0000000000);
	pass(sleepers, 31);
	check(n_told == 1 && told[0].certainty == OS_HOLDER_UNKNOWN, "page tables that are not there");
	sleepers_destroy(sleepers);
	processes_destroy(processes);
	tasks_destroy(tasks);
	end();
}

int main(void)
{
	test_mutex();
	test_changed_list();
	test_leaver();
	test_long_list();
	test_rwsem();
	test_others();
	test_percpu_rwsem();
	test_percpu_writer();
	test_blocker();
	test_blocked_on();
	test_futex();
#ifdef __GLIBC__
	test_glibc();
#endif
	test_futex_wait();
	test_futex_waitv();
	test_inodes();
	test_mmap_locks();
	test_variables();
	test_circle();
	test_long_futex();
	return tap_done();
}
