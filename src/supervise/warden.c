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
static void warden_watch(pid_t parent, pid_t helper, int socket, const sigset_t *waiting)
{
	const struct timespec look = { .tv_nsec = WARDEN_LOOK_MS * 1000000L };
	struct pollfd hung_up = { .fd = socket };
	bool is_closed = false;

	while (waitpid(helper, NULL, WNOHANG) == 0) {
		if (is_closed && getppid() != parent) {
			kill(helper, SIGKILL);
			return;
		}
		if (ppoll(&hung_up, !is_closed, is_closed ? &look : NULL, waiting) > 0)
			is_closed = true;
	}
}

bool warden_fork(pid_t parent, int socket)
{
	const struct sigaction wake = { .sa_handler = warden_wake };
	const pid_t self = getpid();
	sigset_t child_ends, before, waiting;
	pid_t helper;

	sigemptyset(&child_ends);
	sigaddset(&child_ends, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child_ends, &before);
	helper = fork();
	if (helper < 0)
		return false;
	if (helper == 0) {
		sigprocmask(SIG_SETMASK, &before, NULL);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		return getppid() == self;
	}
	sigaction(SIGCHLD, &wake, NULL);
	waiting = before;
	sigdelset(&waiting, SIGCHLD);
	warden_watch(parent, helper, socket, &waiting);
	_exit(0);
}
