/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pipelines of a session, one for each guest: of the command line, or picked from the list of
 * domains. Also what the screen needs to show them. Main's thread.
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
	const struct snapshot *baseline; /* of all guests that are started; NULL: none */
	/* For the screen with all guests: starts pipelines of new guests. NULL: none start so. */
	void (*find)(void *context);
	void *find_context;
	struct pipelines_guest *guests[PIPELINES_MAX_GUESTS]; /* NULL: a free place */
};

/* Adds DOMAIN, or the recording of OPTIONS when it is NULL, and does not start it. Needs rights. */
struct xtop_error *pipelines_add(struct pipelines *pipelines, const char *domain);
struct xtop_error *pipelines_start(struct pipelines *pipelines);
/* Stops all and returns the first error. What was sampled stays. */
struct xtop_error *pipelines_stop(struct pipelines *pipelines);
void pipelines_deinit(struct pipelines *pipelines);
/* The first one of the command line, for batch mode and files; NULL: none was named. */
struct pipeline *pipelines_first(const struct pipelines *pipelines);
/* The one in place I, below PIPELINES_MAX_GUESTS; NULL: the place is free. */
struct pipeline *pipelines_get(const struct pipelines *pipelines, size_t i);

/* Whether there is no free place. */
bool pipelines_are_full(struct pipelines *pipelines);
/* Adds DOMAIN and starts it. For callers that have given up their rights. */
struct xtop_error *pipelines_open_domain(struct pipelines *pipelines, const char *domain);
/* Stops the one in place I; its last snapshot can then be taken. */
struct xtop_error *pipelines_stop_guest_at(struct pipelines *pipelines, size_t i);
void pipelines_remove_at(struct pipelines *pipelines, size_t i); /* stopped; the place is free */

/* "dom 5 PVH", with SEPARATOR before the type. */
void pipelines_describe(const struct pipeline *pipeline, const char *separator, char *text,
			size_t capacity);
const char *pipelines_type_name(enum guest_type type);
/* NULL: a profile has none. */
const char *pipelines_type_of(const struct pipeline *pipeline);

/* Returns when all of PIPELINE's recording has been played. */
void pipelines_wait_for_end(const struct pipeline *pipeline);
/* Returns when the guest's system is known, or after SECONDS. */
void pipelines_wait_for_system(const struct pipeline *pipeline, double seconds);

/* Runs the screen with all of them. If there are none, the list of domains comes first. */
struct xtop_error *pipelines_show(struct pipelines *pipelines, const struct ui_settings *settings);

#endif
