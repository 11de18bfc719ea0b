/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What must still work in the sandbox, tried from inside. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/supervise/sandbox_fixture.h"
#include "tests/support/tap.h"
#include "xtop/base/fault.h"
#include "xtop/unwind/disassemble.h"

/* Descriptors that xtop has opened itself. */
static struct {
	int file;
	int helper; /* a socket. To close it is not enough: another process has a copy (helper_end()). */
} own;
static volatile sig_atomic_t raised;
/* Folders that it may read in the sandbox: --root's, the user's, and $TERMINFO's. */
static struct {
	char root[32], home[32], terminals[32];
	char terminals_at_home[48];
} folders = {
	.root = "/tmp/xtop-test-root-XXXXXX",
	.home = "/tmp/xtop-test-home-XXXXXX",
	.terminals = "/tmp/xtop-test-terms-XXXXXX",
};

static int write_own(void)
{
	return result(write(own.file, "x", 1));
}

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
	int fd = openat(fixture.root_folder, "file", O_PATH | O_NOFOLLOW);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return result(fd < 0 ? fd : open(path, O_RDONLY));
}

static int read_terminfo(void)
{
	return result(open("/usr/share", O_RDONLY | O_DIRECTORY))
		       ? errno
		       : result(open("/proc/self/statm", 0));
}

/* Descriptions of terminals: a folder of $TERMINFO's, and one in the user's home. */
static int read_own_terminfo(void)
{
	char path[64];
	int fd = open(getenv("TERMINFO"), O_RDONLY | O_DIRECTORY);

	snprintf(path, sizeof(path), "%s/.terminfo", getenv("HOME"));
	return result(fd < 0 ? fd : open(path, O_RDONLY | O_DIRECTORY));
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

static int end_helper(void)
{
	return result(shutdown(own.helper, SHUT_RDWR));
}

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
	if (fixture.was_root && (getuid() == 0 || geteuid() == 0 || getgid() == 0))
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

static void check_works(int (*attempt)(void), const char *what)
{
	int got = inside(attempt);

	check(got == DONE, "in the sandbox a process can %s: errno %d (expected 0)", what, got);
}

static void test_arm64_text(void)
{
	check_u64((uint64_t)inside(print_arm64), ENOSYS,
		  "no library is loaded in the sandbox: errno");
	check(disassemble_arm64_load(), "Capstone is loaded before the sandbox is entered");
	check_works(print_arm64, "print arm64's instructions as text");
}

static void test_life(void)
{
	int sockets[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		abort();
	own.helper = sockets[0];
	check_works(write_own, "write to a descriptor of our own");
	check_works(start_thread, "start a thread");
	check_works(use_memory, "allocate memory");
	check(!fixture.without_landlock ? is_refused(inside(read_file)) : inside(read_file) == DONE,
	      "a file that all may read is opened only without Landlock");
	check_works(read_terminfo, "read what libraries and the screen need");
	check_works(read_own_terminfo, "read descriptions of terminals in $TERMINFO and $HOME");
	check_works(read_below, "read files below --root");
	check_works(share_memory, "seal shared memory, for a guest picked later");
	check_works(copy_stream, "open a copy of a descriptor as a stream");
	check_works(end_helper, "shut down a helper's socket");
	check_works(raise_signal, "raise a signal in itself");
	check_works(is_closed, "be another user, and be refused getresuid()");
}

static void make_folder(void)
{
	int file;

	if (!mkdtemp(folders.root) || chmod(folders.root, 0755))
		abort();
	fixture.root_folder = open(folders.root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	file = openat(fixture.root_folder, "file", O_WRONLY | O_CREAT, 0644);
	if (file < 0)
		abort();
	close(file);
}

/* Both folders are outside of the system's, and of that of --root. */
static void make_home(void)
{
	if (!mkdtemp(folders.home) || !mkdtemp(folders.terminals) || chmod(folders.home, 0755) ||
	    chmod(folders.terminals, 0755))
		abort();
	snprintf(folders.terminals_at_home, sizeof(folders.terminals_at_home), "%s/.terminfo",
		 folders.home);
	if (mkdir(folders.terminals_at_home, 0755))
		abort();
	setenv("HOME", folders.home, 1);
	setenv("TERMINFO", folders.terminals, 1);
}

static void remove_folder(void)
{
	unlinkat(fixture.root_folder, "file", 0);
	rmdir(folders.root);
	close(fixture.root_folder);
	fixture.root_folder = -1;
}

int main(void)
{
	if (!fixture_begin())
		return tap_done();
	own.file = open("/dev/null", O_WRONLY | O_CLOEXEC);
	make_folder();
	make_home();
	test_arm64_text();
	with_and_without_landlock(test_life);
	rmdir(folders.terminals);
	rmdir(folders.terminals_at_home);
	rmdir(folders.home);
	remove_folder();
	return tap_done();
}
