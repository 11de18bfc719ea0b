/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The forest of locks; see locks.h.
 *
 * A task waits for at most one lock, and a lock has at most one known holder. So there is one way
 * from task to lock to holder. This way ends, or it is a circle: a deadlock, unless a holder is
 * only the last known one. Each task is drawn once, even if it is in a circle.
 */
#include "config.h"

#include "xtop/query/locks.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "xtop/base/vector.h"
#include "xtop/os/os_waits.h"

#define NO_TASK UINT32_MAX
#define LOCKS_SECOND_NS 1000000000ULL

const char *const locks_kind_names[N_OS_LOCK_KINDS] = {
	[OS_LOCK_NONE] = "-",
	[OS_LOCK_MUTEX] = "mutex",
	[OS_LOCK_RWSEM] = "rwsem",
	[OS_LOCK_PERCPU_RWSEM] = "pcpu rwsem",
	[OS_LOCK_PERCPU_READERS] = "pcpu readers",
	[OS_LOCK_RT_MUTEX] = "rt_mutex",
	[OS_LOCK_SEMAPHORE] = "semaphore",
	[OS_LOCK_FUTEX] = "futex",
	[OS_LOCK_FUTEX_PI] = "PI futex",
	[OS_LOCK_SPINLOCK] = "spinlock",
};

struct locks_pass {
	const struct snapshot_waits *waits;
	struct locks_forest forest;
	size_t capacity;
	uint32_t *holders; /* the task that holds each lock; NO_TASK: not known */
	uint8_t *marks;    /* one mark per task */
	bool failed;       /* out of memory */
};

/*
 * Marks of a task while the forest is built. ON_WAY: the search for circles is on a way through the
 * task. LEFT: an earlier way of the search led through it.
 */
enum { MARK_ON_WAY = 1, MARK_LEFT = 2, MARK_CIRCLE = 4, MARK_DRAWN = 8, MARK_HOLDS = 16 };

/* --- who holds what --------------------------------------------------------------------------- */

/* The task with PID; NO_TASK: there is none. */
static uint32_t locks_find_task(const struct snapshot_waits *waits, uint32_t pid)
{
	const struct snapshot_lock_task key = { .pid = pid }, *found;

	if (!pid)
		return NO_TASK;
	found = bsearch(&key, waits->lock_tasks, waits->n_lock_tasks, sizeof(key),
			snapshot_compare_lock_tasks);
	return found ? (uint32_t)(found - waits->lock_tasks) : NO_TASK;
}

/* The task that TASK waits for; NO_TASK: none is known. */
static uint32_t locks_next(const struct locks_pass *pass, uint32_t task)
{
	uint32_t lock = pass->waits->lock_tasks[task].lock;

	return lock < pass->waits->n_locks ? pass->holders[lock] : NO_TASK;
}

/* Unlike locks_next(), takes the holder that the newest look at any of the lock's waiters found. */
uint32_t locks_next_in_circle(const struct snapshot_waits *waits, uint32_t number)
{
	const struct snapshot_lock_task *task = &waits->lock_tasks[number];

	if (task->lock >= waits->n_locks || task->certainty == OS_HOLDER_LAST)
		return NO_TASK;
	return locks_find_task(waits, task->holder_pid);
}

static bool locks_find_holders(struct locks_pass *pass)
{
	const struct snapshot_waits *waits = pass->waits;

	pass->holders = calloc(waits->n_locks + 1, sizeof(*pass->holders));
	pass->marks = calloc(waits->n_lock_tasks + 1, sizeof(*pass->marks));
	if (!pass->holders || !pass->marks)
		return false;
	for (size_t i = 0; i < waits->n_locks; i++) {
		pass->holders[i] = waits->locks[i].now
					   ? locks_find_task(waits, waits->locks[i].holder_pid)
					   : NO_TASK;
		if (pass->holders[i] != NO_TASK)
			pass->marks[pass->holders[i]] |= MARK_HOLDS;
		pass->forest.locks += waits->locks[i].now > 0;
		pass->forest.waiters += waits->locks[i].now;
	}
	return true;
}

/* --- lines ------------------------------------------------------------------------------------ */

static void locks_put(struct locks_pass *pass, enum locks_line_kind kind, unsigned depth,
		      uint32_t lock, uint32_t task, uint32_t n)
{
	struct locks_forest *forest = &pass->forest;

	if (pass->failed || !vector_reserve(forest->lines, pass->capacity, forest->n + 1)) {
		pass->failed = true;
		return;
	}
	forest->lines[forest->n++] = (struct locks_line){ kind, depth, lock, task, n };
}

/* Puts a line for the circle that TASK is in. */
static void locks_put_circle(struct locks_pass *pass, uint32_t task)
{
	uint32_t at = task, n = 0;

	do {
		pass->marks[at] |= MARK_CIRCLE;
		at = locks_next_in_circle(pass->waits, at);
		n++;
	} while (at != task);
	pass->forest.deadlocks++;
	locks_put(pass, LOCKS_DEADLOCK, 0, pass->waits->lock_tasks[task].lock, task, n);
}

static void locks_put_circles(struct locks_pass *pass)
{
	for (uint32_t i = 0; i < pass->waits->n_lock_tasks; i++) {
		uint32_t at = i;

		while (at != NO_TASK && !(pass->marks[at] & (MARK_ON_WAY | MARK_LEFT))) {
			pass->marks[at] |= MARK_ON_WAY;
			at = locks_next_in_circle(pass->waits, at);
		}
		if (at != NO_TASK && pass->marks[at] & MARK_ON_WAY)
			locks_put_circle(pass, at);
		for (at = i; at != NO_TASK && pass->marks[at] & MARK_ON_WAY;
		     at = locks_next_in_circle(pass->waits, at)) {
			pass->marks[at] &= (uint8_t)~MARK_ON_WAY;
			pass->marks[at] |= MARK_LEFT;
		}
	}
}

static void locks_put_task(struct locks_pass *pass, uint32_t task, unsigned depth);

/* Whether TASK shares a line with others. Tasks that hold a lock have lines of their own. */
static bool locks_is_grouped(const struct locks_pass *pass, uint32_t task)
{
	return !(pass->marks[task] & MARK_HOLDS);
}

static bool locks_is_same_group(const struct snapshot_lock_task *a,
				const struct snapshot_lock_task *b)
{
	return a->lock == b->lock && a->process == b->process && a->thread == b->thread &&
	       a->site == b->site;
}

/* Puts a line for the group of waiters whose first task is TASK. */
static void locks_put_group(struct locks_pass *pass, uint32_t task, unsigned depth)
{
	const struct snapshot_lock_task *tasks = pass->waits->lock_tasks;
	uint32_t longest = task, n = 0;

	for (uint32_t i = task; i < pass->waits->n_lock_tasks; i++) {
		if (pass->marks[i] & MARK_DRAWN || !locks_is_grouped(pass, i) ||
		    !locks_is_same_group(&tasks[i], &tasks[task]))
			continue;
		pass->marks[i] |= MARK_DRAWN;
		n += 1 + tasks[i].others;
		if (tasks[i].waited_ns > tasks[longest].waited_ns)
			longest = i;
	}
	locks_put(pass, LOCKS_WAITERS, depth, tasks[task].lock, longest, n);
}

static void locks_put_lock(struct locks_pass *pass, uint32_t lock, unsigned depth)
{
	const struct snapshot_waits *waits = pass->waits;

	locks_put(pass, LOCKS_LOCK, depth, lock, NO_TASK, 1);
	for (uint32_t i = 0; i < waits->n_lock_tasks; i++) {
		if (waits->lock_tasks[i].lock != lock || pass->marks[i] & MARK_DRAWN)
			continue;
		if (locks_is_grouped(pass, i))
			locks_put_group(pass, i, depth + 1);
		else
			locks_put_task(pass, i, depth + 1);
	}
}

static void locks_put_task(struct locks_pass *pass, uint32_t task, unsigned depth)
{
	pass->marks[task] |= MARK_DRAWN;
	locks_put(pass, LOCKS_TASK, depth, pass->waits->lock_tasks[task].lock, task, 1);
	if (depth >= LOCKS_MAX_DEPTH)
		return;
	for (uint32_t i = 0; i < pass->waits->n_locks; i++)
		if (pass->holders[i] == task)
			locks_put_lock(pass, i, depth + 1);
}

/* --- the forest ------------------------------------------------------------------------------- */

struct locks_root {
	uint32_t task, lock; /* either TASK is NO_TASK, or LOCK is SNAPSHOT_NO_LOCK */
	uint32_t waiters;    /* tasks that wait for the lock, or for the locks of the task */
	uint64_t address;    /* the lock's; sorts locks in the same way each time */
};

/* Most waiters first. */
static int locks_compare_roots(const void *pointer_a, const void *pointer_b)
{
	const struct locks_root *a = pointer_a, *b = pointer_b;

	if (a->waiters != b->waiters)
		return a->waiters < b->waiters ? 1 : -1;
	if (a->task != b->task)
		return a->task < b->task ? -1 : 1;
	return (a->address > b->address) - (a->address < b->address);
}

/*
 * Whether a tree may begin with TASK. In a circle each task waits, so each of them may be the root.
 */
static bool locks_is_root(const struct locks_pass *pass, uint32_t task)
{
	return pass->marks[task] & MARK_HOLDS &&
	       (locks_next(pass, task) == NO_TASK || pass->marks[task] & MARK_CIRCLE);
}

static size_t locks_find_roots(const struct locks_pass *pass, struct locks_root *roots)
{
	const struct snapshot_waits *waits = pass->waits;
	size_t n = 0;

	for (uint32_t i = 0; i < waits->n_lock_tasks; i++) {
		if (!locks_is_root(pass, i) ||
		    (waits->lock_tasks[i].lock != SNAPSHOT_NO_LOCK &&
		     !(pass->marks[i] & MARK_CIRCLE)))
			continue; /* this task is drawn below the lock that it waits for */
		roots[n] = (struct locks_root){ .task = i, .lock = SNAPSHOT_NO_LOCK };
		for (uint32_t lock = 0; lock < waits->n_locks; lock++)
			if (pass->holders[lock] == i)
				roots[n].waiters += waits->locks[lock].now;
		n++;
	}
	for (uint32_t i = 0; i < waits->n_locks; i++)
		if (waits->locks[i].now && pass->holders[i] == NO_TASK)
			roots[n++] = (struct locks_root){ NO_TASK, i, waits->locks[i].now,
							  waits->locks[i].address };
	return n;
}

static void locks_put_forest(struct locks_pass *pass)
{
	const struct snapshot_waits *waits = pass->waits;
	struct locks_root *roots =
		calloc(waits->n_lock_tasks + waits->n_locks + 1, sizeof(*roots));
	size_t n;

	if (!roots) {
		pass->failed = true;
		return;
	}
	n = locks_find_roots(pass, roots);
	qsort(roots, n, sizeof(*roots), locks_compare_roots);
	for (size_t i = 0; i < n; i++) {
		if (roots[i].task == NO_TASK)
			locks_put_lock(pass, roots[i].lock, 0);
		else if (!(pass->marks[roots[i].task] & MARK_DRAWN))
			locks_put_task(pass, roots[i].task, 0);
	}
	/* The rest: holders in a circle with a last known reader, or too deep in the forest. */
	for (uint32_t i = 0; i < waits->n_lock_tasks; i++)
		if (!(pass->marks[i] & MARK_DRAWN) && !locks_is_grouped(pass, i))
			locks_put_task(pass, i, 0);
	free(roots);
}

struct xtop_error *locks_build(const struct snapshot *snapshot, struct locks_forest *forest)
{
	struct locks_pass pass = { .waits = snapshot->waits };

	*forest = pass.forest;
	if (!pass.waits)
		return NULL;
	pass.failed = !locks_find_holders(&pass);
	if (!pass.failed)
		locks_put_circles(&pass);
	if (!pass.failed)
		locks_put_forest(&pass);
	free(pass.holders);
	free(pass.marks);
	*forest = pass.forest;
	if (!pass.failed)
		return NULL;
	locks_deinit(forest);
	return error_create("no memory for the forest of locks");
}

void locks_deinit(struct locks_forest *forest)
{
	free(forest->lines);
	*forest = (struct locks_forest){ 0 };
}

double locks_mean(const struct snapshot *snapshot, const struct locks_line *line, bool totals)
{
	const struct snapshot_waits *waits = snapshot->waits;
	const struct snapshot_lock *lock = &waits->locks[line->lock];
	double span = totals ? waits->span_ticks : waits->span_live;

	return span > 0 ? (totals ? lock->ticks : lock->live_ticks) / span : 0;
}

/* --- texts ------------------------------------------------------------------------------------ */

struct locks_text {
	char *text;
	size_t n;
};

__attribute__((format(printf, 2, 3))) static void locks_print(struct locks_text *text,
							      const char *format, ...)
{
	va_list arguments;
	int n;

	va_start(arguments, format);
	n = vsnprintf(text->text + text->n, LOCKS_TEXT_BYTES - text->n, format, arguments);
	va_end(arguments);
	if (n > 0)
		text->n += (size_t)n;
	if (text->n >= LOCKS_TEXT_BYTES)
		text->n = LOCKS_TEXT_BYTES - 1;
}

static void locks_print_lock(struct locks_text *text, const struct snapshot_lock *lock)
{
	const char *kind = locks_kind_names[lock->kind < N_OS_LOCK_KINDS ? lock->kind : 0];

	if (lock->name[0])
		locks_print(text, "%s %s", kind, lock->name);
	else
		locks_print(text, "%s 0x%" PRIx64, kind, lock->address);
}

static const char *locks_frame_name(const struct snapshot *snapshot, uint32_t frame)
{
	return frame == FRAME_NONE ? "" : frames_get(snapshot->frames, frame)->name;
}

/* "httpd: worker 4711" */
static void locks_print_task(struct locks_text *text, const struct snapshot *snapshot,
			     const struct snapshot_lock_task *task)
{
	const char *process = locks_frame_name(snapshot, task->process),
		   *thread = locks_frame_name(snapshot, task->thread);

	locks_print(text, "%.40s%s%.40s%s%" PRIu32, process, *thread ? ": " : "", thread,
		    *process ? " " : "task ", task->pid);
}

static const char *locks_holder_note(const struct snapshot_lock *lock)
{
	switch ((enum os_holder)lock->certainty) {
	case OS_HOLDER_EXACT:
		return "";
	case OS_HOLDER_LAST:
		return lock->kind == OS_LOCK_SEMAPHORE ? " (the last known holder)"
						       : " (the last known reader)";
	case OS_HOLDER_GUESS:
		return " (a guess)";
	case OS_HOLDER_NO_TASK:
		return ": held, but not by a task";
	case OS_HOLDER_UNKNOWN:
		break;
	}
	return ": the holder is not known";
}

void locks_name(const struct snapshot *snapshot, const struct locks_line *line,
		char buffer[LOCKS_TEXT_BYTES])
{
	const struct snapshot_lock *lock = &snapshot->waits->locks[line->lock];
	struct locks_text text = { buffer, 0 };

	locks_print_lock(&text, lock);
	locks_print(&text, "%s", locks_holder_note(lock));
}

/* "a 12 waits for b 13 (mutex x); b 13 waits for a 12 (futex y, a guess)" */
static void locks_print_circle(struct locks_text *text, const struct snapshot *snapshot,
			       const struct locks_line *line)
{
	const struct snapshot_waits *waits = snapshot->waits;
	uint32_t at = line->task;

	for (uint32_t i = 0; i < line->n && text->n < LOCKS_TEXT_BYTES - 1; i++) {
		const struct snapshot_lock_task *task = &waits->lock_tasks[at];
		uint32_t next = locks_next_in_circle(waits, at);

		if (next == NO_TASK)
			return;
		locks_print(text, "%s", i ? "; " : "");
		locks_print_task(text, snapshot, task);
		locks_print(text, " waits for ");
		locks_print_task(text, snapshot, &waits->lock_tasks[next]);
		locks_print(text, " (");
		locks_print_lock(text, &waits->locks[task->lock]);
		locks_print(text, "%s)", task->certainty == OS_HOLDER_GUESS ? ", a guess" : "");
		at = next;
	}
}

static const char *locks_state_name(uint8_t state)
{
	switch ((enum os_wait_state)state) {
	case OS_WAIT_RUNNABLE:
		return "waits for a CPU";
	case OS_WAIT_STOPPED:
		return "is stopped";
	case OS_WAIT_SLEEPING:
	case OS_WAIT_BLOCKED:
	case OS_WAIT_IDLE:
		break;
	}
	return "sleeps";
}

/* What the task does: "runs on vCPU 2", "sleeps in do_nanosleep for 3.1 s". */
static void locks_print_state(struct locks_text *text, const struct snapshot *snapshot,
			      const struct snapshot_lock_task *task)
{
	if (task->on_cpu)
		locks_print(text, task->lock == SNAPSHOT_NO_LOCK ? " runs" : " spins");
	if (task->on_cpu && task->cpu < GUEST_MAX_VCPUS)
		locks_print(text, " on vCPU %" PRIu32, task->cpu);
	if (!task->on_cpu)
		locks_print(text, " %s", locks_state_name(task->state));
	if (task->site != FRAME_NONE)
		locks_print(text, " in %.120s", locks_frame_name(snapshot, task->site));
	if (!task->on_cpu && task->waited_ns >= LOCKS_SECOND_NS)
		locks_print(text, " for %.1f s", (double)task->waited_ns / LOCKS_SECOND_NS);
	else if (!task->on_cpu && task->waited_ns)
		locks_print(text, " for %.0f ms",
			    (double)task->waited_ns * 1e3 / LOCKS_SECOND_NS);
}

void locks_describe(const struct snapshot *snapshot, const struct locks_line *line,
		    char buffer[LOCKS_TEXT_BYTES])
{
	struct locks_text text = { buffer, 0 };
	const struct snapshot_lock_task *task;

	buffer[0] = '\0';
	if (line->kind == LOCKS_DEADLOCK)
		locks_print_circle(&text, snapshot, line);
	if (line->kind == LOCKS_DEADLOCK || line->kind == LOCKS_LOCK)
		return;
	task = &snapshot->waits->lock_tasks[line->task];
	if (line->n > 1)
		locks_print(&text, "%" PRIu32 " x ", line->n);
	locks_print_task(&text, snapshot, task);
	locks_print_state(&text, snapshot, task);
}
