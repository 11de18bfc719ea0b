/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The holders of locks, found at the end of each pass of sleepers_read(). */
#include "config.h"

#include "linux/sleepers.h"
#include "tests/linux/lock_fixture.h"
#include "tests/support/must.h"
#include "xtop/os/os_waits.h"

struct holder_fixture {
	struct lock_fixture locks;
	enum os_lock_kind wanted;    /* kind of lock that the sink reports for each stack */
	struct os_lock_wait told[8]; /* waits of the last pass */
	unsigned n_told;
	uint64_t wakes; /* a task that wakes up after all have been looked at; 0 if none */
	uint64_t leaf;  /* leaf of the tree of pids */
};

static void add(void *context, const struct os_wait *wait)
{
	struct holder_fixture *fixture = context;

	if (fixture->wakes)
		made_set(fixture->locks.made, fixture->wakes, TASK_SWITCHES, 99);
	if (!wait->vcpu)
		return;
	*wait->kept = malloc(1);
	*wait->lock = fixture->wanted;
}

static void end_wait(void *context, void *kept, uint64_t waited_ns)
{
	(void)context;
	(void)kept;
	(void)waited_ns;
}

static void lock(void *context, const struct os_lock_wait *wait)
{
	struct holder_fixture *fixture = context;

	if (fixture->n_told < sizeof(fixture->told) / sizeof(fixture->told[0]))
		fixture->told[fixture->n_told++] = *wait;
}

/* TASK, which begins to sleep, gets a place in the tree of pids. */
static uint64_t register_task(struct holder_fixture *fixture, uint64_t task, uint32_t pid)
{
	uint64_t struct_pid = made_object(fixture->locks.made, 256, 64);

	made_set_u32(fixture->locks.made, task, TASK_STATE, 2);
	made_set(fixture->locks.made, task, TASK_SWITCHES, 10);
	made_set(fixture->locks.made, struct_pid, PID_TASKS,
		 task + made_offset(fixture->locks.made, TASK_PID_LINKS));
	made_xa_slot(fixture->locks.made, fixture->leaf, pid, struct_pid);
	return struct_pid;
}

static void make_tree(struct holder_fixture *fixture)
{
	uint64_t root = made_xa_node(fixture->locks.made, 6);
	uint64_t ns = made_object(fixture->locks.made, 64, 64);

	fixture->locks.made->guest.symbols[LINUX_INIT_PID_NS] = ns;
	fixture->leaf = made_xa_node(fixture->locks.made, 0);
	made_xa_slot(fixture->locks.made, root, 0, made_xa_entry(fixture->leaf));
	put(&fixture->locks,
	    ns + made_offset(fixture->locks.made, PID_NS_IDR) +
		    made_offset(fixture->locks.made, XARRAY_HEAD),
	    made_xa_entry(root));
}

static void pass(struct holder_fixture *fixture, struct sleepers *sleepers, uint64_t time_s)
{
	const struct os_waits_sink sink = { add, end_wait, lock, fixture };

	fixture->n_told = 0;
	while (sleepers_read(sleepers, (1000000 + time_s) * 1000000000, 500000000, &sink) !=
	       OS_WAITS_WHOLE)
		;
}

/* Two tasks wait for each other's mutex; a third one waits for the first one's. */
static void test_circle(struct holder_fixture *fixture)
{
	static const struct processes_settings none = { .debug.root_fd = -1 };
	struct processes *processes;
	struct sleepers *sleepers;
	struct waiter waiters[3];
	struct tasks *tasks;
	uint64_t mutexes[2], stray;

	begin(&fixture->locks);
	make_tree(fixture);
	for (uint32_t i = 0; i < 3; i++) {
		waiters[i] = make_waiter(&fixture->locks, 10 + i, MUTEX_WAITER_LIST, 0);
		register_task(fixture, waiters[i].task, 10 + i);
	}
	for (uint32_t i = 0; i < 2; i++) {
		mutexes[i] = made_object(fixture->locks.made, 64, 64);
		made_set(fixture->locks.made, mutexes[i], MUTEX_OWNER, waiters[i].task | 1);
	}
	link_waiters(&fixture->locks,
		     mutexes[1] + made_offset(fixture->locks.made, MUTEX_WAIT_LIST), waiters, 1,
		     MUTEX_WAITER_LIST, MUTEX_WAITER_TASK);
	link_waiters(&fixture->locks,
		     mutexes[0] + made_offset(fixture->locks.made, MUTEX_WAIT_LIST), waiters + 1, 2,
		     MUTEX_WAITER_LIST, MUTEX_WAITER_TASK);
	must(tasks_create(&fixture->locks.made->guest, &tasks));
	must(processes_create(&fixture->locks.made->guest, &none, &processes));
	must(sleepers_create(&fixture->locks.made->guest, tasks, processes, &sleepers));
	fixture->wanted = OS_LOCK_MUTEX;
	pass(fixture, sleepers, 10);
	check(fixture->n_told == 3, "three tasks wait for locks: %u", fixture->n_told);
	check(fixture->told[0].waiter.pid == 10 && fixture->told[0].holder.pid == 11 &&
		      fixture->told[0].address == mutexes[1] &&
		      fixture->told[0].certainty == OS_HOLDER_EXACT && fixture->told[0].is_new,
	      "the first task waits for the second");
	check(fixture->told[1].waiter.pid == 11 && fixture->told[1].holder.pid == 10 &&
		      fixture->told[2].holder.pid == 10,
	      "the second task and the third wait for the first");
	check(fixture->told[1].holder.kept != NULL,
	      "the sink gets its data about where the holder sleeps");
	pass(fixture, sleepers, 11);
	check(fixture->n_told == 3 && !fixture->told[0].is_new &&
		      fixture->told[0].waiter.waited_ns == 1000000000,
	      "the next pass reports the same waits");

	made_set_u32(fixture->locks.made, waiters[0].task, TASK_ON_CPU, 1);
	made_set_u32(fixture->locks.made, waiters[0].task, TASK_CPU, 3);
	pass(fixture, sleepers, 12);
	check(fixture->n_told == 2 && fixture->told[0].holder.on_cpu &&
		      fixture->told[0].holder.cpu == 3 && !fixture->told[0].holder.kept,
	      "a holder that runs has its CPU");
	stray = made_task(fixture->locks.made, 40, 40, "stray", 0, 0);
	made_set(fixture->locks.made, mutexes[0], MUTEX_OWNER, stray | 1);
	pass(fixture, sleepers, 13);
	check(fixture->n_told == 2 && fixture->told[0].certainty == OS_HOLDER_NO_TASK &&
		      !fixture->told[0].holder.pid,
	      "an owner that is not in the tree of pids is no task");
	made_set(fixture->locks.made, mutexes[0], MUTEX_OWNER, 0xffffff0000000001);
	pass(fixture, sleepers, 14);
	check(fixture->told[0].certainty == OS_HOLDER_NO_TASK,
	      "an owner that cannot be read is no task");
	made_set(fixture->locks.made, mutexes[0], MUTEX_OWNER, waiters[1].task | 1);
	pass(fixture, sleepers, 15);
	check(fixture->told[0].waiter.pid == 11 &&
		      fixture->told[0].certainty == OS_HOLDER_UNKNOWN &&
		      fixture->told[1].holder.pid == 11,
	      "a task that has got its lock does not wait for itself");
	fixture->wakes = waiters[1].task;
	pass(fixture, sleepers, 16);
	fixture->wakes = 0;
	check(fixture->n_told == 2 && fixture->told[0].is_over &&
		      fixture->told[0].address == mutexes[0] && fixture->told[0].waiter.pid == 11 &&
		      !fixture->told[0].name[0] && !fixture->told[0].holder.pid &&
		      fixture->told[0].waiter.waited_ns && !fixture->told[1].is_over,
	      "a wait that was over before its holder was read has only a time");
	check(sleepers_counts(sleepers).locks_moved == 1,
	      "a wait that was over is counted as moved");
	check(fixture->told[1].waiter.pid == 12 && fixture->told[1].holder.pid == 11 &&
		      fixture->told[1].holder.kept && fixture->told[1].holder.has_moved &&
		      !fixture->told[1].holder.waited_ns,
	      "a holder that has moved on is still identified");
	fixture->wanted = OS_LOCK_NONE;
	pass(fixture, sleepers, 17);
	check(fixture->n_told == 1 && fixture->told[0].waiter.pid == 12,
	      "a wait that is over has no lock");
	check(sleepers_counts(sleepers).locks_found == 3, "each wait's lock is found once");
	sleepers_destroy(sleepers);
	processes_destroy(processes);
	tasks_destroy(tasks);
	end(&fixture->locks);
}

/* Other processes are sampled. So many are kept that PROCESSES has no room for any earlier one. */
static void forget_processes(struct holder_fixture *fixture, struct processes *processes,
			     struct tasks *tasks, uint64_t now_ns)
{
	for (uint32_t i = 0; i < PROCESSES_MAX; i++) {
		uint64_t mm = made_mm(fixture->locks.made, NULL, 0),
			 address =
				 made_task(fixture->locks.made, 1000 + i, 1000 + i, "other", mm, 0);
		const struct task *task = tasks_find(tasks, address, now_ns);

		if (!task || !processes_find_space(processes, task, now_ns))
			check(false, "process %u", i);
	}
}

/* A thread waits for a mutex of glibc so long that its process is not kept any more. */
static void test_long_futex(struct holder_fixture *fixture)
{
	static const struct processes_settings none = { .debug.root_fd = -1 };
	struct processes *processes;
	struct sleepers *sleepers;
	struct waiter waiter, holder;
	struct memory_root root;
	struct tasks *tasks;
	uint64_t mm;

	begin(&fixture->locks);
	make_tree(fixture);
	mm = made_mm(fixture->locks.made, NULL, 0);
	fixture->locks.user = made_mm_root(fixture->locks.made, mm);
	waiter = make_waiter(&fixture->locks, 10, MUTEX_WAITER_LIST, mm);
	holder = make_waiter(&fixture->locks, 11, MUTEX_WAITER_LIST, mm);
	made_set_u32(fixture->locks.made, holder.task, TASK_TGID, 10);
	register_task(fixture, waiter.task, 10);
	register_task(fixture, holder.task, 11);
	put_call(&fixture->locks, &waiter, 202, 0x80);
	put_glibc(&fixture->locks, 2, 11, 3, 0);
	must(tasks_create(&fixture->locks.made->guest, &tasks));
	must(processes_create(&fixture->locks.made->guest, &none, &processes));
	must(sleepers_create(&fixture->locks.made->guest, tasks, processes, &sleepers));
	fixture->wanted = OS_LOCK_FUTEX;
	pass(fixture, sleepers, 10);
	check(fixture->n_told == 1 && fixture->told[0].certainty == OS_HOLDER_GUESS &&
		      fixture->told[0].holder.pid == 11,
	      "a thread waits for a mutex of glibc");
	forget_processes(fixture, processes, tasks, 1000020ULL * 1000000000);
	check(!processes_get_root(processes, mm, &root),
	      "the process of a long wait is not kept any more");
	pass(fixture, sleepers, 30);
	check(fixture->n_told == 1 && fixture->told[0].certainty == OS_HOLDER_GUESS &&
		      fixture->told[0].holder.pid == 11 &&
		      fixture->told[0].waiter.waited_ns == 20000000000,
	      "a mutex of glibc names its thread although the process is not kept");
	made_set(fixture->locks.made, mm, MM_PGD, 0xffffff0000000000);
	pass(fixture, sleepers, 31);
	check(fixture->n_told == 1 && fixture->told[0].certainty == OS_HOLDER_UNKNOWN,
	      "a mutex of glibc on missing page tables has no owner");
	sleepers_destroy(sleepers);
	processes_destroy(processes);
	tasks_destroy(tasks);
	end(&fixture->locks);
}

int main(void)
{
	struct holder_fixture fixture = { 0 };

	test_circle(&fixture);
	test_long_futex(&fixture);
	return tap_done();
}
