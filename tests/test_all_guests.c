/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which guests --all, --match and --except choose. */
#include "config.h"

#include <stdio.h>

#include "all_guests.h"
#include "tests/support/tap.h"

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

int main(void)
{
	const struct options none = { .n_matches = 0 };
	struct guest_listing listing = { .info = { .name = "Domain-0" }, .state = 'r' };

	check(!all_guests_wants(&none, &listing), "not dom0");
	listing.info.domid = 3;
	check(all_guests_wants(&none, &listing), "another domain of any name");
	listing.info.crashed = true;
	check(!all_guests_wants(&none, &listing), "none that has crashed");
	check(wants(0, 0, "a", 'b') && wants(0, 0, "a", 'p') && wants(0, 0, "a", '-'),
	      "whatever it is doing");
	check(!wants(0, 0, "a", 's') && !wants(0, 0, "a", 'd'), "but none that has ended");
	check(!wants(0, 0, "", 'p'), "and none that has no name yet");
	check(wants(2, 0, "web01", 'r') && wants(2, 0, "db-3", 'r'), "one of the patterns");
	check(!wants(2, 0, "db-33", 'r') && !wants(2, 0, "myweb", 'r'), "the whole name");
	check(wants(1, 2, "web8", 'r') && !wants(1, 2, "web9", 'r') &&
		      !wants(1, 2, "web-test", 'r'),
	      "without the others");
	check(wants(0, 2, "mail", 'r') && !wants(0, 2, "mail-test", 'r'), "all but the others");
	return tap_done();
}
