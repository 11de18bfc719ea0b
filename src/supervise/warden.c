/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parent of a helper process; see warden.h. */
#include "config.h"

#include "supervise/warden.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* How often the warden looks whether main is dead, once main has closed the socket. */
#define WARDEN_LOOK_MS 10

/* Does nothing: the signal is to interrupt ppoll(). */
static void warden_wake(int number)
{
	(void)number;
}

/*
 * Waits for the helper's end, or for main's. Main may close the socket some time before main ends.
 * Until then the helper may still finish its work.
 */
static void warden_watch(pid_t parent, pid_t helper, int socket, const sigset_t *blocked)
{
	const struct timespec look = { .tv_nsec = WARDEN_LOOK_MS * 1000000L };
	struct pollfd hung_up = { .fd = socket };

	ppoll(&hung_up, 1, NULL, blocked);
	while (waitpid(helper, NULL, WNOHANG) == 0 && getppid() == parent)
		nanosleep(&look, NULL);
}

/*
 * SIGCHLD is blocked except in ppoll(), so that none is missed. It has its handler before there is
 * a child: a child that was stopped before would wake ppoll() for its stop.
 */
bool warden_fork(pid_t parent, int socket)
{
	const struct sigaction wake = { .sa_handler = warden_wake, .sa_flags = SA_NOCLDSTOP };
	const pid_t self = getpid();
	struct sigaction child_action;
	sigset_t blocked, before;
	pid_t helper;

	sigfillset(&blocked);
	sigprocmask(SIG_SETMASK, &blocked, &before);
	sigaction(SIGCHLD, &wake, &child_action);
	helper = fork();
	if (helper < 0)
		return false;
	if (helper == 0) {
		sigaction(SIGCHLD, &child_action, NULL);
		sigprocmask(SIG_SETMASK, &before, NULL);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		return getppid() == self;
	}
	sigdelset(&blocked, SIGCHLD);
	warden_watch(parent, helper, socket, &blocked);
	_exit(0); /* the kernel kills the helper */
}
