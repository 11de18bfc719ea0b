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
 * Guard and keeper sleep until the alarm of the area goes off (domctl.h), STOP_ALARM_NS after
 * the sampler has set it. Then the guard polls every GUARD_POLL_NS until it is cleared. When it
 * has seen the same stop GUARD_MAX_POLLS times again, at most 32 ms after its begin, it decides
 * that the sampler hangs. The keeper, which watches the guard, waits longer.
 */
#define GUARD_POLL_NS    8000000
#define GUARD_MAX_POLLS  3
#define KEEPER_POLL_NS   20000000
#define KEEPER_MAX_POLLS 3
#define WATCH_QUIT_NS    1000000000ULL /* a sampler has to end in, told or killed */
/*
 * How long to wait for the end of a process that was killed and disarmed, before the guest is
 * released without it. A hypercall that Xen had begun to do before is done by then: that takes
 * microseconds. The end itself may take longer: 64 MiB of mappings have to go.
 */
#define WATCH_DEATH_NS 4000000ULL

/* One domain's sampling, as keeper, guard and sampler know it. */
struct sampling {
	struct guest_info info;
	struct control *control; /* shared memory, as the ring; both outlive the processes */
	struct ring *ring;
	sampler_run_fn *run;
	struct stop_area *area;
};

/* Keeper and guard have the higher priority: they must run even if a sampler takes all of a CPU. */
enum watch_priority { PRIORITY_SAMPLER = 1, PRIORITY_WATCH };

/*
 * While the guest is stopped, the process should neither lose its CPU nor wait for a page. Both may
 * be refused (a container, a limit). Stops are longer then, and the screen shows it.
 */
void watch_make_prompt(enum watch_priority priority);

/*
 * From now on SIGTERM asks this process, and those that it forks, to quit. Signals of the terminal
 * reach every process of the group and are ignored: main decides what they mean.
 */
void watch_set_signals(struct control *control);
/* This process is asked to quit when PARENT dies. */
void watch_quit_with(pid_t parent);
bool watch_must_quit(void);

/* Publishes this process's CPU time as WHO's. */
void watch_publish_cpu(enum control_watcher who);

/* Puts ERROR into control, unless a failure is there already. */
void watch_fail(struct xtop_error *error);

/*
 * Forks. *END_FDP in the parent is readable once the child has ended: it is a pipe whose other end
 * only the child has, and the kernel closes that when the child ends, however it does. A pidfd
 * would do the same, but pidfd_open() needs Linux 5.3.
 *
 * The kernel closes the files of a killed process after its last instruction, and before wait()
 * finds the process: see watch_reap(). -1: errno says why.
 */
pid_t watch_fork(int *end_fdp);
/* True: the process of END_FD ends within WAIT_NS, or has ended. */
bool watch_ends(int end_fd, uint64_t wait_ns);
/*
 * Waits at most WATCH_DEATH_NS until the child PID, or each one of the process group -PID, can be
 * reaped. *STATUS, as wait(2) has it, is untouched if none can: a debugger holds it.
 */
void watch_reap(pid_t pid, int *status);

/* Finds out whether one stop lasts too long. */
struct hang_detector {
	bool alarmed;      /* the alarm has gone off, and was neither cleared nor set again */
	uint64_t stops;    /* number of the stop at the last poll */
	uint64_t since_ns; /* the time of the poll that saw this stop first */
	unsigned polls;    /* how many polls have seen it again */
};
/*
 * Waits for the child of END_FD: for POLL_NS if the alarm has gone off or this process is to quit,
 * and otherwise until one of both is so. True: the child has ended.
 */
bool hang_detector_wait(struct hang_detector *detector, int end_fd, const struct stop_area *area,
			uint64_t poll_ns);
/* Looks at the area. True: the same stop was seen again MAX_POLLS times. */
bool hang_detector_poll(struct hang_detector *detector, const struct stop_area *area,
			unsigned max_polls);

/*
 * A stop of STOPPED_NS hung, and was ended by RESTARTS of the sampler, 0 or 1. It counts like all
 * others. The sampler was killed: this process writes its counters.
 */
void watch_count_hang(uint64_t stopped_ns, unsigned restarts);

#endif
