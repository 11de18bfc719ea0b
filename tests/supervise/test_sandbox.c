/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the sandbox refuses, tried from inside. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervise/landlock.h"
#include "tests/supervise/sandbox_fixture.h"
#include "tests/support/old_landlock.h"
#include "tests/support/tap.h"
#include "tests/support/victim.h"
#include "xtop/supervise/sandbox.h"

static int read_shadow(void)
{
	return result(open("/etc/shadow", O_RDONLY));
}

static int run_program(void)
{
	return result(execl("/bin/true", "true", NULL));
}

static int fork_process(void)
{
	return result(fork());
}

static int trace_parent(void)
{
	return result(ptrace(PTRACE_ATTACH, getppid(), 0, 0));
}

static int read_parent(void)
{
	char byte;
	struct iovec to = { &byte, 1 }, from = { &fixture.was_root, 1 };

	return result(process_vm_readv(getppid(), &to, 1, &from, 1, 0));
}

static int open_network(void)
{
	return result(socket(AF_INET, SOCK_STREAM, 0));
}

static int open_local_socket(void)
{
	return result(socket(AF_UNIX, SOCK_STREAM, 0));
}

static int kill_parent(void)
{
	return result(kill(getppid(), SIGCONT));
}

static int kill_parents_thread(void)
{
	return result(syscall(SYS_tgkill, getppid(), getppid(), SIGCONT));
}

static int kill_all(void)
{
	return result(kill(-1, SIGCONT));
}

/*
 * The signal that a descriptor sends when input comes, and who gets it (fcntl(2), F_SETOWN,
 * F_SETSIG).
 */
static int send_by_descriptor(void)
{
	return result(fcntl(STDIN_FILENO, F_SETOWN, getppid()));
}

static int choose_signal(void)
{
	return result(fcntl(STDIN_FILENO, F_SETSIG, SIGKILL));
}

static int send_on_input(void)
{
	return result(fcntl(STDIN_FILENO, F_SETFL, O_ASYNC));
}

static int become_root(void)
{
	return result(setuid(0));
}

static int map_code(void)
{
	/* Musl's mmap() makes ENOMEM of EPERM. */
	return result((int)syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

static int make_code(void)
{
	void *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return result(mprotect(map, 4096, PROT_READ | PROT_EXEC));
}

static int load_bpf(void)
{
	union bpf_attr attributes = { 0 };

	return result(syscall(SYS_bpf, BPF_MAP_CREATE, &attributes, sizeof(attributes)));
}

static int count_events(void)
{
	struct perf_event_attr attributes = { .size = sizeof(attributes) };

	return result(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0));
}

static int leave_namespace(void)
{
	return result(syscall(SYS_unshare, 0x10000000)); /* CLONE_NEWUSER */
}

static int queue_calls(void)
{
	return result(syscall(SYS_io_uring_setup, 4, NULL));
}

/* Puts a character into the terminal's input, which the shell would read. */
static int type_ahead(void)
{
	return result(ioctl(STDIN_FILENO, TIOCSTI, "x"));
}

/* IOCTL_PRIVCMD_HYPERCALL of Xen's xen/sys/privcmd.h, on any descriptor. */
static int hypercall(void)
{
	uint64_t call[6] = { 17 };

	return result(ioctl(STDIN_FILENO, 0x305000, call));
}

static int set_limit(void)
{
	struct rlimit limit = { 100, 100 };

	return result(setrlimit(RLIMIT_NOFILE, &limit));
}

static int dump_again(void)
{
	return result(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
}

/* A descriptor that came through exec, from a shell or a service. */
static int inherited;

static int write_inherited(void)
{
	return result(write(inherited, "x", 1));
}

/* --- files, and the memory of other processes ------------------------------------------------- */

/* Through /proc/self/mem the process could write code where it may not map any. */
static int write_own_memory(void)
{
	return result(open("/proc/self/mem", O_RDWR));
}

static int create_file(void)
{
	return result(open("/tmp/xtop-test-sandbox", O_WRONLY | O_CREAT | O_EXCL, 0600));
}

static int create_unnamed(void)
{
	return result(open("/tmp", O_TMPFILE | O_RDWR, 0600));
}

static int truncate_file(void)
{
	return result(open("/dev/null", O_RDONLY | O_TRUNC));
}

static int open_to_write(void)
{
	return result(open("/dev/null", O_WRONLY));
}

static int open_at_to_write(void)
{
	return result(openat(AT_FDCWD, "/dev/null", O_RDWR));
}

static int open_by_openat2(void)
{
	uint64_t how[3] = { O_RDWR };

	return result(syscall(SYS_openat2, AT_FDCWD, "/dev/null", how, sizeof(how)));
}

static int remove_file(void)
{
	return result(unlink("/tmp/xtop-test-sandbox-none"));
}

static const struct {
	int (*attempt)(void);
	const char *what;
} walls[] = {
	{ write_own_memory, "open its own memory to write" },
	{ create_file, "create a file" },
	{ create_unnamed, "create a file without a name" },
	{ truncate_file, "empty a file" },
	{ open_to_write, "open a device to write" },
	{ open_at_to_write, "open a device to write by openat()" },
	{ open_by_openat2, "open a device to write by openat2()" },
	{ remove_file, "remove a file" },
	{ run_program, "run a program" },
	{ fork_process, "start a process" },
	{ trace_parent, "trace the parent" },
	{ read_parent, "read the parent's memory" },
	{ open_network, "open a network socket" },
	{ open_local_socket, "open a local socket" },
	{ kill_parent, "signal the parent" },
	{ kill_parents_thread, "signal a thread of the parent" },
	{ kill_all, "signal everybody" },
	{ send_by_descriptor, "have a descriptor signal the parent" },
	{ choose_signal, "choose the signal of a descriptor" },
	{ send_on_input, "have a descriptor send signals" },
	{ become_root, "become root" },
	{ map_code, "map executable memory" },
	{ make_code, "make memory executable" },
	{ load_bpf, "call bpf()" },
	{ count_events, "call perf_event_open()" },
	{ leave_namespace, "call unshare()" },
	{ queue_calls, "call io_uring_setup()" },
	{ type_ahead, "put input into the terminal by TIOCSTI" },
	{ hypercall, "call the hypervisor by an ioctl" },
	{ set_limit, "set a limit" },
	{ dump_again, "become dumpable again" },
};

/*
 * The memory of a process of the user for whom xtop runs. A user's own replay has that user, and
 * can read it where there is no Landlock: doc/SECURITY §3.
 */
static void test_victim(void)
{
	int got;

	setenv("SUDO_UID", "1234", 1);
	setenv("SUDO_GID", "1234", 1);
	victim_start(fixture.was_root ? 1234 : 0);
	got = inside(victim_read);
	if (fixture.was_root || !fixture.without_landlock)
		check(is_refused(got),
		      "the sandbox refuses to read the memory of the user's processes: errno %d",
		      got);
	got = inside(victim_write);
	check(is_refused(got),
	      "the sandbox refuses to write the memory of the user's processes: errno %d", got);
	victim_stop();
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
}

static void check_fails(int (*attempt)(void), int want, const char *what)
{
	int got = inside(attempt);

	check(got == want, "the sandbox refuses to %s: errno %d (expected %d)", what, got, want);
}

static void test_walls(void)
{
	for (size_t i = 0; i < sizeof(walls) / sizeof(walls[0]); i++)
		check_fails(walls[i].attempt, EPERM, walls[i].what);
	check_fails(read_shadow, EACCES, "open /etc/shadow");
	check_fails(write_inherited, EBADF, "write to a descriptor of the caller");
}

#ifndef SANITIZED
/* As on a kernel before 5.13. */
static bool warns_without_landlock(void)
{
	pid_t child = fork();
	int status = -1;

	if (child == 0) {
		hide_landlock();
		_exit(!sandbox_warning());
	}
	return waitpid(child, &status, 0) == child && status == 0;
}
#endif

static void test_warning(bool is_testable)
{
#ifdef SANITIZED
	(void)is_testable;
	check(!sandbox_enter(NULL, 0) && !sandbox_warning() == (geteuid() != 0),
	      "a build with sanitizers warns root that it has no sandbox: %s",
	      sandbox_warning() ? sandbox_warning() : "nothing");
#else
	check((!is_testable || warns_without_landlock()) &&
		      !sandbox_warning() == landlock_is_there(),
	      "a warning says what is weaker without Landlock: %s",
	      sandbox_warning() ? sandbox_warning() : "nothing");
#endif
}

static void test_refused(void)
{
	test_walls();
	test_victim();
}

int main(void)
{
	bool is_testable = fixture_begin();

	test_warning(is_testable);
	inherited = open("/dev/null", O_WRONLY);
	if (is_testable)
		with_and_without_landlock(test_refused);
	return tap_done();
}
