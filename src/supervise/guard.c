/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guard: a process that only waits, and releases the guest if the sampler dies or hangs while
 * the guest is stopped.
 *
 *   main ── broker ── fork ─► guard ── fork ─► sampler
 *
 * The sampler ends: its pidfd tells the guard, and stop_area_is_stopped() tells whether the guest
 * has to be released. The sampler hangs: the guard polls every 8 ms and finds the same stop again.
 * It kills the sampler, waits for its end, looks at Xen's results only then, and forks another
 * sampler, which goes on with the same ring and counters. If the guard is killed or hangs, too, the
 * broker ends both in the same way (they are a process group of their own), but starts no other
 * sampler.
 *
 * The guard dies: the kernel sends SIGTERM to the sampler (PR_SET_PDEATHSIG), and the sampler
 * finishes its tick and ends. The broker dies: the kernel sends SIGTERM to the guard, and the guard
 * asks the sampler to quit. Main dies: the broker reads the end of its socket. Neither guard nor
 * broker parses bytes that come from a guest.
 */
#include "config.h"

#include <errno.h>
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

#include "supervise/guard.h"
#include "supervise/pause_record.h"
#include "xtop/clock.h"
#include "xtop/cleanup.h"
#include "xtop/control.h"
#include "xtop/fault.h"
#include "xtop/restarts.h"
#include "xtop/ring.h"

#define GUARD_QUIT_NS 1000000000ULL /* the time that a sampler has to end in */

/* For guard and sampler. Set before the signal handler can run. */
static struct control *guard_control;
static volatile sig_atomic_t guard_must_quit; /* kept here, too: main may overwrite control */

static void guard_quit_handler(int signal_number)
{
	(void)signal_number;
	guard_must_quit = 1;
	control_quit(guard_control); /* a relaxed atomic store */
}

/* Ctrl-C and a closed terminal reach every process of the group; main decides what they mean. */
static void guard_set_signals(void)
{
	struct sigaction quit = { .sa_handler = guard_quit_handler };
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	static const int ignored[] = { SIGINT,  SIGHUP,  SIGQUIT, SIGTSTP,
				       SIGTTIN, SIGTTOU, SIGPIPE, SIGWINCH };

	sigaction(SIGTERM, &quit, NULL);
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		sigaction(ignored[i], &ignore, NULL);
}

/* Makes this process quit when PARENT dies, or if PARENT is already dead. */
static void guard_quit_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		control_quit(guard_control);
}

static void guard_fail(struct control *control, struct xtop_error *error)
{
	control_set_message(control, error_message(error));
	control_set_state(control, SAMPLER_FAILED);
	error_destroy(error);
}

/* Guard and broker have the higher priority: they must run even if a sampler takes all of a CPU. */
enum guard_priority { PRIORITY_SAMPLER = 1, PRIORITY_GUARD };

/*
 * While the guest is stopped, sampler and guard should neither lose their CPU nor wait for a page.
 * Pages are locked when they are first used: to bring them all in now takes half a second in the
 * lab. Both calls may be refused (a container, a limit). Stops are longer then, and the screen
 * shows it.
 */
static void guard_make_prompt(enum guard_priority priority)
{
	struct sched_param param = { .sched_priority = (int)priority };

	sched_setscheduler(0, SCHED_FIFO, &param);
	mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT);
}

static void guard_run_sampler(const struct guest_info *info, struct stop_area *area, pid_t guard,
			      struct ring *ring, sampler_run_fn *run)
{
	struct xtop_error *error;
	struct guest guest;

	guard_quit_with(guard);
	error = domctl_open(info, area, &guest);
	if (error) {
		guard_fail(guard_control, error);
		return;
	}
	if (ring)
		ring_adopt_producer(ring);
	fault_install();
	guard_make_prompt(PRIORITY_SAMPLER);
	run(&guest, guard_control, ring);
	guest.ops->close(guest.context);
	if (getppid() != guard)
		guard_fail(guard_control, error_create("the guard was killed; the guest runs"));
}

/* --- the guard's own process ------------------------------------------------------------------ */

/* True: the same stop was seen again MAX_POLLS times. */
static bool hang_detector_poll(struct hang_detector *detector, const struct stop_area *area,
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

/* True: the process of PIDFD ends within WAIT_NS. A signal may end the wait earlier. */
static bool guard_ends(int pidfd, uint64_t wait_ns)
{
	struct timespec wait = { .tv_sec = (time_t)(wait_ns / 1000000000),
				 .tv_nsec = (long)(wait_ns % 1000000000) };
	struct pollfd ended = { .fd = pidfd, .events = POLLIN };

	return ppoll(&ended, 1, &wait, NULL) > 0;
}

/* Why the guard has killed its sampler. */
enum guard_verdict { VERDICT_NONE, VERDICT_HANGS, VERDICT_STAYS };

/*
 * Waits until the sampler ends or has to be killed. A sampler may be stopped (SIGSTOP), traced, or
 * wait for memory that does not come. This does no harm while the guest runs, but it does while the
 * guest is stopped. A sampler that was told to quit has GUARD_QUIT_NS to end.
 */
static enum guard_verdict guard_watch_sampler(int pidfd, const struct stop_area *area,
					      struct hang_detector *detector)
{
	uint64_t quit_ns = 0;

	while (!guard_ends(pidfd, GUARD_POLL_NS)) {
		if (hang_detector_poll(detector, area, GUARD_MAX_POLLS))
			return VERDICT_HANGS;
		if (!guard_must_quit && !control_is_quitting(guard_control))
			continue;
		if (!quit_ns)
			quit_ns = clock_now_ns();
		if (clock_now_ns() - quit_ns > GUARD_QUIT_NS)
			return VERDICT_STAYS;
	}
	return VERDICT_NONE;
}

/*
 * Waits for the end of the sampler. The caller looks at Xen's results after that, never before: a
 * living sampler may continue at any moment and release the guest itself. A second release would
 * then undo another program's pause.
 */
static enum guard_verdict guard_wait(pid_t sampler, const struct stop_area *area,
				     struct hang_detector *detector, int *status)
{
	_cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, sampler, 0);
	enum guard_verdict verdict = VERDICT_STAYS; /* a sampler that cannot be watched is killed */

	if (pidfd >= 0)
		verdict = guard_watch_sampler(pidfd, area, detector);
	if (verdict != VERDICT_NONE)
		kill(sampler, SIGKILL);
	while (waitpid(sampler, status, 0) < 0 && errno == EINTR)
		;
	return verdict;
}

static void guard_report(struct control *control, int status, enum guard_verdict verdict)
{
	struct sampler_counts counts;

	control_get_counts(control, &counts);
	if (counts.state > SAMPLER_GUEST_PAUSED)
		return;
	if (verdict == VERDICT_HANGS)
		guard_fail(control, error_create("the sampler hung while the guest stood still and "
						 "was killed; the guest runs"));
	else if (verdict == VERDICT_STAYS)
		guard_fail(control, error_create("the sampler would not end and was killed; "
						 "the guest runs"));
	else if (WIFSIGNALED(status))
		guard_fail(control,
			   error_create("the sampler was killed by signal %d; the guest runs",
					WTERMSIG(status)));
	else
		guard_fail(control,
			   error_create("the sampler ended before its time; the guest runs"));
}

/* --- one sampler after the other -------------------------------------------------------------- */

/*
 * The sampler is dead, so the guard may write its counters. The stop that hung counts like all
 * others.
 */
static void guard_count_hang(struct control *control, uint64_t stopped_ns, unsigned restarts)
{
	struct sampler_counts counts;

	control_get_counts(control, &counts);
	counts.restarts += restarts;
	counts.stops++;
	counts.stopped_ns += stopped_ns;
	control_count_stopped(control, stopped_ns);
	control_set_counts(control, &counts);
}

/* Gives the guest its time back after a stop of STOPPED_NS. False: this process must quit. */
static bool guard_rest(uint64_t stopped_ns)
{
	double rest_ns = (double)stopped_ns / control_get_budget(guard_control);
	struct timespec nap = { .tv_nsec = GUARD_POLL_NS };
	uint64_t begin_ns = clock_now_ns();

	if (rest_ns > GUARD_REST_MAX_NS)
		rest_ns = GUARD_REST_MAX_NS;
	while (!guard_must_quit && !control_is_quitting(guard_control)) {
		if ((double)(clock_now_ns() - begin_ns) >= rest_ns)
			return true;
		nanosleep(&nap, NULL);
	}
	return false;
}

/*
 * A sampler hung from SINCE_NS, or at most GUARD_POLL_NS before that, until now. Returns when
 * another one may start. False: there is to be none.
 */
static bool guard_prepare_restart(struct restarts *restarts, uint64_t since_ns)
{
	uint64_t now_ns = clock_now_ns();

	if (guard_must_quit || control_is_quitting(guard_control) ||
	    !restarts_allow(restarts, now_ns))
		return false;
	guard_count_hang(guard_control, now_ns - since_ns + GUARD_POLL_NS, 1);
	control_set_credit_spent(true);
	if (guard_rest(now_ns - since_ns + GUARD_POLL_NS))
		return true;
	control_set_state(guard_control, SAMPLER_ENDED); /* there is no sampler that could do it */
	return false;
}

static pid_t guard_fork_sampler(const struct guest_info *info, struct stop_area *area,
				struct guest *guest, struct ring *ring, sampler_run_fn *run)
{
	pid_t self = getpid(), sampler = fork();

	if (sampler == 0) {
		/* xencall.h: after fork() the child may only close the handle */
		guest->ops->close(guest->context);
		guard_run_sampler(info, area, self, ring, run);
		_exit(0);
	}
	if (sampler < 0)
		guard_fail(guard_control, error_create_errno(errno, "cannot start the sampler"));
	return sampler;
}

/* GUEST is the guard's own handle of Xen, opened before any stop. */
static void guard_run_samplers(const struct guest_info *info, struct stop_area *area,
			       struct guest *guest, pid_t broker, struct ring *ring,
			       sampler_run_fn *run)
{
	struct restarts restarts = { .at_ns = { 0 } };
	struct hang_detector detector = { 0 };
	enum guard_verdict verdict;
	int status = 0;

	guard_make_prompt(PRIORITY_GUARD);
	do {
		pid_t sampler = guard_fork_sampler(info, area, guest, ring, run);

		if (sampler < 0)
			return;
		verdict = guard_wait(sampler, area, &detector, &status);
		if (stop_area_is_stopped(area))
			guest->ops->release(guest->context);
	} while (verdict == VERDICT_HANGS && guard_prepare_restart(&restarts, detector.since_ns));
	if (getppid() != broker)
		guard_fail(guard_control, error_create("the broker was killed; the guest runs"));
	else
		guard_report(guard_control, status, verdict);
}

static void guard_run(const struct guest_info *info, struct stop_area *area, pid_t broker,
		      struct ring *ring, sampler_run_fn *run)
{
	struct xtop_error *error;
	struct guest guest;

	error = domctl_open(info, area, &guest);
	if (error)
		guard_fail(guard_control, error);
	else
		guard_run_samplers(info, area, &guest, broker, ring, run);
}

/* --- the broker's side ------------------------------------------------------------------------ */

struct guard {
	pid_t pid; /* also the process group of guard and sampler */
	int pidfd;
	struct stop_area *area;
	struct guest guest; /* the broker's own handle of Xen */
	struct control *control;
	struct pause_file file;
	struct hang_detector detector;
	bool ended;
};

static struct xtop_error *guard_fork(struct guard *guard, struct ring *ring, sampler_run_fn *run,
				     int socket)
{
	pid_t self = getpid();

	guard->pid = fork();
	if (guard->pid < 0)
		return error_create_errno(errno, "cannot start the guard");
	if (guard->pid == 0) {
		struct guest_info info = guard->guest.info;

		close(socket);
		guard_control = guard->control;
		guard->guest.ops->close(guard->guest.context);
		setpgid(0, 0);
		guard_set_signals();
		guard_quit_with(self);
		guard_run(&info, guard->area, self, ring, run);
		_exit(0);
	}
	setpgid(guard->pid, guard->pid); /* in both processes: either may run first */
	guard->pidfd = (int)syscall(SYS_pidfd_open, guard->pid, 0);
	return guard->pidfd < 0 ? error_create_errno(errno, "cannot watch the guard") : NULL;
}

struct xtop_error *guard_create(const struct guest_info *info, struct control *control,
				struct ring *ring, const struct broker_settings *settings,
				int socket, struct guard **guardp)
{
	struct guard *guard = calloc(1, sizeof(*guard));
	struct xtop_error *error;

	if (!guard)
		return error_create("out of memory");
	guard->control = control;
	guard->pid = guard->pidfd = guard->file.fd = -1;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	guard_make_prompt(PRIORITY_GUARD);
	error = stop_area_create(info, &guard->area);
	if (!error)
		error = domctl_open(info, guard->area, &guard->guest);
	/* Main is the process that a user knows, and can end. */
	if (!error)
		error = pause_file_create(PAUSE_DIRECTORY, info, (uint32_t)getppid(),
					  settings->shared, &guard->file);
	if (!error) {
		stop_area_set_mark(guard->area,
				   guard->file.record ? &guard->file.record->mark : NULL);
		error = guard_fork(guard, ring, settings->run, socket);
	}
	if (error) {
		guard_destroy(guard, NULL, NULL);
		return error;
	}
	*guardp = guard;
	return NULL;
}

void guard_add_pause(struct guard *guard, uint64_t paused_ns)
{
	stop_area_add_pause(guard->area, paused_ns);
}

int guard_pidfd(const struct guard *guard)
{
	return guard->pidfd;
}

/*
 * Waits for the whole group: the guard, and the sampler, which this process has inherited by then.
 */
static void guard_reap(struct guard *guard)
{
	pid_t ended;

	do
		ended = waitpid(-guard->pid, NULL, 0);
	while (ended > 0 || (ended < 0 && errno == EINTR));
}

/*
 * Kills guard and sampler, if they live, waits for their end, and releases the guest if necessary.
 */
static void guard_end(struct guard *guard)
{
	kill(-guard->pid, SIGKILL);
	guard_reap(guard);
	if (stop_area_is_stopped(guard->area))
		guard->guest.ops->release(guard->guest.context);
	guard->ended = true;
	pause_file_remove(&guard->file);
}

/*
 * Ends the guard, and reports WHAT has happened, unless guard or sampler have reported why they
 * ended.
 */
static void guard_end_because(struct guard *guard, const char *what)
{
	struct sampler_counts counts;

	guard_end(guard);
	control_get_counts(guard->control, &counts);
	if (counts.state <= SAMPLER_GUEST_PAUSED)
		guard_fail(guard->control, error_create("%s; the guest runs", what));
}

/* Main decides whether to start another guard and sampler. */
static void guard_end_hung(struct guard *guard)
{
	guard_end(guard);
	guard_count_hang(guard->control, clock_now_ns() - guard->detector.since_ns + BROKER_POLL_NS,
			 0);
	control_set_state(guard->control, SAMPLER_HUNG);
}

bool guard_poll(struct guard *guard)
{
	if (guard->ended)
		return false;
	if (guard_ends(guard->pidfd, 0))
		guard_end_because(guard, "the guard was killed");
	else if (hang_detector_poll(&guard->detector, guard->area, BROKER_MAX_POLLS))
		guard_end_hung(guard);
	return !guard->ended;
}

/* The guard may be stopped (SIGSTOP), so it gets SIGCONT. */
static void guard_quit(struct guard *guard, void (*meanwhile)(void *context), void *context)
{
	uint64_t begin_ns = clock_now_ns();

	control_quit(guard->control);
	kill(guard->pid, SIGTERM); /* in case main overwrites control */
	kill(-guard->pid, SIGCONT);
	while (guard_poll(guard) && clock_now_ns() - begin_ns < 2ULL * GUARD_QUIT_NS) {
		if (meanwhile)
			meanwhile(context);
		guard_ends(guard->pidfd, BROKER_POLL_NS);
	}
	if (!guard->ended)
		guard_end_because(guard, "the guard would not end and was killed");
}

void guard_destroy(struct guard *guard, void (*meanwhile)(void *context), void *context)
{
	if (guard->pid > 0 && !guard->ended)
		guard_quit(guard, meanwhile, context);
	pause_file_remove(&guard->file);
	if (guard->guest.ops)
		guard->guest.ops->close(guard->guest.context);
	stop_area_destroy(guard->area);
	if (guard->pidfd >= 0)
		close(guard->pidfd);
	free(guard);
}
