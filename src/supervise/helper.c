/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The beginning and the end of a helper process; see helper.h. */
#include "config.h"

#include "supervise/helper.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "supervise/caller.h"
#include "supervise/warden.h"
#include "xtop/base/xdg.h"

/* The process that has forked this helper. */
static pid_t helper_parent;

struct xtop_error *helper_start(const char *name, helper_run_fn *run, void *context,
				struct helper *helper)
{
	struct xtop_error *error;
	int sockets[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return error_create_errno(errno, "cannot talk to %s", name);
	helper_parent = getpid();
	pid = fork();
	if (pid < 0) {
		error = error_create_errno(errno, "cannot start %s", name);
		close(sockets[0]);
		close(sockets[1]);
		return error;
	}
	if (pid == 0) {
		close(sockets[0]);
		run(context, sockets[1]);
		_exit(0);
	}
	close(sockets[1]);
	*helper = (struct helper){ .socket = sockets[0], .pid = pid };
	return NULL;
}

/* Ctrl-C reaches every process of the group; main decides what it means. */
static void helper_ignore_signals(void)
{
	static const int ignored[] = { SIGINT, SIGHUP, SIGQUIT, SIGTERM, SIGTSTP, SIGPIPE };
	const struct sigaction ignore = { .sa_handler = SIG_IGN };

	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		sigaction(ignored[i], &ignore, NULL);
}

bool helper_close_others(int socket)
{
	DIR *stream = opendir("/proc/self/fd");
	struct dirent *entry;

	if (!stream)
		return false;
	while ((entry = readdir(stream))) {
		int fd = atoi(entry->d_name); /* 0 for "." and ".." */

		if (fd > STDERR_FILENO && fd != socket && fd != dirfd(stream))
			close(fd);
	}
	return closedir(stream) == 0;
}

void helper_detach(int socket)
{
	int null = open("/dev/null", O_RDWR);

	helper_ignore_signals();
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!helper_close_others(socket) || !warden_fork(helper_parent, socket))
		_exit(1);
}

bool helper_wait_for_end(struct helper *helper, unsigned wait_ms)
{
	const struct timespec nap = { .tv_nsec = 1000000 };

	for (unsigned i = 0; helper->pid && waitpid(helper->pid, NULL, WNOHANG) == 0; i++) {
		if (i >= wait_ms)
			return false;
		nanosleep(&nap, NULL);
	}
	helper->pid = 0;
	return true;
}

void helper_end(struct helper *helper, unsigned wait_ms)
{
	if (!helper->socket)
		return;
	/* Processes that started later have copies of the socket: closing it is not enough. */
	shutdown(helper->socket, SHUT_RDWR);
	close(helper->socket);
	helper->socket = 0;
	helper_wait_for_end(helper, wait_ms);
}

int helper_open_cache(const char *cache, const char *name)
{
	const struct caller caller =
		geteuid() == 0 ? caller_find() : (struct caller){ geteuid(), getegid() };
	char path[PATH_MAX];
	int fd;

	if (!xdg_make_folder(cache) || (size_t)snprintf(path, sizeof(path), "%s/%s.%u", cache, name,
							(unsigned)caller.uid) >= sizeof(path))
		return -1;
	(void)!mkdir(path, 0700); /* the folder may be there already */
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fchown(fd, caller.uid, caller.gid) < 0) { /* FD may be -1 */
		close(fd);
		fd = -1;
	}
	return fd;
}
