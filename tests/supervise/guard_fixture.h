/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the tests of the guard share: keeper, guard and sampler as real processes, on a made-up
 * Xen in shared memory that replaces domctl.c. A scene is one keeper, from begin() to end(). Each
 * scene says in which manner its sampler ends or hangs.
 */
#ifndef XTOP_TESTS_GUARD_FIXTURE_H
#define XTOP_TESTS_GUARD_FIXTURE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "supervise/keeper.h"
#include "xtop/sample/control.h"

#define LIMIT_NS   50000000ULL /* doc/xtop.1: the longest stop when one process dies */
#define MACHINE_NS 30000000ULL /* added for a loaded machine */

/* What a test sees of the guest and the sampler. The processes of a scene share it. */
extern struct scene {
	atomic_ullong begin_ns, end_ns; /* times of the last stop */
	atomic_int sampler, guard;      /* pids */
	atomic_int samplers;            /* samplers that were started so far */
	atomic_ullong started_ns;       /* start of the last sampler */
	atomic_bool spent;              /* the last sampler began without credit */
	atomic_int early_releases; /* releases in the place of a process that was not disarmed */
	atomic_int unrecorded;     /* releases by the keeper when the record was gone */
	char record[64];           /* path of the pause record */
	atomic_int tracer;         /* pid of the debugger */
	atomic_int wants_tracer;   /* pid of a sampler to which it is to attach */
	atomic_int attached;       /* 1 when it has attached, -1 if it may not */
} * scene;

extern struct guard_fixture {
	struct control *control;
	struct keeper keeper;
	double budget; /* share of all time. With 1, the next sampler need not wait after a hang. */
} fixture;

/* What the sampler does. */
enum manner {
	SAMPLES,
	HANGS,
	HANGS_ONCE,
	SPINS,
	DIES,
	DIES_FREE, /* dies while the guest runs */
	RETURNS,
	STAYS,       /* does not stop the guest, and does not quit */
	FORGETS,     /* overwrites the control block, as an attacker in main might */
	LINGERS,     /* has said that it has ended, and takes a second for it */
	HANGS_LARGE, /* hangs, with so much memory that its end takes long */
	TRACED,      /* hangs; a debugger keeps its zombie */
	TRACED_EXIT, /* hangs; a debugger stops it while it ends, as strace does */
	TRACED_DIES, /* is killed; a debugger keeps its zombie */
};

/* Prepares `scene`. To be called first. */
void fixture_begin(void);
uint64_t now_ns(void);
void nap_ms(long ms);

/* Forgets what the scene before has left in `scene`. */
void clear_scene(void);
/*
 * Starts a keeper, and waits for its sampler. PAUSES: how often an administrator has paused the
 * guest.
 */
void begin(enum manner manner, int pauses);
/* Ends the keeper, and checks that the guest is as before and that no process is left. */
void end(int pauses, const char *what);

/* Whether the guest is stopped now. */
bool is_stopped(void);
/* Stops of the guest so far. */
uint64_t count_stops(void);
/* Checks the pause count of the guest. */
void check_pauses(int pauses, const char *what);
/*
 * Checks that nobody released the guest in the place of a process that was not disarmed: that
 * process was killed and is not dead, so it might release the guest once more, later.
 */
void check_disarmed(const char *what);
/* Checks that the sampler has failed, with a message that has TEXT. */
void check_message(const char *text, const char *what);
/* Checks how long the last stop took. */
void check_stop(uint64_t limit_ns, const char *what);

/* Whether sampler and guard are gone. Waits for that up to 3 s. */
bool both_are_gone(void);
/* Whether the keeper has not ended. */
bool goes_on(void);
/* Waits until the keeper has ended, at most for MS. */
void wait_for_end(uint64_t ms);
struct sampler_counts counts_now(void);

#endif
