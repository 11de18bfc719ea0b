/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The user for whom root runs xtop; see caller.h and sandbox.h. */
#include "config.h"

#include "supervise/caller.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "xtop/supervise/sandbox.h"

#define CALLER_NOBODY 65534 /* nobody's ids on Debian and most other systems */
/*
 * The first of the users that serve one process each. Linux has 2^22 process numbers at most
 * (PID_MAX_LIMIT). No distribution gives these numbers to users, and systemd leaves them alone
 * (systemd docs/UIDS-GIDS.md: from 1879048192 to 2147483647 unused).
 */
#define CALLER_FIRST_OWN_ID 0x70000000U

/* The id in the environment's VARIABLE, if it is a number and not root's; otherwise FALLBACK. */
static id_t caller_id(const char *variable, id_t fallback)
{
	const char *text = getenv(variable);
	char *end;
	unsigned long id;

	if (!text || *text < '0' || *text > '9')
		return fallback;
	id = strtoul(text, &end, 10); /* ULONG_MAX if the number is larger */
	return *end || id == 0 || id >= UINT32_MAX ? fallback : (id_t)id;
}

/*
 * Finds the user "nobody" in /etc/passwd alone. Other services of names would bring libraries of
 * the system into the program of `make static`.
 */
static void caller_find_nobody(struct caller *caller)
{
	FILE *users = fopen("/etc/passwd", "re");
	const struct passwd *user;

	*caller = (struct caller){ .uid = CALLER_NOBODY, .gid = CALLER_NOBODY };
	if (!users)
		return;
	do
		user = fgetpwent(users);
	while (user && strcmp(user->pw_name, "nobody") != 0);
	if (user)
		*caller = (struct caller){ .uid = user->pw_uid, .gid = user->pw_gid };
	fclose(users);
}

struct caller caller_find(void)
{
	struct caller caller;

	caller_find_nobody(&caller);
	caller.uid = caller_id("SUDO_UID", caller.uid);
	caller.gid = caller_id("SUDO_GID", caller.gid);
	return caller;
}

/*
 * Sets again with which signal this process ends when PARENT ends. Linux forgets the signal when a
 * process becomes another user (kernel/cred.c commit_creds()), and PARENT may have ended meanwhile.
 */
static struct xtop_error *caller_end_with(pid_t parent, int signal)
{
	if (prctl(PR_SET_PDEATHSIG, signal) < 0)
		return error_create_errno(errno, "cannot end with the parent process");
	if (signal && getppid() != parent)
		return error_create("the parent process has ended");
	return NULL;
}

struct xtop_error *caller_become(struct caller caller)
{
	const pid_t parent = getppid();
	int signal = 0;

	if (geteuid() != 0 && getuid() != 0)
		return NULL;
	prctl(PR_GET_PDEATHSIG, &signal);
	for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
		prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
	if (setgroups(0, NULL) < 0 || setresgid(caller.gid, caller.gid, caller.gid) < 0 ||
	    setresuid(caller.uid, caller.uid, caller.uid) < 0)
		return error_create_errno(errno, "cannot become user %u", (unsigned)caller.uid);
	if (setuid(0) == 0)
		return error_create("cannot give up root");
	return caller_end_with(parent, signal);
}

struct xtop_error *caller_become_own_user(void)
{
	const uid_t id = CALLER_FIRST_OWN_ID + (uid_t)getpid();
	struct xtop_error *error = caller_become((struct caller){ .uid = id, .gid = id });

	if (geteuid() != 0)
		return error;
	error_destroy(error);
	return caller_become(caller_find());
}

/* Tries in a child, because only a child can become the caller and let this process stay root. */
bool caller_may_write(const char *folder)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		struct xtop_error *error = caller_become(caller_find());

		_exit(error || eaccess(folder, W_OK | X_OK) < 0);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status == 0;
}
