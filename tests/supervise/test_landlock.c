/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What Landlock alone refuses: no filter of system calls is there, and no other user. The kernel's
 * version of Landlock decides how much it is. Without Landlock nothing is refused, and nothing fails.
 */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervise/helper_sandbox.h"
#include "supervise/landlock.h"
#include "tests/support/emulated.h"
#include "tests/support/old_landlock.h"
#include "tests/support/tap.h"

#define DONE 0

static char folder[] = "/tmp/xtop-landlock-XXXXXX";
static struct {
	struct landlock_rights rights;
	bool hidden; /* the kernel is as before 5.13 */
} walls;
static struct {
	int tcp_port;
	struct sockaddr_un abstract;
	socklen_t abstract_bytes;
} listener = { .abstract = { .sun_family = AF_UNIX } };

static int result(long value)
{
	return value < 0 ? errno : DONE;
}

/* Returns what ATTEMPT in a child behind Landlock gives: DONE, or errno. */
static int inside(int (*attempt)(void))
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		if (walls.hidden)
			hide_landlock();
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || landlock_enter(&walls.rights))
			_exit(255);
		_exit(attempt());
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* --- attempts --------------------------------------------------------------------------------- */

static int read_below(void)
{
	return result(open("/usr/share", O_RDONLY | O_DIRECTORY));
}

static int read_elsewhere(void)
{
	return result(open("/etc/passwd", O_RDONLY));
}

static int write_elsewhere(void)
{
	return result(open("/tmp", O_TMPFILE | O_WRONLY, 0600));
}

static int write_below(void)
{
	return result(open(folder, O_TMPFILE | O_WRONLY, 0600));
}

static int read_parents_memory(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", getppid());
	return result(open(path, O_RDONLY));
}

static int trace_parent(void)
{
	return result(ptrace(PTRACE_ATTACH, getppid(), 0, 0));
}

static struct sockaddr_in loopback(int port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_port = htons((uint16_t)port),
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static int listen_at_port(void)
{
	struct sockaddr_in any = loopback(0);

	return result(bind(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&any, sizeof(any)));
}

static int connect_to_port(void)
{
	struct sockaddr_in address = loopback(listener.tcp_port);

	return result(connect(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&address,
			      sizeof(address)));
}

static int connect_to_abstract(void)
{
	return result(connect(socket(AF_UNIX, SOCK_STREAM, 0),
			      (struct sockaddr *)&listener.abstract, listener.abstract_bytes));
}

static int signal_parent(void)
{
	return result(kill(getppid(), 0));
}

static int signal_itself(void)
{
	return result(kill(getpid(), 0));
}

/* --- expectations ----------------------------------------------------------------------------- */

static void check_inside(int (*attempt)(void), const char *what, bool works, int want)
{
	int got = inside(attempt);

	check(works ? got == DONE : got == want || (want == EPERM && got == EACCES),
	      "Landlock %s: a process can%s %s: errno %d", walls.hidden ? "is hidden" : "is there",
	      works ? "" : "not", what, got);
}

/* ABI: 0 if the kernel has no Landlock. */
static void test_rights(long abi)
{
	static const char *const paths[] = { "/usr/share", "/no/such/path" };
	const int none = -1;

	walls.rights = (struct landlock_rights){
		.paths = paths, .n_paths = 2, .folders = &none, .n_folders = 1
	};
	check_inside(read_below, "read below the paths", true, 0);
	check_inside(read_elsewhere, "read elsewhere", !abi, EACCES);
	check_inside(write_elsewhere, "write", !abi, EACCES);
	check_inside(write_below, "write to the folder that it does not have", !abi, EACCES);
	if (abi) {
		check_inside(read_parents_memory, "read its parent's memory", false, EPERM);
		check_inside(trace_parent, "trace its parent", false, EPERM);
	}
	check_inside(listen_at_port, "listen at a port", abi < 4, EACCES);
	check_inside(connect_to_port, "connect to a port", abi < 4, EACCES);
	check_inside(connect_to_abstract, "connect to an abstract socket", abi < 6, EPERM);
	check_inside(signal_parent, "signal its parent", abi < 6, EPERM);
	check_inside(signal_itself, "signal itself", true, 0);
	walls.rights.writes = walls.rights.connects = true;
	walls.rights.folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	check_inside(write_below, "write to its folder", true, 0);
	check_inside(write_elsewhere, "write beside its folder", !abi, EACCES);
	check_inside(connect_to_port, "connect to a port if it has that right", true, 0);
	check_inside(listen_at_port, "listen at a port if it connects", abi < 4, EACCES);
	close(walls.rights.folder);
}

/* How many of N FOLDERS a helper can read that connects. 255: it cannot enter its walls. */
static int count_read(const char *const *folders, size_t n)
{
	pid_t child = fork();
	int read = 0, status;

	if (child == 0) {
		if (walls.hidden)
			hide_landlock();
		if (helper_sandbox_enter(-1, true))
			_exit(255);
		for (size_t i = 0; i < n; i++)
			read += open(folders[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC) >= 0;
		_exit(read);
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void test_helper(long abi)
{
	static const char *const own[] = { "/usr", "/lib", "/etc", "/proc/self" };
	static const char *const others[] = { "/", "/var", "/tmp", "/dev", "/proc" };
	int n;

	n = count_read(own, 4);
	check(n == 4, "a helper reads programs, settings and what it is itself: %d of 4", n);
	n = count_read(others, 5);
	check(n == (abi ? 0 : 5), "a helper reads %s else: %d of 5", abi ? "nothing" : "all", n);
}

static void start_servers(void)
{
	struct sockaddr_in address = loopback(0);
	socklen_t bytes = sizeof(address);
	int tcp = socket(AF_INET, SOCK_STREAM, 0), local = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(listener.abstract.sun_path + 1, sizeof(listener.abstract.sun_path) - 1,
		 "xtop-landlock-%d", (int)getpid());
	listener.abstract_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
					      strlen(listener.abstract.sun_path + 1));
	if (bind(tcp, (struct sockaddr *)&address, bytes) || listen(tcp, 16) ||
	    getsockname(tcp, (struct sockaddr *)&address, &bytes) ||
	    bind(local, (struct sockaddr *)&listener.abstract, listener.abstract_bytes) ||
	    listen(local, 16))
		abort();
	listener.tcp_port = ntohs(address.sin_port);
}

int main(void)
{
	long abi = syscall(444, NULL, 0, 1); /* landlock_create_ruleset(), for its version */

	if (emulator_lacks("walls"))
		return tap_done();
	if (!mkdtemp(folder))
		return 99;
	start_servers();
	check(landlock_is_there() == (abi > 0), "the kernel's Landlock has version %ld", abi);
	if (abi > 0) {
		test_rights(abi);
		test_helper(abi);
	}
	walls.hidden = true;
	test_rights(0);
	test_helper(0);
	rmdir(folder);
	return tap_done();
}
