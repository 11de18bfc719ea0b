/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The resolver's thread; see resolver.h. It takes records out of the ring, checks them, gives
 * each vCPU of a sample to fold.c, and hands out snapshots (resolver_snapshots.c).
 *
 * While the ring is empty the thread sleeps and looks again a few hundred times a second. The
 * sampler does not wake it up, because the sampler stops the guest and must not lose time.
 */
#include "config.h"

#include "profile/resolver_state.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "profile/names.h"
#include "profile/wait_profile.h"
#include "xtop/base/clock.h"
#include "xtop/base/hash.h"
#include "xtop/base/work.h"
#include "xtop/profile/crash.h"

#define RESOLVER_NAP_NS            5000000    /* the longest sleep while the ring is empty */
#define RESOLVER_LONG_NAP_NS 1000000000 /* the longest sleep where nobody looks at a screen */
#define RESOLVER_FEW               16 /* samples of a unikernel that may wait during a long sleep */
#define RESOLVER_WAITS    4       /* wake-ups between two passes over all tasks */
#define RESOLVER_LATE_NS  100000000 /* a sample that is later than this is not waited for */
#define RESOLVER_AHEAD_NS 20000000 /* a lag with which the samples that wait are looked at */
#define RESOLVER_AT_ONCE           64        /* most records that one turn of the loop adds */
#define RESOLVER_AFTER_NS 200000  /* most samples are in the ring this long after a deadline */
#define RESOLVER_POLL_NS  1000000000ULL /* time between two searches for missing names */
#define RESOLVER_CRASH_STEP_NS     120000000000ULL /* longer than os.c waits to look again */
#define RESOLVER_CRASH_STACK_BYTES (32U << 10)     /* bytes copied if nothing tells a stack's end */
#define RESOLVER_CLOCKS_NS 1000000000ULL /* time between two readings of the clocks */
#define RESOLVER_CLOCKS_RETRY_NS 100000000ULL /* pause while the guest's clocks are not known */

/* --- the end ---------------------------------------------------------------------------------- */

/*
 * Whether the thread's work is over (work.h): somebody waits for the end, and this thread has used
 * RESOLVER_HURRY_NS of CPU time since, or this turn of its loop has lasted for twice as long. Then
 * the guest's memory cannot be read any more, and the records in the ring are only counted. The
 * time of earlier turns does not count: on a busy machine other processes take most of it, and
 * samples that still come one by one should be resolved.
 */
static bool resolver_is_over(void *context)
{
	struct resolver *resolver = context;
	uint64_t now_ns, cpu_ns;

	if (!control_is_hurrying(resolver->settings.control))
		return false;
	now_ns = clock_now_ns();
	cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	if (!resolver->hurry_cpu_ns)
		resolver->hurry_cpu_ns = cpu_ns;
	if (!resolver->hurry_turn_ns)
		resolver->hurry_turn_ns = now_ns;
	return cpu_ns - resolver->hurry_cpu_ns > RESOLVER_HURRY_NS ||
	       now_ns - resolver->hurry_turn_ns > 2 * RESOLVER_HURRY_NS;
}

/* --- creation --------------------------------------------------------------------------------- */

/*
 * Translates the baseline before the run has any frames. So the frames of the baseline come first,
 * and equal frames of the run get the same ids.
 */
static struct xtop_error *resolver_translate_baseline(struct resolver *resolver)
{
	const struct snapshot *baseline = resolver->settings.baseline;

	if (resolver->settings.compared)
		frames_set_identity(resolver->frames, baseline && snapshot_is_plain(baseline)
							      ? FRAMES_BY_NAME
							      : FRAMES_BY_MODULE);
	if (!baseline)
		return NULL;
	return snapshot_translate(baseline, resolver->frames, &resolver->baseline);
}

static void resolver_init_locks(struct resolver *resolver)
{
	pthread_condattr_t attributes;

	pthread_mutex_init(&resolver->lock, NULL);
	pthread_cond_init(&resolver->called, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&resolver->wake, &attributes);
	pthread_condattr_destroy(&attributes);
}

static enum runtimes_lines resolver_choose_lines(const struct resolver_settings *settings)
{
	if (settings->lines)
		return RUNTIMES_SHOW_LINES;
	return settings->writer ? RUNTIMES_READ_LINES : RUNTIMES_NO_LINES;
}

struct xtop_error *resolver_create(const struct resolver_settings *settings,
				   struct resolver **resolverp)
{
	struct resolver *resolver = calloc(1, sizeof(*resolver));
	struct xtop_error *error;

	if (!resolver)
		return error_create("out of memory");
	resolver->settings = *settings;
	resolver_init_locks(resolver);
	error = frames_create(symbol_demangle, &resolver->frames);
	if (!error)
		error = resolver_translate_baseline(resolver);
	if (!error)
		error = names_create(resolver->frames, &resolver->names);
	if (!error)
		error = profile_create(settings->max_nodes, settings->half_life_ns,
				       resolver->frames, &resolver->profile);
	if (!error)
		error = addresses_create(settings->half_life_ns, &resolver->addresses);
	if (!error)
		error = seen_code_create(&resolver->code);
	if (!error)
		error = runtimes_create(resolver->frames, resolver_choose_lines(settings),
					&resolver->runtimes);
	if (!error)
		error = batches_create(settings->half_life_ns, &resolver->self);
	if (!error && settings->margins)
		error = batches_create(settings->half_life_ns, &resolver->children);
	if (error) {
		resolver_destroy(resolver);
		return error;
	}
	resolver->fold.settings = (struct fold_settings){
		.frames = resolver->frames,
		.names = resolver->names,
		.profile = resolver->profile,
		.addresses = resolver->addresses,
		/* Instructions of intervals are never shown, neither now nor in a replay. */
		.code = settings->intervals && !settings->writer ? NULL : resolver->code,
		.runtimes = resolver->runtimes,
		.self = resolver->self,
		.work = settings->work,
		.children = resolver->children,
		.found_by = &resolver->found_by,
		.symbols = settings->symbols,
		.os = settings->os,
		.how = settings->how,
		.control = settings->live ? settings->control : NULL,
		.log = settings->log,
	};
	*resolverp = resolver;
	return NULL;
}

void resolver_destroy(struct resolver *resolver)
{
	if (!resolver)
		return;
	free(resolver->found_by.by);
	waits_destroy(resolver->waits);
	resolver_destroy_exits(resolver);
	crash_destroy(resolver->crash);
	snapshot_destroy(resolver->baseline);
	batches_destroy(resolver->self);
	batches_destroy(resolver->children);
	seen_code_destroy(resolver->code);
	runtimes_destroy(resolver->runtimes);
	addresses_destroy(resolver->addresses);
	profile_destroy(resolver->profile);
	names_destroy(resolver->names);
	frames_destroy(resolver->frames);
	pthread_cond_destroy(&resolver->called);
	pthread_cond_destroy(&resolver->wake);
	pthread_mutex_destroy(&resolver->lock);
	free(resolver);
}

/* --- better names ----------------------------------------------------------------------------- */

/* Replaces frames by those with a better name, wherever frames are kept. */
static void resolver_rename(struct resolver *resolver)
{
	profile_rename(resolver->profile, names_find_better, resolver->names);
	addresses_rename(resolver->addresses, names_find_better_shifted, resolver->names);
	if (resolver->settings.log)
		sample_log_rename(resolver->settings.log, names_find_better, resolver->names);
	if (resolver->waits)
		waits_rename(resolver->waits);
	resolver_rename_exits(resolver);
}

/* --- tasks that wait -------------------------------------------------------------------------- */

/* Runs a turn of a pass over all tasks, if one is due. True: another turn is due at once. */
static bool resolver_poll_waits(struct resolver *resolver)
{
	double hz = control_get_waits_hz(resolver->settings.control);
	uint64_t now_ns = clock_now_ns(), period_ns;
	bool done, more;

	/* When the user waits for the end, a turn that begins now may be cut off. */
	if (!(hz > 0) || control_is_hurrying(resolver->settings.control) ||
	    !resolver_get_waits(resolver))
		return false;
	period_ns = (uint64_t)(1e9 / hz);
	waits_poll(resolver->waits, now_ns, period_ns, &done, &more);
	if (done && resolver->settings.writer)
		recording_writer_write_waits(resolver->settings.writer, now_ns, period_ns);
	return more;
}

static void resolver_replay_waits(struct resolver *resolver, const struct recording_note *note)
{
	if (resolver->settings.os && resolver_get_waits(resolver))
		waits_replay(resolver->waits, recording_note_time(note),
			     recording_note_period(note));
}

/* Looks for modules and for missing names, if that is due. */
static void resolver_poll(struct resolver *resolver, uint64_t now_ns)
{
	bool polled = os_poll(resolver->settings.os, now_ns);

	if (!polled && now_ns < resolver->next_poll_ns)
		return;
	if (now_ns >= resolver->next_poll_ns) {
		resolver->next_poll_ns = now_ns + RESOLVER_POLL_NS;
		if (names_poll(resolver->names))
			resolver_rename(resolver);
	}
	if (resolver->settings.writer)
		recording_writer_write_poll(resolver->settings.writer, now_ns);
}

/* --- clocks ----------------------------------------------------------------------------------- */

/*
 * Updates the clocks. READ is what dom0's and Xen's clocks showed. The guest's clocks are derived
 * from Xen's time. The next sample was taken a little before this reading; the clocks run evenly
 * over so short a time.
 */
static void resolver_update_clocks(struct resolver *resolver, const struct recording_clocks *read)
{
	struct clocks *clocks = &resolver->clocks, *first = &resolver->first_clocks;
	struct os_clock guest;

	*clocks = (struct clocks){ .at_ns = read->time_ns };
	clocks_set(clocks, CLOCK_UTC, read->utc_ns);
	if (read->xen_ns && resolver->settings.os &&
	    os_read_clock(resolver->settings.os, read->xen_ns, &guest)) {
		clocks_set(clocks, CLOCK_GUEST, guest.monotonic_ns);
		clocks_set(clocks, CLOCK_GUEST_UTC, guest.real_ns);
	}
	if (!first->known[CLOCK_UTC] || (!first->known[CLOCK_GUEST] && clocks->known[CLOCK_GUEST]))
		*first = *clocks;
	if (resolver->settings.log)
		sample_log_add_clocks(resolver->settings.log, clocks);
}

/*
 * Reads the clocks as of the latest sample, if that is due. A replay has notes of them instead.
 */
static void resolver_read_clocks(struct resolver *resolver)
{
	uint64_t time_ns = resolver->latest_ns, ahead_ns;
	struct recording_clocks read = { .time_ns = time_ns };

	if (time_ns < resolver->next_clocks_ns)
		return;
	read.utc_ns = clock_ns(CLOCK_REALTIME) - (clock_now_ns() - time_ns);
	if (control_get_xen_clock(resolver->settings.control, &ahead_ns))
		read.xen_ns = time_ns + ahead_ns;
	resolver_update_clocks(resolver, &read);
	resolver->next_clocks_ns =
		time_ns + (resolver->clocks.known[CLOCK_GUEST] ? RESOLVER_CLOCKS_NS
							       : RESOLVER_CLOCKS_RETRY_NS);
	if (resolver->settings.writer)
		recording_writer_write_clocks(resolver->settings.writer, &read);
}

static bool resolver_replay_clocks(struct resolver *resolver, const struct recording_note *note,
				   size_t size_bytes)
{
	struct recording_clocks read;

	if (size_bytes < sizeof(*note) + sizeof(read))
		return false;
	memcpy(&read, note + 1, sizeof(read));
	resolver_update_clocks(resolver, &read);
	return true;
}

/* --- notes ------------------------------------------------------------------------------------ */

/* Replays a note of what the resolver read. Returns false if the note cannot be used. */
static bool resolver_replay_read(struct resolver *resolver, const struct recording_note *note,
				 size_t size_bytes)
{
	switch (note->type) {
	case RECORDING_CLOCKS:
		return resolver_replay_clocks(resolver, note, size_bytes);
	case RECORDING_TRACE:
		return resolver_replay_trace(resolver, note, size_bytes);
	case RECORDING_TAKERS:
		return resolver_replay_takers(resolver, note, size_bytes);
	default:
		return recorded_memory_apply(resolver->settings.recorded, note, size_bytes);
	}
}

/* Replays a note: what the resolver read or did between two samples. */
static void resolver_replay_note(struct resolver *resolver, const struct recording_note *note,
				 size_t size_bytes)
{
	if (note->type == RECORDING_POLL && size_bytes >= sizeof(*note) + sizeof(uint64_t)) {
		resolver_poll(resolver, recording_note_time(note));
		recorded_memory_end_turn(resolver->settings.recorded);
	} else if (note->type == RECORDING_WAITS &&
		   size_bytes >= sizeof(*note) + 2 * sizeof(uint64_t)) {
		resolver_replay_waits(resolver, note);
		recorded_memory_end_turn(resolver->settings.recorded);
	} else if (!resolver_replay_read(resolver, note, size_bytes)) {
		resolver->fold.counts.bad_records++;
	}
}

/* Measures how long the latest sample has waited in the ring. */
static void resolver_measure_lag(struct resolver *resolver)
{
	uint64_t now_ns = clock_now_ns(), time_ns = resolver->latest_ns;
	uint64_t lag_ns = now_ns > time_ns ? now_ns - time_ns : 0;

	if (lag_ns > resolver->lag_ns)
		resolver->lag_ns = lag_ns;
	if (lag_ns > resolver->fold.counts.lag_ns)
		resolver->fold.counts.lag_ns = lag_ns;
}

/* Notes how much guest memory it took to name the first function of a process, just now. */
static void resolver_note_first_name(struct resolver *resolver)
{
	struct resolver_counts *counts = &resolver->fold.counts;
	const struct os *os = resolver->settings.os;
	const struct memory *memory = os ? os_get_memory(os) : NULL;

	if (memory)
		counts->first_name_bytes = memory_counts(memory).pages * GUEST_PAGE_SIZE;
}

/*
 * Adds a sample to the profile, and notes what a recording needs of it. If the end of work comes
 * during a sample, the vCPUs before that are added.
 */
static void resolver_add_sample(struct resolver *resolver, const struct sample *sample)
{
	const struct sample_vcpu *vcpu = sample_first_vcpu(sample);
	bool had_user_name = resolver->fold.has_user_name;
	unsigned i;

	resolver->latest_ns = sample->time_ns;
	resolver->period_ns = sample->period_ns;
	if (resolver->settings.live) {
		resolver_measure_lag(resolver);
		resolver_read_clocks(resolver);
	}
	resolver->needs.n_vcpus = 0;
	for (i = 0; i < sample->n_vcpus; i++, vcpu = sample_next_vcpu(vcpu)) {
		double ticks = (double)sample_get_weight(sample, vcpu) / SAMPLE_WEIGHT_TICK;

		if (!fold_add(&resolver->fold, vcpu, sample->time_ns, ticks))
			break;
		if (resolver->waits)
			waits_update_vcpu(resolver->waits, &resolver->fold, vcpu);
		resolver_note_vcpu(resolver, vcpu);
		recording_needs_add(&resolver->needs, fold_get_reached(&resolver->fold));
	}
	if (i < sample->n_vcpus)
		resolver->fold.counts.unresolved++;
	if (resolver->settings.live && resolver->fold.has_user_name && !had_user_name)
		resolver_note_first_name(resolver);
}

/*
 * Records a sample that was added, after the guest memory that was read for it. The recording has
 * only the vCPUs that were added, and only the stack bytes that were needed; a report's has all.
 */
static void resolver_record_sample(struct resolver *resolver, const struct sample *sample)
{
	struct recording_writer *writer = resolver->settings.writer;

	if (writer && resolver->settings.crash)
		recording_writer_write(writer, sample, NULL);
	else if (writer && (resolver->needs.n_vcpus || !sample->n_vcpus))
		recording_writer_write(writer, sample, &resolver->needs);
}

/*
 * Only counts the record, and does not write it to the recording, either: the guest memory that its
 * names need has not been read, and a replay shows what the run showed.
 */
static void resolver_count_unresolved(struct resolver *resolver, const void *record,
				      size_t size_bytes)
{
	if (sample_check(record, size_bytes))
		resolver->fold.counts.unresolved++;
}

/* --- the report of a guest that has crashed --------------------------------------------------- */

/*
 * Finds out which system runs in the guest, by the first vCPU whose page tables lead to one. os.c
 * searches again only after a while, so each vCPU gets a time that is later by that much.
 */
static void resolver_find_crash_system(struct resolver *resolver, const struct sample *sample)
{
	const struct sample_vcpu *vcpu = sample_first_vcpu(sample);
	struct os *os = resolver->settings.os;

	for (uint16_t i = 0; i < sample->n_vcpus; i++, vcpu = sample_next_vcpu(vcpu)) {
		uint64_t sp = registers_stack_pointer(&vcpu->regs);

		if (os && !os_is_known(os))
			os_update(os, vcpu, sample->time_ns + i * RESOLVER_CRASH_STEP_NS);
		if (!os || !os_is_known(os))
			control_set_stack_top(resolver->settings.control,
					      registers_space(&vcpu->regs), sp,
					      sp + RESOLVER_CRASH_STACK_BYTES);
	}
}

/* The first sample tells which system runs, and where stacks are; the second one has the stacks. */
static void resolver_add_crash_sample(struct resolver *resolver, const struct sample *sample)
{
	const struct crash_settings settings = { .os = resolver->settings.os,
						 .symbols = resolver->settings.symbols,
						 .how = resolver->settings.how,
						 .runtimes = resolver->runtimes,
						 .frames = resolver->frames };

	if (!resolver->seen_first_crash_sample)
		resolver_find_crash_system(resolver, sample);
	else if (!resolver->crash) /* best effort: without memory there is no report */
		error_destroy(crash_create(&settings, sample, sample->time_ns, &resolver->crash));
	resolver->seen_first_crash_sample = true;
}

/* --- samples that wait ------------------------------------------------------------------------ */

/* Looks at the processes of SAMPLE that were not looked at before. */
static void resolver_prepare(struct resolver *resolver, const struct sample *sample,
			     uint64_t now_ns)
{
	const struct sample_vcpu *vcpu = sample_first_vcpu(sample);

	for (unsigned i = 0; i < sample->n_vcpus; i++, vcpu = sample_next_vcpu(vcpu)) {
		uint64_t space = sample_get_user_space(vcpu);
		uint64_t *seen = &resolver->ahead_spaces[hash_slot(space, RESOLVER_AHEAD_SPACES)];

		if (*seen != space && fold_prepare(&resolver->fold, vcpu, now_ns))
			*seen = space;
	}
}

/*
 * If the sample OLDEST has waited for long, looks at those behind it. The first sample of a large
 * program takes long: its symbols are read. Without that look, the samples of an interpreted
 * program would have no functions meanwhile. A recording tells what was read for each sample, so
 * nothing is read ahead for it; nor before the first name, which should come soon.
 */
static void resolver_look_ahead(struct resolver *resolver, const struct sample *oldest)
{
	const void *record;
	size_t size_bytes;

	if (!resolver->settings.live || resolver->settings.writer || !resolver->settings.os ||
	    !resolver->fold.has_user_name || clock_now_ns() < oldest->time_ns + RESOLVER_AHEAD_NS)
		return;
	while (!work_is_over(resolver->settings.work) &&
	       !snapshot_wanted(resolver->settings.slot) &&
	       (record = ring_peek_after(resolver->settings.ring, &resolver->ahead, &size_bytes)))
		if (sample_check(record, size_bytes))
			resolver_prepare(resolver, record, oldest->time_ns);
}

/* --- records ---------------------------------------------------------------------------------- */

void resolver_add(struct resolver *resolver, const void *record, size_t size_bytes)
{
	if (work_is_over(resolver->settings.work)) {
		resolver_count_unresolved(resolver, record, size_bytes);
		return;
	}
	if (resolver->settings.recorded && size_bytes >= sizeof(struct recording_note) &&
	    recording_is_note(record)) {
		resolver_replay_note(resolver, record, size_bytes);
		return;
	}
	if (!sample_check(record, size_bytes)) {
		resolver->fold.counts.bad_records++;
		return;
	}
	if (resolver->settings.crash) {
		resolver_add_crash_sample(resolver, record);
	} else {
		resolver_look_ahead(resolver, record);
		resolver_add_sample(resolver, record);
	}
	resolver_record_sample(resolver, record);
	if (resolver->settings.recorded)
		recorded_memory_end_turn(resolver->settings.recorded);
}

/* --- requests of other threads ---------------------------------------------------------------- */

void resolver_call(struct resolver *resolver, void (*call)(void *context), void *context)
{
	pthread_mutex_lock(&resolver->lock);
	resolver->call = call;
	resolver->call_context = context;
	pthread_cond_signal(&resolver->wake);
	while (resolver->call)
		pthread_cond_wait(&resolver->called, &resolver->lock);
	pthread_mutex_unlock(&resolver->lock);
}

void resolver_wake(struct resolver *resolver)
{
	pthread_mutex_lock(&resolver->lock);
	resolver->woken = true;
	pthread_cond_signal(&resolver->wake);
	pthread_mutex_unlock(&resolver->lock);
}

/* Sleeps until the clock shows UNTIL_NS, unless another thread wakes this one. */
static void resolver_sleep(struct resolver *resolver, uint64_t until_ns)
{
	const struct timespec until = { .tv_sec = (time_t)(until_ns / 1000000000),
					.tv_nsec = (long)(until_ns % 1000000000) };

	pthread_mutex_lock(&resolver->lock);
	while (!resolver->call && !resolver->woken &&
	       pthread_cond_timedwait(&resolver->wake, &resolver->lock, &until) == 0)
		;
	resolver->woken = false;
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

void resolver_switch_guest(struct resolver *resolver, struct ring *ring, unsigned n_vcpus)
{
	const void *record;
	size_t size_bytes;

	while ((record = ring_peek(resolver->settings.ring, &size_bytes))) {
		resolver_add(resolver, record, size_bytes);
		ring_release(resolver->settings.ring);
	}
	seen_code_clear(resolver->code);
	runtimes_forget(resolver->runtimes);
	resolver->settings.ring = ring;
	resolver->settings.n_vcpus = n_vcpus;
	resolver->ahead = 0;
	memset(resolver->ahead_spaces, 0, sizeof(resolver->ahead_spaces));
}

/* --- the thread ------------------------------------------------------------------------------- */

/* Forgets the profile, if main asked for it. */
static void resolver_reset(struct resolver *resolver)
{
	uint64_t resets = control_get_resets(resolver->settings.control);

	if (resolver->resets == resets)
		return;
	resolver->resets = resets;
	resolver_forget(resolver);
}

static void resolver_process(struct resolver *resolver, const void *record, size_t size_bytes)
{
	const struct recording_moment *moment = record;

	if (!resolver->settings.live && size_bytes == sizeof(*moment) &&
	    recording_is_note(record) && moment->note.type == RECORDING_MOMENT)
		resolver_publish_moment(resolver, moment);
	else
		resolver_add(resolver, record, size_bytes);
}

/*
 * Whether RECORD, the next one, was sampled after the interval that the reader waits for. If the
 * interval's snapshot got no memory, no record is held back: the ring would fill up.
 */
static bool resolver_is_of_next(const struct resolver *resolver, const void *record,
				size_t size_bytes)
{
	uint64_t end_ns = snapshot_wanted_until(resolver->settings.slot);

	return end_ns && end_ns != resolver->missed_ns && resolver->settings.live &&
	       size_bytes >= sizeof(struct sample) &&
	       ((const struct sample *)record)->time_ns > end_ns;
}

/*
 * Whether the interval that the reader waits for is complete: its end has passed, and all of its
 * samples have come. While the sampler is about to commit a sample of the interval,
 * control_get_next() is before the end.
 */
static bool resolver_ends_interval(const struct resolver *resolver)
{
	uint64_t end_ns = snapshot_wanted_until(resolver->settings.slot), now_ns;
	const void *record;
	size_t size_bytes;

	if (!end_ns)
		return false;
	record = ring_peek(resolver->settings.ring, &size_bytes);
	if (record && resolver->settings.live)
		return resolver_is_of_next(resolver, record, size_bytes);
	now_ns = clock_now_ns();
	return now_ns > end_ns && (!resolver->settings.live ||
				   control_get_next(resolver->settings.control) > end_ns ||
				   now_ns - end_ns > RESOLVER_LATE_NS);
}

/*
 * Adds records until the ring is empty, the interval is complete, or somebody waits for this
 * thread, but at most RESOLVER_AT_ONCE: a ring that fills as fast as it is emptied is never empty,
 * and the other work needs its turn. Adds at least one record before a snapshot that is wanted at
 * once: otherwise the ring would fill up while such a snapshot gets no memory.
 */
static void resolver_drain(struct resolver *resolver)
{
	struct ring *ring = resolver->settings.ring;
	const void *record;
	size_t size_bytes;

	if (ring_peek(ring, &size_bytes))
		resolver->record_bytes = 0;
	for (unsigned i = 0; i < RESOLVER_AT_ONCE &&
			     resolver->resets == control_get_resets(resolver->settings.control) &&
			     (record = ring_peek(ring, &size_bytes)) &&
			     !resolver_is_of_next(resolver, record, size_bytes);
	     i++) {
		resolver_process(resolver, record, size_bytes);
		ring_release(ring);
		if (size_bytes > resolver->record_bytes)
			resolver->record_bytes = size_bytes;
		if (snapshot_wanted(resolver->settings.slot))
			return;
	}
}

/*
 * Tells OS how many pages the guest has; 0 if the guest is not known to be alive. Mappings of guest
 * memory are valid while that number stays the same.
 */
static void resolver_update_pages(const struct resolver *resolver)
{
	struct sampler_counts counts;
	bool alive;

	control_get_counts(resolver->settings.control, &counts);
	alive = counts.state == SAMPLER_RUNNING || counts.state == SAMPLER_GUEST_PAUSED;
	os_update_pages(resolver->settings.os, alive ? counts.guest_pages : 0);
}

static bool resolver_knows_system(const struct resolver *resolver)
{
	return resolver->settings.os && os_is_known(resolver->settings.os);
}

/* How many samples may wait to be added together: they must fit into a quarter of the ring. */
static double resolver_few(const struct resolver *resolver)
{
	size_t room = ring_size_bytes(resolver->settings.ring) / 4;
	size_t few = resolver->record_bytes ? room / resolver->record_bytes : 0;

	return few < RESOLVER_FEW ? (double)few : RESOLVER_FEW;
}

/*
 * The longest sleep where nobody looks at a screen. Many guests are sampled slowly then, and their
 * resolvers together would take more CPU for waking than for samples. Samples of a unikernel,
 * or of a guest that has not been seen running yet, may wait and be added together.
 */
static uint64_t resolver_patience_ns(const struct resolver *resolver)
{
	const struct control *control = resolver->settings.control;
	double waits_hz = control_get_waits_hz(control), nap_ns = RESOLVER_LONG_NAP_NS;

	if (!resolver_knows_system(resolver))
		nap_ns = (double)resolver->period_ns * control_get_stride(control) *
			 resolver_few(resolver);
	if (waits_hz > 0 && nap_ns > 1e9 / waits_hz / RESOLVER_WAITS)
		nap_ns = 1e9 / waits_hz / RESOLVER_WAITS;
	if (nap_ns < RESOLVER_NAP_NS)
		return RESOLVER_NAP_NS;
	return nap_ns < RESOLVER_LONG_NAP_NS ? (uint64_t)nap_ns : RESOLVER_LONG_NAP_NS;
}

/* When the next sample comes: the sampler says so; in a replay, a period after the last one. */
static uint64_t resolver_next_ns(const struct resolver *resolver)
{
	return resolver->settings.live ? control_get_next(resolver->settings.control)
				       : resolver->latest_ns + resolver->period_ns;
}

/* NAP_NS, shortened if an interval ends before. */
static uint64_t resolver_nap_until_end(const struct resolver *resolver, uint64_t now_ns,
				       uint64_t nap_ns)
{
	uint64_t end_ns = snapshot_wanted_until(resolver->settings.slot);

	if (!end_ns || end_ns + RESOLVER_AFTER_NS > now_ns + nap_ns)
		return nap_ns;
	return end_ns + RESOLVER_AFTER_NS > now_ns ? end_ns + RESOLVER_AFTER_NS - now_ns
						   : RESOLVER_NAP_NS;
}

/*
 * Sleeps until just after the next sample. The process that ran then may be gone a few milliseconds
 * later, and then nobody can tell whose code it was. A sample that was due a moment ago is on its
 * way.
 */
static void resolver_nap(struct resolver *resolver)
{
	bool patient = resolver->settings.intervals && resolver->settings.live;
	uint64_t nap_ns = patient ? resolver_patience_ns(resolver) : RESOLVER_NAP_NS;
	uint64_t next_ns = resolver_next_ns(resolver) + RESOLVER_AFTER_NS, now_ns = clock_now_ns();

	if (patient && !resolver_knows_system(resolver))
		next_ns = 0; /* samples may wait: see resolver_patience_ns() */
	if (next_ns > now_ns && next_ns - now_ns < nap_ns)
		nap_ns = next_ns - now_ns;
	else if (next_ns <= now_ns && now_ns - next_ns < RESOLVER_LATE_NS)
		nap_ns = RESOLVER_NAP_NS;
	resolver_sleep(resolver, now_ns + resolver_nap_until_end(resolver, now_ns, nap_ns));
}

void resolver_run(struct resolver *resolver)
{
	size_t size_bytes;
	bool finishing, more;

	work_set_end(resolver->settings.work, resolver_is_over, resolver);
	for (;;) {
		/* Ask first: all records from before the end was announced are in the ring now. */
		finishing = control_is_finishing(resolver->settings.control);
		resolver->hurry_turn_ns = 0;
		resolver_answer(resolver);
		resolver_reset(resolver);
		runtimes_set_shown(resolver->runtimes,
				   !control_get_interpreters(resolver->settings.control));
		if (resolver->settings.os)
			resolver_update_pages(resolver);
		resolver_drain(resolver);
		resolver_poll_exits(resolver);
		/* In a replay the recording has notes of these polls. */
		if (resolver->settings.os && !resolver->settings.recorded &&
		    !work_is_over(resolver->settings.work))
			resolver_poll(resolver, clock_now_ns());
		more = resolver->settings.os && !resolver->settings.recorded && !finishing &&
		       !work_is_over(resolver->settings.work) && resolver_poll_waits(resolver);
		if (snapshot_wanted(resolver->settings.slot) || resolver_ends_interval(resolver)) {
			/* A reset that was asked for before the snapshot must show in it. */
			resolver_reset(resolver);
			resolver_publish(resolver, false);
		}
		resolver_publish_waits(resolver, false);
		if (more || ring_peek(resolver->settings.ring, &size_bytes))
			continue;
		if (finishing)
			break;
		resolver_nap(resolver);
	}
	resolver_publish_waits(resolver, true);
	resolver_publish(resolver, true);
	/* No page stays mapped: to write the results may take long. */
	if (resolver->settings.os)
		os_update_pages(resolver->settings.os, 0);
	work_set_end(resolver->settings.work, NULL, NULL);
}
