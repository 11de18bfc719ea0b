/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guests of a session; see guests.h. */
#include "config.h"

#include "session_guests.h"

#include <stdlib.h>
#include <string.h>

#include "xtop/broker.h"
#include "xtop/cleanup.h"
#include "xtop/guest.h"

struct guest_on_screen {
	struct pipeline *pipeline;
	char domain[GUEST_NAME_BYTES]; /* as it was asked for; "": a recording */
	char kind[64];
	bool stopped;
	struct ui_pipeline ui;
};

const char *guests_type_name(enum guest_type type)
{
	static const char *const names[] = {
		[GUEST_PV] = "PV", [GUEST_PVH] = "PVH", [GUEST_HVM] = "HVM"
	};

	return names[type];
}

void guests_describe(const struct pipeline *pipeline, const char *separator, char *text,
		     size_t capacity)
{
	const struct guest_info *info = pipeline_guest(pipeline);
	const char *type = guests_type_name(info->type);

	if (pipeline_is_recording(pipeline))
		snprintf(text, capacity, "recording%s%s", separator, type);
	else
		snprintf(text, capacity, "dom %u%s%s", info->domid, separator, type);
}

/* --- one of them ------------------------------------------------------------------------------ */

static void guest_reset(void *context)
{
	struct guest_on_screen *guest = context;

	control_reset(pipeline_control(guest->pipeline));
}

static const char *guest_message(void *context)
{
	struct guest_on_screen *guest = context;
	const char *message = pipeline_message(guest->pipeline);

	guests_describe(guest->pipeline, " · ", guest->kind, sizeof(guest->kind));
	guest->ui.guest.n_vcpus = pipeline_guest(guest->pipeline)->n_vcpus;
	guest->ui.guest.id = pipeline_guest(guest->pipeline)->domid;
	return message;
}

/* Once it has started, and all is known that the screen says of it. */
static void guest_fill_ui(struct guest_on_screen *guest)
{
	guests_describe(guest->pipeline, " · ", guest->kind, sizeof(guest->kind));
	guest->ui = (struct ui_pipeline){
		.context = guest,
		.slot = pipeline_slot(guest->pipeline),
		.guest = {
			.name = pipeline_guest(guest->pipeline)->name,
			.kind = guest->kind,
			.system = pipeline_system(guest->pipeline),
			.n_vcpus = pipeline_guest(guest->pipeline)->n_vcpus,
			.id = pipeline_guest(guest->pipeline)->domid,
		},
		.reset = guest_reset,
		.message = guest_message,
	};
}

static struct xtop_error *guest_start(struct guest_on_screen *guest)
{
	struct xtop_error *error = pipeline_start(guest->pipeline);

	if (!error)
		guest_fill_ui(guest);
	return error;
}

static struct xtop_error *guest_stop(struct guest_on_screen *guest)
{
	if (guest->stopped)
		return NULL;
	guest->stopped = true;
	return pipeline_stop(guest->pipeline);
}

static void guest_destroy(struct guest_on_screen *guest)
{
	if (!guest)
		return;
	pipeline_destroy(guest->pipeline);
	free(guest);
}

/* --- all of them ------------------------------------------------------------------------------ */

static struct guest_on_screen **guests_free_place(struct guests *guests)
{
	for (size_t i = 0; i < UI_MAX_GUESTS; i++)
		if (!guests->list[i])
			return &guests->list[i];
	return NULL;
}

/* By its name and by its number: two samplers would stop it, each as often as it may. */
static struct xtop_error *guests_refuse_twice(const struct guests *guests,
					      const struct guest_on_screen *guest)
{
	const struct guest_info *info = pipeline_guest(guest->pipeline);

	for (size_t i = 0; i < UI_MAX_GUESTS && guest->domain[0]; i++) {
		const struct guest_on_screen *other = guests->list[i];

		if (other && pipeline_guest(other->pipeline)->domid == info->domid)
			return error_create("-d %s and -d %s are one guest: name it once",
					    other->domain, guest->domain);
	}
	return NULL;
}

struct xtop_error *guests_add(struct guests *guests, const char *domain)
{
	struct guest_on_screen **place = guests_free_place(guests), *guest;
	struct xtop_error *error;

	if (!place)
		return error_create("at most %d domains at a time", UI_MAX_GUESTS);
	guest = calloc(1, sizeof(*guest));
	if (!guest)
		return error_create("out of memory");
	snprintf(guest->domain, sizeof(guest->domain), "%s", domain ? domain : "");
	error = pipeline_create(guests->options, domain ? guest->domain : NULL, guests->cache,
				&guest->pipeline);
	if (error) {
		free(guest);
		return error;
	}
	error = guests_refuse_twice(guests, guest);
	if (error) {
		guest_destroy(guest);
		return error;
	}
	*place = guest;
	return NULL;
}

struct xtop_error *guests_start(struct guests *guests)
{
	struct xtop_error *error = NULL;

	for (size_t i = 0; i < UI_MAX_GUESTS && !error; i++)
		if (guests->list[i])
			error = guest_start(guests->list[i]);
	return error;
}

struct xtop_error *guests_stop(struct guests *guests)
{
	struct xtop_error *first = NULL;

	for (size_t i = 0; i < UI_MAX_GUESTS; i++) {
		struct xtop_error *error = guests->list[i] ? guest_stop(guests->list[i]) : NULL;

		if (first)
			error_destroy(error);
		else
			first = error;
	}
	return first;
}

void guests_destroy(struct guests *guests)
{
	for (size_t i = 0; i < UI_MAX_GUESTS; i++)
		guest_destroy(guests->list[i]);
}

struct pipeline *guests_first(const struct guests *guests)
{
	return guests->list[0] ? guests->list[0]->pipeline : NULL;
}

/* --- the list of domains ---------------------------------------------------------------------- */

static const char *domain_state(char state)
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

static const char *domain_obstacle(const struct guest_listing *listing)
{
	if (listing->info.domid == 0)
		return "xtop runs here";
	if (listing->state == 's' || listing->state == 'd')
		return "it has ended";
	return NULL;
}

static void domain_fill(const struct guest_listing *listing, struct ui_domain *domain)
{
	const struct guest_info *info = &listing->info;

	*domain = (struct ui_domain){
		.id = info->domid,
		.n_vcpus = info->n_vcpus,
		.cpu_ns = listing->cpu_time_ns,
		.memory_kib = info->memory_kib,
		.obstacle = domain_obstacle(listing),
	};
	snprintf(domain->name, sizeof(domain->name), "%s", info->name);
	snprintf(domain->type, sizeof(domain->type), "%s", guests_type_name(info->type));
	snprintf(domain->state, sizeof(domain->state), "%s", domain_state(listing->state));
}

static struct xtop_error *guests_list(void *context, struct ui_domain **domainsp, size_t *np)
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
		domain_fill(&list[i], &domains[i]);
	*domainsp = domains;
	*np = n;
	return NULL;
}

static void guests_forget(struct guests *guests, struct guest_on_screen *guest)
{
	for (size_t i = 0; i < UI_MAX_GUESTS; i++)
		if (guests->list[i] == guest)
			guests->list[i] = NULL;
	error_destroy(guest_stop(guest));
	guest_destroy(guest);
}

static struct xtop_error *guests_open(void *context, const struct ui_domain *domain,
				      const struct ui_pipeline **pipelinep)
{
	struct guests *guests = context;
	struct guest_on_screen **place = guests_free_place(guests), *guest;
	struct xtop_error *error;
	char id[16];

	snprintf(id, sizeof(id), "%u", domain->id);
	error = guests_add(guests, id);
	if (error)
		return error;
	guest = *place; /* it took the free one */
	error = guest_start(guest);
	if (error) {
		guests_forget(guests, guest);
		return error;
	}
	*pipelinep = &guest->ui;
	return NULL;
}

static void guests_close(void *context, const struct ui_pipeline *pipeline)
{
	guests_forget(context, pipeline->context);
}

/* --- the screen ------------------------------------------------------------------------------- */

struct xtop_error *guests_show(struct guests *guests, const struct ui_settings *settings)
{
	const struct ui_pipeline *pipelines[UI_MAX_GUESTS];
	struct ui_source source = { .context = guests, .pipelines = pipelines };

	for (size_t i = 0; i < UI_MAX_GUESTS; i++)
		if (guests->list[i])
			pipelines[source.n_pipelines++] = &guests->list[i]->ui;
	if (!guests->options->replay && guests->options->n_domains == 0) {
		source.list = guests_list;
		source.open = guests_open;
		source.close = guests_close;
	}
	return ui_run(settings, &source);
}
