/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guests of --all; see all_guests.h. */
#include "config.h"

#include "xtop/service/all_guests.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "xtop/base/cleanup.h"
#include "xtop/base/clock.h"
#include "xtop/base/text.h"
#include "xtop/supervise/broker.h"

/* --- which ------------------------------------------------------------------------------------ */

static bool all_guests_matches(const char *const *patterns, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (fnmatch(patterns[i], name, 0) == 0)
			return true;
	return false;
}

/* A domain that has no name yet is being built. */
bool all_guests_wants(const struct options *options, const struct guest_listing *listing)
{
	const struct guest_info *info = &listing->info;

	if (info->domid == 0 || info->crashed || !info->name[0] || strchr("sdp", listing->state))
		return false;
	if (options->n_matches &&
	    !all_guests_matches(options->matches, options->n_matches, info->name))
		return false;
	return !all_guests_matches(options->excepts, options->n_excepts, info->name);
}

bool all_guests_are_same(const struct guest_info *a, const struct guest_info *b)
{
	static const char none[] = "00000000-0000-0000-0000-000000000000";

	return a->domid == b->domid ||
	       (a->uuid[0] && strcmp(a->uuid, none) != 0 && strcmp(a->uuid, b->uuid) == 0);
}

static bool all_guests_has(const struct pipelines *pipelines, const struct guest_info *info)
{
	for (size_t i = 0; i < PIPELINES_MAX_GUESTS; i++) {
		const struct pipeline *pipeline = pipelines_get(pipelines, i);

		if (pipeline && all_guests_are_same(pipeline_guest(pipeline), info))
			return true;
	}
	return false;
}

/*
 * --- domains that fail --------------------------------------------------------------------------
 */

/* Finds or adds the record of DOMID's failures. If all places are used, the oldest record goes. */
static unsigned *all_guests_tries(struct all_guests *all, uint32_t domid)
{
	struct all_guests_failure *failure;

	for (size_t i = 0; i < all->n_failures; i++)
		if (all->failures[i].domid == domid)
			return &all->failures[i].tries;
	if (all->n_failures < ALL_GUESTS_FAILED) {
		failure = &all->failures[all->n_failures++];
	} else {
		failure = &all->failures[all->oldest];
		all->oldest = (all->oldest + 1) % ALL_GUESTS_FAILED;
	}
	*failure = (struct all_guests_failure){ .domid = domid };
	return &failure->tries;
}

static bool all_guests_gave_up(const struct all_guests *all, uint32_t domid)
{
	for (size_t i = 0; i < all->n_failures; i++)
		if (all->failures[i].domid == domid)
			return all->failures[i].tries >= ALL_GUESTS_TRIES;
	return false;
}

/* --- looking ---------------------------------------------------------------------------------- */

static void all_guests_report(void (*report)(const char *line), const struct guest_info *info,
			      const char *what)
{
	char line[GUEST_NAME_BYTES + 300], clean[sizeof(line)];

	snprintf(line, sizeof(line), "%s (dom %u): %.250s", info->name, info->domid, what);
	text_clean_line(clean, sizeof(clean), line, strlen(line));
	if (report)
		report(clean);
}

static void all_guests_start(struct all_guests *all, struct pipelines *pipelines,
			     const struct guest_info *info, void (*report)(const char *line))
{
	struct xtop_error *error;
	char domid[16];

	snprintf(domid, sizeof(domid), "%u", info->domid);
	error = pipelines_open_domain(pipelines, domid);
	if (!error)
		all_guests_report(report, info, "sampling begins");
	else if (++*all_guests_tries(all, info->domid) == ALL_GUESTS_TRIES)
		all_guests_report(report, info, error_message(error));
	error_destroy(error);
}

static void all_guests_start_new(struct all_guests *all, const struct options *options,
				 struct pipelines *pipelines, const struct guest_listing *list,
				 size_t n, void (*report)(const char *line))
{
	bool left_out = false;

	for (size_t i = 0; i < n; i++) {
		if (!all_guests_wants(options, &list[i]) ||
		    all_guests_has(pipelines, &list[i].info) ||
		    all_guests_gave_up(all, list[i].info.domid))
			continue;
		if (pipelines_are_full(pipelines))
			left_out = true;
		else
			all_guests_start(all, pipelines, &list[i].info, report);
	}
	if (left_out && !all->left_out && report)
		report("--all: there are more guests than can be sampled at a time: "
		       "some wait until others have ended");
	all->left_out = left_out;
}

struct xtop_error *all_guests_poll(struct all_guests *all, const struct options *options,
				   struct pipelines *pipelines, void (*report)(const char *line))
{
	_cleanup_free_ struct guest_listing *list = NULL;
	bool first = !all->scanned_ns;
	struct xtop_error *error;
	size_t n;

	if (!first && clock_now_ns() - all->scanned_ns < ALL_GUESTS_SCAN_NS)
		return NULL;
	error = guest_list(&list, &n);
	all->scanned_ns = clock_now_ns();
	if (error && (first || !broker_is_alive()))
		return error;
	if (error) {
		if (!all->failing && report)
			report(error_message(error));
		all->failing = true;
		error_destroy(error);
		return NULL;
	}
	all->failing = false;
	all_guests_start_new(all, options, pipelines, list, n, report);
	return NULL;
}
