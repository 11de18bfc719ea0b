/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that the broker removes and opens for main, which has no right to. Main and its broker
 * are real processes.
 */
#include "config.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/supervise/broker_fixture.h"
#include "tests/support/children.h"
#include "tests/support/emulated.h"
#include "tests/support/tap.h"
#include "xtop/base/output.h"

/* A folder of the test's, the result that the command line names, and a file that it does not. */
static struct {
	char folder[32], output[64], others[64];
} paths = { .folder = "/tmp/xtop-test-XXXXXX" };

/* A file server on which an open waits; shared with those that open. */
static struct {
	bool hangs;
	_Atomic pid_t opener;
} *server;

#ifdef SANITIZED
static const bool is_sanitized = true; /* sanitizers replace functions themselves */
#else
static const bool is_sanitized = false;

/* Replaces the C library's. */
int openat(int at, const char *path, int flags, ...)
{
	va_list mode;
	int fd;

	while (server->hangs && flags & O_CREAT) {
		server->opener = getpid();
		pause();
	}
	va_start(mode, flags);
	fd = (int)syscall(SYS_openat, at, path, flags, va_arg(mode, unsigned));
	va_end(mode);
	return fd;
}
#endif

static bool there(const char *path)
{
	return access(path, F_OK) == 0;
}

static void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	fputs(text, file);
	fclose(file);
}

static int make(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		abort();
	return fd;
}

static void move(const char *from, const char *to)
{
	if (rename(from, to))
		abort();
}

/* The owner of the folder replaces it by a link to a folder into which the file is moved. */
static void test_folder_moved(int fd)
{
	const char *name = strrchr(paths.output, '/') + 1;
	char moved[64], bait[64], path[128];

	snprintf(moved, sizeof(moved), "%s-moved", paths.folder);
	snprintf(bait, sizeof(bait), "%s-bait", paths.folder);
	snprintf(path, sizeof(path), "%s/%s", moved, name);
	move(paths.folder, moved);
	if (mkdir(bait, 0700) || symlink(bait, paths.folder))
		abort();
	move(path, paths.output);
	broker_opener.remove(paths.output, fd);
	check(there(paths.output), "a result behind a link stays");
	move(paths.output, path);
	broker_opener.remove(paths.output, fd);
	check(!there(path), "the result in the folder that was moved is removed");
	if (unlink(paths.folder) || rmdir(bait))
		abort();
	move(moved, paths.folder);
}

/* The user moves the result away, and OUTPUT is another file or a link to it. */
static void test_exchanged(int fd)
{
	char moved[80];

	snprintf(moved, sizeof(moved), "%s-moved", paths.output);
	move(paths.output, moved);
	put(paths.output, "");
	broker_opener.remove(paths.output, fd);
	check(there(paths.output), "an empty file that was put where the result was stays");
	unlink(paths.output);
	if (symlink(moved, paths.output))
		abort();
	broker_opener.remove(paths.output, fd);
	check(there(paths.output) && there(moved), "a symlink stays");
	move(moved, paths.output);
}

static void test_remove(void)
{
	int fd = make(paths.output), other = make(paths.others);
	int reader = open(paths.output, O_RDONLY | O_CLOEXEC);

	broker_opener.remove(paths.others, other);
	check(there(paths.others), "a file that the command line does not name stays");
	broker_opener.remove(paths.output, other);
	check(there(paths.output), "a result stays that is not the file that main has open");
	broker_opener.remove(paths.output, reader);
	check(there(paths.output), "a result stays that main has open to read");
	unlink(paths.others);
	if (write(fd, "something", 9) != 9)
		abort();
	broker_opener.remove(paths.output, fd);
	check(there(paths.output), "a file that is not empty stays");
	if (ftruncate(fd, 0) || link(paths.output, paths.others))
		abort();
	broker_opener.remove(paths.output, fd);
	check(there(paths.output), "a hard link stays");
	unlink(paths.others);
	if (geteuid() == 0 && fchown(fd, 65534, 65534) == 0) {
		broker_opener.remove(paths.output, fd);
		check(there(paths.output), "another user's file stays");
		if (fchown(fd, 0, 0))
			abort();
	}
	test_exchanged(fd);
	test_folder_moved(fd);
	close(fd);
	fd = make(paths.output);
	broker_opener.remove(paths.output, fd);
	check(!there(paths.output), "an empty result is removed");
	close(fd);
	close(other);
	close(reader);
}

/* The user for whom root runs xtop may write there. */
static void make_users_folder(char *users, size_t capacity)
{
	snprintf(users, capacity, "%s/users", paths.folder);
	if (mkdir(users, 0700) || (geteuid() == 0 && chown(users, 65534, 65534)) ||
	    chmod(paths.folder, 0755))
		abort();
}

/* Opens and closes; the words of the error, or "" for none. */
static const char *open_named(const char *path, bool replace, bool *existsp)
{
	static char words[256];
	struct xtop_error *error;
	int fd = -1;

	error = broker_opener.open(path, replace, &fd, existsp);
	snprintf(words, sizeof(words), "%s", error ? error_message(error) : "");
	if (!error && write(fd, "main;work 1\n", 12) != 12)
		abort();
	close(fd);
	error_destroy(error);
	return words;
}

static bool is_of_user(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && (status.st_mode & 07777) == 0600 &&
	       status.st_uid == (geteuid() ? geteuid() : 65534) && status.st_size == 12;
}

/*
 * Profiles may be made and replaced, but no file whose name says nothing of a profile: programs read
 * such files where they find them.
 */
static void test_open_endings(const char *users)
{
	static const char *const profiles[] = { "a.pb.gz", "a.perf", "a.speedscope.json",
						"a.flame.html", "a.flame.svg" };
	static const char *const plain[] = { "package.json", "GNUmakefile", "conftest.py",
					     "a.svg",        "a.gz",        ".pb.gz" };
	char path[128], label[64];
	bool exists;

	for (size_t i = 0; i < 5; i++) {
		snprintf(path, sizeof(path), "%s/%s", users, profiles[i]);
		snprintf(label, sizeof(label), "a new %s is opened", profiles[i]);
		check_string(open_named(path, false, &exists), "", label);
		snprintf(label, sizeof(label), "a %s that exists is replaced", profiles[i]);
		check_string(open_named(path, true, &exists), "", label);
		unlink(path);
	}
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", users, plain[i]);
		check(*open_named(path, false, &exists) && !there(path), "no new %s is opened: %s",
		      plain[i], open_named(path, false, &exists));
		put(path, "");
		check(*open_named(path, true, &exists) && !exists && there(path),
		      "a %s that exists is not replaced", plain[i]);
		unlink(path);
	}
}

/* Files that are named while xtop runs: main cannot open them. */
static void test_open(void)
{
	char users[96], path[128], other[128];
	struct output_file *file;
	bool exists;

	unsetenv("SUDO_UID");
	make_users_folder(users, sizeof(users));
	snprintf(path, sizeof(path), "%s/./a.folded", users);
	snprintf(other, sizeof(other), "%s/plain", users);
	check_string(open_named(path, false, &exists), "", "a new file is opened");
	check(is_of_user(path), "a new file belongs to the user, with mode 0600");
	check(strstr(open_named(path, false, &exists), "it exists") && exists,
	      "a profile that exists may be replaced");
	check_string(open_named(path, true, &exists), "", "a profile that exists is replaced");
	put(other, "");
	test_open_endings(users);
	unlink(path);
	if (symlink(other, path))
		abort();
	check(strstr(open_named(path, false, &exists), "it exists") && !exists,
	      "a symlink may not be replaced");
	check(strstr(open_named(path, true, &exists), "it exists"), "a symlink is not followed");
	unlink(path);
	if (link(other, path))
		abort();
	check(*open_named(path, true, &exists), "a file that has another name is not replaced");
	unlink(path);
	snprintf(path, sizeof(path), "%s/.profile", users);
	check(strstr(open_named(path, false, &exists), "begin with a dot"),
	      "no hidden file is opened");
	snprintf(path, sizeof(path), "%s/.ssh/x.folded", users);
	check(strstr(open_named(path, false, &exists), "begin with a dot"),
	      "no file in a hidden folder is opened");
	snprintf(path, sizeof(path), "%s/../roots.folded", users);
	if (geteuid() == 0)
		check(*open_named(path, false, &exists) && !there(path),
		      "no file is opened where the user may not write");
	snprintf(path, sizeof(path), "%s/b.folded", users);
	if (output_open_named(path, false, &broker_opener, &exists, &file))
		abort();
	check(there(path), "the broker makes a file for main");
	output_discard(file);
	check(!there(path), "the broker removes a file to which nothing was written");
	unlink(other);
	if (rmdir(users))
		check(false, "the user's folder %s is empty at the end", users);
}

/* A killed broker is reported at once, also while its child waits for a file server. */
static void test_killed(void)
{
	struct timespec begin, end;
	const char *words;
	bool exists;
	pid_t broker = child_of(getpid()), killer;

	server->hangs = true;
	killer = fork();
	if (killer == 0) {
		while (!server->opener)
			usleep(1000);
		kill_process(broker, SIGKILL);
		_exit(0);
	}
	clock_gettime(CLOCK_MONOTONIC, &begin);
	words = open_named("/tmp/xtop-never.folded", false, &exists);
	clock_gettime(CLOCK_MONOTONIC, &end);
	check(strstr(words, "was killed") && end.tv_sec - begin.tv_sec < 5,
	      "a broker that is killed while a file is opened is reported after %ld s: %s",
	      (long)(end.tv_sec - begin.tv_sec), words);
	waitpid(killer, NULL, 0);
}

/* The broker was killed, and main's end of the socket is closed. */
static void test_opener_ends(void)
{
	for (unsigned i = 0; i < 5000 && kill(server->opener, 0) == 0; i++) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		usleep(1000);
	}
	check(kill(server->opener, 0) < 0, "a child that waits ends behind the broker's walls, too");
	kill_process(server->opener, SIGKILL);
}

int main(void)
{
	fixture_begin();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	server = mmap(NULL, sizeof(*server), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	if (server == MAP_FAILED)
		abort();
	if (!mkdtemp(paths.folder))
		abort();
	snprintf(paths.output, sizeof(paths.output), "%s/output", paths.folder);
	snprintf(paths.others, sizeof(paths.others), "%s/others", paths.folder);
	settings.files[1] = paths.output;
	settings.has_screen = true;
	if (broker_start(&settings))
		abort();
	test_remove();
	test_open();
	if (!is_sanitized && !is_emulated())
		test_killed();
	broker_stop();
	if (server->opener)
		test_opener_ends();
	rmdir(paths.folder);
	return tap_done();
}
