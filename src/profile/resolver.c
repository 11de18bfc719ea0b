/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The resolver's thread; see xtop/resolver.h. It takes records out of the ring, checks them, gives
 * each vCPU of a sample to fold.c, and hands out snapshots.
 *
 * It sleeps while the ring is empty and looks again a few hundred times a second: the sampler stops
 * the guest, so it must not have to wake anybody up.
 */
#include "config.h"

#include "xtop/resolver.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "profile/fold.h"
#include "profile/names.h"
#include "profile/waits.h"
#include "xtop/clock.h"
#include "xtop/crash.h"
#include "xtop/text.h"
#include "xtop/work.h"

#define RESOLVER_NAP_NS   5000000 /* the longest sleep between two looks at an empty ring */
#define RESOLVER_AT_ONCE  64      /* records */
#define RESOLVER_AFTER_NS 200000  /* most samples are in the ring so long after their deadline */
#define RESOLVER_POLL_NS  1000000000ULL /* between two looks for missing names */
#define RESOLVER_STILL_NS 120000000000ULL /* longer than os.c waits for another look */
#define RESOLVER_STILL_BYTES (32U << 10) /* of a stack, where no system tells its end */
#define RESOLVER_CLOCKS_NS 1000000000ULL /* between two readings of the clocks */
#define RESOLVER_CLOCKS_RETRY_NS 100000000ULL /* the same, as long as the guest's are not known */

struct resolver {
	struct resolver_settings settings;
	struct frames *frames;
	struct names *names;
	struct profile *profile;
	struct addresses *addresses;
	struct seen_code *code;
	struct snapshot *baseline; /* NULL: none */
	struct batches *self, *children; /* CHILDREN NULL: nobody asks */
	struct waits *waits; /* NULL: nobody has asked for tasks that wait */
	struct crash *crash; /* NULL: nobody asks, or not yet */
	bool seen_still;     /* the first sample of sampler_run_still() has come */
	uint64_t sequence, waits_sequence, resets;
	struct vcpu_times forgotten[GUEST_MAX_VCPUS]; /* until the last reset */
	uint64_t latest_ns;    /* time of the latest sample, on the samples' clock */
	uint64_t period_ns;    /* asked for between that sample and the next */
	uint64_t lag_ns;       /* the longest since the last snapshot */
	uint64_t next_poll_ns; /* for missing names */
	uint64_t next_clocks_ns;
	struct clocks clocks, first_clocks; /* the newest; the first since start or reset */
	/* After control_hurry(), 0 before: */
	uint64_t hurry_turn_ns; /* when the thread first knew of it in this turn */
	uint64_t hurry_cpu_ns;  /* the thread's CPU time when it first knew of it */
	struct fold fold;      /* has the counts */
	struct recording_trim trim; /* the current sample, if it is recorded */
	/* What another thread wants to be done on this thread; CALL NULL: nothing. */
	pthread_mutex_t lock;
	pthread_cond_t called;
	void (*call)(void *context);
	void *call_context;
};

/* --- the end ---------------------------------------------------------------------------------- */

/*
 * Somebody waits for the end, and this thread has used RESOLVER_HURRY_NS of CPU time since, or this
 * turn has lasted for twice as long. From now on the guest's memory cannot be read, and what is in
 * the ring is counted. The sum of the turns' time does not count: on a busy machine other processes
 * take most of it, and samples that still come one by one are to be resolved.
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

/* --- life ------------------------------------------------------------------------------------- */

/* The frames of the baseline come first. Equal ones of the run are the same frames then. */
static struct xtop_error *resolver_take_baseline(struct resolver *resolver)
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
		error = resolver_take_baseline(resolver);
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
		error = batches_create(settings->half_life_ns, &resolver->self);
	if (!error && settings->compared)
		error = batches_create(0, &resolver->children);
	if (error) {
		resolver_destroy(resolver);
		return error;
	}
	resolver->fold.settings = (struct fold_settings){
		.frames = resolver->frames,
		.names = resolver->names,
		.profile = resolver->profile,
		.addresses = resolver->addresses,
		.code = resolver->code,
		.self = resolver->self,
		.children = resolver->children,
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
	recording_trim_deinit(&resolver->trim);
	waits_destroy(resolver->waits);
	crash_destroy(resolver->crash);
	snapshot_destroy(resolver->baseline);
	batches_destroy(resolver->self);
	batches_destroy(resolver->children);
	seen_code_destroy(resolver->code);
	addresses_destroy(resolver->addresses);
	profile_destroy(resolver->profile);
	names_destroy(resolver->names);
	frames_destroy(resolver->frames);
	pthread_cond_destroy(&resolver->called);
	pthread_mutex_destroy(&resolver->lock);
	free(resolver);
}

/* --- records ---------------------------------------------------------------------------------- */

static void resolver_rename(struct resolver *resolver)
{
	profile_rename(resolver->profile, names_now, resolver->names);
	addresses_rename(resolver->addresses, names_now_shifted, resolver->names);
	if (resolver->settings.log)
		sample_log_rename(resolver->settings.log, names_now, resolver->names);
	if (resolver->waits)
		waits_rename(resolver->waits);
}

/* --- tasks that wait -------------------------------------------------------------------------- */

/* NULL: out of memory. Nobody pays for what nobody asks for. */
static struct waits *resolver_get_waits(struct resolver *resolver)
{
	const struct resolver_settings *settings = &resolver->settings;
	const struct waits_settings waits = {
		.frames = resolver->frames,
		.names = resolver->names,
		.symbols = settings->symbols,
		.os = settings->os,
		.how = settings->how,
		.half_life_ns = settings->half_life_ns,
		.max_nodes = settings->max_nodes,
	};

	if (!resolver->waits)
		error_destroy(waits_create(&waits, &resolver->waits));
	return resolver->waits;
}

/* True: another turn follows at once. */
static bool resolver_poll_waits(struct resolver *resolver)
{
	double hz = control_get_waits_hz(resolver->settings.control);
	uint64_t now_ns = clock_now_ns(), period_ns;
	bool done, more;

	/* What begins when the user waits for the end may be torn off. */
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

/* Looks for modules and for missing names, if it is time for that. */
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
 * READ is what dom0's clocks showed. The guest's are read by Xen's. The sample that comes next was
 * taken a little before: the clocks run evenly over so short a time.
 */
static void resolver_take_clocks(struct resolver *resolver, const struct recording_clocks *read)
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

/* Before a sample of TIME_NS. In a replay the recording has notes of it. */
static void resolver_read_clocks(struct resolver *resolver, uint64_t time_ns)
{
	struct recording_clocks read = { .time_ns = time_ns };
	uint64_t ahead_ns;

	if (!resolver->settings.live || time_ns < resolver->next_clocks_ns)
		return;
	read.utc_ns = clock_ns(CLOCK_REALTIME) - (clock_now_ns() - time_ns);
	if (control_get_xen_clock(resolver->settings.control, &ahead_ns))
		read.xen_ns = time_ns + ahead_ns;
	resolver_take_clocks(resolver, &read);
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
	resolver_take_clocks(resolver, &read);
	return true;
}

/* --- notes ------------------------------------------------------------------------------------ */

/* A recording also has notes: what the resolver read and did between samples, in the same order. */
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
	} else if (note->type == RECORDING_CLOCKS
			   ? !resolver_replay_clocks(resolver, note, size_bytes)
			   : !recorded_memory_apply(resolver->settings.recorded, note,
						    size_bytes)) {
		resolver->fold.counts.bad_records++;
	}
}

static void resolver_measure_lag(struct resolver *resolver, uint64_t time_ns)
{
	uint64_t now_ns = clock_now_ns(), lag_ns = now_ns > time_ns ? now_ns - time_ns : 0;

	if (lag_ns > resolver->lag_ns)
		resolver->lag_ns = lag_ns;
	if (lag_ns > resolver->fold.counts.lag_ns)
		resolver->fold.counts.lag_ns = lag_ns;
}

/*
 * In a recording a sample stands behind the guest memory that was read for it, and has the stack
 * bytes that were needed. Without memory for that it has all. A sample that the end came upon is
 * recorded up to there.
 */
static void resolver_add_sample(struct resolver *resolver, const struct sample *sample)
{
	struct recording_writer *writer = resolver->settings.writer;
	const void *record = sample;
	size_t size_bytes = sample->size_bytes;
	const struct sample_vcpu *vcpu;
	bool trims = writer && recording_trim_begin(&resolver->trim, sample);
	uint16_t i;

	if (resolver->settings.live)
		resolver_measure_lag(resolver, sample->time_ns);
	resolver_read_clocks(resolver, sample->time_ns);
	resolver->latest_ns = sample->time_ns;
	resolver->period_ns = sample->period_ns;
	vcpu = sample_first_vcpu(sample);
	for (i = 0; i < sample->n_vcpus && fold_add(&resolver->fold, sample, vcpu); i++) {
		if (resolver->waits)
			waits_update_vcpu(resolver->waits, &resolver->fold, vcpu);
		if (trims)
			recording_trim_add(&resolver->trim, vcpu,
					   fold_get_reached(&resolver->fold));
		vcpu = sample_next_vcpu(vcpu);
	}
	if (i < sample->n_vcpus)
		resolver->fold.counts.unresolved++;
	if (trims)
		record = recording_trim_end(&resolver->trim, i, &size_bytes);
	if (writer && (i == sample->n_vcpus || (trims && i)))
		recording_writer_write(writer, record, size_bytes);
}

/*
 * Only counts the record. A recording does not get it either: the guest memory that its names need
 * has not been read, and a replay shows what the run showed.
 */
static void resolver_leave(struct resolver *resolver, const void *record, size_t size_bytes)
{
	if (sample_check(record, size_bytes))
		resolver->fold.counts.unresolved++;
}

/* --- one look at a guest that has crashed ----------------------------------------------------- */

/*
 * Which system it is: by the first vCPU whose page tables lead to one. What os.c does not know at
 * once it would look at again after a while; here each vCPU counts as such a while.
 */
static void resolver_find_still(struct resolver *resolver, const struct sample *sample)
{
	const struct sample_vcpu *vcpu = sample_first_vcpu(sample);
	struct os *os = resolver->settings.os;

	for (uint16_t i = 0; i < sample->n_vcpus; i++, vcpu = sample_next_vcpu(vcpu)) {
		if (os && !os_is_known(os))
			os_update(os, vcpu, sample->time_ns + i * RESOLVER_STILL_NS);
		if (!os || !os_is_known(os))
			control_set_stack_top(resolver->settings.control, vcpu->regs.cr3,
					      vcpu->regs.rsp,
					      vcpu->regs.rsp + RESOLVER_STILL_BYTES);
	}
}

/* The first sample tells which system it is, and where its stacks are; the second one has them. */
static void resolver_add_still(struct resolver *resolver, const struct sample *sample)
{
	const struct crash_settings settings = { .os = resolver->settings.os,
						 .symbols = resolver->settings.symbols,
						 .how = resolver->settings.how };

	if (!resolver->seen_still)
		resolver_find_still(resolver, sample);
	else if (!resolver->crash) /* without memory there is none */
		error_destroy(crash_create(&settings, sample, sample->time_ns, &resolver->crash));
	resolver->seen_still = true;
}

void resolver_add(struct resolver *resolver, const void *record, size_t size_bytes)
{
	if (work_is_over()) {
		resolver_leave(resolver, record, size_bytes);
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
		resolver_add_still(resolver, record);
		return;
	}
	resolver_add_sample(resolver, record);
	if (resolver->settings.recorded)
		recorded_memory_end_turn(resolver->settings.recorded);
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

/* The times since start or reset. */
static void resolver_get_times(const struct resolver *resolver, struct snapshot *snapshot)
{
	struct vcpu_times times[GUEST_MAX_VCPUS];

	control_get_times(resolver->settings.control, times, snapshot->n_vcpus);
	for (unsigned i = 0; i < snapshot->n_vcpus; i++) {
		const struct vcpu_times *forgotten = &resolver->forgotten[i];

		snapshot->vcpus[i].times = (struct vcpu_times){
			.span_ns = times[i].span_ns - forgotten->span_ns,
			.ran_ns = times[i].ran_ns - forgotten->ran_ns,
			.waited_ns = times[i].waited_ns - forgotten->waited_ns,
		};
	}
}

/* Best effort: without memory nothing is known of how shares vary. */
static void resolver_get_effects(const struct resolver *resolver, struct snapshot *snapshot)
{
	struct snapshot_effect *effects =
		reallocarray(NULL, snapshot->n_frames, sizeof(*effects));

	snapshot->worth_live = batches_get_worth(resolver->self, true);
	snapshot->worth_total = batches_get_worth(resolver->self, false);
	for (uint32_t i = 0; effects && i < snapshot->n_frames; i++)
		effects[i] = (struct snapshot_effect){
			.live = (float)batches_get_effect(resolver->self, i, true),
			.total = (float)batches_get_effect(resolver->self, i, false),
		};
	snapshot->effects = effects;
}

const struct snapshot *resolver_get_baseline(const struct resolver *resolver)
{
	return resolver->baseline;
}

const struct batches *resolver_get_batches(const struct resolver *resolver, bool children)
{
	return children ? resolver->children : resolver->self;
}

/* --- annotations ------------------------------------------------------------------------------ */

/* Adds up what ended in the annotation's function. */
static void resolver_weigh(const struct snapshot *snapshot, struct annotation *annotation)
{
	for (size_t i = 0; i < snapshot->n_nodes; i++) {
		const struct snapshot_node *node = &snapshot->nodes[i];

		if (frame_get_function(frames_get(snapshot->frames, node->frame), node->frame) !=
		    annotation->frame)
			continue;
		annotation->self_live += node->self_live;
		annotation->self_ticks += node->self_ticks;
		annotation->self_samples += node->self_total;
	}
}

struct xtop_error *resolver_annotate(struct resolver *resolver, const struct snapshot *snapshot,
				     uint32_t frame, struct annotation **annotationp)
{
	struct os *os = resolver->settings.os;
	const struct space *kernel = os && os_is_known(os)
					     ? os_get_kernel(os)
					     : symbols_space(resolver->settings.symbols);
	struct annotation *annotation = NULL;
	struct xtop_error *error;

	error = seen_code_build(resolver->code, frame, resolver->frames, kernel,
				os ? os_get_memory(os) : NULL, &annotation);
	/* What was read just now was not read for a sample. */
	if (resolver->settings.recorded)
		recorded_memory_end_turn(resolver->settings.recorded);
	if (!error)
		error = addresses_get(resolver->addresses, snapshot->time_ns, annotation);
	if (error) {
		annotation_destroy(annotation);
		return error;
	}
	resolver_weigh(snapshot, annotation);
	*annotationp = annotation;
	return NULL;
}

/* --- the rest of a snapshot ------------------------------------------------------------------- */

/* Fills in what holds for the whole run, whichever profile SNAPSHOT is of. */
static void resolver_complete(struct resolver *resolver, struct snapshot *snapshot)
{
	const struct resolver_settings *settings = &resolver->settings;

	snapshot->crash = resolver->crash;
	snapshot->resolver.cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	control_get_counts(settings->control, &snapshot->sampler);
	control_get_stopped(settings->control, &snapshot->stopped);
	snapshot->n_vcpus = settings->n_vcpus;
	memcpy(snapshot->vcpus, resolver->fold.vcpus,
	       settings->n_vcpus * sizeof(snapshot->vcpus[0]));
	snapshot->calls = calloc(settings->n_vcpus, sizeof(*snapshot->calls)); /* best effort */
	if (snapshot->calls)
		memcpy(snapshot->calls, resolver->fold.calls,
		       settings->n_vcpus * sizeof(*snapshot->calls));
	resolver_get_times(resolver, snapshot);
	names_get_places(resolver->names, snapshot);
	resolver_describe(resolver, snapshot);
	snapshot->clocks = resolver->clocks;
	snapshot->first_clocks = resolver->first_clocks;
	snapshot->ring_permille = (unsigned)(ring_used_bytes(settings->ring) * 1000 /
					     ring_size_bytes(settings->ring));
}

/* Fills in what the profile of the samples could not know. */
static void resolver_complete_samples(struct resolver *resolver, struct snapshot *snapshot)
{
	struct resolver_counts *counts = &resolver->fold.counts;

	counts->evicted_nodes = snapshot->resolver.evicted_nodes;
	counts->frames_refused = snapshot->resolver.frames_refused;
	snapshot->resolver = *counts;
	snapshot->sequence = ++resolver->sequence;
	resolver_get_effects(resolver, snapshot);
	snapshot->profile_bytes += addresses_memory_bytes(resolver->addresses) +
				   seen_code_memory_bytes(resolver->code);
	snapshot->lag_ns = resolver->lag_ns;
	resolver->lag_ns = 0;
	resolver_complete(resolver, snapshot);
}

static uint64_t resolver_now(const struct resolver *resolver)
{
	return resolver->settings.live ? clock_ns(CLOCK_MONOTONIC) : resolver->latest_ns;
}

struct xtop_error *resolver_snapshot(struct resolver *resolver, struct snapshot **snapshotp)
{
	struct xtop_error *error =
		profile_copy(resolver->profile, resolver_now(resolver), snapshotp);

	if (!error)
		resolver_complete_samples(resolver, *snapshotp);
	return error;
}

struct xtop_error *resolver_snapshot_waits(struct resolver *resolver, struct snapshot **snapshotp)
{
	struct xtop_error *error;

	if (!resolver_get_waits(resolver))
		return error_create("out of memory");
	error = waits_snapshot(resolver->waits, resolver_now(resolver), snapshotp);
	if (error)
		return error;
	(*snapshotp)->sequence = ++resolver->waits_sequence;
	resolver_complete(resolver, *snapshotp);
	return NULL;
}

/* MOMENT has the replay's counters after the sample in front of it. Best effort. */
static void resolver_publish_moment(struct resolver *resolver,
				    const struct recording_moment *moment)
{
	const struct resolver_settings *settings = &resolver->settings;
	struct snapshot *snapshot = NULL;

	if (!settings->moment)
		return;
	error_destroy(resolver_snapshot(resolver, &snapshot));
	if (!snapshot)
		return;
	snapshot->sampler = moment->counts;
	settings->moment(settings->moment_context, snapshot);
	snapshot_destroy(snapshot);
}

/* Forgets the profile and the counts. */
static void resolver_forget(struct resolver *resolver)
{
	profile_reset(resolver->profile);
	if (resolver->settings.log)
		sample_log_clear(resolver->settings.log);
	addresses_reset(resolver->addresses);
	batches_reset(resolver->self);
	if (resolver->children)
		batches_reset(resolver->children);
	fold_reset(&resolver->fold);
	if (resolver->waits)
		waits_reset(resolver->waits);
	names_reset_places(resolver->names);
	resolver->first_clocks = resolver->clocks;
	control_get_times(resolver->settings.control, resolver->forgotten, GUEST_MAX_VCPUS);
}

/* Best effort: without memory there is no snapshot this time, and the reader asks again. */
static void resolver_publish_in(struct resolver *resolver, struct snapshot *snapshot, bool at_end,
				struct snapshot_slot *slot)
{
	if (!snapshot)
		return;
	snapshot->at_end = at_end;
	if (resolver->settings.writer)
		snapshot->recording_errno = recording_writer_get_errno(resolver->settings.writer);
	snapshot_publish(slot, snapshot);
}

static void resolver_publish(struct resolver *resolver, bool at_end)
{
	uint32_t frame = snapshot_annotated(resolver->settings.slot);
	struct snapshot *snapshot = NULL;

	error_destroy(resolver_snapshot(resolver, &snapshot));
	if (snapshot && frame < snapshot->n_frames)
		error_destroy(
			resolver_annotate(resolver, snapshot, frame, &snapshot->annotation));
	/* What the reader has not taken yet must not be lost: its samples are in no other one. */
	if (snapshot && resolver->settings.intervals)
		snapshot->before = snapshot_take(resolver->settings.slot);
	resolver_publish_in(resolver, snapshot, at_end, resolver->settings.slot);
	if (snapshot && resolver->settings.intervals)
		resolver_forget(resolver);
}

/* Nobody sees it but who asked for waits once. */
static void resolver_publish_waits(struct resolver *resolver, bool at_end)
{
	struct snapshot_slot *slot = resolver->settings.waits_slot;
	struct snapshot *snapshot = NULL;

	if (!slot || (at_end ? !resolver->waits : !snapshot_wanted(slot)))
		return;
	error_destroy(resolver_snapshot_waits(resolver, &snapshot));
	resolver_publish_in(resolver, snapshot, at_end, slot);
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

void resolver_switch_guest(struct resolver *resolver, struct ring *ring, unsigned n_vcpus)
{
	const void *record;
	size_t size_bytes;

	while ((record = ring_peek(resolver->settings.ring, &size_bytes))) {
		resolver_add(resolver, record, size_bytes);
		ring_release(resolver->settings.ring);
	}
	seen_code_clear(resolver->code);
	resolver->settings.ring = ring;
	resolver->settings.n_vcpus = n_vcpus;
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
 * Adds records until the ring is empty or somebody waits for this thread, but at most
 * RESOLVER_AT_ONCE: a ring that fills as fast as it is emptied is never empty, and the other work
 * needs its turn. Adds at least one record: otherwise a snapshot that never gets its memory would
 * let the ring fill up.
 */
static void resolver_drain(struct resolver *resolver)
{
	struct ring *ring = resolver->settings.ring;
	const void *record;
	size_t size_bytes;

	for (unsigned i = 0; i < RESOLVER_AT_ONCE &&
			     resolver->resets == control_get_resets(resolver->settings.control) &&
			     (record = ring_peek(ring, &size_bytes));
	     i++) {
		resolver_process(resolver, record, size_bytes);
		ring_release(ring);
		if (snapshot_wanted(resolver->settings.slot))
			return;
	}
}

/*
 * Tells OS how many pages the guest has, 0 when nobody sees the guest alive. Mappings of guest
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

/*
 * Sleeps until just after the next tick. The process that ran at that tick may be gone a few
 * milliseconds later, and then nobody can tell whose code it was.
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
	bool finishing, more;

	work_set_end(resolver_is_over, resolver);
	for (;;) {
		/* First of all: what came before the end was announced is in the ring by now. */
		finishing = control_is_finishing(resolver->settings.control);
		resolver->hurry_turn_ns = 0;
		resolver_answer(resolver);
		resolver_reset(resolver);
		if (resolver->settings.os)
			resolver_update_pages(resolver);
		resolver_drain(resolver);
		/* A recording says itself when that happened. */
		if (resolver->settings.os && !resolver->settings.recorded && !work_is_over())
			resolver_poll(resolver, clock_now_ns());
		more = resolver->settings.os && !resolver->settings.recorded && !finishing &&
		       !work_is_over() && resolver_poll_waits(resolver);
		if (snapshot_wanted(resolver->settings.slot)) {
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
	/* Nobody sees the guest any more, and writing the results may take long. */
	if (resolver->settings.os)
		os_update_pages(resolver->settings.os, 0);
	resolver_publish_waits(resolver, true);
	resolver_publish(resolver, true);
	work_set_end(NULL, NULL);
}
