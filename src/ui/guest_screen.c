/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One guest on the screen and its pictures. */
#include "config.h"

#include "ui/guest_screen.h"
#include "ui/views/views.h"
#include "xtop/base/hash.h"
#include "xtop/base/text.h"
#include "xtop/query/pass_through.h"

#include <stdlib.h>
#include <string.h>

#include "xtop/base/cleanup.h"

#define NS_PER_S         1000000000ULL
#define FIRST_SAMPLES_NS (20 * 1000000ULL) /* interval of requests until there are samples */
#define RECENT_PICTURES  80 /* eight half-lives of 10 s: older pictures hardly count */
#define LINES_NS         (50 * 1000000ULL) /* interval of looking for source lines */
#define ANSWER_NS        (10 * 1000000ULL) /* interval of looking for a requested snapshot */

/* --- life ------------------------------------------------------------------------------------- */

/* The guest's owner may have chosen these strings: they are cleaned like every name. */
static void guest_screen_set_names(struct guest_screen *guest, const struct ui_guest *from)
{
	text_clean(guest->name, sizeof(guest->name), from->name, strlen(from->name));
	text_clean(guest->kind, sizeof(guest->kind), from->kind, strlen(from->kind));
	text_clean(guest->system, sizeof(guest->system), from->system, strlen(from->system));
}

static const struct view_ops *guest_screen_first_view(const struct ui_pipeline *pipeline)
{
	if (pipeline->of_crash)
		return &crash_ops;
	return pipeline->of_waits ? &waits_ops : &top_ops;
}

struct xtop_error *guest_screen_create(const struct ui_pipeline *pipeline, bool picked,
				       double half_life_s, struct guest_screen **guestp)
{
	struct guest_screen *guest = calloc(1, sizeof(*guest));
	struct xtop_error *error;

	if (!guest)
		return error_create("out of memory");
	guest->pipeline = pipeline;
	guest->picked = picked;
	guest->process = guest->annotated = FRAME_NONE;
	recent_init(&guest->recent, half_life_s);
	guest_screen_set_names(guest, &pipeline->guest);
	error = history_create(&guest->history);
	if (!error && pipeline->lines)
		error = line_expander_create(pipeline->lines, &guest->expander);
	if (!error && pipeline->baseline) {
		guest->baseline = snapshot_copy(pipeline->baseline);
		guest->baseline_is_file = true;
		if (!guest->baseline)
			error = error_create("out of memory");
	}
	if (!error &&
	    !view_stack_push(&guest->views, guest_screen_first_view(pipeline), FRAME_NONE))
		error = error_create("out of memory");
	if (error) {
		guest_screen_destroy(guest);
		return error;
	}
	*guestp = guest;
	return NULL;
}

/* Must be called before the picture shown is destroyed. */
static void guest_screen_unselect(struct guest_screen *guest)
{
	if (guest->has_folded)
		pass_through_deinit(&guest->folded);
	if (guest->has_selected)
		selection_deinit(&guest->selected, guest_screen_shown(guest));
	guest->has_folded = guest->has_selected = false;
}

void guest_screen_destroy(struct guest_screen *guest)
{
	if (!guest)
		return;
	guest_screen_destroy(guest->waits);
	view_stack_truncate(&guest->views, 0);
	guest_screen_unselect(guest);
	snapshot_destroy(guest->last);
	snapshot_destroy(guest->live);
	snapshot_destroy(guest->frozen);
	snapshot_destroy(guest->baseline);
	annotation_destroy(guest->annotation);
	history_destroy(guest->history);
	line_expander_destroy(guest->expander);
	free(guest);
}

struct xtop_error *guest_screen_open_waits(struct guest_screen *guest, double half_life_s)
{
	const struct ui_pipeline *pipeline = guest->pipeline;
	struct xtop_error *error;

	if (guest->waits || !pipeline->waits)
		return NULL;
	error = guest_screen_create(pipeline->waits, false, half_life_s, &guest->waits);
	if (error)
		return error;
	guest->waits->samples = guest;
	if (pipeline->start_waits)
		pipeline->start_waits(pipeline->context);
	return NULL;
}

/* --- the picture shown ------------------------------------------------------------------------ */

struct snapshot *guest_screen_shown(const struct guest_screen *guest)
{
	return guest->frozen ? guest->frozen : guest->live;
}

const struct recent *guest_screen_recent(const struct guest_screen *guest)
{
	return guest->frozen ? &guest->frozen_recent : &guest->recent;
}

const char *guest_screen_system(const struct guest_screen *guest)
{
	return guest->live && snapshot_get_run(guest->live)->system[0]
		       ? snapshot_get_run(guest->live)->system
		       : guest->system;
}

struct xtop_error *guest_screen_select(struct guest_screen *guest,
				       const struct selection *selection)
{
	struct xtop_error *error;

	guest_screen_unselect(guest);
	error = selection_apply(selection, guest_screen_shown(guest), &guest->selected);
	guest->has_selected = !error;
	return error;
}

struct xtop_error *guest_screen_fold(struct guest_screen *guest, size_t *np)
{
	struct xtop_error *error = pass_through_fold(&guest->selected, &guest->folded, np);

	guest->has_folded = !error;
	return error;
}

/* --- new snapshots ---------------------------------------------------------------------------- */

/* The pipeline's message() may change the names: the guest may have rebooted as another domain. */
static void guest_screen_update_names(struct guest_screen *guest)
{
	const struct ui_pipeline *pipeline = guest->pipeline;

	if (pipeline->message)
		pipeline->message(pipeline->context);
	guest_screen_set_names(guest, &pipeline->guest);
}

/* Takes over the snapshot's annotation if it is the one wanted. Returns true if so. */
static bool guest_screen_take_annotation(struct guest_screen *guest, struct snapshot *snapshot)
{
	struct annotation *annotation = no_cleanup_ptr(snapshot->annotation);

	if (!annotation)
		return false;
	if (annotation->frame != guest->annotated || (guest->frozen && guest->annotation)) {
		annotation_destroy(annotation);
		return false;
	}
	annotation_destroy(guest->annotation);
	guest->annotation = annotation;
	return true;
}

/* Annotates the last snapshot. FRAME is a frame of the resolver. */
static void guest_screen_annotate_last(struct guest_screen *guest, uint32_t frame)
{
	const struct ui_pipeline *pipeline = guest->pipeline;
	const struct snapshot *last = guest->last ? guest->last : guest->live;

	guest->annotation = pipeline->annotate(pipeline->context, last, frame);
	if (guest->annotation && guest->expander)
		line_expander_translate_annotation(guest->expander, last, guest->annotation);
}

/* An inlined function has no code of its own, so the pipeline is not asked. */
static void guest_screen_annotate_inlined(struct guest_screen *guest, uint32_t frame)
{
	guest->annotation = calloc(1, sizeof(*guest->annotation));
	if (guest->annotation)
		*guest->annotation = (struct annotation){ .frame = frame,
							  .lack = ANNOTATION_NO_CODE };
}

void guest_screen_annotate(struct guest_screen *guest, uint32_t frame, uint64_t now_ns)
{
	const struct ui_pipeline *pipeline = guest->pipeline;

	if (frame == guest->annotated)
		return;
	guest->annotated = frame;
	annotation_destroy(no_cleanup_ptr(guest->annotation));
	if (guest->expander && frame != FRAME_NONE) {
		frame = line_expander_get_origin(guest->expander, frame);
		if (frame == FRAME_NONE)
			guest_screen_annotate_inlined(guest, guest->annotated);
	}
	if (pipeline->slot)
		snapshot_annotate(pipeline->slot, frame);
	if (frame == FRAME_NONE || !guest->live)
		return;
	if (!guest->live->at_end)
		guest->due_ns = now_ns;
	else if (pipeline->annotate)
		guest_screen_annotate_last(guest, frame);
}

/* With source lines, the frames of pictures differ from those of the pipeline's history. */
static void guest_screen_take_history(struct guest_screen *guest)
{
	const struct ui_pipeline *pipeline = guest->pipeline;
	struct history *history = NULL;

	if (pipeline->take_history && !guest->expander)
		history = pipeline->take_history(pipeline->context);
	if (!history)
		return;
	history_destroy(guest->history);
	guest->history = history;
}

bool guest_screen_set_live(struct guest_screen *guest, struct snapshot *snapshot, uint64_t now_ns)
{
	bool annotated = guest_screen_take_annotation(guest, snapshot);

	guest_screen_update_names(guest);
	recent_update(&guest->recent, snapshot);
	if (snapshot->at_end)
		guest_screen_take_history(guest);
	history_add(guest->history, snapshot);
	if (!guest->frozen)
		guest_screen_unselect(guest);
	snapshot_destroy(guest->live);
	guest->live = snapshot;
	guest->taken_ns = now_ns;
	return !guest->frozen || annotated;
}

/*
 * Until there are samples, requests are frequent. The first picture with samples has one sample;
 * each later request waits twice as long, up to the interval.
 */
static void guest_screen_request(struct guest_screen *guest, uint64_t now_ns, uint64_t interval_ns)
{
	bool empty = !guest->live || !guest->live->resolver.samples;

	snapshot_request(guest->pipeline->slot);
	guest->waiting = true;
	guest->wait_ns = empty ? FIRST_SAMPLES_NS : 2 * guest->wait_ns;
	if (!guest->wait_ns || guest->wait_ns > interval_ns || guest->wait_ns > NS_PER_S)
		guest->wait_ns = interval_ns;
	guest->due_ns = now_ns + guest->wait_ns;
}

/*
 * Returns a new snapshot with the source lines known so far; the next snapshot has more of them.
 * Returns NULL if there is no snapshot or no memory.
 */
static struct snapshot *guest_screen_take(struct guest_screen *guest)
{
	struct snapshot *taken = snapshot_take(guest->pipeline->slot), *with_lines = NULL;

	if (!taken || !guest->expander)
		return taken;
	error_destroy(line_expander_apply(guest->expander, taken, 0, &with_lines));
	if (with_lines && taken->annotation) {
		with_lines->annotation = no_cleanup_ptr(taken->annotation);
		line_expander_translate_annotation(guest->expander, taken, with_lines->annotation);
	}
	if (taken->at_end) {
		snapshot_destroy(guest->last);
		guest->last = taken;
	} else {
		snapshot_destroy(taken);
	}
	return with_lines;
}

/* Makes a new picture of the last snapshot with the lines known so far. */
static bool guest_screen_apply_last(struct guest_screen *guest)
{
	struct snapshot *with_lines = NULL;

	if (!guest->last || guest->frozen)
		return false;
	error_destroy(line_expander_apply(guest->expander, guest->last, 0, &with_lines));
	if (!with_lines)
		return false;
	guest_screen_unselect(guest);
	snapshot_destroy(guest->live);
	guest->live = with_lines;
	return true;
}

/*
 * After the last snapshot, source lines may still come. Returns true if the picture has new lines.
 */
static bool guest_screen_update_lines(struct guest_screen *guest)
{
	return guest->last && !guest->frozen && line_expander_poll(guest->expander) &&
	       guest_screen_apply_last(guest);
}

void guest_screen_set_inlined(struct guest_screen *guest, bool inlined, uint64_t now_ns)
{
	line_expander_set_inlined(guest->expander, inlined);
	if (!guest_screen_apply_last(guest))
		guest->due_ns = now_ns;
}

/* Whether source lines for the instructions shown may still come. */
static bool guest_screen_wants_lines(const struct guest_screen *guest)
{
	return guest->expander && guest->annotated != FRAME_NONE;
}

/* Whether the pipeline's message has changed since it was last read. */
static bool guest_screen_poll_message(struct guest_screen *guest)
{
	const struct ui_pipeline *pipeline = guest->pipeline;
	const char *message = pipeline->message ? pipeline->message(pipeline->context) : "";
	uint64_t hash = hash_bytes(0, message, strlen(message));
	bool changed = hash != guest->message_hash;

	guest->message_hash = hash;
	return changed;
}

bool guest_screen_tick(struct guest_screen *guest, uint64_t now_ns, uint64_t interval_ns)
{
	struct snapshot *snapshot = guest_screen_take(guest);
	bool changed = guest_screen_wants_lines(guest) && line_expander_poll(guest->expander);

	/* While a snapshot is late, only the message tells what is going on. */
	if (guest->waiting && !snapshot)
		changed |= guest_screen_poll_message(guest);

	if (snapshot) {
		guest->waiting = false;
		changed |= guest_screen_set_live(guest, snapshot, now_ns);
	}
	if (now_ns < guest->due_ns)
		return changed;
	if (guest->live && guest->live->at_end) { /* no more will come */
		changed |= guest_screen_update_lines(guest);
		guest->due_ns = now_ns + NS_PER_S;
	} else {
		guest_screen_request(guest, now_ns, interval_ns);
	}
	return changed || guest->frozen; /* the header shows the age of a frozen picture */
}

uint64_t guest_screen_wait_ns(const struct guest_screen *guest, uint64_t now_ns)
{
	uint64_t wait_ns = guest->due_ns - now_ns;

	if (guest_screen_wants_lines(guest) && wait_ns > LINES_NS)
		wait_ns = LINES_NS;
	return guest->waiting && wait_ns > ANSWER_NS ? ANSWER_NS : wait_ns;
}

/* --- frozen pictures and pictures of the history ---------------------------------------------- */

/* Takes over FROZEN and shows it; NULL: shows the newest picture. */
static void guest_screen_set_frozen(struct guest_screen *guest, struct snapshot *frozen)
{
	guest_screen_unselect(guest);
	if (!frozen || !guest->frozen)
		guest->frozen_at = frozen && guest->live ? guest->live->sequence : 0;
	snapshot_destroy(guest->frozen);
	guest->frozen = frozen;
	guest->is_range = false;
}

struct xtop_error *guest_screen_freeze(struct guest_screen *guest, uint64_t now_ns)
{
	struct snapshot *frozen = NULL;

	if (guest->is_range)
		guest->range.begin = guest->range.end = 0;
	if (!guest->frozen) {
		frozen = snapshot_copy(guest->live);
		if (!frozen)
			return error_create("out of memory");
		guest->frozen_ns = guest->taken_ns;
		guest->frozen_recent = guest->recent;
	}
	guest_screen_set_frozen(guest, frozen);
	guest->due_ns = now_ns;
	return NULL;
}

/* Computes the rates at MOMENT from the pictures before it. */
static struct xtop_error *guest_screen_read_recent(struct guest_screen *guest, size_t moment)
{
	size_t first = moment > RECENT_PICTURES ? moment - RECENT_PICTURES : 0;
	struct recent *recent = &guest->frozen_recent;
	struct xtop_error *error = NULL;

	recent_init(recent, guest->recent.half_life_s);
	for (size_t i = first; i <= moment && !error; i++) {
		struct snapshot *snapshot = NULL;

		error = history_get(guest->history, i, &snapshot);
		if (!error && i == first && i < moment)
			recent_begin(recent, snapshot);
		else if (!error)
			recent_update(recent, snapshot);
		snapshot_destroy(snapshot);
	}
	return error;
}

static struct xtop_error *guest_screen_show_moment(struct guest_screen *guest, size_t moment)
{
	struct snapshot *frozen;
	struct xtop_error *error = history_get(guest->history, moment, &frozen);

	if (error)
		return error;
	error = guest_screen_read_recent(guest, moment);
	if (error) {
		snapshot_destroy(frozen);
		return error;
	}
	guest->frozen_ns = guest->taken_ns - history_age_ns(guest->history, moment);
	guest_screen_set_frozen(guest, frozen);
	return NULL;
}

struct xtop_error *guest_screen_step(struct guest_screen *guest, int step, const char **noticep)
{
	size_t n = history_count(guest->history), at;

	if (!guest_screen_shown(guest) || !n) {
		*noticep = "there is no earlier picture yet";
		return NULL;
	}
	at = history_find(guest->history, guest_screen_shown(guest)->sequence);
	if (at == n) /* the picture shown is newer than the history */
		at = step < 0 ? n : n - 1;
	if (step < 0 ? at == 0 : at + 1 >= n) {
		*noticep = step < 0 ? "this is the earliest picture there is"
				    : "this is the latest picture: Z goes on with new ones";
		return NULL;
	}
	return guest_screen_show_moment(guest, at + (size_t)step);
}

/* --- a range of time -------------------------------------------------------------------------- */

size_t guest_screen_moment(const struct guest_screen *guest)
{
	size_t n = history_count(guest->history), at;

	if (!guest_screen_shown(guest) || !n)
		return n;
	at = history_find(guest->history, guest_screen_shown(guest)->sequence);
	return at < n ? at : n - 1;
}

/* If the history has dropped the range's beginning, the range begins with the oldest moment. */
static struct xtop_error *guest_screen_show_range(struct guest_screen *guest)
{
	size_t first = history_find(guest->history, guest->range.begin),
	       last = history_find(guest->history, guest->range.end);
	struct snapshot *frozen;
	struct xtop_error *error = history_get_range(guest->history, first, last, &frozen);

	if (error)
		return error;
	recent_init(&guest->frozen_recent, 0);
	recent_begin(&guest->frozen_recent, history_head(guest->history, first));
	for (size_t i = first + 1; i <= last; i++)
		recent_update(&guest->frozen_recent, history_head(guest->history, i));
	guest->frozen_ns = guest->taken_ns - history_age_ns(guest->history, last);
	guest_screen_set_frozen(guest, frozen);
	guest->is_range = true;
	return NULL;
}

struct xtop_error *guest_screen_mark(struct guest_screen *guest, bool begin, size_t moment,
				     const char **noticep)
{
	uint64_t sequence = history_head(guest->history, moment)->sequence;
	uint64_t *mark = begin ? &guest->range.begin : &guest->range.end;
	uint64_t *other = begin ? &guest->range.end : &guest->range.begin;

	*mark = sequence;
	if (begin ? *other <= sequence : *other >= sequence)
		*other = 0;
	if (*other)
		return guest_screen_show_range(guest);
	*noticep = begin ? "the range begins here: } marks its end, Esc forgets it"
			 : "the range ends here: { marks its beginning, Esc forgets it";
	return NULL;
}

bool guest_screen_drop_range(struct guest_screen *guest)
{
	bool marked = guest->range.begin || guest->range.end;

	guest->range.begin = guest->range.end = 0;
	if (guest->is_range)
		guest_screen_set_frozen(guest, NULL);
	return marked;
}

/* --- baseline --------------------------------------------------------------------------------- */

struct xtop_error *guest_screen_set_baseline(struct guest_screen *guest, uint64_t now_ns)
{
	struct snapshot *copy = snapshot_copy(guest_screen_shown(guest));

	if (!copy)
		return error_create("out of memory");
	snapshot_destroy(guest->baseline);
	guest->baseline = copy;
	guest->baseline_is_file = false;
	guest->baseline_ns = guest->frozen ? guest->frozen_ns : now_ns;
	return NULL;
}

void guest_screen_drop_baseline(struct guest_screen *guest)
{
	snapshot_destroy(guest->baseline);
	guest->baseline = NULL;
}
