/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the resolver hands out: snapshots of its profiles with everything that the profile alone
 * does not know, and annotations of functions. Resolver's thread.
 */
#include "config.h"

#include "profile/resolver_state.h"

#include <stdlib.h>
#include <string.h>

#include "profile/annotated_lines.h"
#include "profile/names.h"
#include "profile/wait_profile.h"
#include "xtop/base/clock.h"
#include "xtop/base/text.h"

/* --- what the profile does not know ----------------------------------------------------------- */

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
	os_get_counts(resolver->settings.os, &snapshot->run->os);
	resolver_clean(snapshot->run->system, sizeof(snapshot->run->system), description.system);
	for (int i = 0; i < OS_NOTES; i++)
		resolver_clean(snapshot->run->notes[i], sizeof(snapshot->run->notes[i]),
			       description.notes[i]);
	/* A recording that has ended is not polled, so it takes no more names. */
	snapshot->run->fetching = description.fetching && resolver->settings.live;
}

/* Fills in the times of vCPUs since start or reset. */
static void resolver_get_times(const struct resolver *resolver, struct snapshot *snapshot)
{
	struct vcpu_times times[GUEST_MAX_VCPUS];

	control_get_times(resolver->settings.control, times, snapshot->run->n_vcpus);
	for (unsigned i = 0; i < snapshot->run->n_vcpus; i++) {
		const struct vcpu_times *forgotten = &resolver->forgotten[i];

		snapshot->run->vcpus[i].times = (struct vcpu_times){
			.span_ns = times[i].span_ns - forgotten->span_ns,
			.ran_ns = times[i].ran_ns - forgotten->ran_ns,
			.waited_ns = times[i].waited_ns - forgotten->waited_ns,
		};
	}
}

/* How much FRAME's share of the samples in BATCHES varies; BATCHES NULL: nobody has measured. */
static float resolver_get_effect(const struct batches *batches, uint32_t frame, bool live)
{
	return batches ? (float)batches_get_effect(batches, frame, live) : 1;
}

/* Fills in how much shares vary. Best effort: without memory that is not known. */
static void resolver_get_effects(const struct resolver *resolver, struct snapshot *snapshot)
{
	struct snapshot_effect *effects =
		reallocarray(NULL, snapshot->n_frames, sizeof(*effects));

	snapshot->worth_live = batches_get_worth(resolver->self, true);
	snapshot->worth_total = batches_get_worth(resolver->self, false);
	for (uint32_t i = 0; effects && i < snapshot->n_frames; i++)
		effects[i] = (struct snapshot_effect){
			.self_live = resolver_get_effect(resolver->self, i, true),
			.self_total = resolver_get_effect(resolver->self, i, false),
			.children_live = resolver_get_effect(resolver->children, i, true),
			.children_total = resolver_get_effect(resolver->children, i, false),
		};
	snapshot->effects = effects;
}

/* Fills in what told where each frame is. Best effort. */
static void resolver_get_found_by(const struct fold_found_by *found, struct snapshot *snapshot)
{
	uint32_t n = found->n < snapshot->n_frames ? found->n : snapshot->n_frames;

	snapshot->found_by = n ? calloc(snapshot->n_frames, sizeof(*snapshot->found_by)) : NULL;
	if (snapshot->found_by)
		memcpy(snapshot->found_by, found->by, n);
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

/* Adds up the weight of the samples that ended in the annotation's function, or in Xen for it. */
static void resolver_weigh(const struct resolver *resolver, const struct snapshot *snapshot,
			   struct annotation *annotation)
{
	for (size_t i = 0; i < snapshot->n_nodes; i++) {
		const struct snapshot_node *node = &snapshot->nodes[i];
		const struct snapshot_node *xen = &snapshot->nodes[node->parent];
		/* Rows of exits stand below "[xen]", which stands below the function. */
		uint32_t frame = resolver_is_xen_row(resolver, xen->frame)
					 ? snapshot->nodes[xen->parent].frame
					 : node->frame;

		if (frame_get_function(frames_get(snapshot->frames, frame), frame) !=
		    annotation->frame)
			continue;
		annotation->self_live += node->self_live;
		annotation->self_ticks += node->self_ticks;
		annotation->self_samples += node->self_total;
	}
}

/* Adds the text of an interpreted function's lines, if the guest has the file in memory. */
static void resolver_read_text(struct resolver *resolver, struct annotation *annotation)
{
	struct os *os = resolver->settings.os;
	struct runtimes_source source;
	char *text;
	size_t n;

	if (annotation->lack != ANNOTATION_HAS_LINES || !resolver->settings.live || !os ||
	    !runtimes_find_source(resolver->runtimes, annotation->frame, &source))
		return;
	text = malloc(ANNOTATION_MAX_TEXT);
	if (!text)
		return;
	n = os_read_file(os, source.tgid, source.path, text, ANNOTATION_MAX_TEXT);
	annotated_lines_add_text(annotation, text, n);
	free(text);
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
	/* The memory that was read here was not read for a sample. */
	if (resolver->settings.recorded)
		recorded_memory_end_turn(resolver->settings.recorded);
	if (!error)
		error = addresses_get(resolver->addresses, snapshot->time_ns, annotation);
	if (error) {
		annotation_destroy(annotation);
		return error;
	}
	resolver_weigh(resolver, snapshot, annotation);
	error = annotated_lines_build(snapshot, annotation);
	if (error) {
		annotation_destroy(annotation);
	} else {
		resolver_read_text(resolver, annotation);
		*annotationp = annotation;
	}
	return error;
}

/* --- snapshots -------------------------------------------------------------------------------- */

/* Fills in what snapshots of samples and snapshots of waiting tasks have in common. */
static void resolver_complete(struct resolver *resolver, struct snapshot *snapshot)
{
	const struct resolver_settings *settings = &resolver->settings;

	snapshot->crash = resolver->crash;
	snapshot->interpreters = control_get_interpreters(settings->control);
	snapshot->resolver.cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	control_get_counts(settings->control, &snapshot->run->sampler);
	control_get_stopped(settings->control, &snapshot->run->stopped);
	snapshot->run->n_vcpus = settings->n_vcpus;
	memcpy(snapshot->run->vcpus, resolver->fold.vcpus,
	       settings->n_vcpus * sizeof(snapshot->run->vcpus[0]));
	if (resolver->waits)
		waits_get_wakes(resolver->waits, snapshot);
	snapshot->run->calls =
		calloc(settings->n_vcpus, sizeof(*snapshot->run->calls)); /* best effort */
	if (snapshot->run->calls)
		memcpy(snapshot->run->calls, resolver->fold.calls,
		       settings->n_vcpus * sizeof(*snapshot->run->calls));
	resolver_get_times(resolver, snapshot);
	names_get_places(resolver->names, snapshot);
	resolver_describe(resolver, snapshot);
	snapshot->clocks = resolver->clocks;
	snapshot->first_clocks = resolver->first_clocks;
	snapshot->run->ring_permille = (unsigned)(ring_used_bytes(settings->ring) * 1000 /
						  ring_size_bytes(settings->ring));
}

/* Fills in what profile_copy() did not know of the samples. */
static void resolver_complete_samples(struct resolver *resolver, struct snapshot *snapshot)
{
	struct resolver_counts *counts = &resolver->fold.counts;

	counts->evicted_nodes = snapshot->resolver.evicted_nodes;
	counts->frames_refused = snapshot->resolver.frames_refused;
	snapshot->resolver = *counts;
	snapshot->sequence = ++resolver->sequence;
	resolver_get_effects(resolver, snapshot);
	resolver_get_found_by(&resolver->found_by, snapshot);
	snapshot->profile_bytes += addresses_memory_bytes(resolver->addresses) +
				   seen_code_memory_bytes(resolver->code);
	snapshot->run->takers = resolver_get_takers(resolver);
	snapshot->run->exits = resolver_get_exits(resolver);
	snapshot->run->lag_ns = resolver->lag_ns;
	resolver->lag_ns = 0;
	resolver_complete(resolver, snapshot);
	resolver_add_xen_rows(resolver, snapshot);
}

static uint64_t resolver_now(const struct resolver *resolver)
{
	return resolver->settings.live ? clock_ns(CLOCK_MONOTONIC) : resolver->latest_ns;
}

static struct xtop_error *resolver_snapshot_at(struct resolver *resolver, uint64_t time_ns,
					       struct snapshot **snapshotp)
{
	struct xtop_error *error = profile_copy(resolver->profile, time_ns, snapshotp);

	if (!error)
		resolver_complete_samples(resolver, *snapshotp);
	return error;
}

struct xtop_error *resolver_snapshot(struct resolver *resolver, struct snapshot **snapshotp)
{
	return resolver_snapshot_at(resolver, resolver_now(resolver), snapshotp);
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

void resolver_publish_moment(struct resolver *resolver, const struct recording_moment *moment)
{
	const struct resolver_settings *settings = &resolver->settings;
	struct snapshot *snapshot = NULL;

	if (!settings->moment)
		return;
	error_destroy(resolver_snapshot(resolver, &snapshot));
	if (!snapshot)
		return;
	snapshot->run->sampler = moment->counts;
	settings->moment(settings->moment_context, snapshot);
	snapshot_destroy(snapshot);
}

/* --- publishing ------------------------------------------------------------------------------- */

/* Best effort: without memory there is no snapshot this time, and the reader asks again. */
static void resolver_publish_in(struct resolver *resolver, struct snapshot *snapshot, bool at_end,
				struct snapshot_slot *slot)
{
	if (!snapshot)
		return;
	snapshot->at_end = at_end;
	if (resolver->settings.writer)
		snapshot->run->recording_errno =
			recording_writer_get_errno(resolver->settings.writer);
	snapshot_publish(slot, snapshot);
}

void resolver_publish(struct resolver *resolver, bool at_end)
{
	uint32_t frame = snapshot_annotated(resolver->settings.slot);
	uint64_t end_ns = snapshot_wanted_until(resolver->settings.slot);
	bool until = end_ns && !at_end && resolver->settings.live;
	struct snapshot *snapshot = NULL;

	error_destroy(resolver_snapshot_at(resolver, until ? end_ns : resolver_now(resolver),
					   &snapshot));
	resolver->missed_ns = snapshot ? 0 : end_ns;
	if (snapshot && frame < snapshot->n_frames)
		error_destroy(
			resolver_annotate(resolver, snapshot, frame, &snapshot->annotation));
	/* The samples of a snapshot that was not taken yet must not be lost. */
	if (snapshot && resolver->settings.intervals)
		snapshot->before = snapshot_take(resolver->settings.slot);
	resolver_publish_in(resolver, snapshot, at_end, resolver->settings.slot);
	if (snapshot && resolver->settings.intervals)
		resolver_forget(resolver);
}

void resolver_publish_waits(struct resolver *resolver, bool at_end)
{
	struct snapshot_slot *slot = resolver->settings.waits_slot;
	struct snapshot *snapshot = NULL;

	if (!slot || (at_end ? !resolver->waits : !snapshot_wanted(slot)))
		return;
	if (!at_end && resolver->waits && waits_is_torn(resolver->waits, resolver_now(resolver)))
		return; /* the reader's request stays */
	error_destroy(resolver_snapshot_waits(resolver, &snapshot));
	/* See resolver_publish(). */
	if (snapshot && resolver->settings.intervals)
		snapshot->before = snapshot_take(slot);
	resolver_publish_in(resolver, snapshot, at_end, slot);
	if (snapshot && resolver->settings.intervals)
		waits_reset(resolver->waits);
}
