/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of locks: figures, tasks of the last whole pass, limits, and what is forgotten. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile/wait_locks.h"
#include "tests/support/tap.h"

#define S 1000000000ULL

static const struct wait_place nowhere = { .process = FRAME_NONE,
					   .thread = FRAME_NONE,
					   .site = FRAME_NONE };

static struct os_lock_wait wait_of(uint32_t pid, uint64_t address, uint32_t holder)
{
	return (struct os_lock_wait){ .kind = OS_LOCK_MUTEX,
				      .address = address,
				      .certainty = holder ? OS_HOLDER_EXACT : OS_HOLDER_UNKNOWN,
				      .waiter = { .pid = pid, .waited_ns = pid * S },
				      .holder = { .pid = holder } };
}

static void add(struct wait_locks *locks, uint32_t pid, uint64_t address, uint32_t holder,
		uint64_t now_ns)
{
	const struct os_lock_wait wait = wait_of(pid, address, holder);

	wait_locks_add(locks, &wait, &nowhere, &nowhere, now_ns, 500);
}

static struct snapshot_waits *copy_of(const struct wait_locks *locks, uint64_t now_ns)
{
	struct snapshot_waits *waits = calloc(1, sizeof(*waits));

	wait_locks_copy(locks, now_ns, waits);
	return waits;
}

static void test_pass(void)
{
	struct wait_locks *locks = wait_locks_create(10 * S);
	struct os_lock_wait wait = wait_of(3, 0x1000, 9);
	struct snapshot_waits *waits;

	strcpy(wait.name, "i_rwsem of a\033b");
	wait.is_new = true;
	wait_locks_add(locks, &wait, &nowhere, &nowhere, 100 * S, 500);
	add(locks, 4, 0x1000, 9, 100 * S);
	add(locks, 5, 0x2000, 4, 100 * S);
	waits = copy_of(locks, 100 * S);
	check(waits->n_locks == 2 && !waits->locks[0].now && !waits->n_lock_tasks,
	      "a pass that goes on is not shown");
	snapshot_waits_destroy(waits);
	wait_locks_end_pass(locks, 100 * S);
	waits = copy_of(locks, 110 * S);
	check(waits->locks[0].now == 2 && waits->locks[0].holder_pid == 9 &&
		      waits->locks[0].waits == 1 && waits->locks[0].longest_ns == 4 * S,
	      "what is known of a lock");
	check_string(waits->locks[0].name, "i_rwsem of a_b", "a lock's name is clean");
	check(fabs(waits->locks[0].live_ticks - 500) < 1e-6 && waits->locks[0].ticks == 1000,
	      "live ticks halve in a half-life: %f", waits->locks[0].live_ticks);
	check(waits->n_lock_tasks == 4, "three waiters and one holder are listed: %zu",
	      waits->n_lock_tasks);
	check(waits->lock_tasks[0].holder_pid == 9 && waits->lock_tasks[2].holder_pid == 4 &&
		      waits->lock_tasks[2].certainty == OS_HOLDER_EXACT &&
		      !waits->lock_tasks[3].holder_pid,
	      "each waiter has the holder that was seen while it waited");
	check(waits->lock_tasks[0].pid == 3 && waits->lock_tasks[1].pid == 4 &&
		      waits->lock_tasks[3].pid == 9 &&
		      waits->lock_tasks[3].lock == SNAPSHOT_NO_LOCK &&
		      waits->lock_tasks[1].lock == 0,
	      "tasks ascend by pid, and a waiting holder is listed once, as a waiter");
	snapshot_waits_destroy(waits);
	wait.is_over = true;
	wait.waiter.waited_ns = 7 * S;
	wait_locks_add(locks, &wait, &nowhere, &nowhere, 101 * S, 500);
	wait.address = 0x3000;
	wait_locks_add(locks, &wait, &nowhere, &nowhere, 101 * S, 500);
	wait_locks_end_pass(locks, 101 * S);
	waits = copy_of(locks, 101 * S);
	check(waits->n_locks == 2 && waits->locks[0].longest_ns == 7 * S &&
		      waits->locks[0].waits == 2 && !waits->locks_refused,
	      "a wait that is over counts, if its lock is known");
	check(!waits->locks[0].now && waits->locks[0].ticks == 1500 && !waits->n_lock_tasks,
	      "when nobody waits any more, the figures stay");
	snapshot_waits_destroy(waits);
	wait_locks_end(locks, &(struct lock_id){ OS_LOCK_MUTEX, 0x1000, 0 }, 8 * S);
	wait_locks_end(locks, &(struct lock_id){ OS_LOCK_RWSEM, 0x1000, 0 }, 9 * S);
	wait_locks_end(locks, &(struct lock_id){ OS_LOCK_NONE, 0x1000, 0 }, 9 * S);
	wait_locks_end(locks, &(struct lock_id){ OS_LOCK_MUTEX, 0x3000, 0 }, 9 * S);
	waits = copy_of(locks, 101 * S);
	check(waits->n_locks == 2 && waits->locks[0].longest_ns == 8 * S && waits->locks[0].waits == 2,
	      "the end of a wait may be longer than its last look");
	snapshot_waits_destroy(waits);
	wait_locks_reset(locks);
	waits = copy_of(locks, 102 * S);
	check(!waits->n_locks && !waits->locks, "after a reset nothing is left");
	snapshot_waits_destroy(waits);
	wait_locks_destroy(locks);
}

static void test_limits(void)
{
	struct wait_locks *locks = wait_locks_create(0);
	struct snapshot_waits *waits;

	for (uint32_t i = 0; i < WAIT_LOCKS_MAX_TASKS + 5; i++)
		add(locks, i + 1, 0x1000 + (uint64_t)(i % 8) * 64, 0, S);
	for (uint32_t i = 0; i < 3; i++)
		wait_locks_end_pass(locks, S);
	waits = copy_of(locks, S);
	check(waits->locks_refused == 5 && waits->n_locks == 8, "tasks are limited, and counted");
	snapshot_waits_destroy(waits);
	for (uint32_t i = 0; i < WAIT_LOCKS_MAX + 10; i++)
		add(locks, i + 1, 0x100000 + (uint64_t)i * 64, 0, 2 * S);
	waits = copy_of(locks, 2 * S);
	check(waits->n_locks == WAIT_LOCKS_MAX && waits->locks_refused == 5 + 18,
	      "locks are limited, and counted: %llu", (unsigned long long)waits->locks_refused);
	snapshot_waits_destroy(waits);
	wait_locks_end_pass(locks, 2 * S);
	add(locks, 7, 0x100000, 8, 3 * S + WAIT_LOCKS_FORGET_NS);
	wait_locks_end_pass(locks, 3 * S + WAIT_LOCKS_FORGET_NS);
	waits = copy_of(locks, 3 * S + WAIT_LOCKS_FORGET_NS);
	check(waits->n_locks == 1 && waits->locks[0].address == 0x100000 &&
		      waits->lock_tasks[0].lock == 0,
	      "locks that nobody waits for are forgotten when the table is nearly full: %zu",
	      waits->n_locks);
	snapshot_waits_destroy(waits);
	add(locks, 7, 0x100000, 8, 4 * S + WAIT_LOCKS_FORGET_NS);
	waits = copy_of(locks, 4 * S + WAIT_LOCKS_FORGET_NS);
	check(waits->n_locks == 1, "after forgetting, the remaining lock is found");
	snapshot_waits_destroy(waits);
	wait_locks_destroy(locks);
}

int main(void)
{
	test_pass();
	test_limits();
	return tap_done();
}
