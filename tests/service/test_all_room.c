/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --all on a host with more guests than there are places: those that find none get one later. And what
 * a list that cannot be read does. The host, its clock, the broker and the pipelines are made up here.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/made_clock.h"
#include "tests/support/tap.h"
#include "xtop/service/all_guests.h"
#include "xtop/supervise/broker.h"

#define N_GUESTS (PIPELINES_MAX_GUESTS + 6)

struct pipeline {
	struct guest_info info;
};

static struct pipeline places[PIPELINES_MAX_GUESTS]; /* domid 0: a free one */
static struct {
	bool alive[N_GUESTS + 1]; /* indexed by domid */
	bool unreadable;          /* the list of guests */
	bool killed;              /* the broker */
} host;
static unsigned lines; /* lines which say that guests wait */

struct xtop_error *guest_list(struct guest_listing **listp, size_t *np)
{
	struct guest_listing *list = calloc(N_GUESTS, sizeof(*list));

	*np = 0;
	if (host.unreadable) {
		free(list);
		return error_create("no list");
	}
	for (uint32_t domid = 1; domid <= N_GUESTS; domid++)
		if (host.alive[domid]) {
			list[*np].state = 'r';
			list[*np].info.domid = domid;
			snprintf(list[(*np)++].info.name, sizeof(list[0].info.name), "g%u", domid);
		}
	*listp = list;
	return NULL;
}

bool broker_is_alive(void)
{
	return !host.killed;
}

struct pipeline *pipelines_get(const struct pipelines *pipelines, size_t i)
{
	(void)pipelines;
	return places[i].info.domid ? &places[i] : NULL;
}

const struct guest_info *pipeline_guest(const struct pipeline *pipeline)
{
	return &pipeline->info;
}

static struct pipeline *find_free(void)
{
	for (size_t i = 0; i < PIPELINES_MAX_GUESTS; i++)
		if (!places[i].info.domid)
			return &places[i];
	return NULL;
}

bool pipelines_are_full(struct pipelines *pipelines)
{
	(void)pipelines;
	return !find_free();
}

struct xtop_error *pipelines_open_domain(struct pipelines *pipelines, const char *domain)
{
	struct pipeline *place = find_free();

	(void)pipelines;
	if (!place)
		return error_create("no place");
	place->info.domid = (uint32_t)atoi(domain);
	return NULL;
}

static void report(const char *line)
{
	lines += strstr(line, "wait until") != NULL;
}

static unsigned sampled(void)
{
	unsigned n = 0;

	for (size_t i = 0; i < PIPELINES_MAX_GUESTS; i++)
		n += places[i].info.domid != 0;
	return n;
}

static void end(uint32_t domid)
{
	host.alive[domid] = false;
	for (size_t i = 0; i < PIPELINES_MAX_GUESTS; i++)
		if (places[i].info.domid == domid)
			places[i].info.domid = 0;
}

/* N looks at the list, of which each is due. */
static void look(struct all_guests *all, unsigned n)
{
	static const struct options options = { .all = true };

	for (; n; n--) {
		made_clock.now_ns += ALL_GUESTS_SCAN_NS;
		error_destroy(all_guests_poll(all, &options, NULL, report));
	}
}

/* xenstored may be started again; nobody starts a broker again. */
static void test_unreadable(struct all_guests *all)
{
	static const struct options options = { .all = true };
	struct xtop_error *error;

	host.unreadable = true;
	made_clock.now_ns += ALL_GUESTS_SCAN_NS;
	error = all_guests_poll(all, &options, NULL, report);
	check(!error, "a list that cannot be read is asked for again");
	error_destroy(error);
	host.killed = true;
	made_clock.now_ns += ALL_GUESTS_SCAN_NS;
	error = all_guests_poll(all, &options, NULL, report);
	check(error, "without a broker --all ends");
	error_destroy(error);
}

int main(void)
{
	struct all_guests all = { 0 };

	for (uint32_t domid = 1; domid <= N_GUESTS; domid++)
		host.alive[domid] = true;
	look(&all, 10);
	check_u64(sampled(), PIPELINES_MAX_GUESTS,
		  "guests that are sampled, as there are no more places");
	check_u64(lines, 1, "lines that say so in ten looks");
	for (uint32_t domid = 1; domid <= 4; domid++)
		end(domid);
	look(&all, 1);
	check_u64(sampled(), PIPELINES_MAX_GUESTS,
		  "guests that are sampled after four ended and four of the waiting began");
	check_u64(lines, 1, "lines that say so while two still wait");
	for (uint32_t domid = 5; domid <= 8; domid++)
		end(domid);
	look(&all, 1);
	check_u64(sampled(), N_GUESTS - 8, "guests that are sampled when all have a place");
	test_unreadable(&all);
	return tap_done();
}
