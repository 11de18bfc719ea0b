/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The resolver; see xtop/resolver.h. From a record of the ring to the profile:
 *
 *   sample_check ─► place ─► unwind ─► frame ids (names, cached by address) ─► profile_add
 *                                └► how far up the stack was live ─► control, for the sampler's next copy
 *
 * It sleeps while the ring is empty and looks again a few hundred times a second: the sampler,
 * which stops the guest, is never made to wake anybody up.
 */
#include "config.h"

#include "xtop/resolver.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "profile/names.h"
#include "xtop/clock.h"

#include "xtop/image.h"
#include "xtop/text.h"

#define RESOLVER_NAP_NS   5000000 /* between looks at an empty ring, at most */
#define RESOLVER_AT_ONCE  64      /* records */
#define RESOLVER_AFTER_NS 200000  /* a tick is in the ring that long after its deadline, mostly */

#define RESOLVER_RENEW_NS 1000000000ULL /* between looks for names that were missing */

struct resolver {
	struct resolver_settings settings;
	struct frames *frames;
	struct names *names;
	struct profile *profile;
	uint64_t sequence, resets;
	uint64_t latest_ns; /* on the samples' clock */
	uint64_t period_ns; /* asked between that and the next */
	uint64_t lag_ns;    /* the most since the last snapshot */
	struct resolver_counts counts;
	struct snapshot_vcpu vcpus[GUEST_MAX_VCPUS];
	const struct space *kernel, *user; /* of the sample */
	bool user_whole;     /* same: `user` has all code that there is */
	struct os_task task; /* same */
	struct unwind_stack stack;
	uint32_t folded[SNAPSHOT_MAX_DEPTH];
	uint64_t renew_ns;
	/* what another thread wants done on this one; NULL: nothing */
	pthread_mutex_t lock;
	pthread_cond_t called;
	void (*call)(void *context);
	void *call_context;
};

struct xtop_error *resolver_create(const struct resolver_settings *settings,
				   struct resolver **resolverp)
{
	struct resolver *resolver = calloc(1, sizeof(*resolver));
	struct xtop_error *error;

	if (!resolver)
		return error_create("out of memory");
	resolver->settings = *settings;
	pthread_mutex_init(&resolver->lock, NULL);
	pthread_cond_init(&resolver->called, NULL);
	error = frames_create(symbol_demangle, &resolver->frames);
	if (!error)
		error = names_create(resolver->frames, &resolver->names);
	if (!error)
		error = profile_create(settings->max_nodes, settings->half_life_ns,
				       resolver->frames, &resolver->profile);
	if (error) {
		resolver_destroy(resolver);
		return error;
	}
	*resolverp = resolver;
	return NULL;
}

void resolver_destroy(struct resolver *resolver)
{
	if (!resolver)
		return;
	profile_destroy(resolver->profile);
	names_destroy(resolver->names);
	frames_destroy(resolver->frames);
	pthread_cond_destroy(&resolver->called);
	pthread_mutex_destroy(&resolver->lock);
	free(resolver);
}

/* --- samples ---------------------------------------------------------------------------------- */

/*
 * The frame id of one entry of a stack. A call is named by its own last byte, not by where it
 * returns to: that may be the next function, when the called one never returns.
 */
static uint32_t resolver_frame(struct resolver *resolver, const struct unwind_frame *frame,
			       struct name_answer *answer)
{
	uint64_t address = frame->address - !!(frame->flags & FRAME_RETURN);
	bool user = frame->flags & FRAME_USER;
	uint32_t id;

	id = names_find(resolver->names, user ? resolver->user : resolver->kernel,
			address, user ? FRAME_KIND_USERLAND : FRAME_KIND_KERNEL,
			user && resolver->user_whole, answer);
	resolver->counts.frames++;
	resolver->counts.frames_unknown += answer->quality == NAME_UNKNOWN;
	resolver->counts.frames_guessed += !!(frame->flags & FRAME_GUESS);
	return id;
}

static void resolver_count_name(struct resolver *resolver, const struct name_answer *innermost)
{
	struct resolver_counts *counts = &resolver->counts;

	counts->samples_unknown += innermost->quality == NAME_UNKNOWN;
	counts->samples_offset += innermost->quality == NAME_OFFSET;
	if (innermost->quality != NAME_SYMBOL)
		counts->unknown_causes[innermost->cause]++;
}

/* Whether the outermost function was reached, whatever is missing further in. */
static bool resolver_is_rooted(const struct unwind_stack *stack)
{
	enum unwind_part outer = stack->parts[UNWIND_USER].walked ? UNWIND_USER : UNWIND_KERNEL;

	return stack->parts[outer].stop == UNWIND_COMPLETE;
}

/* Whose it is: the process, and below it the thread when it is called otherwise. */
static size_t resolver_fold_task(struct resolver *resolver)
{
	const struct os_task *task = &resolver->task;
	size_t n = 0;

	if (task->process)
		resolver->folded[n++] =
			frames_intern(resolver->frames, FRAME_KIND_PROCESS, task->process, NULL, 0);
	if (task->process && task->thread && strcmp(task->process, task->thread) != 0)
		resolver->folded[n++] = frames_intern(resolver->frames, FRAME_KIND_THREAD,
						      task->thread, task->process, 0);
	return n;
}

/*
 * Outermost first, under [truncated] when the outermost function was not reached, and with
 * [truncated] where something in between was not.
 */
static void resolver_fold(struct resolver *resolver, struct snapshot_vcpu *states, uint64_t time_ns)
{
	const struct unwind_stack *stack = &resolver->stack;
	struct name_answer answer = { NAME_UNKNOWN, UNKNOWN_NO_FRAME };
	size_t n = resolver_fold_task(resolver);

	if (!resolver_is_rooted(stack))
		resolver->folded[n++] = FRAME_TRUNCATED;
	for (unsigned i = stack->n_frames; i > 0; i--) {
		resolver->folded[n++] = resolver_frame(resolver, &stack->frames[i - 1], &answer);
		if (stack->frames[i - 1].flags & FRAME_BROKEN)
			resolver->folded[n++] = FRAME_TRUNCATED;
	}
	resolver_count_name(resolver, &answer); /* of the innermost, which came last */
	states->last_frame = n > 0 ? resolver->folded[n - 1] : FRAME_ROOT;
	profile_add(resolver->profile, resolver->folded, n, time_ns, 1);
}

/*
 * The piece that was too short, when the part was cut: the one it ended in, or, when the next frame
 * lies beyond all that was copied (a frame with a large array does), the outermost it used. -1: none.
 */
static int resolver_cut_piece(const struct unwind_part_end *end)
{
	if (end->stop != UNWIND_CUT)
		return -1;
	if (end->last_piece >= 0)
		return end->last_piece;
	return end->pieces ? 31 - __builtin_clz(end->pieces) : -1;
}

/*
 * Of one part: complete, it says where each of its stacks ends; cut short, one needs twice as much,
 * and a page: a stack pointer near to a wrong end would else creep there.
 */
static void resolver_learn_part(const struct resolver *resolver, const struct sample_vcpu *vcpu,
				const struct unwind_part_end *end)
{
	const struct sample_stack *piece = sample_first_stack(vcpu);
	struct control *control = resolver->settings.control;

	for (int i = 0; i < vcpu->n_stacks; i++, piece = sample_next_stack(piece)) {
		uint8_t cut = piece->kind == STACK_USER ? vcpu->user_cut : vcpu->cut;

		if (end->stop == UNWIND_COMPLETE && end->pieces >> i & 1)
			control_learn_stack(control, vcpu->regs.cr3, piece->address,
					    resolver->stack.reached[i]);
		else if (cut == CUT_LIMIT && resolver_cut_piece(end) == i)
			control_learn_stack(control, vcpu->regs.cr3, piece->address,
					    piece->address + 2 * (uint64_t)piece->size_bytes +
						    GUEST_PAGE_SIZE);
	}
}

static void resolver_learn(const struct resolver *resolver, const struct sample_vcpu *vcpu)
{
	if (!resolver->settings.live)
		return;
	for (unsigned i = 0; i < N_UNWIND_PARTS; i++)
		if (resolver->stack.parts[i].walked)
			resolver_learn_part(resolver, vcpu, &resolver->stack.parts[i]);
}

static void resolver_count_stack(struct resolver *resolver)
{
	const struct unwind_stack *stack = &resolver->stack;
	struct resolver_counts *counts = &resolver->counts;
	bool cut = false;

	counts->stops[stack->stop]++;
	for (unsigned i = 0; i < N_UNWIND_PARTS; i++) {
		const struct unwind_part_end *end = &stack->parts[i];

		if (!end->walked)
			continue;
		counts->parts[i]++;
		counts->parts_complete[i] += end->stop == UNWIND_COMPLETE;
		if (end->stop == UNWIND_CUT && !cut)
			counts->cuts[end->cut]++;
		cut |= end->stop != UNWIND_COMPLETE; /* the sample's stop is its first */
	}
}

/*
 * Whose code the sample ran. When nobody looks into the guest, or it is no Linux, the files of -k
 * name all code, of the kernel and of the one program.
 */
static void resolver_place(struct resolver *resolver, const struct sample_vcpu *vcpu,
			   uint64_t time_ns)
{
	const struct space *given = symbols_space(resolver->settings.symbols);
	struct os *os = resolver->settings.os;

	resolver->kernel = resolver->user = given;
	resolver->user_whole = false;
	resolver->task = (struct os_task){ 0 };
	if (!os)
		return;
	os_see(os, vcpu, time_ns);
	if (!os_is_linux(os))
		return;
	os_task(os, vcpu, time_ns, &resolver->task);
	resolver->kernel = os_kernel(os);
	resolver->user = resolver->task.user;
	resolver->user_whole = resolver->task.user;
}

/* The idle task, unless something interrupted it: then a frame further out is not one that called. */
static bool resolver_is_idle(const struct resolver *resolver)
{
	const struct unwind_stack *stack = &resolver->stack;

	if (!resolver->task.idle)
		return false;
	for (unsigned i = 1; i < stack->n_frames; i++)
		if (!(stack->frames[i].flags & FRAME_RETURN))
			return false;
	return true;
}

static void resolver_count_state(struct resolver *resolver, struct snapshot_vcpu *states,
				 enum vcpu_state state)
{
	resolver->counts.states[state]++;
	states->states[state]++;
}

static void resolver_unwind(struct resolver *resolver, const struct sample_vcpu *vcpu)
{
	const struct unwind_spaces spaces = { .kernel = space_for_unwind(resolver->kernel),
					      .user = space_for_unwind(resolver->user),
					      .user_whole = resolver->user_whole };

	unwind_stack(vcpu, &spaces, resolver->settings.how, &resolver->stack);
}

/* A vCPU that ran, or wanted to. */
static void resolver_add_busy(struct resolver *resolver, const struct sample_vcpu *vcpu,
			      uint64_t time_ns)
{
	struct snapshot_vcpu *states = &resolver->vcpus[vcpu->vcpu];
	struct resolver_counts *counts = &resolver->counts;

	resolver_place(resolver, vcpu, time_ns);
	if (resolver->settings.os && os_is_early(resolver->settings.os, vcpu, time_ns)) {
		counts->early++;
		return;
	}
	resolver_unwind(resolver, vcpu);
	resolver_learn(resolver, vcpu);
	if (resolver_is_idle(resolver)) {
		counts->idle++;
		resolver_count_state(resolver, states, VCPU_BLOCKED);
		return;
	}
	resolver_count_state(resolver, states, vcpu->state);
	counts->samples++;
	counts->user += vcpu->user;
	states->user += vcpu->user && vcpu->state == VCPU_RUNNING;
	resolver_count_stack(resolver);
	resolver_fold(resolver, states, time_ns);
}

static void resolver_add_vcpu(struct resolver *resolver, const struct sample_vcpu *vcpu,
			      uint64_t time_ns)
{
	if (vcpu->state < VCPU_RUNNABLE)
		resolver_count_state(resolver, &resolver->vcpus[vcpu->vcpu], vcpu->state);
	else
		resolver_add_busy(resolver, vcpu, time_ns);
}

/* Names that were missing, when it is time to look for them again. */
static void resolver_renew(struct resolver *resolver, uint64_t now_ns)
{
	bool polled = os_poll(resolver->settings.os, now_ns);

	if (!polled && now_ns < resolver->renew_ns)
		return;
	if (now_ns >= resolver->renew_ns) {
		resolver->renew_ns = now_ns + RESOLVER_RENEW_NS;
		if (names_renew(resolver->names))
			profile_rename(resolver->profile, names_now, resolver->names);
	}
	if (resolver->settings.writer)
		recording_write_poll(resolver->settings.writer, now_ns);
}

/* Of a recording: what the resolver read and did besides samples, in its turn. */
static void resolver_take_note(struct resolver *resolver, const struct recording_note *note,
			       size_t size_bytes)
{
	if (note->type == RECORDING_POLL && size_bytes >= sizeof(*note) + sizeof(uint64_t)) {
		resolver_renew(resolver, recording_note_time(note));
		recorded_end_turn(resolver->settings.recorded);
	} else if (!recorded_take(resolver->settings.recorded, note, size_bytes)) {
		resolver->counts.bad_records++;
	}
}

static void resolver_measure_lag(struct resolver *resolver, uint64_t time_ns)
{
	uint64_t now_ns = clock_now_ns(), lag_ns = now_ns > time_ns ? now_ns - time_ns : 0;

	if (lag_ns > resolver->lag_ns)
		resolver->lag_ns = lag_ns;
	if (lag_ns > resolver->counts.lag_ns)
		resolver->counts.lag_ns = lag_ns;
}

static void resolver_add_sample(struct resolver *resolver, const struct sample *sample)
{
	const struct sample_vcpu *vcpu;

	if (resolver->settings.live)
		resolver_measure_lag(resolver, sample->time_ns);
	resolver->latest_ns = sample->time_ns;
	resolver->period_ns = sample->period_ns;
	vcpu = sample_first_vcpu(sample);
	for (unsigned i = 0; i < sample->n_vcpus; i++, vcpu = sample_next_vcpu(vcpu))
		resolver_add_vcpu(resolver, vcpu, sample->time_ns);
}

void resolver_add(struct resolver *resolver, const void *record, size_t size_bytes)
{
	if (resolver->settings.recorded && size_bytes >= sizeof(struct recording_note) &&
	    recording_is_note(record)) {
		resolver_take_note(resolver, record, size_bytes);
		return;
	}
	if (!sample_check(record, size_bytes)) {
		resolver->counts.bad_records++;
		return;
	}
	resolver_add_sample(resolver, record);
	/* After what was read of the guest's memory for it. */
	if (resolver->settings.writer)
		recording_write(resolver->settings.writer, record, size_bytes);
	if (resolver->settings.recorded)
		recorded_end_turn(resolver->settings.recorded);
}

/* --- snapshots -------------------------------------------------------------------------------- */

static void resolver_clean(char *to, size_t capacity, const char *from)
{
	text_clean(to, capacity, from, strlen(from));
}

static void resolver_describe(const struct resolver *resolver, struct snapshot *snapshot)
{
	struct os_description description;

	if (!resolver->settings.os)
		return;
	os_describe(resolver->settings.os, &description);
	os_get_counts(resolver->settings.os, &snapshot->os);
	resolver_clean(snapshot->system, sizeof(snapshot->system), description.system);
	for (int i = 0; i < OS_NOTES; i++)
		resolver_clean(snapshot->notes[i], sizeof(snapshot->notes[i]),
			       description.notes[i]);
}

/* What profile_copy() could not know. */
static void resolver_complete(struct resolver *resolver, struct snapshot *snapshot)
{
	const struct resolver_settings *settings = &resolver->settings;

	resolver->counts.evicted_nodes = snapshot->resolver.evicted_nodes;
	resolver->counts.frames_refused = snapshot->resolver.frames_refused;
	resolver->counts.cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	snapshot->resolver = resolver->counts;
	snapshot->sequence = ++resolver->sequence;
	control_get_counts(settings->control, &snapshot->sampler);
	control_get_stopped(settings->control, &snapshot->stopped);
	snapshot->n_vcpus = settings->n_vcpus;
	memcpy(snapshot->vcpus, resolver->vcpus, settings->n_vcpus * sizeof(snapshot->vcpus[0]));
	resolver_describe(resolver, snapshot);
	snapshot->lag_ns = resolver->lag_ns;
	resolver->lag_ns = 0;
	snapshot->ring_permille = (unsigned)(ring_used_bytes(settings->ring) * 1000 /
					     ring_size_bytes(settings->ring));
}

struct xtop_error *resolver_snapshot(struct resolver *resolver, struct snapshot **snapshotp)
{
	uint64_t time_ns =
		resolver->settings.live ? clock_ns(CLOCK_MONOTONIC) : resolver->latest_ns;
	struct xtop_error *error;

	error = profile_copy(resolver->profile, time_ns, snapshotp);
	if (!error)
		resolver_complete(resolver, *snapshotp);
	return error;
}

/* Out of memory: no snapshot this time; who waits asks again. */
static void resolver_publish(struct resolver *resolver, bool at_end)
{
	struct snapshot *snapshot = NULL;

	error_destroy(resolver_snapshot(resolver, &snapshot));
	if (!snapshot)
		return;
	snapshot->at_end = at_end;
	if (resolver->settings.writer) /* until this thread's end */
		snapshot->recording_errno = recording_failed(resolver->settings.writer);
	snapshot_publish(resolver->settings.slot, snapshot);
}

/* --- for other threads ------------------------------------------------------------------------ */

void resolver_call(struct resolver *resolver, void (*call)(void *context), void *context)
{
	pthread_mutex_lock(&resolver->lock);
	resolver->call = call;
	resolver->call_context = context;
	while (resolver->call)
		pthread_cond_wait(&resolver->called, &resolver->lock);
	pthread_mutex_unlock(&resolver->lock);
}

static void resolver_answer(struct resolver *resolver)
{
	pthread_mutex_lock(&resolver->lock);
	if (resolver->call) {
		resolver->call(resolver->call_context);
		resolver->call = NULL;
		pthread_cond_signal(&resolver->called);
	}
	pthread_mutex_unlock(&resolver->lock);
}

void resolver_follow(struct resolver *resolver, struct ring *ring, unsigned n_vcpus)
{
	const void *record;
	size_t size_bytes;

	while ((record = ring_peek(resolver->settings.ring, &size_bytes))) {
		resolver_add(resolver, record, size_bytes);
		ring_release(resolver->settings.ring);
	}
	resolver->settings.ring = ring;
	resolver->settings.n_vcpus = n_vcpus;
}

/* --- the thread ------------------------------------------------------------------------------- */

/* If main asked for it. */
static void resolver_forget(struct resolver *resolver)
{
	uint64_t resets = control_resets(resolver->settings.control);

	if (resolver->resets == resets)
		return;
	resolver->resets = resets;
	profile_reset(resolver->profile);
	resolver->counts = (struct resolver_counts){ 0 };
	memset(resolver->vcpus, 0, sizeof(resolver->vcpus));
}

/*
 * Until the ring is empty, somebody waits for us, or what comes between samples has its turn: a ring
 * that fills as fast as it is emptied never is empty. One record at least, or a snapshot for which
 * there is never memory would leave the ring to fill up.
 */
static void resolver_drain(struct resolver *resolver)
{
	struct ring *ring = resolver->settings.ring;
	const void *record;
	size_t size_bytes;

	for (unsigned i = 0; i < RESOLVER_AT_ONCE &&
			     resolver->resets == control_resets(resolver->settings.control) &&
			     (record = ring_peek(ring, &size_bytes));
	     i++) {
		resolver_add(resolver, record, size_bytes);
		ring_release(ring);
		if (snapshot_wanted(resolver->settings.slot))
			return;
	}
}

/* What is mapped of the guest holds for as long as it has as many pages, and somebody sees it alive. */
static void resolver_follow_pages(const struct resolver *resolver)
{
	struct sampler_counts counts;
	bool alive;

	control_get_counts(resolver->settings.control, &counts);
	alive = counts.state == SAMPLER_RUNNING || counts.state == SAMPLER_GUEST_PAUSED;
	os_follow_pages(resolver->settings.os, alive ? counts.guest_pages : 0);
}

/*
 * To just after the next tick: who ran then may be gone a few milliseconds later, and nobody can
 * tell any more whose code it was.
 */
static void resolver_nap(const struct resolver *resolver)
{
	struct timespec nap = { .tv_nsec = RESOLVER_NAP_NS };
	uint64_t now_ns = clock_now_ns(), next_ns = resolver->latest_ns + resolver->period_ns;

	if (next_ns > now_ns && next_ns - now_ns + RESOLVER_AFTER_NS < RESOLVER_NAP_NS)
		nap.tv_nsec = (long)(next_ns - now_ns + RESOLVER_AFTER_NS);
	nanosleep(&nap, NULL);
}

void resolver_run(struct resolver *resolver)
{
	size_t size_bytes;
	bool finishing;

	for (;;) {
		/* In this order: what came before the end was announced is in the ring by now. */
		finishing = control_finishing(resolver->settings.control);
		resolver_answer(resolver);
		resolver_forget(resolver);
		if (resolver->settings.os)
			resolver_follow_pages(resolver);
		resolver_drain(resolver);
		/* A recording says itself when that was. */
		if (resolver->settings.os && !resolver->settings.recorded)
			resolver_renew(resolver, clock_now_ns());
		if (snapshot_wanted(resolver->settings.slot)) {
			/* Asked for before the snapshot was: it must not show the old. */
			resolver_forget(resolver);
			resolver_publish(resolver, false);
		}
		if (ring_peek(resolver->settings.ring, &size_bytes))
			continue;
		if (finishing)
			break;
		resolver_nap(resolver);
	}
	/* Nobody sees any more whether the guest is alive, and the results may be long in writing. */
	if (resolver->settings.os)
		os_follow_pages(resolver->settings.os, 0);
	resolver_publish(resolver, true);
}
