/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guest for tests of the profile of waiting tasks: stands in for os.c and tells what the test wants
 * of N tasks.
 */
#ifndef TESTS_PROFILE_WAITS_GUEST_H
#define TESTS_PROFILE_WAITS_GUEST_H

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
#include "xtop/profile/snapshot.h"
#include "xtop/profile/wait_sites.h"

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
/* What the guest's system tells. begin() sets it back. */
static struct {
	enum os_waits_turn answer;
	bool known, other;
	bool has_lock, holder_moved, holder_runs; /* task 1 holds a lock that task 0 waits for */
	const struct memory_root *root; /* the kernel's; NULL: not known */
	const struct space *kernel;
	struct memory *memory;
	bool renames; /* names change when a pass has seen the tasks, before it tells of locks */
	/* Made-up CPU time: it passes when a turn reads the tasks, and when a pass is over. */
	uint64_t cpu_ns, turn_cpu_ns, end_cpu_ns;
} guest;

/* Stands in for the C library's. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
	if (clock != CLOCK_THREAD_CPUTIME_ID)
		return (int)syscall(SYS_clock_gettime, clock, now);
	*now = (struct timespec){ .tv_sec = (time_t)(guest.cpu_ns / S),
				  .tv_nsec = (long)(guest.cpu_ns % S) };
	return 0;
}

/* These functions stand in for those of os.c. */

bool os_is_known(const struct os *os)
{
	(void)os;
	return guest.known;
}

bool os_is_other(const struct os *os)
{
	(void)os;
	return guest.other;
}

const struct space *os_get_kernel(const struct os *os)
{
	(void)os;
	return guest.kernel;
}

struct memory *os_get_memory(const struct os *os)
{
	(void)os;
	return guest.memory;
}

bool os_get_kernel_root(const struct os *os, struct memory_root *root)
{
	(void)os;
	if (guest.root)
		*root = *guest.root;
	return guest.root;
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
	guest.cpu_ns += guest.end_cpu_ns;
	memset(events, 0, n * sizeof(*events));
	events[0] = (struct os_events){ .known = true, .domains = 1, .names = "vbd/\033[2J" };
	return true;
}

size_t os_read_file(struct os *os, uint32_t tgid, const char *path, void *buffer, size_t size_bytes)
{
	(void)os;
	(void)tgid;
	(void)path;
	(void)buffer;
	(void)size_bytes;
	return 0;
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

static inline void tell(struct task *task, const struct os_waits_sink *sink)
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

static inline void tell_lock(const struct os_waits_sink *sink)
{
	const struct os_lock_wait wait = {
		.kind = OS_LOCK_MUTEX,
		.address = 0xffff888004a3c0d0,
		.certainty = OS_HOLDER_EXACT,
		.waiter = { .pid = 10, .address = TASK_ADDRESS + 10, .kept = tasks[0].kept },
		.holder = { .pid = 11,
			    .address = TASK_ADDRESS + 11,
			    .kept = guest.holder_runs ? NULL : tasks[1].kept,
			    .on_cpu = guest.holder_runs,
			    .has_moved = guest.holder_moved && !guest.holder_runs },
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
	guest.cpu_ns += guest.turn_cpu_ns;
	for (int i = 0; i < N; i++)
		if (tasks[i].waits)
			tell(&tasks[i], sink);
	if (guest.renames)
		waits_rename(sink->context);
	if (guest.has_lock)
		tell_lock(sink);
	return guest.answer;
}

static struct frames *frames;
static struct names *names;
static struct symbols *symbols;
static struct waits *waits;
static int system_;

static inline void begin(void)
{
	struct waits_settings settings = {
		.how = UNWIND_AUTO, .half_life_ns = 10 * S, .max_nodes = 1024, .n_vcpus = 3
	};

	memset(&guest, 0, sizeof(guest));
	guest.answer = OS_WAITS_WHOLE;
	guest.known = true;
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

static inline void end(void)
{
	for (int i = 0; i < N; i++)
		free(tasks[i].kept);
	waits_destroy(waits);
	symbols_destroy(symbols);
	names_destroy(names);
	frames_destroy(frames);
}

static inline bool poll_at(uint64_t now_ns)
{
	bool done, more;

	waits_poll(waits, now_ns, PERIOD, &done, &more);
	return done;
}

static inline struct snapshot *take(uint64_t now_ns)
{
	struct snapshot *snapshot;

	must(waits_snapshot(waits, now_ns, &snapshot));
	return snapshot;
}

#endif
