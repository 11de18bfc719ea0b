/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to supervise/: what guard and keeper have in common. Each is a process that watches
 * another one, kills it if it hangs while the guest stands still, and releases the guest in its
 * place.
 */
#ifndef SUPERVISE_WATCH_H
#define SUPERVISE_WATCH_H

#include <sys/types.h>

#include "xtop/sample/control.h"
#include "xtop/supervise/broker.h"
#include "xtop/xen/domctl.h"

/*
 * Guard and keeper sleep until the alarm of the area goes off (domctl.h), STOP_ALARM_NS after the
 * sampler has set the alarm. Then the guard polls every GUARD_POLL_NS until the alarm is cleared.
 * When the guard has seen the same stop GUARD_MAX_POLLS times again, at most 32 ms after its begin,
 * it decides that the sampler hangs. The keeper, which watches the guard, waits longer.
 */
#define GUARD_POLL_NS    8000000
#define GUARD_MAX_POLLS  3
#define KEEPER_POLL_NS   20000000
#define KEEPER_MAX_POLLS 3
#define WATCH_QUIT_NS    1000000000ULL /* how long a sampler that is told to quit may take */
/*
 * How long to wait for the end of a process that was killed and disarmed, before the guest is
 * released anyway. A hypercall that Xen had begun before is done by then, because it takes
 * microseconds. The end of the process may take longer, because 64 MiB of mappings have to go.
 */
#define WATCH_DEATH_NS 4000000ULL

/* One domain's sampling, as keeper, guard and sampler know it. */
struct sampling {
	struct guest_info info;
	struct control *control; /* shared memory like the ring; both outlive the processes */
	struct ring *ring;
	sampler_run_fn *run;
	struct stop_area *area;
};

/* Keeper and guard have the higher priority: they must run even if a sampler takes all of a CPU. */
enum watch_priority { PRIORITY_SAMPLER = 1, PRIORITY_WATCH };

/*
 * Gives this process PRIORITY and locks its pages, so that while the guest is stopped it neither
 * loses its CPU nor waits for a page. The kernel may refuse both (a container, a limit). Then stops
 * are longer, and the screen shows it.
 */
void watch_make_prompt(enum watch_priority priority);

/*
 * From now on SIGTERM asks this process, and those that it forks, to quit. Signals of the terminal
 * reach every process of the group and are ignored: main decides what they mean.
 */
void watch_set_signals(struct control *control);
/* From now on this process is asked to quit when PARENT dies. */
void watch_quit_with(pid_t parent);
bool watch_must_quit(void);

/* Publishes this process's CPU time as the time of WHO. */
void watch_publish_cpu(enum control_watcher who);

/* Puts ERROR into control, unless control has a failure already. Destroys ERROR. */
void watch_fail(struct xtop_error *error);

/*
 * Forks. *END_FDP in the parent is readable once the child has ended. *END_FDP is one end of a
 * pipe, and only the child has the other end: the kernel closes that end however the child ends. A
 * pidfd would do, but pidfd_open() needs Linux 5.3.
 *
 * The kernel closes the files of a killed process after its last instruction, and before wait()
 * finds the process: see watch_reap(). -1: errno says why.
 */
pid_t watch_fork(int *end_fdp);
/* Returns whether the process of END_FD ends within WAIT_NS, or has ended. */
bool watch_ends(int end_fd, uint64_t wait_ns);
/*
 * Waits at most WATCH_DEATH_NS until the child PID, or each child in the process group -PID, can be
 * reaped. *STATUS becomes the status from wait(2). It is untouched if no child can be reaped,
 * because a debugger holds it.
 */
void watch_reap(pid_t pid, int *status);

/* Finds out whether one stop lasts too long. */
struct hang_detector {
	bool alarmed;      /* the alarm went off, and was neither cleared nor set again */
	uint64_t stops;    /* number of the stop at the last poll */
	uint64_t since_ns; /* time of the poll that saw this stop first */
	unsigned polls;    /* number of later polls that saw the same stop */
};
/*
 * Waits until END_FD's child ends, the alarm goes off, or this process has to quit. If the alarm
 * has gone off before, or this process has to quit already, the wait takes at most POLL_NS. True:
 * the child has ended.
 */
bool hang_detector_wait(struct hang_detector *detector, int end_fd, const struct stop_area *area,
			uint64_t poll_ns);
/* Reads the area. Returns whether the same stop was seen again MAX_POLLS times. */
bool hang_detector_poll(struct hang_detector *detector, const struct stop_area *area,
			unsigned max_polls);

/*
 * Counts a stop that hung for STOPPED_NS, like all other stops. RESTARTS is 1 if another sampler is
 * to start after this stop, otherwise 0. The sampler was killed, so this process writes the
 * sampler's counters.
 */
void watch_count_hang(uint64_t stopped_ns, unsigned restarts);

#endif
