/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tasks that wait become a profile; see wait_profile.h.
 *
 *   os_read_waits() ─► a task with its stack ─► frames, kept with the task ─┬► profile_add()
 *                      a task that has not moved ─► the frames that were kept ┘► its row
 *
 * Weights of nodes are time: they give mean numbers of tasks, and shares. Rows (wait_rows.h) have
 * what weights do not tell. A wait without a row is in the profile all the same.
 *
 * Time. A pass begins a period after the begin of the last one. Each look at a task represents the
 * time until the next look, and adds it to a node; each pass adds it once to `span`. So the mean
 * number of tasks at a node is its weight divided by `span`, live or since start, however late a
 * pass was. All looks of a pass have the time of its beginning, however long it takes: live weights
 * and the span then decay alike. A snapshot's weights are as of that time, too.
 */
#include "config.h"

#include "profile/wait_profile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/decay.h"
#include "profile/vcpu_wakes.h"
#include "profile/wait_locks.h"
#include "profile/wait_rows.h"
#include "xtop/base/clock.h"
#include "xtop/profile/wait_sites.h"

#define WAITS_RUN_NS 1000000000LL /* how long a sampled task counts as running */

/* What is kept with a task that waits. */
struct wait_record {
	uint32_t row; /* number of the wait's row; WAIT_ROWS_NONE: there was no room for a row */
	uint32_t n;   /* number of frames */
	uint32_t generation; /* waits->generation when ROW and FRAMES were right */
	struct lock_id lock; /* the lock that the task waited for last; OS_LOCK_NONE: none */
	uint32_t frames[];   /* outermost first */
};

/* The last sample of a vCPU: whether the vCPU waits for a spinlock or may hold one. */
struct spinner {
	uint64_t time_ns; /* time of the sample, equal for all vCPUs of one stop; 0: none yet */
	bool waits;       /* the vCPU waits for a spinlock: is halted, or spins */
	bool woken;       /* the vCPU was halted, and has been woken since */
	bool in_kernel;   /* the vCPU ran kernel code: it may hold a spinlock unless it waits */
	uint32_t pid;     /* the running task's pid; 0: not known */
	uint64_t task;    /* address of the running task's task_struct; 0: not known */
	struct wait_place place;
};

struct waits {
	struct waits_settings settings;
	struct profile *profile;
	struct fold fold;
	struct wait_rows *rows;
	struct wait_locks *locks;
	struct {
		uint64_t task, time_ns;
		struct wait_place place;
	} runs[GUEST_MAX_VCPUS];                  /* the task in the last sample of each vCPU */
	struct spinner spinners[GUEST_MAX_VCPUS]; /* indexed by vCPU */
	struct vcpu_wakes wakes;
	uint8_t *classes;    /* FRAMES_MAX bytes, one per frame; few of their pages are touched */
	uint32_t generation; /* changes when rows or frames that were kept are no longer right */
	uint32_t runnable;   /* the frame of WAIT_RUNNABLE_MARK */
	uint64_t next_ns;    /* time when the next pass is due */
	bool has_more_turns; /* more turns of the pass are due in this period */
	bool asked;          /* a system was asked for its list of tasks, or there is none */
	bool supported;      /* the system has such a list */
	bool in_pass;        /* the pass has begun, and is not whole yet */
	uint64_t now_ns;          /* time of the current turn */
	uint64_t span_ns_of_pass; /* the time that a look of this pass represents */
	uint64_t pass_ns;         /* start of this pass, or of the last one; 0: none yet */
	uint64_t adds, last_adds; /* tasks seen in this pass, and in the last whole pass */
	uint64_t cpu_ns;          /* CPU time of all turns */
	uint64_t pass_cpu_ns;     /* CPU time of the turns in this period */
	/* The time that all passes represent, in ticks: live as of LIVE_NS, and since start. */
	double span_live, span_ticks;
	uint64_t live_ns;
};

/* --- creation --------------------------------------------------------------------------------- */

struct xtop_error *waits_create(const struct waits_settings *settings, struct waits **waitsp)
{
	struct waits *waits = calloc(1, sizeof(*waits));
	struct xtop_error *error = NULL;

	if (waits) {
		waits->rows = wait_rows_create();
		waits->classes = calloc(FRAMES_MAX, sizeof(*waits->classes));
		waits->locks = wait_locks_create(settings->half_life_ns);
	}
	if (!waits || !waits->rows || !waits->classes || !waits->locks)
		error = error_create("out of memory");
	else
		error = profile_create(settings->max_nodes, settings->half_life_ns,
				       settings->frames, &waits->profile);
	if (error) {
		waits_destroy(waits);
		return error;
	}
	waits->settings = *settings;
	waits->fold.settings = (struct fold_settings){
		.frames = settings->frames,
		.names = settings->names,
		.runtimes = settings->runtimes,
		.profile = waits->profile,
		.symbols = settings->symbols,
		.os = settings->os,
		.how = settings->how,
	};
	waits->runnable =
		frames_intern(settings->frames, FRAME_KIND_MARK, WAIT_RUNNABLE_MARK, NULL, 0);
	*waitsp = waits;
	return NULL;
}

void waits_destroy(struct waits *waits)
{
	if (!waits)
		return;
	profile_destroy(waits->profile);
	wait_locks_destroy(waits->locks);
	wait_rows_destroy(waits->rows);
	free(waits->classes);
	free(waits);
}

void waits_reset(struct waits *waits)
{
	profile_reset(waits->profile);
	fold_reset(&waits->fold);
	wait_rows_reset(waits->rows);
	wait_locks_reset(waits->locks);
	waits->generation++;
	waits->span_live = waits->span_ticks = 0;
	waits->adds = waits->last_adds = 0;
}

void waits_rename(struct waits *waits)
{
	profile_rename(waits->profile, names_find_better, waits->settings.names);
	wait_rows_rename(waits->rows, waits->settings.names);
	waits->generation++;
}

/* --- rows ------------------------------------------------------------------------------------- */

/* The row of a stack of N frames, outermost first; added if new. */
static uint32_t waits_find_or_add_row(struct waits *waits, const uint32_t *stack, size_t n)
{
	const struct frames *frames = waits->settings.frames;
	const struct wait_classes classes = { waits->classes, FRAMES_MAX };
	struct wait_site site = wait_site_find(frames, &classes, stack, n);
	struct snapshot_wait key = { .process = FRAME_NONE,
				     .thread = FRAME_NONE,
				     .site = site.frame,
				     .kind = (uint8_t)site.kind };

	if (n > 0 && frames_is_process(frames, stack[0]))
		key.process = stack[0];
	if (n > 1 && frames_is_thread(frames, stack[1]))
		key.thread = stack[1];
	return wait_rows_find_or_add(waits->rows, &key);
}

/* --- what the system tells -------------------------------------------------------------------- */

static double waits_ticks(uint64_t weight_ns)
{
	return floor((double)weight_ns * SAMPLE_WEIGHT_TICK / WAITS_TICK_NS) / SAMPLE_WEIGHT_TICK;
}

/* Names the stack of a new wait and keeps the frames with the wait. NULL: out of memory. */
static struct wait_record *waits_keep(struct waits *waits, const struct os_wait *wait, double ticks)
{
	struct fold *fold = &waits->fold;
	size_t n = fold_find_frames(fold, wait->task, wait->vcpu, ticks);
	struct wait_record *record;

	if (wait->state == OS_WAIT_RUNNABLE && n < SNAPSHOT_MAX_DEPTH)
		fold->frames[n++] = waits->runnable;
	record = malloc(sizeof(*record) + n * sizeof(record->frames[0]));
	if (!record)
		return NULL;
	record->n = (uint32_t)n;
	memcpy(record->frames, fold->frames, n * sizeof(record->frames[0]));
	record->row = waits_find_or_add_row(waits, record->frames, n);
	record->generation = waits->generation;
	record->lock = (struct lock_id){ .kind = OS_LOCK_NONE };
	*wait->kept = record;
	return record;
}

/* Brings RECORD up to date after names or rows have changed. */
static void waits_renew(struct waits *waits, struct wait_record *record)
{
	if (record->generation == waits->generation)
		return;
	for (uint32_t i = 0; i < record->n; i++)
		record->frames[i] = names_find_better(waits->settings.names, record->frames[i]);
	record->row = waits_find_or_add_row(waits, record->frames, record->n);
	record->generation = waits->generation;
}

/* The lock that a wait of KIND, an enum wait_kind, may be for. */
static enum os_lock_kind waits_lock_kind(uint8_t kind)
{
	switch (kind) {
	case WAIT_MUTEX:
		return OS_LOCK_MUTEX;
	case WAIT_RWSEM:
		return OS_LOCK_RWSEM;
	case WAIT_PERCPU_RWSEM:
		return OS_LOCK_PERCPU_RWSEM;
	case WAIT_RT_MUTEX:
		return OS_LOCK_RT_MUTEX;
	case WAIT_SEMAPHORE:
		return OS_LOCK_SEMAPHORE;
	case WAIT_FUTEX:
		return OS_LOCK_FUTEX;
	default:
		return OS_LOCK_NONE;
	}
}

static void waits_add(void *context, const struct os_wait *wait)
{
	struct waits *waits = context;
	struct resolver_counts *counts = &waits->fold.counts;
	struct wait_record *record = *wait->kept;
	double ticks = waits_ticks(wait->weight_ns);

	waits->span_ns_of_pass = wait->weight_ns;
	waits->adds++;
	if (wait->vcpu)
		record = waits_keep(waits, wait, ticks);
	if (!record)
		return;
	if (wait->vcpu && record->row != WAIT_ROWS_NONE)
		*wait->lock = waits_lock_kind(wait_rows_get(waits->rows, record->row)->kind);
	waits_renew(waits, record);
	counts->samples++;
	counts->weight += ticks;
	profile_add(waits->profile, record->frames, record->n, waits->pass_ns, 1, ticks);
	if (record->row != WAIT_ROWS_NONE)
		wait_rows_update(waits->rows, record->row, wait->state, wait->waited_ns,
				 waits->pass_ns);
}

/* Called when a wait has ended; the pass that last saw the task may be older. */
static void waits_end(void *context, void *pointer, uint64_t waited_ns)
{
	struct wait_record *record = pointer;
	struct waits *waits = context;

	waits_renew(waits, record);
	if (record->row != WAIT_ROWS_NONE)
		wait_rows_end(waits->rows, record->row, waited_ns);
	wait_locks_end(waits->locks, &record->lock, waited_ns);
}

static const struct wait_place waits_nowhere = { .process = FRAME_NONE,
						 .thread = FRAME_NONE,
						 .site = FRAME_NONE };

/* Puts the innermost functions of the N frames STACK, outermost first, into PLACE. */
static void waits_put_stack(const struct frames *frames, const uint32_t *stack, size_t n,
			    struct wait_place *place)
{
	for (size_t at = n; at-- > 0 && place->n < SNAPSHOT_LOCK_FRAMES;)
		if (frame_is_function(frames_get(frames, stack[at])))
			place->frames[place->n++] = stack[at];
}

/* Where a task waits. RECORD belongs to the task; NULL: there is none. */
static struct wait_place waits_place(struct waits *waits, struct wait_record *record)
{
	struct wait_place place = waits_nowhere;
	const struct snapshot_wait *wait;

	if (!record)
		return place;
	waits_renew(waits, record);
	if (record->row == WAIT_ROWS_NONE)
		return place;
	wait = wait_rows_get(waits->rows, record->row);
	place.process = wait->process;
	place.thread = wait->thread;
	place.site = wait->site;
	waits_put_stack(waits->settings.frames, record->frames, record->n, &place);
	return place;
}

/* Where the vCPU is that FOLD added last: process and thread, and SITE if it is a function. */
static struct wait_place waits_fold_place(const struct fold *fold, uint32_t site)
{
	const struct frames *frames = fold->settings.frames;
	struct wait_place place = waits_nowhere;
	size_t n = fold->n_frames;

	if (n > 0 && frames_is_process(frames, fold->frames[0]))
		place.process = fold->frames[0];
	if (n > 1 && place.process != FRAME_NONE && frames_is_thread(frames, fold->frames[1]))
		place.thread = fold->frames[1];
	if (site != FRAME_NONE && frame_is_function(frames_get(frames, site)))
		place.site = site;
	waits_put_stack(frames, fold->frames, n, &place);
	return place;
}

static void waits_update_spinner(struct waits *waits, const struct fold *fold,
				 const struct sample_vcpu *vcpu)
{
	const struct wait_classes classes = { waits->classes, FRAMES_MAX };
	struct wait_site site =
		wait_site_find(fold->settings.frames, &classes, fold->frames, fold->n_frames);
	enum wait_spinning spins = WAIT_SPINS_NOT;
	bool halted = vcpu->state == VCPU_LOCK_WAIT;

	if (!vcpu->user)
		spins = wait_find_spinning(fold->settings.frames, fold->frames, fold->n_frames);
	waits->spinners[vcpu->vcpu] = (struct spinner){
		.time_ns = fold->time_ns,
		.waits = fold->n_frames && (halted || spins != WAIT_SPINS_NOT),
		.woken = !halted && spins == WAIT_SPUN,
		.in_kernel = fold->n_frames && !vcpu->user,
		.pid = fold->task.pid,
		.task = vcpu->task,
		.place = waits_fold_place(fold, site.frame),
	};
}

void waits_update_vcpu(struct waits *waits, const struct fold *fold, const struct sample_vcpu *vcpu)
{
	uint32_t last = fold->vcpus[vcpu->vcpu].last_frame;

	waits_update_spinner(waits, fold, vcpu);
	if (vcpu->state != VCPU_RUNNING || !vcpu->task || !fold->n_frames)
		return;
	waits->runs[vcpu->vcpu].task = vcpu->task;
	waits->runs[vcpu->vcpu].time_ns = fold->time_ns;
	waits->runs[vcpu->vcpu].place = waits_fold_place(fold, last);
}

/* Where the holder of a lock runs or waits. */
static struct wait_place waits_holder_place(struct waits *waits, const struct os_lock_task *holder)
{
	struct wait_place place = waits_place(waits, holder->kept);

	for (unsigned i = 0; holder->on_cpu && i < GUEST_MAX_VCPUS; i++)
		if (waits->runs[i].task == holder->address && waits->runs[i].task &&
		    (int64_t)(waits->now_ns - waits->runs[i].time_ns) < WAITS_RUN_NS)
			return waits->runs[i].place;
	if (holder->has_moved) {
		place.site = FRAME_NONE;
		place.n = 0;
	}
	return place;
}

static void waits_lock(void *context, const struct os_lock_wait *wait)
{
	struct waits *waits = context;
	struct wait_record *record = wait->waiter.kept;
	struct wait_place waiter = waits_place(waits, record),
			  holder = waits_holder_place(waits, &wait->holder);

	if (record)
		record->lock = (struct lock_id){ wait->kind, wait->address, wait->space };
	wait_locks_add(waits->locks, wait, &waiter, &holder, waits->pass_ns,
		       waits_ticks(waits->span_ns_of_pass));
}

/* --- spinlocks -------------------------------------------------------------------------------- */

static bool waits_is_inside(const struct spinner *spinner, uint32_t function)
{
	for (uint32_t i = 0; i < spinner->place.n; i++)
		if (spinner->place.frames[i] == function)
			return true;
	return false;
}

/*
 * No kernel records who holds a spinlock. The holder ran kernel code on another vCPU when the guest
 * was stopped. If exactly one other vCPU was in SITE, the function that takes the spinlock, the
 * guess is that vCPU's task. If none was in SITE, but exactly one other vCPU was in the kernel, the
 * guess is its task. But if a waiter has been woken, the holder has released the spinlock: since
 * then only a task in SITE may have taken it. NULL: nobody, or one of several.
 */
static const struct spinner *waits_guess_holder(const struct waits *waits, uint64_t time_ns,
						uint32_t site)
{
	const struct spinner *inside = NULL, *outside = NULL;
	unsigned n_inside = 0, n_outside = 0;
	bool woken = false;

	for (unsigned i = 0; i < GUEST_MAX_VCPUS; i++) {
		const struct spinner *spinner = &waits->spinners[i];

		if (spinner->time_ns != time_ns)
			continue;
		woken |= spinner->woken;
		if (spinner->waits || !spinner->in_kernel)
			continue;
		if (waits_is_inside(spinner, site)) {
			inside = spinner;
			n_inside++;
		} else {
			outside = spinner;
			n_outside++;
		}
	}
	if (n_inside)
		return n_inside == 1 ? inside : NULL;
	return n_outside == 1 && !woken ? outside : NULL;
}

/*
 * Adds a vCPU that waits for a spinlock as a waiting task. Spinlocks of one function count as one:
 * only the function that takes a spinlock is known.
 */
static void waits_add_spinner(struct waits *waits, const struct spinner *spinner,
			      const struct spinner *holder)
{
	struct os_lock_wait wait = {
		.kind = OS_LOCK_SPINLOCK,
		.address = spinner->place.site,
		.is_new = true,
		.waiter = { .pid = spinner->pid,
			    .on_cpu = true,
			    .cpu = (uint32_t)(spinner - waits->spinners),
			    .address = spinner->task },
	};

	snprintf(wait.name, sizeof(wait.name), "taken in %.48s",
		 frames_get(waits->settings.frames, spinner->place.site)->raw_name);
	if (holder && holder->pid) {
		wait.certainty = OS_HOLDER_GUESS;
		wait.holder = (struct os_lock_task){ .pid = holder->pid,
						     .on_cpu = true,
						     .cpu = (uint32_t)(holder - waits->spinners),
						     .address = holder->task };
	}
	wait_locks_add(waits->locks, &wait, &spinner->place,
		       holder ? &holder->place : &waits_nowhere, waits->pass_ns,
		       waits_ticks(waits->span_ns_of_pass));
}

/* Adds the vCPUs that waited for spinlocks at the last stop, if it is not older than this pass. */
static void waits_add_spinners(struct waits *waits)
{
	const struct spinner *holder = NULL;
	uint32_t site = FRAME_NONE; /* the function that takes the spinlock HOLDER may have */
	uint64_t time_ns = 0;

	for (unsigned i = 0; i < GUEST_MAX_VCPUS; i++)
		if (waits->spinners[i].time_ns > time_ns)
			time_ns = waits->spinners[i].time_ns;
	if (!time_ns || (int64_t)(waits->now_ns - time_ns) > (int64_t)waits->span_ns_of_pass)
		return;
	for (unsigned i = 0; i < GUEST_MAX_VCPUS; i++) {
		const struct spinner *spinner = &waits->spinners[i];

		if (spinner->time_ns != time_ns || !spinner->waits || !spinner->pid ||
		    spinner->place.site == FRAME_NONE)
			continue;
		if (spinner->place.site != site) {
			site = spinner->place.site;
			holder = waits_guess_holder(waits, time_ns, site);
		}
		waits_add_spinner(waits, spinner, holder);
	}
}

/* --- passes ----------------------------------------------------------------------------------- */

static double waits_decay(const struct waits *waits)
{
	return decay_between(waits->live_ns, waits->pass_ns, waits->settings.half_life_ns);
}

void waits_get_wakes(const struct waits *waits, struct snapshot *snapshot)
{
	vcpu_wakes_get(&waits->wakes, snapshot);
}

static void waits_end_pass(struct waits *waits)
{
	double ticks = waits_ticks(waits->span_ns_of_pass);

	waits_add_spinners(waits);
	vcpu_wakes_read(&waits->wakes, waits->settings.os, waits->settings.n_vcpus, waits->now_ns);
	wait_locks_end_pass(waits->locks, waits->pass_ns);
	if (wait_rows_end_pass(waits->rows, waits->pass_ns))
		waits->generation++;
	waits->span_live = waits->span_live * waits_decay(waits) + ticks;
	waits->span_ticks += ticks;
	waits->live_ns = waits->pass_ns;
	waits->last_adds = waits->adds;
	waits->adds = 0;
}

/* One turn of a pass. False: the pass is whole, or the system has no list of tasks. */
static bool waits_turn(struct waits *waits, uint64_t now_ns, uint64_t period_ns)
{
	const struct os_waits_sink sink = { waits_add, waits_end, waits_lock, waits };
	uint64_t cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	enum os_waits_turn turn;

	waits->now_ns = waits->fold.time_ns = now_ns;
	if (!waits->in_pass)
		waits->pass_ns = now_ns;
	turn = os_read_waits(waits->settings.os, now_ns, period_ns, &sink);
	waits->in_pass = turn == OS_WAITS_MORE;
	waits->asked = true;
	waits->supported = turn != OS_WAITS_NONE;
	if (turn == OS_WAITS_WHOLE)
		waits_end_pass(waits);
	cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	waits->cpu_ns += cpu_ns;
	waits->pass_cpu_ns += cpu_ns;
	return turn == OS_WAITS_MORE;
}

/* The CPU time that a pass may use in a period. The rest of the period is for samples. */
static uint64_t waits_most_cpu_ns(uint64_t period_ns)
{
	return period_ns / 2 < WAITS_PASS_NS ? period_ns / 2 : WAITS_PASS_NS;
}

/*
 * A pass that has used its CPU time goes on in the next period. Then a look represents a longer
 * time.
 */
void waits_poll(struct waits *waits, uint64_t now_ns, uint64_t period_ns, bool *done, bool *more)
{
	*done = *more = false;
	if (!os_is_known(waits->settings.os)) {
		waits->asked = os_is_other(waits->settings.os);
		waits->supported = waits->in_pass = false;
		return;
	}
	if (!waits->has_more_turns && now_ns < waits->next_ns)
		return;
	if (!waits->has_more_turns) {
		waits->next_ns += period_ns;
		if (waits->next_ns <= now_ns)
			waits->next_ns = now_ns + period_ns;
		waits->pass_cpu_ns = 0;
	}
	waits->has_more_turns = waits_turn(waits, now_ns, period_ns);
	if (waits->pass_cpu_ns >= waits_most_cpu_ns(period_ns))
		waits->has_more_turns = false;
	*done = true;
	*more = waits->has_more_turns;
}

void waits_replay(struct waits *waits, uint64_t now_ns, uint64_t period_ns)
{
	waits_turn(waits, now_ns, period_ns);
}

/* --- snapshots -------------------------------------------------------------------------------- */

bool waits_is_torn(const struct waits *waits, uint64_t now_ns)
{
	return waits->in_pass && now_ns < waits->pass_ns + WAITS_PATIENCE_NS;
}

/*
 * The ticks that the current pass represents so far. The number of looks in the last pass tells how
 * far the current one is.
 */
static double waits_part(const struct waits *waits)
{
	double part = waits->last_adds ? (double)waits->adds / (double)waits->last_adds : 0;

	return waits_ticks(waits->span_ns_of_pass) * (part < 1 ? part : 1);
}

struct xtop_error *waits_snapshot(struct waits *waits, uint64_t time_ns,
				  struct snapshot **snapshotp)
{
	struct snapshot_waits *part = malloc(sizeof(*part));
	struct snapshot *snapshot;
	struct xtop_error *error;

	if (!part)
		return error_create("out of memory");
	error = profile_copy(waits->profile, waits->pass_ns, &snapshot);
	if (error) {
		free(part);
		return error;
	}
	snapshot->time_ns = time_ns;
	waits->fold.counts.evicted_nodes = snapshot->resolver.evicted_nodes;
	waits->fold.counts.frames_refused = snapshot->resolver.frames_refused;
	snapshot->resolver = waits->fold.counts;
	snapshot->waits = part;
	*part = (struct snapshot_waits){
		.unsupported = !waits->settings.os || (waits->asked && !waits->supported),
		.span_live = waits->span_live * waits_decay(waits) + waits_part(waits),
		.span_ticks = waits->span_ticks + waits_part(waits),
		.cpu_ns = waits->cpu_ns,
	};
	if (waits->settings.os)
		os_get_waits_counts(waits->settings.os, &part->counts);
	wait_rows_copy(waits->rows, part);
	wait_locks_copy(waits->locks, waits->pass_ns, part);
	*snapshotp = snapshot;
	return NULL;
}
