/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pipelines of a session, one for each guest. A guest comes from the command line, from the
 * list of domains on the screen, or from --all. Also what the screen needs to show them. Main's
 * thread.
 */
#ifndef XTOP_PIPELINES_H
#define XTOP_PIPELINES_H

#include "xtop/cli/options.h"
#include "xtop/pipeline/pipeline.h"
#include "xtop/ui/ui.h"

/* As many as the broker samples; the screen shows at most UI_MAX_GUESTS. */
#define PIPELINES_MAX_GUESTS 64

struct pipelines {
	const struct options *options;
	const struct host_files *files;
	const struct snapshot *baseline; /* the older run that guests are compared with, or NULL */
	/* Starts pipelines of guests that are new, for --all with the screen; else NULL. */
	void (*find)(void *context);
	void *find_context;
	struct pipelines_guest *guests[PIPELINES_MAX_GUESTS]; /* a free place is NULL */
};

/* Adds a pipeline of DOMAIN; NULL: of the file of -r. Needs rights. */
struct xtop_error *pipelines_add(struct pipelines *pipelines, const char *domain);
struct xtop_error *pipelines_start(struct pipelines *pipelines);
/* Stops all pipelines and returns the first error. What was sampled can still be read. */
struct xtop_error *pipelines_stop(struct pipelines *pipelines);
void pipelines_deinit(struct pipelines *pipelines);
/* The pipeline of the first guest, for batch mode and files; NULL if no guest was named. */
struct pipeline *pipelines_first(const struct pipelines *pipelines);
/* The pipeline in place I, below PIPELINES_MAX_GUESTS; NULL if the place is free. */
struct pipeline *pipelines_get(const struct pipelines *pipelines, size_t i);

/* Whether no place is free. */
bool pipelines_are_full(struct pipelines *pipelines);
/* Adds a pipeline of DOMAIN and starts it. For callers that have given up their rights. */
struct xtop_error *pipelines_open_domain(struct pipelines *pipelines, const char *domain);
/* Stops the pipeline in place I. Its last snapshot can then be taken. */
struct xtop_error *pipelines_stop_guest_at(struct pipelines *pipelines, size_t i);
/* Stops and destroys the pipeline in place I. The place is free then. */
void pipelines_remove_at(struct pipelines *pipelines, size_t i);

/* Writes "dom 5 PVH", "recording PVH" or "folded profile", with SEPARATOR before the type. */
void pipelines_describe(const struct pipeline *pipeline, const char *separator, char *text,
			size_t capacity);
const char *pipelines_type_name(enum guest_type type);
/* The name of the guest's type; NULL if PIPELINE shows a profile. */
const char *pipelines_type_of(const struct pipeline *pipeline);

/* Waits until the recording was played to its end. */
void pipelines_wait_for_end(const struct pipeline *pipeline);
/*
 * Requests a snapshot and waits a moment. Returns the newest one, which the caller owns; or NULL.
 */
struct snapshot *pipelines_next_snapshot(const struct pipeline *pipeline);
/* Waits until the guest's system is known, for SECONDS at most. */
void pipelines_wait_for_system(const struct pipeline *pipeline, double seconds);

/* Runs the screen with all pipelines. If there is none, the list of domains comes first. */
struct xtop_error *pipelines_show(struct pipelines *pipelines, const struct ui_settings *settings);

#endif
