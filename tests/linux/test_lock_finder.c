/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lock of the kernel that a task waits for, found through its stack, and the lock's owner; and
 * lists and owners that cannot be right.
 */
#include "config.h"

#include "tests/linux/lock_fixture.h"

static void test_mutex(struct lock_fixture *fixture)
{
	struct waiter waiters[3];
	struct lock_wait wait;
	uint64_t mutex, holder;

	begin(fixture);
	mutex = made_object(fixture->made, 64, 64);
	holder = made_task(fixture->made, 5, 5, "holder", 0, 0);
	for (uint32_t i = 0; i < 3; i++)
		waiters[i] = make_waiter(fixture, 10 + i, MUTEX_WAITER_LIST, 0);
	link_waiters(fixture, mutex + made_offset(fixture->made, MUTEX_WAIT_LIST), waiters, 3,
		     MUTEX_WAITER_LIST, MUTEX_WAITER_TASK);
	for (uint32_t i = 0; i < 3; i++)
		check(finds(fixture, &waiters[i], 0, OS_LOCK_MUTEX, &wait) &&
			      wait.address == mutex && !wait.space,
		      "a mutex is found by waiter %u of 3", i);
	made_set(fixture->made, mutex, MUTEX_OWNER, holder | 1);
	check_owner(fixture, &wait, OS_HOLDER_EXACT, holder, "a mutex has its owner");
	made_set(fixture->made, mutex, MUTEX_OWNER, holder | 7);
	check_owner(fixture, &wait, OS_HOLDER_EXACT, holder,
		    "a mutex has its owner whatever flags are set");
	made_set(fixture->made, mutex, MUTEX_OWNER, 1);
	check_owner(fixture, &wait, OS_HOLDER_UNKNOWN, 0,
		    "a mutex between two holders has no owner");
	made_set(fixture->made, mutex, MUTEX_OWNER, holder);
	check_owner(fixture, &wait, OS_HOLDER_UNKNOWN, 0, "a mutex without waiters has no owner");

	/* What cannot be right. */
	put(fixture, waiters[1].record, waiters[1].record);
	check(!finds(fixture, &waiters[0], 0, OS_LOCK_MUTEX, &wait),
	      "a list whose entry points back to another one gives no mutex");
	check(!finds(fixture, &waiters[1], 0, OS_LOCK_MUTEX, &wait),
	      "a record in no list gives no mutex");
	link_waiters(fixture, waiters[0].record, waiters + 1, 2, MUTEX_WAITER_LIST,
		     MUTEX_WAITER_TASK);
	check(!finds(fixture, &waiters[0], 0, OS_LOCK_MUTEX, &wait),
	      "a list of waiters without a head gives no mutex");
	check(!finds(fixture, &waiters[0], 0, OS_LOCK_RT_MUTEX, &wait),
	      "a task without pi_blocked_on waits for no rt_mutex");
	made_without(fixture->made, MUTEX_WAIT_LIST);
	check(!finds(fixture, &waiters[0], 0, OS_LOCK_MUTEX, &wait),
	      "a kernel whose mutex has no list gives no mutex");
	end(fixture);
}

#define LIST_POISON 0xdead000000000100ULL /* Linux include/linux/poison.h, list_del() */

/* The list changes after the stack was read. */
static void test_changed_list(struct lock_fixture *fixture)
{
	struct waiter waiters[3];
	struct lock_wait wait;
	uint64_t mutex;

	begin(fixture);
	mutex = made_object(fixture->made, 64, 64);
	for (uint32_t i = 0; i < 3; i++)
		waiters[i] = make_waiter(fixture, 10 + i, MUTEX_WAITER_LIST, 0);
	link_waiters(fixture, mutex + made_offset(fixture->made, MUTEX_WAIT_LIST), waiters, 3,
		     MUTEX_WAITER_LIST, MUTEX_WAITER_TASK);
	as_read(fixture, &waiters[1], 0);
	link_waiters(fixture, mutex + made_offset(fixture->made, MUTEX_WAIT_LIST), waiters + 1, 1,
		     MUTEX_WAITER_LIST, MUTEX_WAITER_TASK);
	put(fixture, waiters[0].record, LIST_POISON);
	put(fixture, waiters[2].record + 8, LIST_POISON);
	check(lock_finder_find(&fixture->made->guest, &waiters[1].lock_task, OS_LOCK_MUTEX,
			       &wait) &&
		      wait.address == mutex,
	      "a mutex is found after other waiters have got it");
	end(fixture);
}

/* A waiter gets the lock while the list is followed, and its stack has other contents. */
struct leaver_fixture {
	struct lock_fixture *fixture;
	struct waiter leaver, stayer;
	uint64_t mutex;
	frame_t frame; /* has LEAVER's record */
	unsigned copies;
};

static void on_copy(void *context, frame_t frame, const void *page, bool ok)
{
	struct leaver_fixture *left = context;
	struct lock_fixture *fixture = left->fixture;

	(void)page;
	(void)ok;
	if (frame.value != left->frame.value || ++left->copies != 2)
		return;
	link_waiters(fixture, left->mutex + made_offset(fixture->made, MUTEX_WAIT_LIST),
		     &left->stayer, 1, MUTEX_WAITER_LIST, MUTEX_WAITER_TASK);
	put(fixture,
	    left->leaver.record - made_offset(fixture->made, MUTEX_WAITER_LIST) +
		    made_offset(fixture->made, MUTEX_WAITER_TASK),
	    0);
}

static void test_leaver(struct lock_fixture *fixture)
{
	struct leaver_fixture left = { .fixture = fixture };
	const struct memory_watcher watcher = { .copy = on_copy, .context = &left };
	struct waiter waiters[2];
	struct lock_wait wait;

	begin(fixture);
	left.mutex = made_object(fixture->made, 64, 64);
	for (uint32_t i = 0; i < 2; i++)
		waiters[i] = make_waiter(fixture, 10 + i, MUTEX_WAITER_LIST, 0);
	left.stayer = waiters[0];
	left.leaver = waiters[1];
	link_waiters(fixture, left.mutex + made_offset(fixture->made, MUTEX_WAIT_LIST), waiters, 2,
		     MUTEX_WAITER_LIST, MUTEX_WAITER_TASK);
	left.frame =
		made_frame(fixture->made->memory, fixture->made->guest.root, left.leaver.record);
	as_read(fixture, &left.stayer, 0);
	memory_set_watcher(fixture->made->guest.memory, &watcher);
	check(lock_finder_find(&fixture->made->guest, &left.stayer.lock_task, OS_LOCK_MUTEX,
			       &wait) &&
		      wait.address == left.mutex,
	      "a former record is not taken for the mutex");
	check(left.copies > 2, "the former record was a record when it was first read");
	end(fixture);
}

static void test_long_list(struct lock_fixture *fixture)
{
	static struct waiter waiters[LOCK_FINDER_MAX_STEPS + 1];
	struct lock_wait wait;
	uint64_t mutex;

	begin(fixture);
	mutex = made_object(fixture->made, 64, 64);
	for (uint32_t i = 0; i <= LOCK_FINDER_MAX_STEPS; i++)
		waiters[i] = make_waiter(fixture, 10 + i, MUTEX_WAITER_LIST, 0);
	link_waiters(fixture, mutex + made_offset(fixture->made, MUTEX_WAIT_LIST), waiters,
		     LOCK_FINDER_MAX_STEPS + 1, MUTEX_WAITER_LIST, MUTEX_WAITER_TASK);
	check(!finds(fixture, &waiters[0], 0, OS_LOCK_MUTEX, &wait),
	      "a list beyond the limit of steps gives no mutex");
	check(finds(fixture, &waiters[1], 0, OS_LOCK_MUTEX, &wait) && wait.address == mutex,
	      "a list within the limit of steps gives the mutex");
	end(fixture);
}

static void test_rwsem(struct lock_fixture *fixture)
{
	struct waiter waiter;
	struct lock_wait wait;
	uint64_t rwsem, task;

	begin(fixture);
	rwsem = made_object(fixture->made, 64, 64);
	task = made_task(fixture->made, 5, 5, "holder", 0, 0);
	waiter = make_waiter(fixture, 10, RWSEM_WAITER_LIST, 0);
	link_waiters(fixture, rwsem + made_offset(fixture->made, RWSEM_WAIT_LIST), &waiter, 1,
		     RWSEM_WAITER_LIST, RWSEM_WAITER_TASK);
	check(finds(fixture, &waiter, 0, OS_LOCK_RWSEM, &wait) && wait.address == rwsem,
	      "an rw_semaphore is found");
	made_set(fixture->made, rwsem, RWSEM_COUNT, 3);
	made_set(fixture->made, rwsem, RWSEM_OWNER, task);
	check_owner(fixture, &wait, OS_HOLDER_EXACT, task, "an rw_semaphore has its writer");
	made_set(fixture->made, rwsem, RWSEM_OWNER, task | 1);
	check_owner(fixture, &wait, OS_HOLDER_UNKNOWN, 0,
		    "an rw_semaphore whose writer is not noted yet has no owner");
	made_set(fixture->made, rwsem, RWSEM_COUNT, 0x102);
	check_owner(fixture, &wait, OS_HOLDER_LAST, task, "an rw_semaphore has its last reader");
	made_set(fixture->made, rwsem, RWSEM_COUNT, 2);
	check_owner(fixture, &wait, OS_HOLDER_UNKNOWN, 0,
		    "an rw_semaphore whose readers have gone has no owner");
	made_set(fixture->made, rwsem, RWSEM_COUNT, 0x102);
	made_set(fixture->made, rwsem, RWSEM_OWNER, 3);
	check_owner(fixture, &wait, OS_HOLDER_UNKNOWN, 0,
		    "an rw_semaphore whose reader has no name has no owner");
	end(fixture);
}

static void test_others(struct lock_fixture *fixture)
{
	struct waiter waiter;
	struct lock_wait wait;
	uint64_t semaphore, rt_mutex, rt_waiter, task;

	begin(fixture);
	semaphore = made_object(fixture->made, 64, 64);
	waiter = make_waiter(fixture, 10, SEMAPHORE_WAITER_LIST, 0);
	link_waiters(fixture, semaphore + made_offset(fixture->made, SEMAPHORE_WAIT_LIST), &waiter,
		     1, SEMAPHORE_WAITER_LIST, SEMAPHORE_WAITER_TASK);
	check(finds(fixture, &waiter, 0, OS_LOCK_SEMAPHORE, &wait) && wait.address == semaphore,
	      "a semaphore is found");
	check_owner(fixture, &wait, OS_HOLDER_UNKNOWN, 0, "a semaphore has no owner before 6.16");
	fixture->made->guest.layout.values[SEMAPHORE_LAST_HOLDER] = 0x18;
	task = made_task(fixture->made, 6, 6, "taker", 0, 0);
	made_set(fixture->made, semaphore, SEMAPHORE_LAST_HOLDER, task);
	check_owner(fixture, &wait, OS_HOLDER_LAST, task,
		    "a semaphore has its last holder from 6.16 on");
	made_set(fixture->made, semaphore, SEMAPHORE_LAST_HOLDER, 0);
	check_owner(fixture, &wait, OS_HOLDER_UNKNOWN, 0,
		    "a semaphore that was given back has no owner");

	rt_mutex = made_object(fixture->made, 64, 64);
	rt_waiter = made_object(fixture->made, 128, 64);
	task = made_task(fixture->made, 5, 5, "holder", 0, 0);
	made_set(fixture->made, waiter.task, TASK_PI_BLOCKED_ON, rt_waiter);
	made_set(fixture->made, rt_waiter, RT_MUTEX_WAITER_LOCK, rt_mutex);
	made_set(fixture->made, rt_mutex, RT_MUTEX_OWNER, task | 1);
	check(finds(fixture, &waiter, 0, OS_LOCK_RT_MUTEX, &wait) && wait.address == rt_mutex &&
		      wait.kind == OS_LOCK_RT_MUTEX,
	      "an rt_mutex is found");
	check_owner(fixture, &wait, OS_HOLDER_EXACT, task, "an rt_mutex has its owner");
	made_set(fixture->made, waiter.task, TASK_PI_BLOCKED_ON, 0x1234);
	check(!finds(fixture, &waiter, 0, OS_LOCK_RT_MUTEX, &wait),
	      "a pi_blocked_on outside the kernel gives no rt_mutex");
	end(fixture);
}

static void test_percpu_rwsem(struct lock_fixture *fixture)
{
	struct waiter waiters[2];
	struct lock_wait wait;
	uint64_t rwsem, writer;

	begin(fixture);
	rwsem = made_object(fixture->made, 128, 64);
	writer = made_task(fixture->made, 5, 5, "writer", 0, 0);
	for (uint32_t i = 0; i < 2; i++)
		waiters[i] = make_waiter(fixture, 10 + i, WAIT_ENTRY_LIST, 0);
	link_waiters(fixture, rwsem + made_offset(fixture->made, PERCPU_RWSEM_WAIT_LIST), waiters,
		     2, WAIT_ENTRY_LIST, WAIT_ENTRY_TASK);
	for (uint32_t i = 0; i < 2; i++)
		check(finds(fixture, &waiters[i], 0, OS_LOCK_PERCPU_RWSEM, &wait) &&
			      wait.address == rwsem && !wait.space,
		      "a percpu rw_semaphore is found by waiter %u of 2", i);
	check(!finds(fixture, &waiters[0], 0, OS_LOCK_MUTEX, &wait),
	      "a waiter for a percpu rw_semaphore waits for no mutex");
	check_owner(fixture, &wait, OS_HOLDER_UNKNOWN, 0,
		    "a percpu rw_semaphore does not name the writer that has it");
	made_set(fixture->made, rwsem, PERCPU_RWSEM_WRITER, writer);
	check_owner(fixture, &wait, OS_HOLDER_EXACT, writer,
		    "a percpu rw_semaphore names the writer that waits for readers");
	put(fixture, waiters[0].record + 8, waiters[0].record);
	check(!finds(fixture, &waiters[0], 0, OS_LOCK_PERCPU_RWSEM, &wait),
	      "a record in no list gives no percpu rw_semaphore");
	end(fixture);
}

/* What a writer has on its stack while it waits for readers: the lock, or its member writer. */
static void check_writer(struct lock_fixture *fixture, struct waiter *waiter, unsigned at,
			 uint64_t word, uint64_t rwsem, const char *what)
{
	uint64_t place = waiter->stack + STACK_BYTES - LIVE_BYTES + at;
	struct lock_wait wait = { .kind = OS_LOCK_NONE };
	bool found;

	put(fixture, place, word);
	found = finds(fixture, waiter, 0, OS_LOCK_PERCPU_RWSEM, &wait);
	check(found == (rwsem != 0) && wait.address == rwsem &&
		      wait.kind == (rwsem ? OS_LOCK_PERCPU_READERS : OS_LOCK_NONE),
	      "%s", what);
	put(fixture, place, 0);
}

static void test_percpu_writer(struct lock_fixture *fixture)
{
	struct lock_wait wait = { .kind = OS_LOCK_PERCPU_READERS };
	struct waiter waiter;
	uint64_t rwsem, head, other;

	begin(fixture);
	rwsem = made_object(fixture->made, 128, 64);
	other = made_task(fixture->made, 5, 5, "other", 0, 0);
	waiter = make_waiter(fixture, 10, WAIT_ENTRY_LIST, 0);
	head = rwsem + made_offset(fixture->made, PERCPU_RWSEM_WAIT_LIST);
	link_waiters(fixture, head, NULL, 0, WAIT_ENTRY_LIST, WAIT_ENTRY_TASK);
	made_set(fixture->made, rwsem, PERCPU_RWSEM_WRITER, waiter.task);
	put(fixture, rwsem + made_offset(fixture->made, PERCPU_RWSEM_BLOCK), 1);
	check_writer(fixture, &waiter, 120, rwsem, rwsem,
		     "a writer that waits for readers is found by the lock's address");
	check_writer(fixture, &waiter, 0, rwsem + made_offset(fixture->made, PERCPU_RWSEM_WRITER),
		     rwsem,
		     "a writer that waits for readers is found by the address of member writer");
	check_writer(fixture, &waiter, LIVE_BYTES - 8, rwsem, rwsem,
		     "a writer that waits for readers is found at the end of its stack");
	check_writer(fixture, &waiter, 120, rwsem + 8, 0,
		     "an address beside the lock gives no lock");
	check_writer(fixture, &waiter, 120, 0x1234, 0,
		     "an address outside the kernel gives no lock");
	wait.address = rwsem;
	check_owner(fixture, &wait, OS_HOLDER_UNKNOWN, 0,
		    "readers of a percpu rw_semaphore have no owner");

	made_set(fixture->made, rwsem, PERCPU_RWSEM_WRITER, other);
	check_writer(fixture, &waiter, 120, rwsem, 0,
		     "a lock that another task has closed is not the writer's");
	made_set(fixture->made, rwsem, PERCPU_RWSEM_WRITER, waiter.task);
	put(fixture, rwsem + made_offset(fixture->made, PERCPU_RWSEM_BLOCK), 0);
	check_writer(fixture, &waiter, 120, rwsem, 0, "a lock that is open is not the writer's");
	put(fixture, rwsem + made_offset(fixture->made, PERCPU_RWSEM_BLOCK), 1);
	put(fixture, head + 8, rwsem);
	check_writer(fixture, &waiter, 120, rwsem, 0,
		     "an object without a list of waiters is no lock");
	put(fixture, head + 8, head);
	made_without(fixture->made, PERCPU_RWSEM_BLOCK);
	check_writer(fixture, &waiter, 120, rwsem, 0,
		     "a kernel whose percpu rw_semaphore lacks members gives no lock");
	end(fixture);
}

static void test_blocker(struct lock_fixture *fixture)
{
	struct waiter waiter;
	struct lock_wait wait;
	uint64_t lock;

	begin(fixture);
	fixture->made->guest.layout.values[TASK_BLOCKER] = 0x5c0;
	lock = made_object(fixture->made, 64, 64);
	waiter = make_waiter(fixture, 10, MUTEX_WAITER_LIST, 0);
	made_set(fixture->made, waiter.task, TASK_BLOCKER, lock | 3);
	check(finds(fixture, &waiter, 0, OS_LOCK_RWSEM, &wait) && wait.address == lock,
	      "task_struct.blocker gives the lock");
	check(!finds(fixture, &waiter, 0, OS_LOCK_MUTEX, &wait),
	      "task_struct.blocker gives no lock of another kind");
	made_set(fixture->made, waiter.task, TASK_BLOCKER, 8);
	check(!finds(fixture, &waiter, 0, OS_LOCK_MUTEX, &wait),
	      "task_struct.blocker outside the kernel gives no lock");
	end(fixture);
}

static void test_blocked_on(struct lock_fixture *fixture)
{
	struct waiter waiter;
	struct lock_wait wait;
	uint64_t lock;

	begin(fixture);
	fixture->made->guest.layout.values[TASK_BLOCKED_ON] = 0x5c8;
	lock = made_object(fixture->made, 64, 64);
	waiter = make_waiter(fixture, 10, MUTEX_WAITER_LIST, 0);
	made_set(fixture->made, waiter.task, TASK_BLOCKED_ON, lock);
	check(finds(fixture, &waiter, 0, OS_LOCK_MUTEX, &wait) && wait.address == lock,
	      "task_struct.blocked_on gives the mutex");
	check(!finds(fixture, &waiter, 0, OS_LOCK_RWSEM, &wait),
	      "task_struct.blocked_on gives no lock of another kind");
	made_set(fixture->made, waiter.task, TASK_BLOCKED_ON, UINT64_MAX);
	check(!finds(fixture, &waiter, 0, OS_LOCK_MUTEX, &wait),
	      "a marker in task_struct.blocked_on gives no mutex");
	made_set(fixture->made, waiter.task, TASK_BLOCKED_ON, waiter.stack + STACK_BYTES - 64);
	check(!finds(fixture, &waiter, 0, OS_LOCK_MUTEX, &wait),
	      "an older kernel's record in task_struct.blocked_on gives no mutex");
	end(fixture);
}

int main(void)
{
	struct lock_fixture fixture = { 0 };

	test_mutex(&fixture);
	test_changed_list(&fixture);
	test_leaver(&fixture);
	test_long_list(&fixture);
	test_rwsem(&fixture);
	test_others(&fixture);
	test_percpu_rwsem(&fixture);
	test_percpu_writer(&fixture);
	test_blocker(&fixture);
	test_blocked_on(&fixture);
	return tap_done();
}
