/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What happens when sampling of a guest ends. The guest may go away and come back as another
 * domain, or the processes that sampled the guest may hang or be killed. Each live pipeline has a
 * thread for this, the reattacher; it sleeps until the guard has ended.
 *
 *   guard ends ─► why? ─┬─ failed, or told to quit: nothing more to do
 *                       ├─ hung with its sampler ─► starts others after a rest, a few times
 *                       ├─ nobody says: all were killed ─► FAILED
 *                       └─ the guest is away ─► looks for it by UUID and name, less and less often
 *                            ▲                    ├─ in batch: gives up in the end ─► GONE
 *                            │                    └─ found ─► its memory ─► resolver
 *                            └────────────────────────────────── new guard ◄─┘
 *
 * While the thread runs it owns struct attached_guest. reattach_get_status() gives main a copy of
 * what main may know.
 */
#ifndef XTOP_REATTACH_H
#define XTOP_REATTACH_H

#include <pthread.h>
#include <stdbool.h>

#include "xtop/base/restarts.h"
#include "xtop/memory/memory.h"
#include "xtop/os/os.h"
#include "xtop/profile/resolver.h"
#include "xtop/supervise/broker.h"
#include "xtop/supervise/takers_source.h"
#include "xtop/supervise/trace_source.h"
#include "xtop/xen/guest.h"

#define REATTACH_NOTE_BYTES 160

/*
 * What belongs to one domain. After a reboot the guest is another domain, and all members change.
 */
struct attached_guest {
	struct guest_info info;
	struct memory *memory;
	struct ring *ring;
	struct guest_process process;
	bool started; /* `process` exists, running or not: guard_stop() was not called */
};

struct reattach_settings {
	const char *name; /* finds the guest after a reboot if the UUID does not; NULL: UUID only */
	bool ends;        /* sampling ends when the guest goes away; nobody waits for its return */
	/*
	 * The longest wait for the guest; 0: no bound. With a bound, a guest that has shut down is
	 * not awaited.
	 */
	uint64_t bound_ns;
	struct control *control;
	struct resolver *resolver; /* the resolver, whose thread runs */
	struct takers_source *takers;
	struct trace_source *trace;
	struct os *os;
	/*
	 * Called on the resolver's thread, a few times after the guest has come back. Returns why
	 * the new guest cannot be sampled, or NULL. The pointer may be NULL.
	 */
	struct xtop_error *(*check)(void *context);
	void *context;
};

#define REATTACH_BOUND_NS 60000000000ULL /* the longest wait for a guest in batch mode */

struct reattacher {
	struct reattach_settings settings;
	struct attached_guest *guest;
	int wake[2];              /* a pipe; main closes wake[1] to end the thread */
	uint64_t away_ns;         /* time when the guest went away, on clock_now_ns() */
	struct restarts restarts; /* restarts of guard and sampler together, after both hung */
	unsigned checks;          /* how often settings.check is still to be called */
	pthread_mutex_t lock;     /* protects the members below */
	struct guest_info info;   /* the guest, for main */
	char note[REATTACH_NOTE_BYTES]; /* what happened to the guest, for the user */
	uint64_t note_until_ns;         /* time when the note is dropped; 0: never */
};

/* GUEST has been started and outlives REATTACHER. */
struct xtop_error *reattach_init(struct reattacher *reattacher,
				 const struct reattach_settings *settings,
				 struct attached_guest *guest);
void reattach_run(struct reattacher *reattacher); /* the thread's body */
/* Makes reattach_run() return soon. Called by main. */
void reattach_quit(struct reattacher *reattacher);
/* To be called after the thread was joined. */
void reattach_deinit(struct reattacher *reattacher);

/* The guest as it is now, and a clean note for the user, or "". Any thread. */
void reattach_get_status(struct reattacher *reattacher, struct guest_info *info,
			 char note[REATTACH_NOTE_BYTES]);

#endif
