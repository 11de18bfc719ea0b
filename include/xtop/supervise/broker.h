/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The broker: the process that keeps its rights when main gives up its own, because main reads
 * bytes that a guest has written. The broker is forked first of all, parses no bytes of a guest,
 * and answers a few requests of fixed size over a socket:
 *
 *   main ─┬─ list, find, registers    what Xen and xenstore say of domains
 *         ├─ memory                   a descriptor that maps this one domain's pages, nothing else
 *         ├─ cache                    the file in which that domain's kernel is kept
 *         ├─ takers                   a process that finds who takes the domain's physical CPUs
 *         ├─ trace                    a process that reads Xen's trace
 *         ├─ start, stop              sampler, guard and keeper of a domain, with main's ring
 *         ├─ news                     for the service manager that has started xtop
 *         ├─ remove                   an empty result file that this run has created
 *         └─ open                     a file that the user names on the screen, as that user
 *
 * The broker answers only for the domains that the command line names, and for the domains that
 * follow them after a reboot. So main cannot reach other domains, even if an attacker has taken it
 * over.
 */
#ifndef XTOP_BROKER_H
#define XTOP_BROKER_H

#include <stddef.h>

#include "xtop/base/output.h"
#include "xtop/xen/guest.h"

struct control;
struct memory;
struct notify_news;
struct ring;

/*
 * The body of the sampler's process. GUEST is open. Returns when CONTROL says that it is to quit.
 */
typedef void sampler_run_fn(struct guest *guest, struct control *control, struct ring *ring);

#define BROKER_MAX_FILES 3

struct broker_settings {
	sampler_run_fn *run;
	const char *const *domains; /* names of domains, from the command line */
	size_t n_domains;           /* 0: all domains are allowed */
	const char *const *endings; /* allowed endings of files named on the screen; ends in NULL */
	const char *files[BROKER_MAX_FILES]; /* results that main may ask to remove; NULL: none */
	const char *cache;          /* folder of guest_open_cache()'s files; NULL: no cache */
	bool no_domains;            /* no domain is allowed: a recording is played */
	bool neighbours;            /* main may ask who takes a guest's physical CPUs */
	bool exits;                 /* main may have Xen trace exits */
	bool news;                  /* main may send its state to a service manager */
	bool has_screen;            /* main may ask for files that the user names on the screen */
	double budget;  /* limit of a sampler's budget, whatever main writes into control */
	double rate_hz; /* limit of a sampler's rate, whatever main writes; 0: RATE_MAX_HZ */
	bool shared;    /* domains that another xtop samples are sampled, too */
};

/* Call it before the first thread starts. SETTINGS, and what it points to, outlive the run. */
struct xtop_error *broker_start(const struct broker_settings *settings);
/* Ends samplers, guards, keepers and the broker. Without a broker it does nothing. */
void broker_stop(void);
/* False if the broker was killed, or has left a question unanswered for seconds. Any thread. */
bool broker_is_alive(void);
/*
 * Opens files that the user names on the screen. Removes such a file if it is empty, and any empty
 * file of settings->files.
 */
extern const struct output_opener broker_opener;

/* --- questions about a domain. Without a broker, this process asks Xen itself. ---------------- */

/*
 * DOMAIN: name, domid or UUID. Errors: no Xen here, not root, Xen has another interface, no such
 * domain, the domain is dom0 or cannot be profiled, xenstore does not answer within 5 s.
 */
struct xtop_error *guest_find(const char *domain, struct guest_info *info);

/*
 * Lists all domains, also dom0, ascending by domid. The caller frees *LISTP. Errors: see
 * guest_find().
 */
struct xtop_error *guest_list(struct guest_listing **listp, size_t *np);

/*
 * Reads the registers of VCPU while it runs: they suffice to find its page tables. Xen pauses the
 * vCPU to read them, so this waits for up to 2 s until the budget allows it. False: Xen refuses.
 */
bool guest_get_registers(const struct guest_info *info, unsigned vcpu, struct registers *regs);

/*
 * If an xtop that was killed has left DOMAIN paused, undoes this pause, and no other one. *NOTEP
 * says what was found and done; the caller frees *NOTEP. *NOTEP is NULL if there was nothing to
 * undo, unless the user has ASKED for it. Main calls this function first of all, with root's
 * rights. A domid or a UUID is looked up without xenstore.
 */
struct xtop_error *guest_undo_pause(const char *domain, bool asked, char **notep);
/*
 * Finds out whether stops can be recorded. Error: they cannot, so guest_undo_pause() will find
 * none. The caller has root's rights.
 */
struct xtop_error *guest_try_record(void);

/* Opens the memory of DOMID, and of no other domain. */
struct xtop_error *guest_open_memory(uint32_t domid, struct memory **memoryp);

/* Sends NEWS to the service manager. Without a broker nothing is sent. */
void broker_put_news(const struct notify_news *news);

/* The broker's CPU time when it gave its last answer; 0 if it gave none. Any thread. */
uint64_t broker_cpu_ns(void);

/* Opens the file in which DOMID's kernel is kept (cache_folder.h). -1: there is no cache. */
int guest_open_cache(uint32_t domid);

/*
 * Starts the process that finds out who takes DOMID's physical CPUs. takers_source.h asks it
 * through *SOCKETP; the process ends when that socket is closed.
 */
struct xtop_error *guest_watch_takers(uint32_t domid, uint64_t half_life_ns, int *socketp);

/*
 * Starts the processes that have Xen trace (trace_watch.h). trace_source.h reads the trace from
 * *SOCKETP; tracing ends when that socket is closed.
 */
struct xtop_error *guest_trace(uint32_t domid, int *socketp);

/* --- the processes of one guest: the sampler stops it, the guard releases it (guard.c) -------- */

/*
 * The broker starts sampler and guard of a guest, and the keeper that watches both. All of them end
 * when main or the broker dies.
 */
struct guest_process {
	uint32_t id;
	int end_fd; /* readable when sampler, guard and keeper have ended */
};
struct xtop_error *guard_start(const struct guest_info *info, struct control *control,
			       struct ring *ring, struct guest_process *process);
bool guard_is_alive(const struct guest_process *process);
/* Asks all three to quit, and waits for their end. The guest runs afterwards. */
void guard_stop(struct guest_process *process, struct control *control);

#endif
