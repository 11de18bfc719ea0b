/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What guard and keeper have in common; see supervise/watch.h. In both processes. */
#include "config.h"

#include "supervise/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "xtop/base/clock.h"
#include "xtop/sample/budget.h"
#include "xtop/sample/control.h"

#define WATCH_NAP_NS 1000000 /* time between two tries to reap a killed process */

/* The control block of keeper, guard and sampler. Set before the signal handler can run. */
static struct control *watch_control;
static volatile sig_atomic_t watch_quits; /* must quit, even if main overwrites control */

static void watch_quit_handler(int signal_number)
{
	(void)signal_number;
	watch_quits = 1;
	control_quit(watch_control); /* a relaxed atomic store */
}

void watch_set_signals(struct control *control)
{
	struct sigaction quit = { .sa_handler = watch_quit_handler };
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	static const int ignored[] = { SIGINT,  SIGHUP,  SIGQUIT, SIGTSTP,
				       SIGTTIN, SIGTTOU, SIGPIPE, SIGWINCH };

	watch_control = control;
	sigaction(SIGTERM, &quit, NULL);
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		sigaction(ignored[i], &ignore, NULL);
}

void watch_quit_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		watch_quit_handler(SIGTERM);
}

bool watch_must_quit(void)
{
	return watch_quits || control_is_quitting(watch_control);
}

/* Locks pages when they are first used: bringing in all of them takes half a second. */
void watch_make_prompt(enum watch_priority priority)
{
	struct sched_param param = { .sched_priority = (int)priority };

	syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &param); /* musl's function only fails */
	mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT);
}

void watch_publish_cpu(enum control_watcher who)
{
	control_set_watcher_cpu(watch_control, who, clock_ns(CLOCK_PROCESS_CPUTIME_ID));
}

void watch_fail(struct xtop_error *error)
{
	struct sampler_counts counts;

	control_get_counts(watch_control, &counts);
	if (counts.state != SAMPLER_FAILED) {
		control_set_message(watch_control, error_message(error));
		control_set_state(watch_control, SAMPLER_FAILED);
	}
	error_destroy(error);
}

/*
 * The end of the pipe that this process holds and its parent watches. -1: watch_fork() did not make
 * this process.
 */
static int watch_own_end = -1;

pid_t watch_fork(int *end_fdp)
{
	int ends[2], failure;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	failure = errno;
	if (pid == 0) {
		close(ends[0]);
		if (watch_own_end >= 0)
			close(watch_own_end); /* a copy: else the parent's end would go unseen */
		watch_own_end = ends[1];
		return 0;
	}
	close(ends[1]);
	if (pid < 0)
		close(ends[0]);
	else
		*end_fdp = ends[0];
	errno = failure;
	return pid;
}

void watch_reap(pid_t pid, int *status)
{
	const struct timespec nap = { .tv_nsec = WATCH_NAP_NS };
	uint64_t until_ns = clock_now_ns() + WATCH_DEATH_NS;
	pid_t ended;
	int seen;

	do {
		ended = waitpid(pid, &seen, WNOHANG);
		if (!ended)
			nanosleep(&nap, NULL);
		else if (ended == abs(pid))
			*status = seen;
	} while (ended >= 0 && clock_now_ns() < until_ns);
}

/* A signal ends ppoll() early, but not the wait: callers count how often they have waited. */
bool watch_ends(int end_fd, uint64_t wait_ns)
{
	struct pollfd ended = { .fd = end_fd, .events = POLLIN };
	uint64_t until_ns = clock_now_ns() + wait_ns, now_ns;
	int ready;

	do {
		struct timespec wait;

		now_ns = clock_now_ns();
		wait_ns = now_ns < until_ns ? until_ns - now_ns : 0;
		wait = (struct timespec){ .tv_sec = (time_t)(wait_ns / 1000000000),
					  .tv_nsec = (long)(wait_ns % 1000000000) };
		ready = ppoll(&ended, 1, &wait, NULL);
	} while (ready <= 0 && now_ns < until_ns);
	return ready > 0;
}

/* SIGTERM may come at any time. It is blocked outside of ppoll(), so that none is missed. */
static void hang_detector_sleep(struct hang_detector *detector, int end_fd, int alarm_fd)
{
	struct pollfd fds[] = { { .fd = end_fd, .events = POLLIN },
				{ .fd = alarm_fd, .events = POLLIN } };
	sigset_t quit, before;

	sigemptyset(&quit);
	sigaddset(&quit, SIGTERM);
	sigprocmask(SIG_BLOCK, &quit, &before);
	if (!watch_must_quit() && ppoll(fds, 2, NULL, &before) > 0)
		detector->alarmed = fds[1].revents;
	sigprocmask(SIG_SETMASK, &before, NULL);
}

bool hang_detector_wait(struct hang_detector *detector, int end_fd, const struct stop_area *area,
			uint64_t poll_ns)
{
	int alarm_fd = stop_area_alarm_fd(area);
	bool ended;

	if (!detector->alarmed && !watch_must_quit()) {
		hang_detector_sleep(detector, end_fd, alarm_fd);
		return watch_ends(end_fd, 0);
	}
	ended = watch_ends(end_fd, poll_ns);
	detector->alarmed = watch_ends(alarm_fd, 0);
	return ended;
}

bool hang_detector_poll(struct hang_detector *detector, const struct stop_area *area,
			unsigned max_polls)
{
	uint64_t stops = stop_area_stops(area);

	if (!stop_area_is_stopped(area) || stops != detector->stops) {
		detector->polls = 0;
		detector->since_ns = clock_now_ns();
	} else {
		detector->polls++;
	}
	detector->stops = stops;
	return detector->polls >= max_polls;
}

void watch_count_hang(uint64_t stopped_ns, unsigned restarts)
{
	double share = (double)stopped_ns / BUDGET_WINDOW_NS; /* the stop's share of its second */
	struct sampler_counts counts;

	control_get_counts(watch_control, &counts);
	counts.stopped_share = share < 1 ? share : 1;
	if (counts.stopped_share > counts.stopped_share_max)
		counts.stopped_share_max = counts.stopped_share;
	counts.restarts += restarts;
	counts.stops++;
	counts.stopped_ns += stopped_ns;
	control_count_stopped(watch_control, stopped_ns);
	control_set_counts(watch_control, &counts);
}
