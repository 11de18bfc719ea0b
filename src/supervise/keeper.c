/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The keeper: a process that watches the guard as the guard watches the sampler. Each domain that
 * is sampled has one.
 *
 *   starter ── fork ─► keeper ── fork ─► guard ── fork ─► sampler
 *
 * If the guard ends, a pipe tells the keeper (watch_fork()). If the guard hangs together with its
 * sampler, the alarm that wakes the guard wakes the keeper, too, which then polls every 20 ms and
 * finds the same stop again. In both cases the keeper kills guard and sampler, which are a process
 * group of their own, and disarms them. It waits a little for their end, and releases the guest if
 * necessary. It starts no other guard: main decides that.
 *
 * The keeper is not the broker: a broker that serves a question runs at normal priority, may wait
 * for xenstore, and may be asked as often as main likes. The keeper asks only Xen, and only for the
 * release. If the starter dies, as it does when the broker dies, the kernel sends SIGTERM to the
 * keeper, and the keeper asks guard and sampler to quit. If the keeper dies, the guard gets that
 * signal.
 */
#include "config.h"

#include "supervise/keeper.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "supervise/guard.h"
#include "supervise/pause_record.h"
#include "supervise/root_sandbox.h"
#include "xtop/base/clock.h"
#include "xtop/sample/control.h"

/* The state of the keeper's process. */
struct keeper_process {
	struct sampling sampling;
	struct guest guest; /* the keeper's own handle of Xen */
	struct pause_file file;
	struct hang_detector detector;
	pid_t guard; /* the guard; its number is also the process group of guard and sampler */
	int end_fd;  /* tells the guard's end; see watch_fork() */
};

/* --- the end of guard and sampler ------------------------------------------------------------- */

/*
 * Kills guard and sampler; afterwards the guest runs. The record is the last safety net, so it is
 * removed last.
 *
 * The whole group is reaped: the guard, and the sampler, which this process inherits from the guard
 * (PR_SET_CHILD_SUBREAPER). If a debugger holds one of them, init reaps that process in the end.
 * Returns the guard's status from wait(2); 0 if the guard cannot be reaped yet.
 */
static int keeper_end_guard(struct keeper_process *keeper)
{
	int status = 0;

	kill(-keeper->guard, SIGKILL);
	stop_area_disarm(keeper->sampling.area, STOP_KEEPER);
	watch_reap(-keeper->guard, &status);
	if (stop_area_is_stopped(keeper->sampling.area))
		keeper->guest.ops->release(keeper->guest.context);
	pause_file_remove(&keeper->file);
	return status;
}

/*
 * Ends the guard, and reports WHAT has happened, unless guard or sampler have reported why they
 * ended. A sampler whose guard is killed ends as if it was told to quit, and may be killed before
 * it says why.
 */
static void keeper_end_because(struct keeper_process *keeper, const char *what)
{
	struct sampler_counts counts;
	int status = keeper_end_guard(keeper);

	control_get_counts(keeper->sampling.control, &counts);
	if (counts.state <= SAMPLER_GUEST_PAUSED || WIFSIGNALED(status))
		watch_fail(error_create("%s; the guest runs", what));
}

/* Main decides whether to start another keeper, guard and sampler. */
static void keeper_end_hung(struct keeper_process *keeper)
{
	keeper_end_guard(keeper);
	watch_count_hang(clock_now_ns() - keeper->detector.since_ns + KEEPER_POLL_NS, 0);
	control_set_state(keeper->sampling.control, SAMPLER_HUNG);
}

static void keeper_ask_to_quit(const struct keeper_process *keeper)
{
	control_quit(keeper->sampling.control);
	kill(keeper->guard, SIGTERM); /* works even if main overwrites control */
	kill(-keeper->guard, SIGCONT);
}

/* Returns when the guard has ended, by itself or by the keeper. */
static void keeper_watch(struct keeper_process *keeper)
{
	const struct stop_area *area = keeper->sampling.area;
	uint64_t quit_ns = 0;

	while (!hang_detector_wait(&keeper->detector, keeper->end_fd, area, KEEPER_POLL_NS)) {
		watch_publish_cpu(CONTROL_KEEPER);
		if (hang_detector_poll(&keeper->detector, area, KEEPER_MAX_POLLS)) {
			keeper_end_hung(keeper);
			return;
		}
		if (!watch_must_quit())
			continue;
		if (!quit_ns) {
			quit_ns = clock_now_ns();
			keeper_ask_to_quit(keeper);
		}
		if (clock_now_ns() - quit_ns > 2 * WATCH_QUIT_NS) {
			keeper_end_because(keeper, "the guard would not end and was killed");
			return;
		}
	}
	keeper_end_because(keeper, "the guard was killed");
}

/* --- the keeper's process --------------------------------------------------------------------- */

static struct xtop_error *keeper_fork_guard(struct keeper_process *keeper)
{
	pid_t self = getpid();

	keeper->guard = watch_fork(&keeper->end_fd);
	if (keeper->guard < 0)
		return error_create_errno(errno, "cannot start the guard");
	if (keeper->guard == 0) {
		setpgid(0, 0);
		keeper->guest.ops->close(keeper->guest.context);
		guard_run(&keeper->sampling, self);
		_exit(0);
	}
	setpgid(keeper->guard, keeper->guard); /* both processes do so: either may run first */
	return NULL;
}

/*
 * The record's file is open in guard and sampler, too: the lock lasts until all three have ended.
 */
static void keeper_keep(struct keeper_process *keeper, pid_t starter)
{
	struct xtop_error *error;

	stop_area_set_mark(keeper->sampling.area,
			   keeper->file.record ? &keeper->file.record->mark : NULL);
	error = keeper_fork_guard(keeper);
	if (error) {
		pause_file_remove(&keeper->file);
		watch_fail(error);
		return;
	}
	error = root_sandbox_enter(ROOT_KEEPER);
	if (error) {
		keeper_end_guard(keeper);
		watch_fail(error);
		return;
	}
	keeper_watch(keeper);
	if (getppid() != starter)
		watch_fail(error_create("the starter or the broker was killed; the guest runs"));
}

/* The body of the process. Whatever it holds is freed when it ends. */
static void keeper_run(const struct sampling *sampling, struct pause_file file, pid_t starter)
{
	struct keeper_process keeper = { .sampling = *sampling, .file = file };
	struct xtop_error *error;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	watch_set_signals(sampling->control);
	watch_quit_with(starter);
	watch_make_prompt(PRIORITY_WATCH);
	root_sandbox_drop(ROOT_KEEPER); /* guard and sampler inherit this */
	error = domctl_open(&sampling->info, sampling->area, STOP_KEEPER, &keeper.guest);
	if (error) {
		pause_file_remove(&keeper.file);
		watch_fail(error);
		return;
	}
	keeper_keep(&keeper, starter);
}

/* --- the starter's side ----------------------------------------------------------------------- */

/*
 * Makes what starter and keeper share: the area, in which the starter counts the broker's pauses,
 * and the record.
 */
static struct xtop_error *keeper_prepare(struct sampling *sampling,
					 const struct keeper_origin *origin,
					 struct pause_file *file)
{
	struct xtop_error *error = stop_area_create(&sampling->info, &sampling->area);

	if (error)
		return error;
	error = pause_file_create(PAUSE_DIRECTORY, &sampling->info, (uint32_t)origin->main,
				  origin->shared, file);
	if (error)
		stop_area_destroy(sampling->area);
	return error;
}

struct xtop_error *keeper_start(const struct sampling *sampling, const struct keeper_origin *origin,
				struct keeper *keeper)
{
	struct sampling own = *sampling;
	struct pause_file file;
	struct xtop_error *error = keeper_prepare(&own, origin, &file);
	pid_t self = getpid(), pid;
	int end_fd;

	if (error)
		return error;
	pid = watch_fork(&end_fd);
	if (pid < 0) {
		error = error_create_errno(errno, "cannot start the keeper");
		pause_file_remove(&file);
		stop_area_destroy(own.area);
		return error;
	}
	if (pid == 0) {
		close(origin->socket);
		keeper_run(&own, file, self);
		_exit(0);
	}
	pause_file_close(&file);
	*keeper = (struct keeper){
		.pid = pid, .end_fd = end_fd, .control = own.control, .area = own.area
	};
	return NULL;
}

void keeper_quit(const struct keeper *keeper)
{
	control_quit(keeper->control);
	kill(keeper->pid, SIGTERM); /* works even if main overwrites control */
	kill(keeper->pid, SIGCONT);
}

void keeper_end(struct keeper *keeper)
{
	int status;

	if (!watch_ends(keeper->end_fd, KEEPER_END_NS)) {
		kill(keeper->pid, SIGKILL);
		watch_ends(keeper->end_fd, WATCH_QUIT_NS);
	}
	watch_reap(keeper->pid, &status); /* if a debugger holds the keeper, init reaps it */
	close(keeper->end_fd);
	stop_area_destroy(keeper->area);
	*keeper = (struct keeper){ .end_fd = -1 };
}
