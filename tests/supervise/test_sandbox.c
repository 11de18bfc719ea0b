/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sandbox from inside: a child enters it as xtop does, and tries what must fail and what must
 * work. Each attempt is a child of its own, which exits with the errno.
 */
#include "config.h"

#include "xtop/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/tap.h"

#define NOT_ENTERED 255
#define DONE        0

static bool was_root;

/* The result of ATTEMPT in the sandbox: 0 or an errno. */
static int inside(int (*attempt)(void))
{
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(sandbox_enter() ? NOT_ENTERED : attempt());
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static int result(long value)
{
	return value < 0 ? errno : DONE;
}

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
	struct iovec to = { &byte, 1 }, from = { &was_root, 1 };

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
	void *map = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return result(map == MAP_FAILED ? -1 : 0);
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

/* A descriptor that came through exec, from a shell or a service; and one that xtop has opened. */
static int inherited, own;

static int write_inherited(void)
{
	return result(write(inherited, "x", 1));
}

static int write_own(void)
{
	return result(write(own, "x", 1));
}

static const struct {
	int (*attempt)(void);
	const char *what;
} walls[] = {
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
	{ load_bpf, "bpf()" },
	{ count_events, "perf_event_open()" },
	{ leave_namespace, "unshare()" },
	{ queue_calls, "io_uring_setup()" },
	{ type_ahead, "TIOCSTI" },
	{ hypercall, "the ioctl of hypercalls" },
	{ set_limit, "set a limit" },
	{ dump_again, "become dumpable again" },
};

static void test_walls(void)
{
	for (size_t i = 0; i < sizeof(walls) / sizeof(walls[0]); i++)
		check_u64((uint64_t)inside(walls[i].attempt), EPERM, walls[i].what);
	check_u64((uint64_t)inside(read_shadow), EACCES, "open /etc/shadow");
	check_u64((uint64_t)inside(write_inherited), EBADF, "write to a descriptor of the caller");
}

/* --- what must still work --------------------------------------------------------------------- */

static void *add_one(void *number)
{
	++*(int *)number;
	return NULL;
}

static int start_thread(void)
{
	pthread_t thread;
	int number = 1;

	if (pthread_create(&thread, NULL, add_one, &number) || pthread_join(thread, NULL))
		return 1;
	return number == 2 ? DONE : 2;
}

static int use_memory(void)
{
	char *memory = malloc(64 << 20);

	if (!memory)
		return errno;
	memset(memory, 1, 64 << 20);
	memory = realloc(memory, 128 << 20);
	free(memory);
	return memory ? DONE : 1;
}

static int read_file(void)
{
	return result(open("/etc/passwd", O_RDONLY));
}

static int share_memory(void)
{
	int fd = memfd_create("shared", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) < 0)
		return errno;
	return fcntl(fd, F_GET_SEALS) == F_SEAL_SHRINK ? DONE : 1;
}

static int copy_stream(void)
{
	int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);

	return fd >= 0 && fdopen(fd, "w") ? DONE : errno;
}

static int raise_signal(void)
{
	signal(SIGUSR1, SIG_IGN);
	return raise(SIGUSR1);
}

static int is_closed(void)
{
	uid_t real, effective, saved;

	if (getresuid(&real, &effective, &saved) == 0)
		return 1; /* getresuid() is not on the list */
	if (was_root && (getuid() == 0 || geteuid() == 0 || getgid() == 0))
		return 2;
	return DONE;
}

static void test_life(void)
{
	check_u64((uint64_t)inside(write_own), DONE, "write to a descriptor of our own");
	check_u64((uint64_t)inside(start_thread), DONE, "threads");
	check_u64((uint64_t)inside(use_memory), DONE, "memory");
	check_u64((uint64_t)inside(read_file), DONE, "files that all may read");
	check_u64((uint64_t)inside(share_memory), DONE, "sealed memory, for a guest picked later");
	check_u64((uint64_t)inside(copy_stream), DONE, "a copy of a descriptor, as a stream");
	check_u64((uint64_t)inside(raise_signal), DONE, "signals to itself");
	check_u64((uint64_t)inside(is_closed), DONE, "another user");
}

/* LINE is in /proc/PID/status, while the child waits. */
static bool status_says(pid_t pid, const char *line)
{
	char path[64], text[256];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "r");
	while (file && fgets(text, sizeof(text), file))
		found |= strncmp(text, line, strlen(line)) == 0;
	if (file)
		fclose(file);
	return found;
}

/*
 * Files in /proc/PID belong to root if the process is not dumpable, otherwise to its user: proc(5).
 */
static bool is_roots(pid_t pid)
{
	struct stat status;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/environ", pid);
	return stat(path, &status) == 0 && status.st_uid == 0;
}

/* The kernel's view of the process. SUDO_UID is the user to become, if it is the id of a user. */
static void test_status(const char *sudo_uid, const char *uid_line)
{
	int ready[2], go[2];
	char byte;
	pid_t child;

	if (pipe2(ready, O_CLOEXEC) || pipe2(go, O_CLOEXEC))
		abort();
	child = fork();
	if (child == 0) {
		setenv("SUDO_UID", sudo_uid, 1);
		setenv("SUDO_GID", sudo_uid, 1);
		if (sandbox_enter() || write(ready[1], "x", 1) != 1)
			_exit(1);
		close(go[1]);
		_exit(read(go[0], &byte, 1) != 0);
	}
	close(ready[1]);
	close(go[0]);
	check(read(ready[0], &byte, 1) == 1, "entered with SUDO_UID=%s", sudo_uid);
	check(status_says(child, "CapEff:\t0000000000000000"), "no capability");
	check(is_roots(child), "not dumpable");
	check(status_says(child, "CapPrm:\t0000000000000000"), "no permitted capability");
	check(status_says(child, "NoNewPrivs:\t1"), "no new privileges");
	check(status_says(child, "Seccomp:\t2"), "a filter of system calls");
	if (was_root) {
		check(status_says(child, "CapBnd:\t0000000000000000"), "an empty bounding set");
		check(status_says(child, uid_line), "%s", uid_line);
		check(status_says(child, "Groups:\t \n") || status_says(child, "Groups:\t\n"),
		      "no other groups");
	}
	close(go[1]);
	close(ready[0]);
	waitpid(child, NULL, 0);
}

int main(void)
{
#ifdef SANITIZED /* sanitizers do not work in the sandbox */
	(void)test_walls, (void)test_life, (void)test_status;
	check(!sandbox_enter() && !sandbox_warning() == (geteuid() != 0), "root is told: %s",
	      sandbox_warning() ? sandbox_warning() : "nothing");
	return tap_done();
#else
	const gid_t group = 1234;

	check(!sandbox_warning(), "there is nothing to tell");
	was_root = geteuid() == 0;
	if (was_root && setgroups(1, &group))
		abort();
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	inherited = open("/dev/null", O_WRONLY);
	own = open("/dev/null", O_WRONLY | O_CLOEXEC);
	test_walls();
	test_life();
	test_status("1234", "Uid:\t1234\t1234\t1234\t1234");
	test_status("0", "Uid:\t65534\t65534\t65534\t65534");
	test_status("12x", "Uid:\t65534\t65534\t65534\t65534");
	test_status("-5", "Uid:\t65534\t65534\t65534\t65534");
	return tap_done();
#endif
}
