/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The broker: the process that stays privileged when main, which reads what a guest made, gives up
 * its rights. It is forked first of all, parses nothing of a guest, and answers a handful of
 * fixed-size requests over a socket:
 *
 *   main ─┬─ list, find, registers    what Xen says of domains
 *         ├─ memory                   a descriptor that maps this one domain's pages, nothing else
 *         ├─ start, stop              guard and sampler of a domain, on main's ring and control
 *         └─ remove                   a result file that was created by this run, and failed
 *
 * Domains are those that the command line names, and what they reboot as; none other is found, even
 * if main is not itself any more. Functions of guest.h and memory.h go through it once it is there.
 */
#ifndef XTOP_BROKER_H
#define XTOP_BROKER_H

#include <stddef.h>

#include "xtop/guest.h"

/* Called in the sampler's process with the opened guest; returns when told to quit. */
typedef void sampler_run_fn(struct guest *guest, struct control *control, struct ring *ring);

#define BROKER_MAX_FILES 3

struct broker_settings {
	sampler_run_fn *run;
	const char *const *domains; /* as the command line has them; none: any may be asked for */
	size_t n_domains;
	const char *files[BROKER_MAX_FILES]; /* results that may have to be removed; NULL: none */
	double budget;                       /* most that a sampler may take, whatever control says */
};

/* Before the first thread. What SETTINGS point to outlives the run. */
struct xtop_error *broker_start(const struct broker_settings *settings);
/* Ends samplers, guards and the broker. Without a broker nothing happens. */
void broker_stop(void);
/* False once it has not answered; any thread. */
bool broker_is_there(void);
/* Removes one of the files, if it is one and new. */
void broker_remove(const char *path);

#endif
