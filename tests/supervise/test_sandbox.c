/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sandbox from inside: a child enters it as xtop does, and tries what must fail and what must
 * work. Each attempt is a child of its own, which exits with the errno.
 */
#include "config.h"

#include "xtop/base/fault.h"
#include "xtop/supervise/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
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

#include "supervise/caller.h"
#include "supervise/landlock.h"
#include "tests/support/emulated.h"
#include "tests/support/tap.h"
#include "tests/support/victim.h"
#include "xtop/unwind/disassemble.h"

#define NOT_ENTERED 255
#define DONE        0

static bool was_root;

/* A folder as --root has it; -1: none. */
static int root_folder = -1;

/* With this filter the process is on a kernel before 5.13, which has no Landlock. */
static bool without_landlock;

static void hide_landlock(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

	for (int number = 444; number <= 446; number++)
		if (seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), number, 0) < 0)
			_exit(NOT_ENTERED);
	if (seccomp_load(filter) < 0)
		_exit(NOT_ENTERED);
}

/* The result of ATTEMPT in the sandbox: 0 or an errno. */
static int inside(int (*attempt)(void))
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		if (without_landlock)
			hide_landlock();
		_exit(sandbox_enter(&root_folder, 1) ? NOT_ENTERED : attempt());
	}
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
	{ open_at_to_write, "the same by openat()" },
	{ open_by_openat2, "the same by openat2()" },
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
	{ load_bpf, "bpf()" },
	{ count_events, "perf_event_open()" },
	{ leave_namespace, "unshare()" },
	{ queue_calls, "io_uring_setup()" },
	{ type_ahead, "TIOCSTI" },
	{ hypercall, "the ioctl of hypercalls" },
	{ set_limit, "set a limit" },
	{ dump_again, "become dumpable again" },
};

static bool is_refused(int errno_value)
{
	return errno_value == EPERM || errno_value == EACCES;
}

/*
 * The memory of a process of the user for whom xtop runs. A user's own replay has that user, and
 * can read it where there is no Landlock: doc/SECURITY §3.
 */
static void test_victim(void)
{
	int got;

	setenv("SUDO_UID", "1234", 1);
	setenv("SUDO_GID", "1234", 1);
	victim_start(was_root ? 1234 : 0);
	got = inside(victim_read);
	if (was_root || !without_landlock)
		check(is_refused(got), "read the memory of the user's processes: %d", got);
	got = inside(victim_write);
	check(is_refused(got), "write the memory of the user's processes: %d", got);
	victim_stop();
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
}

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

/* As files below --root are opened. */
static int read_below(void)
{
	char path[64];
	int fd = openat(root_folder, "file", O_PATH | O_NOFOLLOW);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return result(fd < 0 ? fd : open(path, O_RDONLY));
}

static int read_terminfo(void)
{
	return result(open("/usr/share", O_RDONLY | O_DIRECTORY)) ? errno
								  : result(open("/proc/self/statm", 0));
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

/* A helper's socket. To close it is not enough: another process has a copy (helper_end()). */
static int helper_socket;

static int end_helper(void)
{
	return result(shutdown(helper_socket, SHUT_RDWR));
}

static volatile sig_atomic_t raised;

static void take_signal(int number)
{
	raised = number;
}

static int raise_signal(void)
{
	signal(SIGUSR1, take_signal);
	fault_raise(SIGUSR1);
	return raised == SIGUSR1 ? DONE : 1;
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

/* Capstone writes this instruction. */
static int print_arm64(void)
{
	static const uint8_t bytes[] = { 0xfd, 0x7b, 0xbf, 0xa9 };
	const struct code code = { bytes, sizeof(bytes), 0x1000, 8, ARCH_ARM64 };
	char text[DISASSEMBLE_TEXT_BYTES];

	disassemble_print(&code, SYNTAX_ATT, text);
	return strncmp(text, "stp ", 4) == 0 ? DONE : ENOSYS;
}

static void test_arm64_text(void)
{
	check_u64((uint64_t)inside(print_arm64), ENOSYS, "no library is loaded in the sandbox");
	check(disassemble_arm64_load(), "Capstone is loaded before");
	check_u64((uint64_t)inside(print_arm64), DONE, "arm64's instructions as text");
}

static void test_life(void)
{
	int sockets[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		abort();
	helper_socket = sockets[0];
	check_u64((uint64_t)inside(write_own), DONE, "write to a descriptor of our own");
	check_u64((uint64_t)inside(start_thread), DONE, "threads");
	check_u64((uint64_t)inside(use_memory), DONE, "memory");
	check(!without_landlock ? is_refused(inside(read_file)) : inside(read_file) == DONE,
	      "files that all may read: only without Landlock");
	check_u64((uint64_t)inside(read_terminfo), DONE, "what libraries and the screen read");
	check_u64((uint64_t)inside(read_below), DONE, "files below --root");
	check_u64((uint64_t)inside(share_memory), DONE, "sealed memory, for a guest picked later");
	check_u64((uint64_t)inside(copy_stream), DONE, "a copy of a descriptor, as a stream");
	check_u64((uint64_t)inside(end_helper), DONE, "the end of a helper's socket");
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

/* A user of which there is nothing else, whoever called sudo. */
#define USER_OF(pid) (0x70000000U + (unsigned)(pid))

/* The kernel's view of the process. */
static void test_status(const char *sudo_uid)
{
	char uid_line[64];

	int ready[2], go[2];
	char byte;
	pid_t child;

	if (pipe2(ready, O_CLOEXEC) || pipe2(go, O_CLOEXEC))
		abort();
	child = fork();
	if (child == 0) {
		setenv("SUDO_UID", sudo_uid, 1);
		setenv("SUDO_GID", sudo_uid, 1);
		if (sandbox_enter(NULL, 0) || write(ready[1], "x", 1) != 1)
			_exit(1);
		close(go[1]);
		_exit(read(go[0], &byte, 1) != 0);
	}
	snprintf(uid_line, sizeof(uid_line), "Uid:\t%u\t%u\t%u\t%u\n", USER_OF(child),
		 USER_OF(child), USER_OF(child), USER_OF(child));
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

static char folder[] = "/tmp/xtop-test-sandbox-XXXXXX";

static void make_folder(void)
{
	int file;

	if (!mkdtemp(folder) || chmod(folder, 0755))
		abort();
	root_folder = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	file = openat(root_folder, "file", O_WRONLY | O_CREAT, 0644);
	if (file < 0)
		abort();
	close(file);
}

static void remove_folder(void)
{
	unlinkat(root_folder, "file", 0);
	rmdir(folder);
	close(root_folder);
	root_folder = -1;
}

/* The user for whom root runs xtop, if SUDO_UID is the id of a user, and where it may make files. */
static void test_caller(void)
{
	static const char *const ids[] = { "0", "12x", "-5", "", "4294967295", " 7" };

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		setenv("SUDO_UID", ids[i], 1);
		setenv("SUDO_GID", ids[i], 1);
		check(caller_find().uid == 65534 && caller_find().gid == 65534,
		      "SUDO_UID=%s: nobody", ids[i]);
	}
	setenv("SUDO_UID", "1234", 1);
	setenv("SUDO_GID", "100", 1);
	check(caller_find().uid == 1234 && caller_find().gid == 100, "who called sudo");
	check(caller_may_write("/tmp"), "anybody may write in /tmp");
	check(!caller_may_write("/proc"), "nobody may write in /proc");
	if (was_root)
		check(!caller_may_write("/root"), "not in root's folder");
	check(geteuid() == 0 || !was_root, "still root");
}

/* What needs a filter of system calls. */
static void test_inside(void)
{
	make_folder();
	test_arm64_text();
	for (int i = without_landlock; i < 2; i++, without_landlock = true) {
		printf("# %s Landlock\n", without_landlock ? "without" : "with");
		test_walls();
		test_victim();
		test_life();
	}
	remove_folder();
	test_status("1234");
	test_status("0");
	test_status("12x");
}

int main(void)
{
#ifdef SANITIZED /* sanitizers do not work in the sandbox */
	(void)test_inside, (void)test_caller;
	check(!sandbox_enter(NULL, 0) && !sandbox_warning() == (geteuid() != 0), "root is told: %s",
	      sandbox_warning() ? sandbox_warning() : "nothing");
	return tap_done();
#else
	const gid_t group = 1234;

	without_landlock = !landlock_is_there();
	check(!sandbox_warning() == !without_landlock, "what is weaker without Landlock is told");
	was_root = geteuid() == 0;
	if (was_root && setgroups(1, &group))
		abort();
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	inherited = open("/dev/null", O_WRONLY);
	own = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (!emulator_lacks("walls"))
		test_inside();
	test_caller();
	return tap_done();
#endif
}
