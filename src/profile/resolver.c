/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The resolver; see xtop/resolver.h. From a record of the ring to the profile:
 *
 *   sample_check ─► unwind ─► frame ids (names, cached by address) ─► profile_add
 *                      └► how far up the stack was live ─► control, for the sampler's next copy
 *
 * It sleeps while the ring is empty and looks again a few hundred times a second: the sampler,
 * which stops the guest, is never made to wake anybody up.
 */
#include "config.h"

#include "xtop/resolver.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RESOLVER_NAP_NS 5000000 /* between looks at an empty ring */

/* Address -> frame id, direct-mapped: most samples come from few addresses. */
#define RESOLVER_CACHE_SLOTS 16384

struct resolver_slot {
	uint64_t address;
	uint32_t frame;
	bool filled, user, unknown;
};

struct resolver {
	struct resolver_settings settings;
	struct frames *frames;
	struct profile *profile;
	uint64_t sequence, resets;
	uint64_t latest_ns; /* on the samples' clock */
	struct resolver_counts counts;
	struct snapshot_vcpu vcpus[SAMPLE_MAX_VCPUS];
	struct unwind_stack stack;
	uint32_t folded[SNAPSHOT_MAX_DEPTH];
	struct resolver_slot cache[RESOLVER_CACHE_SLOTS];
};

struct xtop_error *resolver_create(const struct resolver_settings *settings,
				   struct resolver **resolverp)
{
	struct resolver *resolver = calloc(1, sizeof(*resolver));
	struct xtop_error *error;

	if (!resolver)
		return error_create("out of memory");
	resolver->settings = *settings;
	error = frames_create(symbol_demangle, &resolver->frames);
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
	frames_destroy(resolver->frames);
	free(resolver);
}

/* --- names ------------------------------------------------------------------------------------ */

static void resolver_name(struct resolver *resolver, struct resolver_slot *slot, uint64_t address,
			  bool user)
{
	enum frame_kind kind = user ? FRAME_KIND_USERLAND : FRAME_KIND_KERNEL;
	struct symbol symbol;

	slot->address = address;
	slot->user = user;
	slot->filled = true;
	slot->unknown = !symbols_lookup(resolver->settings.symbols, address, &symbol);
	if (slot->unknown)
		symbol = (struct symbol){ .name = NULL, .module = "", .start = address };
	slot->frame =
		frames_intern(resolver->frames, kind, symbol.name, symbol.module, symbol.start);
}

/*
 * The frame id of one entry of a stack. A call is named by its own last byte, not by where it
 * returns to: that may be the next function, when the called one never returns.
 */
static uint32_t resolver_frame(struct resolver *resolver, const struct unwind_frame *frame,
			       bool *unknown)
{
	uint64_t address = frame->address - !!(frame->flags & FRAME_RETURN);
	bool user = frame->flags & FRAME_USER;
	uint64_t hash = (address ^ user) * 0x9e3779b97f4a7c15ULL >> 32; /* Fibonacci hashing */
	struct resolver_slot *slot = &resolver->cache[hash % RESOLVER_CACHE_SLOTS];

	if (!slot->filled || slot->address != address || slot->user != user)
		resolver_name(resolver, slot, address, user);
	*unknown = slot->unknown;
	resolver->counts.frames++;
	resolver->counts.frames_unknown += slot->unknown;
	return slot->frame;
}

/* --- samples ---------------------------------------------------------------------------------- */

/* Outermost first, under [truncated] when the outermost function was not reached. */
static void resolver_fold(struct resolver *resolver, uint64_t time_ns)
{
	const struct unwind_stack *stack = &resolver->stack;
	bool unknown = false;
	size_t n = 0;

	if (stack->stop != UNWIND_COMPLETE)
		resolver->folded[n++] = FRAME_TRUNCATED;
	for (unsigned i = stack->n_frames; i > 0; i--)
		resolver->folded[n++] = resolver_frame(resolver, &stack->frames[i - 1], &unknown);
	resolver->counts.samples_unknown += unknown; /* of the innermost, which came last */
	profile_add(resolver->profile, resolver->folded, n, time_ns, 1);
}

/* A complete stack says where it ends; one that was cut short asks for twice as much. */
static void resolver_learn(const struct resolver *resolver, const struct sample_vcpu *vcpu)
{
	const struct unwind_stack *stack = &resolver->stack;
	const struct sample_stack *piece = sample_first_stack(vcpu);
	struct control *control = resolver->settings.control;

	if (!resolver->settings.live || !vcpu->n_stacks)
		return;
	if (stack->stop == UNWIND_COMPLETE && stack->reached > piece->address)
		control_learn_stack(control, vcpu->regs.cr3, piece->address, stack->reached);
	else if (stack->stop == UNWIND_CUT && vcpu->cut == CUT_LIMIT)
		control_learn_stack(control, vcpu->regs.cr3, piece->address,
				    piece->address + 2 * (uint64_t)piece->size_bytes);
}

static void resolver_add_vcpu(struct resolver *resolver, const struct sample_vcpu *vcpu,
			      uint64_t time_ns)
{
	struct resolver_counts *counts = &resolver->counts;
	struct snapshot_vcpu *states = &resolver->vcpus[vcpu->vcpu];

	counts->states[vcpu->state]++;
	states->states[vcpu->state]++;
	if (vcpu->state < VCPU_RUNNABLE)
		return;
	counts->samples++;
	counts->user += vcpu->user;
	states->user += vcpu->user && vcpu->state == VCPU_RUNNING;
	unwind_fp(vcpu, resolver->settings.symbols, &resolver->stack);
	counts->stops[resolver->stack.stop]++;
	if (resolver->stack.stop == UNWIND_CUT)
		counts->cuts[vcpu->cut]++;
	resolver_learn(resolver, vcpu);
	resolver_fold(resolver, time_ns);
}

void resolver_add(struct resolver *resolver, const void *record, size_t size_bytes)
{
	const struct sample *sample = record;
	const struct sample_vcpu *vcpu;

	if (!sample_check(record, size_bytes)) {
		resolver->counts.bad_records++;
		return;
	}
	if (resolver->settings.writer)
		recording_write(resolver->settings.writer, record, size_bytes);
	resolver->latest_ns = sample->time_ns;
	vcpu = sample_first_vcpu(sample);
	for (unsigned i = 0; i < sample->n_vcpus; i++, vcpu = sample_next_vcpu(vcpu))
		resolver_add_vcpu(resolver, vcpu, sample->time_ns);
}

/* --- snapshots -------------------------------------------------------------------------------- */

static uint64_t resolver_clock(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* What profile_copy() could not know. */
static void resolver_complete(struct resolver *resolver, struct snapshot *snapshot)
{
	const struct resolver_settings *settings = &resolver->settings;

	resolver->counts.evicted_nodes = snapshot->resolver.evicted_nodes;
	resolver->counts.frames_refused = snapshot->resolver.frames_refused;
	resolver->counts.cpu_ns = resolver_clock(CLOCK_THREAD_CPUTIME_ID);
	snapshot->resolver = resolver->counts;
	snapshot->sequence = ++resolver->sequence;
	control_get_counts(settings->control, &snapshot->sampler);
	control_get_stopped(settings->control, &snapshot->stopped);
	snapshot->n_vcpus = settings->n_vcpus;
	memcpy(snapshot->vcpus, resolver->vcpus, settings->n_vcpus * sizeof(snapshot->vcpus[0]));
	snapshot->ring_permille = (unsigned)(ring_used_bytes(settings->ring) * 1000 /
					     ring_size_bytes(settings->ring));
}

struct xtop_error *resolver_snapshot(struct resolver *resolver, struct snapshot **snapshotp)
{
	uint64_t time_ns =
		resolver->settings.live ? resolver_clock(CLOCK_MONOTONIC) : resolver->latest_ns;
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
	snapshot_publish(resolver->settings.slot, snapshot);
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
 * Until the ring is empty or somebody waits for us; one record at least, or a snapshot for which
 * there is never memory would leave the ring to fill up.
 */
static void resolver_drain(struct resolver *resolver)
{
	struct ring *ring = resolver->settings.ring;
	const void *record;
	size_t size_bytes;

	while (resolver->resets == control_resets(resolver->settings.control) &&
	       (record = ring_peek(ring, &size_bytes))) {
		resolver_add(resolver, record, size_bytes);
		ring_release(ring);
		if (snapshot_wanted(resolver->settings.slot))
			return;
	}
}

void resolver_run(struct resolver *resolver)
{
	const struct timespec nap = { .tv_nsec = RESOLVER_NAP_NS };
	size_t size_bytes;
	bool finishing;

	for (;;) {
		/* In this order: what came before the end was announced is in the ring by now. */
		finishing = control_finishing(resolver->settings.control);
		resolver_forget(resolver);
		resolver_drain(resolver);
		if (snapshot_wanted(resolver->settings.slot)) {
			/* Asked for before the snapshot was: it must not show the old. */
			resolver_forget(resolver);
			resolver_publish(resolver, false);
		}
		if (ring_peek(resolver->settings.ring, &size_bytes))
			continue;
		if (finishing)
			break;
		nanosleep(&nap, NULL);
	}
	resolver_publish(resolver, true);
}
