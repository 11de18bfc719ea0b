/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guard: a process that does nothing but wait, and lets the guest go if the sampler dies, or does
 * not go on, while it stands still.
 *
 *   main ── broker ── fork ─► guard ── fork ─► sampler
 *
 * The sampler ends: its pidfd tells the guard, and stop_area_is_stopped() whether there is something
 * to undo. The sampler hangs: the guard looks every 8 ms, and finds the same stop again; it kills
 * the sampler, waits for its end and looks at Xen's results then, and forks another, which goes on
 * with ring and counters. The broker does the same for both, but for the other sampler (they are a
 * process group of their own), should the guard be killed or hang, too.
 *
 * The guard dies: the kernel sends the sampler SIGTERM (PR_SET_PDEATHSIG), which makes it finish its
 * tick and end. The broker dies: the same happens to the guard, which then asks the sampler to quit.
 * Main dies: the broker reads the end of its socket. Neither guard nor broker parses anything that
 * comes from a guest.
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

#define GUARD_QUIT_NS 1000000000ULL /* for a sampler to end in */

/* Both processes; set before the handler can run. */
static struct control *guard_control;
static volatile sig_atomic_t guard_told; /* to quit; control may be written over by main */

static void guard_quit_handler(int signal_number)
{
	(void)signal_number;
	guard_told = 1;
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

/* Quits when PARENT dies, or has died before the kernel was asked to tell. */
static void guard_follow(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		control_quit(guard_control);
}

static void guard_fail(struct control *control, struct xtop_error *error)
{
	control_put_message(control, error_message(error));
	control_settle(control, SAMPLER_FAILED);
	error_destroy(error);
}

/*
 * The guard, and the broker behind it, come first: they must get their turn also from a sampler that
 * takes all of a CPU.
 */
enum guard_priority { PRIORITY_SAMPLER = 1, PRIORITY_GUARD };

/*
 * The guest stands still while the sampler, or the guard that has to let it go, is off its CPU or
 * waits for a page: ask for neither. Pages stay once they are there; to have them all brought in
 * now takes half a second in the lab. Both may be refused (a container, a limit); then stops are
 * longer, and are shown.
 */
static void guard_make_prompt(enum guard_priority priority)
{
	struct sched_param param = { .sched_priority = (int)priority };

	sched_setscheduler(0, SCHED_FIFO, &param);
	mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT);
}

static void guard_sampler(const struct guest_info *info, struct stop_area *area, pid_t guard,
			  struct ring *ring, sampler_run_fn *run)
{
	struct xtop_error *error;
	struct guest guest;

	guard_follow(guard);
	error = domctl_open(info, area, &guest);
	if (error) {
		guard_fail(guard_control, error);
		return;
	}
	if (ring)
		ring_take_over(ring);
	fault_install();
	guard_make_prompt(PRIORITY_SAMPLER);
	run(&guest, guard_control, ring);
	guest.ops->close(guest.context);
	if (getppid() != guard)
		guard_fail(guard_control, error_create("the guard was killed; the guest runs"));
}

/* --- the guard's own process ------------------------------------------------------------------ */

bool stop_watch_look(struct stop_watch *watch, const struct stop_area *area, unsigned max_looks)
{
	uint64_t stops = stop_area_stops(area);

	if (!stop_area_is_stopped(area) || stops != watch->stops) {
		watch->looks = 0;
		watch->since_ns = clock_now_ns();
	} else {
		watch->looks++;
	}
	watch->stops = stops;
	return watch->looks >= max_looks;
}

/* Whether the process behind PIDFD ends within WAIT_NS; a signal may end the wait before. */
static bool guard_ends(int pidfd, uint64_t wait_ns)
{
	struct timespec wait = { .tv_sec = (time_t)(wait_ns / 1000000000),
				 .tv_nsec = (long)(wait_ns % 1000000000) };
	struct pollfd ended = { .fd = pidfd, .events = POLLIN };

	return ppoll(&ended, 1, &wait, NULL) > 0;
}

/* Why the guard made an end of its sampler. */
enum guard_verdict { VERDICT_NONE, VERDICT_HANGS, VERDICT_STAYS };

/*
 * Watches until the sampler should not go on. It may be stopped (SIGSTOP), traced, or waiting for
 * memory that does not come: while the guest runs that is nobody's harm, while it stands still it is
 * ours. A sampler that was told to quit gets its time for that.
 */
static enum guard_verdict guard_look_after(int pidfd, const struct stop_area *area,
					   struct stop_watch *watch)
{
	uint64_t quit_ns = 0;

	while (!guard_ends(pidfd, GUARD_LOOK_NS)) {
		if (stop_watch_look(watch, area, GUARD_LOOKS))
			return VERDICT_HANGS;
		if (!guard_told && !control_quitting(guard_control))
			continue;
		if (!quit_ns)
			quit_ns = clock_now_ns();
		if (clock_now_ns() - quit_ns > GUARD_QUIT_NS)
			return VERDICT_STAYS;
	}
	return VERDICT_NONE;
}

/*
 * Kill first, wait, and only then look at Xen's results: as long as the sampler lives, it may be
 * continued at any moment and let the guest go itself, and a second release would undo somebody
 * else's pause.
 */
static enum guard_verdict guard_wait(pid_t sampler, const struct stop_area *area,
				     struct stop_watch *watch, int *status)
{
	_cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, sampler, 0);
	enum guard_verdict verdict =
		VERDICT_STAYS; /* nothing to watch it by: rather none than that */

	if (pidfd >= 0)
		verdict = guard_look_after(pidfd, area, watch);
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

/* The sampler is dead: its counters are the guard's to write. That stop counts like any other. */
static void guard_count_hang(struct control *control, uint64_t stopped_ns, unsigned restarts)
{
	struct sampler_counts counts;

	control_get_counts(control, &counts);
	counts.restarts += restarts;
	counts.stops++;
	counts.stopped_ns += stopped_ns;
	control_add_stopped(control, stopped_ns);
	control_put_counts(control, &counts);
}

/* False: there is no time for that, it is to quit. */
static bool guard_rest(uint64_t stopped_ns)
{
	double rest_ns = (double)stopped_ns / control_budget(guard_control);
	struct timespec look = { .tv_nsec = GUARD_LOOK_NS };
	uint64_t begin_ns = clock_now_ns();

	if (rest_ns > GUARD_REST_MAX_NS)
		rest_ns = GUARD_REST_MAX_NS;
	while (!guard_told && !control_quitting(guard_control)) {
		if ((double)(clock_now_ns() - begin_ns) >= rest_ns)
			return true;
		nanosleep(&look, NULL);
	}
	return false;
}

/* After a sampler that hung from SINCE_NS, or up to a look before that, to now. */
static bool guard_prepare_restart(struct restarts *restarts, uint64_t since_ns)
{
	uint64_t now_ns = clock_now_ns();

	if (guard_told || control_quitting(guard_control) || !restarts_allow(restarts, now_ns))
		return false;
	guard_count_hang(guard_control, now_ns - since_ns + GUARD_LOOK_NS, 1);
	control_spend_credit(true);
	if (guard_rest(now_ns - since_ns + GUARD_LOOK_NS))
		return true;
	control_settle(guard_control, SAMPLER_ENDED); /* for the sampler that is not there */
	return false;
}

static pid_t guard_fork_sampler(const struct guest_info *info, struct stop_area *area,
				struct guest *guest, struct ring *ring, sampler_run_fn *run)
{
	pid_t self = getpid(), sampler = fork();

	if (sampler == 0) {
		/* xencall.h: all that may be done with it after fork() */
		guest->ops->close(guest->context);
		guard_sampler(info, area, self, ring, run);
		_exit(0);
	}
	if (sampler < 0)
		guard_fail(guard_control, error_create_errno(errno, "cannot start the sampler"));
	return sampler;
}

/* GUEST is the guard's own way to Xen, opened before there is anything to undo. */
static void guard_watch(const struct guest_info *info, struct stop_area *area, struct guest *guest,
			pid_t broker, struct ring *ring, sampler_run_fn *run)
{
	struct restarts restarts = { .at_ns = { 0 } };
	struct stop_watch watch = { 0 };
	enum guard_verdict verdict;
	int status = 0;

	guard_make_prompt(PRIORITY_GUARD);
	do {
		pid_t sampler = guard_fork_sampler(info, area, guest, ring, run);

		if (sampler < 0)
			return;
		verdict = guard_wait(sampler, area, &watch, &status);
		if (stop_area_is_stopped(area))
			guest->ops->release(guest->context);
	} while (verdict == VERDICT_HANGS && guard_prepare_restart(&restarts, watch.since_ns));
	if (getppid() != broker)
		guard_fail(guard_control, error_create("the broker was killed; the guest runs"));
	else
		guard_report(guard_control, status, verdict);
}

static void guard_main(const struct guest_info *info, struct stop_area *area, pid_t broker,
		       struct ring *ring, sampler_run_fn *run)
{
	struct xtop_error *error;
	struct guest guest;

	error = domctl_open(info, area, &guest);
	if (error)
		guard_fail(guard_control, error);
	else
		guard_watch(info, area, &guest, broker, ring, run);
}

/* --- the broker's side ------------------------------------------------------------------------ */

struct guard {
	pid_t pid; /* and the group that the sampler is in, too */
	int pidfd;
	struct stop_area *area;
	struct guest guest; /* the broker's own way to Xen */
	struct control *control;
	struct pause_file file;
	struct stop_watch watch;
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
		guard_follow(self);
		guard_main(&info, guard->area, self, ring, run);
		_exit(0);
	}
	setpgid(guard->pid, guard->pid); /* whoever comes first */
	guard->pidfd = (int)syscall(SYS_pidfd_open, guard->pid, 0);
	return guard->pidfd < 0 ? error_create_errno(errno, "cannot watch the guard") : NULL;
}

struct xtop_error *guard_create(const struct guest_info *info, struct control *control,
				struct ring *ring, sampler_run_fn *run, int socket,
				struct guard **guardp)
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
	if (!error) {
		pause_file_create(PAUSE_DIRECTORY, info, &guard->file);
		stop_area_set_mark(guard->area, guard->file.record ? &guard->file.record->mark : NULL);
		error = guard_fork(guard, ring, run, socket);
	}
	if (error) {
		guard_destroy(guard, NULL, NULL);
		return error;
	}
	*guardp = guard;
	return NULL;
}

int guard_pidfd(const struct guard *guard)
{
	return guard->pidfd;
}

/* All of the guard's group: the guard, and the sampler that is this process's child without it. */
static void guard_reap(struct guard *guard)
{
	pid_t ended;

	do
		ended = waitpid(-guard->pid, NULL, 0);
	while (ended > 0 || (ended < 0 && errno == EINTR));
}

/* The guard has ended, or is made to, and so is a sampler that outlives it. */
static void guard_end(struct guard *guard)
{
	kill(-guard->pid, SIGKILL);
	guard_reap(guard);
	if (stop_area_is_stopped(guard->area))
		guard->guest.ops->release(guard->guest.context);
	guard->ended = true;
	pause_file_remove(&guard->file);
}

/* How, unless they said so themselves. */
static void guard_settle(struct guard *guard, const char *what)
{
	struct sampler_counts counts;

	guard_end(guard);
	control_get_counts(guard->control, &counts);
	if (counts.state <= SAMPLER_GUEST_PAUSED)
		guard_fail(guard->control, error_create("%s; the guest runs", what));
}

/* Whether others shall be started is main's to say. */
static void guard_settle_hang(struct guard *guard)
{
	guard_end(guard);
	guard_count_hang(guard->control, clock_now_ns() - guard->watch.since_ns + BROKER_LOOK_NS,
			 0);
	control_settle(guard->control, SAMPLER_HUNG);
}

bool guard_tend(struct guard *guard)
{
	if (guard->ended)
		return false;
	if (guard_ends(guard->pidfd, 0))
		guard_settle(guard, "the guard was killed");
	else if (stop_watch_look(&guard->watch, guard->area, BROKER_LOOKS))
		guard_settle_hang(guard);
	return !guard->ended;
}

/* It may be stopped (SIGSTOP) itself: then it goes on for this. */
static void guard_quit(struct guard *guard, void (*meanwhile)(void *context), void *context)
{
	uint64_t begin_ns = clock_now_ns();

	control_quit(guard->control);
	kill(guard->pid, SIGTERM); /* for a control that somebody writes over */
	kill(-guard->pid, SIGCONT);
	while (guard_tend(guard) && clock_now_ns() - begin_ns < 2ULL * GUARD_QUIT_NS) {
		if (meanwhile)
			meanwhile(context);
		guard_ends(guard->pidfd, BROKER_LOOK_NS);
	}
	if (!guard->ended)
		guard_settle(guard, "the guard would not end and was killed");
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
