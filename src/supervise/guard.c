/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guard: a process that only waits, and releases the guest if the sampler dies or hangs while
 * the guest is stopped.
 *
 *   starter ── keeper ── fork ─► guard ── fork ─► sampler
 *
 * If the sampler ends, a pipe tells the guard (watch_fork()), and stop_area_is_stopped() tells
 * whether the guest must be released. If the sampler hangs, an alarm wakes the guard 8 ms after the
 * sampler was about to stop the guest. Then the guard polls every 8 ms and finds the same stop
 * again. It kills and disarms the sampler and waits a little for the sampler's end. Only then it
 * looks at Xen's results. It forks another sampler, which goes on with the same ring and counters.
 *
 * A killed sampler need not be dead. A debugger may stop it while it ends, a freezer may hold it in
 * the kernel, or the kernel may have gigabytes to write first. The guest does not wait for that: a
 * killed process runs no more instructions of its own, and its last hypercall, which may still be
 * under way, was disarmed. Only another sampler waits, because it would use the same calls.
 *
 * If the guard dies, the kernel sends SIGTERM to the sampler (PR_SET_PDEATHSIG). The sampler
 * finishes its tick and ends, and the keeper does the rest. Neither guard nor keeper parses bytes
 * that come from a guest.
 */
#include "config.h"

#include "supervise/guard.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "supervise/root_sandbox.h"
#include "xtop/base/clock.h"
#include "xtop/base/fault.h"
#include "xtop/base/restarts.h"
#include "xtop/sample/control.h"
#include "xtop/sample/ring.h"

/* --- the sampler's process -------------------------------------------------------------------- */

static void guard_run_sampler(const struct sampling *sampling, pid_t guard)
{
	struct xtop_error *error;
	struct guest guest;

	watch_quit_with(guard);
	error = domctl_open(&sampling->info, sampling->area, STOP_SAMPLER, &guest);
	if (error) {
		watch_fail(error);
		return;
	}
	if (sampling->ring)
		ring_adopt_producer(sampling->ring);
	fault_install();
	watch_make_prompt(PRIORITY_SAMPLER);
	root_sandbox_drop(ROOT_SAMPLER);
	sampling->run(&guest, sampling->control, sampling->ring);
	guest.ops->close(guest.context);
	if (getppid() != guard)
		watch_fail(error_create("the guard was killed; the guest runs"));
}

/* --- the guard's own process ------------------------------------------------------------------ */

/* Why the guard has killed its sampler. */
enum guard_verdict { VERDICT_NONE, VERDICT_HANGS, VERDICT_STAYS };

struct guard {
	const struct sampling *sampling;
	struct guest guest; /* the guard's own handle of Xen, opened before any stop */
	struct hang_detector detector;
	struct restarts restarts;
	pid_t sampler;
	int end_fd; /* tells the sampler's end; see watch_fork() */
	enum guard_verdict verdict; /* why the last sampler was killed */
	int status; /* the last sampler's status from wait(2); 0 if it cannot be reaped yet */
};

/*
 * Waits until the sampler ends or has to be killed. A sampler may be stopped (SIGSTOP), traced, or
 * wait for memory that does not come. This does no harm while the guest runs, but it does while the
 * guest is stopped. A sampler that was told to quit has WATCH_QUIT_NS to end.
 */
static enum guard_verdict guard_watch_sampler(struct guard *guard)
{
	const struct stop_area *area = guard->sampling->area;
	uint64_t quit_ns = 0;

	while (!hang_detector_wait(&guard->detector, guard->end_fd, area, GUARD_POLL_NS)) {
		watch_publish_cpu(CONTROL_GUARD);
		if (hang_detector_poll(&guard->detector, area, GUARD_MAX_POLLS))
			return VERDICT_HANGS;
		if (!watch_must_quit())
			continue;
		if (!quit_ns) {
			quit_ns = clock_now_ns();
			kill(guard->sampler, SIGTERM); /* the sampler may sleep */
		}
		if (clock_now_ns() - quit_ns > WATCH_QUIT_NS)
			return VERDICT_STAYS;
	}
	return VERDICT_NONE;
}

/*
 * Ends the sampler, and releases the guest if the sampler has not. The order matters: a living
 * sampler may continue at any moment and release the guest itself, and a second release would undo
 * another program's pause.
 */
static void guard_end_sampler(struct guard *guard)
{
	struct stop_area *area = guard->sampling->area;

	guard->status = 0;
	kill(guard->sampler, SIGKILL);
	stop_area_disarm(area, STOP_GUARD);
	watch_ends(guard->end_fd, WATCH_DEATH_NS);
	if (stop_area_is_stopped(area))
		guard->guest.ops->release(guard->guest.context);
	watch_reap(guard->sampler, &guard->status);
}

/*
 * Waits for the end of the killed sampler, which takes a while on a busy machine. The guest runs,
 * so there is time.
 */
static bool guard_sampler_dies(const struct guard *guard)
{
	return watch_ends(guard->end_fd, WATCH_QUIT_NS);
}

static const char *guard_describe_end(const struct guard *guard)
{
	switch (guard->verdict) {
	case VERDICT_HANGS:
		return guard_sampler_dies(guard)
			       ? "the sampler hung while the guest stood still and was killed"
			       : "the sampler hung while the guest stood still, and does not end "
				 "although it was killed (is it traced or frozen?)";
	case VERDICT_STAYS:
		return "the sampler would not end and was killed";
	case VERDICT_NONE:
		break;
	}
	return "the sampler ended before its time";
}

static void guard_report(const struct guard *guard)
{
	struct sampler_counts counts;

	control_get_counts(guard->sampling->control, &counts);
	if (counts.state > SAMPLER_GUEST_PAUSED)
		return;
	if (guard->verdict == VERDICT_NONE && WIFSIGNALED(guard->status))
		watch_fail(error_create("the sampler was killed by signal %d; the guest runs",
					WTERMSIG(guard->status)));
	else
		watch_fail(error_create("%s; the guest runs", guard_describe_end(guard)));
}

/* --- one sampler after the other -------------------------------------------------------------- */

/* Lets the guest run to make up for a stop of STOPPED_NS. False: this process must quit. */
static bool guard_rest(const struct guard *guard, uint64_t stopped_ns)
{
	double rest_ns = (double)stopped_ns / control_get_budget(guard->sampling->control);
	struct timespec nap = { .tv_nsec = GUARD_POLL_NS };
	uint64_t begin_ns = clock_now_ns();

	if (rest_ns > GUARD_REST_MAX_NS)
		rest_ns = GUARD_REST_MAX_NS;
	while (!watch_must_quit()) {
		if ((double)(clock_now_ns() - begin_ns) >= rest_ns)
			return true;
		nanosleep(&nap, NULL);
	}
	return false;
}

/*
 * Prepares another sampler. The last one hung from detector.since_ns, or at most GUARD_POLL_NS
 * before, until now. Returns when another sampler may start. False: no other sampler is to start.
 */
static bool guard_prepare_restart(struct guard *guard)
{
	uint64_t now_ns = clock_now_ns();
	uint64_t stopped_ns = now_ns - guard->detector.since_ns + GUARD_POLL_NS;

	if (watch_must_quit() || !restarts_allow(&guard->restarts, now_ns))
		return false;
	watch_count_hang(stopped_ns, 1);
	control_set_credit_spent(true);
	if (!guard_rest(guard, stopped_ns)) {
		/* No sampler is left that could set this state. */
		control_set_state(guard->sampling->control, SAMPLER_ENDED);
		return false;
	}
	return guard_sampler_dies(guard);
}

static bool guard_fork_sampler(struct guard *guard)
{
	pid_t self = getpid();

	while (waitpid(-1, NULL, WNOHANG) > 0)
		; /* reap earlier samplers that a debugger has let go meanwhile */
	stop_area_clear_alarm(guard->sampling->area); /* may still be set by the last sampler */
	stop_area_arm(guard->sampling->area);
	guard->sampler = watch_fork(&guard->end_fd);
	if (guard->sampler == 0) {
		/* xencall.h: after fork() the child may only close the handle */
		guard->guest.ops->close(guard->guest.context);
		guard_run_sampler(guard->sampling, self);
		_exit(0);
	}
	if (guard->sampler < 0) {
		watch_fail(error_create_errno(errno, "cannot start the sampler"));
		return false;
	}
	return true;
}

/*
 * Enters the guard's walls. Called after the first fork, so that the first sampler has no filter.
 */
static bool guard_enter_walls(struct guard *guard)
{
	struct xtop_error *error = root_sandbox_enter(ROOT_GUARD);

	if (!error)
		return true;
	guard_end_sampler(guard);
	watch_fail(error);
	return false;
}

static void guard_run_samplers(struct guard *guard)
{
	bool again = false;

	do {
		if (!guard_fork_sampler(guard) || (!again && !guard_enter_walls(guard)))
			return;
		guard->verdict = guard_watch_sampler(guard);
		guard_end_sampler(guard);
		again = guard->verdict == VERDICT_HANGS && guard_prepare_restart(guard);
		if (!again)
			guard_report(guard);
		close(guard->end_fd);
	} while (again);
}

void guard_run(const struct sampling *sampling, pid_t keeper)
{
	struct guard guard = { .sampling = sampling };
	struct xtop_error *error;

	watch_quit_with(keeper);
	error = domctl_open(&sampling->info, sampling->area, STOP_GUARD, &guard.guest);
	if (error) {
		watch_fail(error);
		return;
	}
	watch_make_prompt(PRIORITY_WATCH);
	guard_run_samplers(&guard);
	if (getppid() != keeper)
		watch_fail(error_create("the keeper was killed; the guest runs"));
}
