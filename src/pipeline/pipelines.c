/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pipelines of a session; see pipelines.h. */
#include "config.h"

#include "xtop/pipeline/pipelines.h"

#include <stdlib.h>
#include <time.h>

#include "xtop/base/cleanup.h"
#include "xtop/base/clock.h"
#include "xtop/supervise/broker.h"
#include "xtop/xen/guest.h"

#define PIPELINES_NAP_NS 5000000

struct pipelines_guest {
	struct pipeline *pipeline;
	char domain[GUEST_NAME_BYTES]; /* the user's name for the guest; "" for the file of -r */
	char kind[64];
	bool stopped;
	bool shown; /* the screen knows this guest */
	struct line_expander_settings lines;
	struct ui_pipeline ui;    /* the guest's samples, for the screen */
	struct ui_pipeline waits; /* the guest's tasks that wait, for the screen */
};

const char *pipelines_type_name(enum guest_type type)
{
	static const char *const names[] = {
		[GUEST_PV] = "PV", [GUEST_PVH] = "PVH", [GUEST_HVM] = "HVM"
	};

	return names[type];
}

const char *pipelines_type_of(const struct pipeline *pipeline)
{
	return pipeline_is_profile(pipeline) ? NULL
					     : pipelines_type_name(pipeline_guest(pipeline)->type);
}

void pipelines_describe(const struct pipeline *pipeline, const char *separator, char *text,
			size_t capacity)
{
	const struct guest_info *info = pipeline_guest(pipeline);
	const char *type = pipelines_type_name(info->type);
	const char *value = pipeline_is_profile(pipeline) ? pipeline_value(pipeline) : "";

	if (pipeline_is_profile(pipeline))
		snprintf(text, capacity, "%s profile%s%s", pipeline_format(pipeline),
			 *value ? " of " : "", value);
	else if (pipeline_is_recording(pipeline))
		snprintf(text, capacity, "recording%s%s", separator, type);
	else
		snprintf(text, capacity, "dom %u%s%s", info->domid, separator, type);
}

/* --- waiting ---------------------------------------------------------------------------------- */

void pipelines_wait_for_end(const struct pipeline *pipeline)
{
	const struct timespec nap = { .tv_nsec = PIPELINES_NAP_NS };
	struct snapshot *last;

	while (!(last = snapshot_take(pipeline_slot(pipeline))))
		nanosleep(&nap, NULL);
	snapshot_destroy(last); /* nobody requested a snapshot, so this is the last one */
}

struct snapshot *pipelines_next_snapshot(const struct pipeline *pipeline)
{
	const struct timespec nap = { .tv_nsec = PIPELINES_NAP_NS };

	snapshot_request(pipeline_slot(pipeline));
	nanosleep(&nap, NULL);
	return snapshot_take(pipeline_slot(pipeline));
}

void pipelines_wait_for_system(const struct pipeline *pipeline, double seconds)
{
	uint64_t end_ns = clock_now_ns() + (uint64_t)(seconds * 1e9);
	bool known = false;

	while (!known && clock_now_ns() < end_ns) {
		struct snapshot *snapshot = pipelines_next_snapshot(pipeline);

		known = snapshot && (snapshot->run->system[0] || snapshot->at_end);
		snapshot_destroy(snapshot);
	}
}

/* --- one guest -------------------------------------------------------------------------------- */

static void pipelines_reset_guest(void *context)
{
	struct pipelines_guest *guest = context;

	control_reset_profile(pipeline_control(guest->pipeline));
}

static const char *pipelines_get_message(void *context)
{
	struct pipelines_guest *guest = context;
	const char *message = pipeline_get_message(guest->pipeline);

	pipelines_describe(guest->pipeline, " · ", guest->kind, sizeof(guest->kind));
	guest->ui.guest.n_vcpus = pipeline_guest(guest->pipeline)->n_vcpus;
	guest->ui.guest.id = pipeline_guest(guest->pipeline)->domid;
	guest->ui.guest.type = pipelines_type_of(guest->pipeline);
	guest->waits.guest = guest->ui.guest;
	return message;
}

static struct annotation *pipelines_annotate(void *context, const struct snapshot *last,
					     uint32_t frame)
{
	struct pipelines_guest *guest = context;
	struct annotation *annotation = NULL;

	error_destroy(pipeline_annotate(guest->pipeline, last, frame, &annotation));
	return annotation;
}

static struct history *pipelines_take_history(void *context)
{
	struct pipelines_guest *guest = context;

	return pipeline_take_history(guest->pipeline);
}

static void pipelines_start_waits(void *context)
{
	struct pipelines_guest *guest = context;

	pipeline_start_waits(guest->pipeline);
}

static struct xtop_error *pipelines_start_takers(void *context)
{
	struct pipelines_guest *guest = context;

	return pipeline_start_takers(guest->pipeline);
}

static struct xtop_error *pipelines_trace(void *context, bool on)
{
	struct pipelines_guest *guest = context;

	return pipeline_trace(guest->pipeline, on);
}

static bool pipelines_toggle_interpreters(void *context)
{
	struct pipelines_guest *guest = context;
	struct control *control = pipeline_control(guest->pipeline);

	control_set_interpreters(control, !control_get_interpreters(control));
	return control_get_interpreters(control);
}

static struct xtop_error *pipelines_read_next_value(void *context)
{
	struct pipelines_guest *guest = context;

	return pipeline_read_next_value(guest->pipeline);
}

static void pipelines_fill_waits(struct pipelines_guest *guest)
{
	if (pipeline_is_profile(guest->pipeline))
		return;
	guest->waits = guest->ui;
	guest->waits.slot = pipeline_waits_slot(guest->pipeline);
	guest->waits.baseline = NULL;
	guest->waits.take_history = NULL;
	guest->waits.of_waits = true;
	guest->ui.waits = &guest->waits;
	guest->ui.start_waits = pipelines_start_waits;
}

/* Fills what the screen shows of a guest that was started. */
static void pipelines_fill_ui(const struct pipelines *pipelines, struct pipelines_guest *guest)
{
	const struct options *options = pipelines->options;

	pipelines_describe(guest->pipeline, " · ", guest->kind, sizeof(guest->kind));
	guest->lines = (struct line_expander_settings){ .lines = pipelines->files->lines,
							.inlined = !options->no_inline };
	guest->ui = (struct ui_pipeline){
		.context = guest,
		.slot = pipeline_slot(guest->pipeline),
		.lines = options->lines ? &guest->lines : NULL,
		.guest = {
			.name = pipeline_guest(guest->pipeline)->name,
			.kind = guest->kind,
			.system = pipeline_system(guest->pipeline),
			.n_vcpus = pipeline_guest(guest->pipeline)->n_vcpus,
			.id = pipeline_guest(guest->pipeline)->domid,
			.type = pipelines_type_of(guest->pipeline),
		},
		.baseline = pipeline_baseline(guest->pipeline),
		.of_crash = options->crash,
		.reset = pipelines_reset_guest,
		.message = pipelines_get_message,
		.annotate = pipelines_annotate,
		.take_history = pipelines_take_history,
	};
	if (!pipeline_is_profile(guest->pipeline) && !pipeline_is_recording(guest->pipeline)) {
		guest->ui.start_takers = pipelines_start_takers;
		guest->ui.trace = pipelines_trace;
	}
	if (!pipeline_is_profile(guest->pipeline))
		guest->ui.toggle_interpreters = pipelines_toggle_interpreters;
	else
		guest->ui.read_next_value = pipelines_read_next_value;
	pipelines_fill_waits(guest);
}

static struct xtop_error *pipelines_start_guest(const struct pipelines *pipelines,
						struct pipelines_guest *guest)
{
	struct xtop_error *error;

	pipeline_set_baseline(guest->pipeline, pipelines->baseline);
	error = pipeline_start(guest->pipeline);

	if (!error)
		pipelines_fill_ui(pipelines, guest);
	return error;
}

static struct xtop_error *pipelines_stop_guest(struct pipelines_guest *guest)
{
	if (guest->stopped)
		return NULL;
	guest->stopped = true;
	return pipeline_stop(guest->pipeline);
}

static void pipelines_destroy_guest(struct pipelines_guest *guest)
{
	if (!guest)
		return;
	pipeline_destroy(guest->pipeline);
	free(guest);
}

/* --- all guests ------------------------------------------------------------------------------- */

static struct pipelines_guest **pipelines_find_free(struct pipelines *pipelines)
{
	for (size_t i = 0; i < PIPELINES_MAX_GUESTS; i++)
		if (!pipelines->guests[i])
			return &pipelines->guests[i];
	return NULL;
}

/*
 * Refuses a guest that was named twice: two samplers would stop it, each as often as the budget
 * allows.
 */
static struct xtop_error *pipelines_check_new(const struct pipelines *pipelines,
					      const struct pipelines_guest *guest)
{
	const struct guest_info *info = pipeline_guest(guest->pipeline);

	for (size_t i = 0; i < PIPELINES_MAX_GUESTS && guest->domain[0]; i++) {
		const struct pipelines_guest *other = pipelines->guests[i];

		if (other && pipeline_guest(other->pipeline)->domid == info->domid)
			return error_create("-d %s and -d %s are one guest: name it once",
					    other->domain, guest->domain);
	}
	return NULL;
}

struct xtop_error *pipelines_add(struct pipelines *pipelines, const char *domain)
{
	struct pipelines_guest **place = pipelines_find_free(pipelines), *guest;
	struct xtop_error *error;

	if (!place)
		return error_create("at most %d domains at a time", PIPELINES_MAX_GUESTS);
	guest = calloc(1, sizeof(*guest));
	if (!guest)
		return error_create("out of memory");
	snprintf(guest->domain, sizeof(guest->domain), "%s", domain ? domain : "");
	error = pipeline_create(pipelines->options, pipelines->files, domain ? guest->domain : NULL,
				&guest->pipeline);
	if (error) {
		free(guest);
		return error;
	}
	error = pipelines_check_new(pipelines, guest);
	if (error) {
		pipelines_destroy_guest(guest);
		return error;
	}
	*place = guest;
	return NULL;
}

struct xtop_error *pipelines_start(struct pipelines *pipelines)
{
	struct xtop_error *error = NULL;

	for (size_t i = 0; i < PIPELINES_MAX_GUESTS && !error; i++)
		if (pipelines->guests[i])
			error = pipelines_start_guest(pipelines, pipelines->guests[i]);
	return error;
}

struct xtop_error *pipelines_stop(struct pipelines *pipelines)
{
	struct xtop_error *first = NULL;

	for (size_t i = 0; i < PIPELINES_MAX_GUESTS; i++)
		if (pipelines->guests[i])
			pipeline_begin_stop(pipelines->guests[i]->pipeline);
	for (size_t i = 0; i < PIPELINES_MAX_GUESTS; i++)
		if (pipelines->guests[i])
			first = error_first(first, pipelines_stop_guest(pipelines->guests[i]));
	return first;
}

void pipelines_deinit(struct pipelines *pipelines)
{
	for (size_t i = 0; i < PIPELINES_MAX_GUESTS; i++)
		pipelines_destroy_guest(pipelines->guests[i]);
}

static void pipelines_remove(struct pipelines *pipelines, struct pipelines_guest *guest)
{
	for (size_t i = 0; i < PIPELINES_MAX_GUESTS; i++)
		if (pipelines->guests[i] == guest)
			pipelines->guests[i] = NULL;
	error_destroy(pipelines_stop_guest(guest));
	pipelines_destroy_guest(guest);
}

struct xtop_error *pipelines_open_domain(struct pipelines *pipelines, const char *domain)
{
	struct pipelines_guest **place = pipelines_find_free(pipelines);
	struct xtop_error *error = pipelines_add(pipelines, domain);

	if (error)
		return error;
	error = pipelines_start_guest(pipelines, *place); /* pipelines_add() took this place */
	if (error)
		pipelines_remove(pipelines, *place);
	return error;
}

bool pipelines_are_full(struct pipelines *pipelines)
{
	return !pipelines_find_free(pipelines);
}

struct xtop_error *pipelines_stop_guest_at(struct pipelines *pipelines, size_t i)
{
	return pipelines_stop_guest(pipelines->guests[i]);
}

void pipelines_remove_at(struct pipelines *pipelines, size_t i)
{
	pipelines_remove(pipelines, pipelines->guests[i]);
}

struct pipeline *pipelines_get(const struct pipelines *pipelines, size_t i)
{
	return pipelines->guests[i] ? pipelines->guests[i]->pipeline : NULL;
}

struct pipeline *pipelines_first(const struct pipelines *pipelines)
{
	return pipelines_get(pipelines, 0);
}

/* --- the list of domains ---------------------------------------------------------------------- */

static const char *pipelines_domain_state(char state)
{
	switch (state) {
	case 'r':
		return "running";
	case 'b':
		return "blocked";
	case 'p':
		return "paused";
	case 's':
		return "shutdown";
	case 'd':
		return "dying";
	}
	return "-";
}

static const char *pipelines_domain_obstacle(const struct guest_listing *listing)
{
	if (listing->info.domid == 0)
		return "xtop runs here";
	if (listing->state == 's' || listing->state == 'd')
		return "it has ended";
	return NULL;
}

static void pipelines_fill_domain(const struct guest_listing *listing, struct ui_domain *domain)
{
	const struct guest_info *info = &listing->info;

	*domain = (struct ui_domain){
		.id = info->domid,
		.n_vcpus = info->n_vcpus,
		.cpu_ns = listing->cpu_time_ns,
		.memory_kib = info->memory_kib,
		.obstacle = pipelines_domain_obstacle(listing),
	};
	snprintf(domain->name, sizeof(domain->name), "%s", info->name);
	snprintf(domain->inside, sizeof(domain->inside), "%s", listing->system);
	snprintf(domain->type, sizeof(domain->type), "%s", pipelines_type_name(info->type));
	snprintf(domain->state, sizeof(domain->state), "%s",
		 pipelines_domain_state(listing->state));
}

static struct xtop_error *pipelines_list(void *context, struct ui_domain **domainsp, size_t *np)
{
	_cleanup_free_ struct guest_listing *list = NULL;
	struct ui_domain *domains;
	struct xtop_error *error;
	size_t n;

	(void)context;
	error = guest_list(&list, &n);
	if (error)
		return error;
	domains = calloc(n + 1, sizeof(*domains));
	if (!domains)
		return error_create("out of memory");
	for (size_t i = 0; i < n; i++)
		pipelines_fill_domain(&list[i], &domains[i]);
	*domainsp = domains;
	*np = n;
	return NULL;
}

static struct xtop_error *pipelines_open(void *context, const struct ui_domain *domain,
					 const struct ui_pipeline **pipelinep)
{
	struct pipelines *pipelines = context;
	struct pipelines_guest **place = pipelines_find_free(pipelines);
	struct xtop_error *error;
	char id[16];

	snprintf(id, sizeof(id), "%u", domain->id);
	error = pipelines_open_domain(pipelines, id);
	if (error)
		return error;
	(*place)->shown = true; /* pipelines_open_domain() took this free place */
	*pipelinep = &(*place)->ui;
	return NULL;
}

static void pipelines_close(void *context, const struct ui_pipeline *pipeline)
{
	pipelines_remove(context, pipeline->context);
}

/* --- the screen ------------------------------------------------------------------------------- */

static const struct ui_pipeline *pipelines_next(void *context)
{
	struct pipelines *pipelines = context;

	pipelines->find(pipelines->find_context);
	for (size_t i = 0; i < PIPELINES_MAX_GUESTS; i++) {
		struct pipelines_guest *guest = pipelines->guests[i];

		if (!guest || guest->shown)
			continue;
		guest->shown = true;
		return &guest->ui;
	}
	return NULL;
}

static bool pipelines_is_over(void *context, const struct ui_pipeline *pipeline)
{
	const struct pipelines_guest *guest = pipeline->context;
	struct sampler_counts counts;

	(void)context;
	control_get_counts(pipeline_control(guest->pipeline), &counts);
	return counts.state == SAMPLER_GUEST_GONE || counts.state == SAMPLER_FAILED;
}

struct xtop_error *pipelines_show(struct pipelines *pipelines, const struct ui_settings *settings)
{
	const struct ui_pipeline *shown[PIPELINES_MAX_GUESTS];
	struct ui_source source = { .context = pipelines, .pipelines = shown };

	for (size_t i = 0; i < PIPELINES_MAX_GUESTS; i++)
		if (pipelines->guests[i] && source.n_pipelines < UI_MAX_GUESTS)
			shown[source.n_pipelines++] = &pipelines->guests[i]->ui;
	if (!pipelines->options->replay && pipelines->options->n_domains == 0) {
		source.list = pipelines_list;
		source.open = pipelines_open;
		source.close = pipelines_close;
	}
	if (pipelines->find) {
		source.n_pipelines = 0; /* next() brings all guests */
		source.next = pipelines_next;
		source.is_over = pipelines_is_over;
	}
	return ui_run(settings, &source);
}
