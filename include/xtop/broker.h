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

struct control;
struct memory;
struct ring;

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

/* --- asked of it: finding a domain and reading it from outside -------------------------------- */

/*
 * DOMAIN: name, domid or UUID. Errors: no Xen here, not root, another Xen's interface, no such
 * domain, domain is dom0.
 */
struct xtop_error *guest_find(const char *domain, struct guest_info *info);

/* All domains, dom0 included, ascending by domid; malloc()ed. */
struct xtop_error *guest_list(struct guest_listing **listp, size_t *np);

/* The registers of VCPU as it runs, not stopped: good for its page tables. False: Xen refuses. */
bool guest_registers(const struct guest_info *info, unsigned vcpu, struct registers *regs);

/*
 * Looks whether an xtop that was killed has left DOMAIN paused, and undoes exactly that pause. *NOTEP
 * says what was found and done, malloc()ed; NULL: nothing worth telling, if not ASKED for by the
 * user. Main, before anything else: needs the rights.
 */
struct xtop_error *guest_repair(const char *domain, bool asked, char **notep);

/* Opened while privileged, before the first thread; the handle is restricted to DOMID at once. */
struct xtop_error *guest_open_memory(uint32_t domid, struct memory **memoryp);

/* --- who stops the guest, and who lets it go when that one dies (supervise/guard.c) --------------- */

/* Guard and sampler of a guest, by the broker. Both end by themselves when main or broker die. */
struct guest_process {
	uint32_t id;
	int pidfd; /* the guard's: readable when it has ended */
};
struct xtop_error *guard_start(const struct guest_info *info, struct control *control,
			       struct ring *ring, struct guest_process *process);
bool guard_is_alive(const struct guest_process *process);
/* Asks it to quit through CONTROL and waits; the guest runs afterwards. */
void guard_stop(struct guest_process *process, struct control *control);

#endif
