/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which guests --all, --match and --except choose; guests that reboot and migrate, made up; and
 * when the intervals of their profiles begin.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/tap.h"
#include "xtop/service/all_guests.h"
#include "xtop/service/publisher.h"

static const char *web[] = { "web*", "db-[0-9]" }, *test[] = { "*-test", "web9" };

static bool wants(size_t n_matches, size_t n_excepts, const char *name, char state)
{
	const struct options options = { .matches = web,
					 .n_matches = n_matches,
					 .excepts = test,
					 .n_excepts = n_excepts };
	struct guest_listing listing = { .info = { .domid = 7 }, .state = state };

	snprintf(listing.info.name, sizeof(listing.info.name), "%s", name);
	return all_guests_wants(&options, &listing);
}

/* --- guests that move ------------------------------------------------------------------------- */

#define WEB "5f3a9c1e-0000-4000-8000-000000000001"
#define DB  "5f3a9c1e-0000-4000-8000-000000000002"

/* A host's list of domains at one moment. */
struct moment {
	const char *what;
	struct {
		uint32_t domid;
		const char *name, *uuid;
		char state;
	} domains[3];
	const char *sampled; /* domids that are sampled afterwards, in the order of their start */
};

/* What all_guests_poll() and publisher_end_guest() do: first those that have ended, then new ones. */
static void play(const char *host, const struct moment *moments, size_t n)
{
	const struct options all = { .n_matches = 0 };
	struct guest_info sampled[8];
	size_t n_sampled = 0;
	char text[64];

	for (size_t m = 0; m < n; m++) {
		struct guest_listing list[3] = { { .info = { .domid = 0 } } };
		size_t n_list = 0, kept = 0, used = 0;

		for (; n_list < 3 && moments[m].domains[n_list].name; n_list++) {
			struct guest_info *info = &list[n_list].info;

			info->domid = moments[m].domains[n_list].domid;
			snprintf(info->name, sizeof(info->name), "%s",
				 moments[m].domains[n_list].name);
			snprintf(info->uuid, sizeof(info->uuid), "%s",
				 moments[m].domains[n_list].uuid);
			list[n_list].state = moments[m].domains[n_list].state;
		}
		for (size_t i = 0; i < n_list; i++) {
			bool has = false;

			for (size_t k = 0; k < n_sampled; k++)
				has |= all_guests_are_same(&sampled[k], &list[i].info);
			if (!has && all_guests_wants(&all, &list[i]))
				sampled[n_sampled++] = list[i].info;
		}
		for (size_t k = 0; k < n_sampled; k++) { /* the sampler notices that they are gone */
			char state = 'd';

			for (size_t i = 0; i < n_list; i++)
				if (list[i].info.domid == sampled[k].domid)
					state = list[i].state;
			if (!strchr("sd", state))
				sampled[kept++] = sampled[k];
		}
		n_sampled = kept;
		text[0] = '\0';
		for (size_t k = 0; k < n_sampled; k++)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%u",
						 k ? " " : "", sampled[k].domid);
		check(strcmp(text, moments[m].sampled) == 0, "%s, %s: '%s' sampled", host,
		      moments[m].what, text);
	}
}

static const struct moment reboot[] = {
	{ "two guests", { { 7, "web", WEB, 'r' }, { 8, "db", DB, 'b' } }, "7 8" },
	{ "web has shut down and the next domain is built",
	  { { 7, "web", WEB, 's' }, { 8, "db", DB, 'b' }, { 9, "web", WEB, 'p' } },
	  "8" },
	{ "it runs", { { 8, "db", DB, 'b' }, { 9, "web", WEB, 'r' } }, "8 9" },
	{ "the next one runs before the end is noticed",
	  { { 9, "web", WEB, 'd' }, { 8, "db", DB, 'b' }, { 10, "web", WEB, 'r' } },
	  "8" },
	{ "and a look later", { { 8, "db", DB, 'b' }, { 10, "web", WEB, 'r' } }, "8 10" },
};

static const struct moment leaves[] = {
	{ "web runs", { { 7, "web", WEB, 'r' } }, "7" },
	{ "its pages are copied", { { 7, "web", WEB, 'r' } }, "7" },
	{ "it stands still for the last ones", { { 7, "web", WEB, 's' } }, "" },
	{ "it is elsewhere", { { 7, "web--migratedaway", WEB, 's' } }, "" },
	{ "nothing is left", { { 0, NULL, NULL, 0 } }, "" },
};

static const struct moment comes[] = {
	{ "web is still elsewhere", { { 0, NULL, NULL, 0 } }, "" },
	{ "its pages come", { { 3, "web--incoming", WEB, 'p' } }, "" },
	{ "the last ones", { { 3, "web--incoming", WEB, 'p' } }, "" },
	{ "it has its name", { { 3, "web", WEB, 'p' } }, "" },
	{ "it runs", { { 3, "web", WEB, 'r' } }, "3" },
};

static void test_moves(void)
{
	const struct guest_info none = { .domid = 1 }, other = { .domid = 2 };
	const struct guest_info zero = { .domid = 1,
					 .uuid = "00000000-0000-0000-0000-000000000000" };
	struct guest_info zero2 = zero;

	zero2.domid = 2;
	play("a reboot", reboot, 5);
	play("the host that it leaves", leaves, 5);
	play("the host that it comes to", comes, 5);
	check(!all_guests_are_same(&none, &other) && !all_guests_are_same(&zero, &zero2),
	      "guests without a UUID are told apart by their numbers");
}

/* --- intervals -------------------------------------------------------------------------------- */

#define S 1000000000ULL

static void test_intervals(void)
{
	const uint64_t day = 1700000000 * S;

	check_u64(push_interval_begin_ns(0, day + 10 * S, 10 * S), day,
		  "the first interval has its length: ns");
	check_u64(push_interval_begin_ns(day, day + 10 * S + 3000, 10 * S), day,
		  "a clock that is slewed: no gap");
	check_u64(push_interval_begin_ns(day, day + 10 * S - 3000, 10 * S), day,
		  "an interval does not overlap the one before: ns");
	check_u64(push_interval_begin_ns(day, day + 3610 * S, 10 * S), day + 3600 * S,
		  "a clock set an hour ahead: a gap, not an interval of an hour");
	check_u64(push_interval_begin_ns(day, day - 3590 * S, 10 * S), day - 3600 * S,
		  "an hour back: the length is kept");
	check_u64(push_interval_begin_ns(day, day - S / 2, S / 4), day - S / 2 - S / 4,
		  "a little back, to before the last end");
}

int main(void)
{
	const struct options none = { .n_matches = 0 };
	struct guest_listing listing = { .info = { .name = "Domain-0" }, .state = 'r' };

	check(!all_guests_wants(&none, &listing), "dom0 is not sampled");
	listing.info.domid = 3;
	check(all_guests_wants(&none, &listing), "another domain of any name is sampled");
	listing.info.crashed = true;
	check(!all_guests_wants(&none, &listing), "a domain that has crashed is not sampled");
	check(wants(0, 0, "a", 'b') && wants(0, 0, "a", 'r') && wants(0, 0, "a", '-'),
	      "whatever it is doing");
	check(!wants(0, 0, "a", 's') && !wants(0, 0, "a", 'd'),
	      "a domain that has ended is not sampled");
	check(!wants(0, 0, "a", 'p'), "a domain that is paused is not sampled");
	check(!wants(0, 0, "", 'r'), "a domain that has no name yet is not sampled");
	check(wants(2, 0, "web01", 'r') && wants(2, 0, "db-3", 'r'),
	      "a domain is sampled if its name matches one of the patterns");
	check(!wants(2, 0, "db-33", 'r') && !wants(2, 0, "myweb", 'r'),
	      "a pattern has to match the whole name");
	check(wants(1, 2, "web8", 'r') && !wants(1, 2, "web9", 'r') &&
		      !wants(1, 2, "web-test", 'r'),
	      "without the others");
	check(wants(0, 2, "mail", 'r') && !wants(0, 2, "mail-test", 'r'),
	      "a domain is not sampled if an exclusion matches its name");
	test_moves();
	test_intervals();
	return tap_done();
}
