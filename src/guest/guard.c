/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guard: a process between main and sampler that does nothing but wait, and lets the guest go
 * if the sampler dies while it stands still.
 *
 *   main ── fork ─► guard ── fork ─► sampler
 *
 * The sampler dies: waitpid() tells the guard, and stop_area_is_stopped() whether there is
 * something to undo. The guard dies: the kernel sends the sampler SIGTERM (PR_SET_PDEATHSIG), which
 * makes it finish its tick and end. Main dies: the same happens to the guard, which then asks the
 * sampler to quit. The guard parses nothing that comes from a guest.
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
#include <unistd.h>

#include "guest/domctl.h"
#include "xtop/cleanup.h"
#include "xtop/control.h"

/* Both processes; set before the handler can run. */
static struct control *guard_control;

static void guard_quit_handler(int signal_number)
{
	(void)signal_number;
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
	struct sampler_counts counts;

	control_get_counts(control, &counts);
	counts.state = SAMPLER_FAILED;
	control_put_message(control, error_message(error));
	control_put_counts(control, &counts);
	error_destroy(error);
}

/*
 * Of the two the guard comes first: it must get its turn also from a sampler that takes all of a
 * CPU.
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

typedef void guard_run_fn(struct guest *guest, struct control *control, struct ring *ring);

static void guard_sampler(const struct guest_info *info, struct stop_area *area, pid_t guard,
			  struct ring *ring, guard_run_fn *run)
{
	struct xtop_error *error;
	struct guest guest;

	guard_follow(guard);
	error = domctl_open(info, area, &guest);
	if (error) {
		guard_fail(guard_control, error);
		return;
	}
	fault_install();
	guard_make_prompt(PRIORITY_SAMPLER);
	run(&guest, guard_control, ring);
	guest.ops->close(guest.context);
	if (getppid() != guard)
		guard_fail(guard_control, error_create("the guard was killed; the guest runs"));
}

/* Waits for the sampler's end; SIGTERM interrupts, the handler has then asked it to quit. */
static int guard_wait(pid_t sampler)
{
	int status = 0;

	while (waitpid(sampler, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

static void guard_report(struct control *control, int status)
{
	struct sampler_counts counts;

	control_get_counts(control, &counts);
	if (counts.state == SAMPLER_ENDED || counts.state == SAMPLER_GUEST_GONE ||
	    counts.state == SAMPLER_FAILED)
		return;
	guard_fail(control,
		   WIFSIGNALED(status)
			   ? error_create("the sampler was killed by signal %d; the guest runs",
					  WTERMSIG(status))
			   : error_create("the sampler ended before its time; the guest runs"));
}

/* GUEST is the guard's own way to Xen, opened before there is anything to undo. */
static void guard_watch(const struct guest_info *info, struct stop_area *area, struct guest *guest,
			struct ring *ring, guard_run_fn *run)
{
	pid_t self = getpid(), sampler;
	int status;

	guard_make_prompt(PRIORITY_GUARD);
	sampler = fork();
	if (sampler == 0) {
		/* xencall.h: all that may be done with it after fork() */
		guest->ops->close(guest->context);
		guard_sampler(info, area, self, ring, run);
		_exit(0);
	}
	if (sampler < 0) {
		guard_fail(guard_control, error_create_errno(errno, "cannot start the sampler"));
		return;
	}
	status = guard_wait(sampler);
	if (stop_area_is_stopped(area))
		guest->ops->release(guest->context);
	guard_report(guard_control, status);
}

static void guard_main(const struct guest_info *info, struct ring *ring, guard_run_fn *run)
{
	struct stop_area *area = NULL;
	struct xtop_error *error;
	struct guest guest;

	error = stop_area_create(info, &area);
	if (!error)
		error = domctl_open(info, area, &guest);
	if (error)
		guard_fail(guard_control, error);
	else
		guard_watch(info, area, &guest, ring, run);
}

struct xtop_error *guard_start(const struct guest_info *info, struct control *control,
			       struct ring *ring, guard_run_fn *run, struct guest_process *process)
{
	pid_t self = getpid();

	guard_control = control;
	process->pid = fork();
	if (process->pid < 0)
		return error_create_errno(errno, "cannot start the guard");
	if (process->pid == 0) {
		guard_set_signals();
		guard_follow(self);
		guard_main(info, ring, run);
		_exit(0);
	}
	process->pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0);
	return NULL;
}

bool guard_is_alive(const struct guest_process *process)
{
	struct pollfd ended = { .fd = process->pidfd, .events = POLLIN };

	return poll(&ended, 1, 0) == 0;
}

void guard_stop(struct guest_process *process, struct control *control)
{
	control_quit(control);
	while (waitpid(process->pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (process->pidfd >= 0)
		close(process->pidfd);
	process->pid = -1;
}
