/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guests of a session: a pipeline for each, those of the command line and those picked from the
 * list of domains, and how the screen reaches them. Main's thread.
 */
#ifndef XTOP_GUESTS_H
#define XTOP_GUESTS_H

#include "options.h"
#include "pipeline.h"
#include "xtop/ui.h"

struct guests {
	const struct options *options;
	struct kernel_cache *cache; /* NULL: none */
	struct guest_on_screen *list[UI_MAX_GUESTS]; /* NULL: free */
};

/* One more, not started: DOMAIN, or NULL for the recording of OPTIONS. Needs rights. */
struct xtop_error *guests_add(struct guests *guests, const char *domain);
struct xtop_error *guests_start(struct guests *guests);
/* All; the error is the first. They can still be looked at. */
struct xtop_error *guests_stop(struct guests *guests);
void guests_destroy(struct guests *guests);
/* The first of the command line, which files and batch are of; NULL: none was named. */
struct pipeline *guests_first(const struct guests *guests);

/* "dom 5 PVH", with SEPARATOR between. */
void guests_describe(const struct pipeline *pipeline, const char *separator, char *text,
		     size_t capacity);
const char *guests_type_name(enum guest_type type);

/* The screen with all of them; without any, the list of domains comes first. */
struct xtop_error *guests_show(struct guests *guests, const struct ui_settings *settings);

#endif
