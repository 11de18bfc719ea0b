/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What becomes of a guest that is sampled: it goes away, and maybe comes back as another domain, or
 * all who sampled it were killed. A thread of its own in each live pipeline, which sleeps until the
 * guard has ended.
 *
 *   guard ends ─► how? ─┬─ failed, told to quit: that is all
 *                       ├─ hung with its sampler ─► others, after a rest; not again and again
 *                       ├─ nobody said so: killed, all of them ─► FAILED
 *                       └─ the guest is away ─► looked for by UUID and name, less and less often
 *                            ▲                    ├─ in batch: not for ever ─► GONE
 *                            │                    └─ found ─► its memory ─► resolver
 *                            └────────────────────────────────── new guard ◄─┘
 *
 * While that thread runs, struct follow_guest is its own; what main may know of it follow_look() gives.
 */
#ifndef XTOP_FOLLOW_H
#define XTOP_FOLLOW_H

#include <pthread.h>
#include <stdbool.h>

#include "xtop/broker.h"
#include "xtop/guest.h"
#include "xtop/memory.h"
#include "xtop/os.h"
#include "xtop/resolver.h"
#include "xtop/restarts.h"

#define FOLLOW_NOTE_BYTES 160

/* What there is of a domain, and is another's after its reboot. */
struct follow_guest {
	struct guest_info info;
	struct memory *memory;
	struct ring *ring;
	struct guest_process process;
	bool started; /* PROCESS is there, running or not, to be given to guard_stop() */
};

struct follow_settings {
	const char *name; /* what else it may be called besides its UUID; NULL: nothing */
	bool stays;       /* not followed: the first end is the last */
	uint64_t bound_ns; /* waits so long at most, and for no guest that has shut down; 0: no bound */
	struct control *control;
	struct resolver *resolver; /* runs */
	struct os *os;
	/*
	 * On the resolver's thread, a few times after a return: what keeps the new guest from being
	 * sampled; NULL: nothing is known.
	 */
	struct xtop_error *(*check)(void *context);
	void *context;
};

#define FOLLOW_BOUND_NS 60000000000ULL /* where nobody watches */

struct follower {
	struct follow_settings settings;
	struct follow_guest *guest;
	int wake[2]; /* a pipe: its end tells the thread to end */
	uint64_t away_ns;
	struct restarts restarts; /* after guard and sampler hung together */
	unsigned checks;          /* to be made */
	pthread_mutex_t lock; /* of all below */
	struct guest_info info;
	char note[FOLLOW_NOTE_BYTES];
	uint64_t note_until_ns; /* 0: it stays */
};

/* GUEST has been started, and outlives the follower. */
struct xtop_error *follow_init(struct follower *follower, const struct follow_settings *settings,
			       struct follow_guest *guest);
void follow_run(struct follower *follower);  /* the thread's body */
void follow_quit(struct follower *follower); /* main's: follow_run() returns soon */
void follow_deinit(struct follower *follower); /* after that */

/* Any thread: the guest as it is now, and what there is to tell of it, clean; "": nothing. */
void follow_look(struct follower *follower, struct guest_info *info, char note[FOLLOW_NOTE_BYTES]);

#endif
