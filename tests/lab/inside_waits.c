/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waits and locks of a guest by the code that the resolver has for them: stacks are unwound, sites
 * found, and locks followed to their holders. Nothing here knows what the guest does.
 */
#include "config.h"

#include "inside_waits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/names.h"
#include "profile/wait_profile.h"
#include "tests/support/must.h"
#include "xtop/os/os.h"
#include "xtop/profile/wait_sites.h"
#include "xtop/symbol/image.h"
#include "xtop/symbol/symbol.h"

#define SECOND      1000000000ULL
#define PASSES      4    /* the first ones find the programs' files */
#define MAX_TURNS   4096 /* most turns of a pass */
#define MAX_UPDATES 100  /* the system is known after so many */

struct inside_waits {
	struct control *control;
	struct symbols *symbols;
	struct os *os;
	struct frames *frames;
	struct names *names;
	struct waits *waits;
	void (*put)(void *context, const char *line);
	void *context;
};

static bool inside_find_system(struct inside_waits *inside, const struct registers *regs)
{
	const struct sample_vcpu vcpu = { .size_bytes = sizeof(vcpu), .regs = *regs,
					  .state = VCPU_RUNNING };

	for (unsigned i = 0; i < MAX_UPDATES && !os_is_known(inside->os); i++)
		os_update(inside->os, &vcpu, (i + 1) * SECOND);
	return os_is_known(inside->os);
}

static void inside_make_passes(struct inside_waits *inside)
{
	for (uint64_t pass = 0; pass < PASSES; pass++) {
		uint64_t now_ns = (MAX_UPDATES + pass) * SECOND;
		bool done, more = true;

		os_poll(inside->os, now_ns);
		for (unsigned i = 0; more && i < MAX_TURNS; i++)
			waits_poll(inside->waits, now_ns, SECOND, &done, &more);
	}
}

static const char *inside_name(const struct inside_waits *inside, uint32_t frame)
{
	return frame == FRAME_NONE ? "-" : frames_get(inside->frames, frame)->name;
}

static void inside_put_rows(const struct inside_waits *inside, const struct snapshot_waits *waits)
{
	for (size_t i = 0; i < waits->n_rows; i++) {
		const struct snapshot_wait *row = &waits->rows[i];
		char states[N_OS_WAIT_STATES + 1] = "", kind[32], line[512];
		size_t n = 0;

		if (!row->now)
			continue;
		for (unsigned state = 0; state < N_OS_WAIT_STATES; state++)
			if (row->states & 1U << state)
				states[n++] = os_wait_letter((enum os_wait_state)state);
		snprintf(kind, sizeof(kind), "%s", wait_kind_names[row->kind]);
		for (char *blank = kind; (blank = strchr(blank, ' '));)
			*blank = '_';
		snprintf(line, sizeof(line), "wait %s %s %s %s %s", states, kind,
			 inside_name(inside, row->process), inside_name(inside, row->thread),
			 inside_name(inside, row->site));
		inside->put(inside->context, line);
	}
}

static const struct snapshot_lock_task *inside_find_task(const struct snapshot_waits *waits,
							 uint32_t pid)
{
	for (size_t i = 0; pid && i < waits->n_lock_tasks; i++)
		if (waits->lock_tasks[i].pid == pid)
			return &waits->lock_tasks[i];
	return NULL;
}

static void inside_put_lock(const struct inside_waits *inside, const struct snapshot_waits *waits,
			    const struct snapshot_lock_task *waiter)
{
	static const char *const kinds[N_OS_LOCK_KINDS] = {
		[OS_LOCK_NONE] = "none",         [OS_LOCK_MUTEX] = "mutex",
		[OS_LOCK_RWSEM] = "rwsem",       [OS_LOCK_PERCPU_RWSEM] = "percpu",
		[OS_LOCK_RT_MUTEX] = "rt_mutex", [OS_LOCK_SEMAPHORE] = "semaphore",
		[OS_LOCK_FUTEX] = "futex",       [OS_LOCK_FUTEX_PI] = "pi",
		[OS_LOCK_SPINLOCK] = "spinlock", [OS_LOCK_PERCPU_READERS] = "pcpu-readers",
	};
	static const char *const certainties[N_OS_HOLDERS] = {
		[OS_HOLDER_UNKNOWN] = "unknown", [OS_HOLDER_EXACT] = "exact",
		[OS_HOLDER_LAST] = "last",       [OS_HOLDER_GUESS] = "guess",
		[OS_HOLDER_NO_TASK] = "no-task",
	};
	const struct snapshot_lock *lock = &waits->locks[waiter->lock];
	const struct snapshot_lock_task *holder = inside_find_task(waits, lock->holder_pid);
	char line[512];

	snprintf(line, sizeof(line), "lock %s %s %s %s %s", inside_name(inside, waiter->thread),
		 kinds[lock->kind], certainties[lock->certainty],
		 holder ? inside_name(inside, holder->thread) : "-",
		 lock->name[0] ? lock->name : "-");
	inside->put(inside->context, line);
}

static void inside_put_snapshot(struct inside_waits *inside)
{
	struct snapshot *snapshot;

	must_or_die(waits_snapshot(inside->waits, (MAX_UPDATES + PASSES) * SECOND, &snapshot));
	if (snapshot->waits->unsupported)
		inside->put(inside->context, "no list of tasks");
	inside_put_rows(inside, snapshot->waits);
	for (size_t i = 0; i < snapshot->waits->n_lock_tasks; i++)
		if (snapshot->waits->lock_tasks[i].lock != SNAPSHOT_NO_LOCK)
			inside_put_lock(inside, snapshot->waits, &snapshot->waits->lock_tasks[i]);
	snapshot_destroy(snapshot);
}

void inside_read_waits(struct memory *memory, enum guest_type type, const struct registers *regs,
		       void (*put)(void *context, const char *line), void *context)
{
	struct inside_waits inside = { .put = put, .context = context };
	struct os_settings settings = { .memory = memory, .type = type, .at_once = true };
	struct waits_settings waits = { .n_vcpus = 1, .how = UNWIND_AUTO, .max_nodes = 65536 };

	must_or_die(control_create(&inside.control));
	must_or_die(symbols_create(&inside.symbols));
	settings.control = inside.control;
	settings.symbols = inside.symbols;
	must_or_die(os_create(&settings, &inside.os));
	must_or_die(frames_create(symbol_demangle, &inside.frames));
	must_or_die(names_create(inside.frames, &inside.names));
	waits.frames = inside.frames;
	waits.names = inside.names;
	waits.symbols = inside.symbols;
	waits.os = inside.os;
	must_or_die(waits_create(&waits, &inside.waits));
	if (inside_find_system(&inside, regs)) {
		inside_make_passes(&inside);
		inside_put_snapshot(&inside);
	} else {
		put(context, "no known system");
	}
	waits_destroy(inside.waits);
	names_destroy(inside.names);
	frames_destroy(inside.frames);
	os_destroy(inside.os);
	symbols_destroy(inside.symbols);
	control_destroy(inside.control);
}
