/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a process behind the walls (supervise/helper_sandbox.h) must not be able to do. */
#ifndef TESTS_BY_FORCE_H
#define TESTS_BY_FORCE_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "supervise/landlock.h"

#define BY_FORCE_BYTES 96

/* Set before the process starts, because a process behind the walls cannot find out. */
static bool by_force_has_landlock;

static inline bool by_force_refused(int result)
{
	return result < 0 && (errno == EPERM || errno == EACCES || errno == ENOENT);
}

/* Tries all that is forbidden. MESSAGE gets the last thing that succeeded, or "none". */
static inline void try_by_force(char message[BY_FORCE_BYTES])
{
	char path[64];

	snprintf(message, BY_FORCE_BYTES, "none");
#define MUST_NOT(what, call)                                                                       \
	do {                                                                                       \
		errno = 0;                                                                         \
		if (!by_force_refused((int)(call)))                                                \
			snprintf(message, BY_FORCE_BYTES, "%s: %s", what, strerror(errno));        \
	} while (0)
	MUST_NOT("open /dev/xen/privcmd", open("/dev/xen/privcmd", O_RDWR));
	MUST_NOT("open /etc/shadow", open("/etc/shadow", O_RDONLY));
	MUST_NOT("write /etc/passwd", open("/etc/passwd", O_WRONLY));
	MUST_NOT("type into a terminal", ioctl(STDIN_FILENO, TIOCSTI, "x"));
	if (by_force_has_landlock) /* if Landlock is missing, wherever this user may */
		MUST_NOT("write outside the folder", open("/tmp", O_TMPFILE | O_WRONLY, 0600));
	MUST_NOT("run a program", execl("/bin/true", "true", NULL));
	MUST_NOT("fork", fork());
	MUST_NOT("kill our parent", kill(getppid(), 0));
	MUST_NOT("trace our parent", ptrace(PTRACE_ATTACH, getppid(), 0, 0));
	snprintf(path, sizeof(path), "/proc/%d/mem", getppid());
	MUST_NOT("open our parent's memory", open(path, O_RDONLY));
	MUST_NOT("reach local daemons", socket(AF_UNIX, SOCK_STREAM, 0));
	MUST_NOT("read the routes", socket(AF_NETLINK, SOCK_RAW, 0));
	MUST_NOT("choose who is signalled", fcntl(STDIN_FILENO, F_SETOWN, getppid()));
	MUST_NOT("choose the signal", fcntl(STDIN_FILENO, F_SETSIG, SIGKILL));
	MUST_NOT("share memory", syscall(SYS_shmget, IPC_PRIVATE, 4096, 0600));
	MUST_NOT("map code", syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	MUST_NOT("become root", setuid(0) == 0 && geteuid() == 0 ? 0 : (errno = EPERM, -1));
#undef MUST_NOT
	if (getuid() == 0)
		snprintf(message, BY_FORCE_BYTES, "it is root's");
}

#endif
