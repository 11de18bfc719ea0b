/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --all: which guests are to be sampled, and the start of those that come. Main's thread. The list
 * of domains is read again every ALL_GUESTS_SCAN_NS. A guest that reboots is another domain, and so
 * another guest here.
 */
#ifndef XTOP_ALL_GUESTS_H
#define XTOP_ALL_GUESTS_H

#include <stdint.h>

#include "xtop/cli/options.h"
#include "xtop/pipeline/pipelines.h"

#define ALL_GUESTS_SCAN_NS 3000000000ULL
#define ALL_GUESTS_TRIES   3    /* a domain that is being built is not complete at once */
#define ALL_GUESTS_FAILED  1024 /* domains that could not be sampled and are remembered */

/* A domain that could not be sampled. */
struct all_guests_failure {
	uint32_t domid;
	unsigned tries;
};

/* All zeros at the start. */
struct all_guests {
	uint64_t scanned_ns; /* time when the list was read last; 0: never */
	bool failing;        /* the list could not be read the last time */
	bool left_out;       /* guests had no place at the last look */
	size_t n_failures, oldest;
	struct all_guests_failure failures[ALL_GUESTS_FAILED];
};

/*
 * Whether --match, --except and the domain's state let sampling begin. dom0 is not sampled, nor is
 * a domain that has ended. A domain that is paused runs nothing: it may still be built, or received
 * from another host.
 */
bool all_guests_wants(const struct options *options, const struct guest_listing *listing);
/*
 * Whether A and B, domains of this host, are one domain, or one guest by its UUID. After a reboot
 * or a migration to the same host a guest is another domain. Sampling of the new domain begins once
 * sampling of the old one has ended, so that their profiles do not overlap.
 */
bool all_guests_are_same(const struct guest_info *a, const struct guest_info *b);
/*
 * Starts a pipeline for each guest that is new, if it is time to look. REPORT gets a line for each
 * new guest, and for each guest that cannot be sampled. Guests beyond PIPELINES_MAX_GUESTS wait
 * until others have ended; one line says so. Error: the first list cannot be read, or the broker is
 * gone. Then no list comes any more, and a service manager may start xtop anew.
 */
struct xtop_error *all_guests_poll(struct all_guests *all, const struct options *options,
				   struct pipelines *pipelines,
				   void (*report)(const char *line));

#endif
