/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files for results: which are refused at the start, and that half a file is never left. Runs as
 * root and as another user; some tests depend on which.
 */
#include "xtop/export/export.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "xtop/base/output.h"

#include "tests/support/late_error.h"
#include "tests/support/tap.h"

static char folder[] = "/tmp/xtop-test-file-XXXXXX";

static const char *in_folder(const char *name)
{
	static char path[4][512];
	static unsigned turn;

	turn = (turn + 1) % 4;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", folder, name);
	return path[turn];
}

static void put(const char *path, const char *content)
{
	FILE *file = fopen(path, "w");

	if (!file || fputs(content, file) < 0 || fclose(file) != 0)
		abort();
}

static const char *content(const char *path)
{
	static char bytes[256];
	FILE *file = fopen(path, "r");
	size_t n;

	if (!file)
		return NULL;
	n = fread(bytes, 1, sizeof(bytes) - 1, file);
	bytes[n] = '\0';
	fclose(file);
	return bytes;
}

static struct output_file *open_or_die(const char *path, bool replace)
{
	struct output_file *file;
	struct xtop_error *error = output_open(path, replace, NULL, &file);

	if (error) {
		check(false, "open %s: %s", path, error_message(error));
		exit(1);
	}
	return file;
}

static void write_text(struct output_file *file, const char *text)
{
	FILE *stream;

	if (output_begin(file, &stream))
		abort();
	fputs(text, stream);
}

static void refuse(const char *path, bool replace, const char *words)
{
	struct output_file *file = NULL;
	struct xtop_error *error = output_open(path, replace, NULL, &file);

	check(error && !file && strstr(error_message(error), words), "refused: %.60s: %.200s", path,
	      error ? error_message(error) : "(opened)");
	error_destroy(error);
}

static void test_new(void)
{
	const char *path = in_folder("new");
	struct output_file *file = open_or_die(path, true);
	struct stat status;

	check(stat(path, &status) == 0 && status.st_size == 0, "a new file is made, and empty");
	check((status.st_mode & 07777) == 0600, "a new file has mode 0600");
	write_text(file, "a;b 1\n");
	check(!output_close(file), "the output file is closed");
	check(strcmp(content(path), "a;b 1\n") == 0, "content of a new file");
	unlink(path);
	output_discard(open_or_die(path, true));
	check(access(path, F_OK) != 0, "a new file is removed when the run fails");
	file = open_or_die(path, true);
	write_text(file, "half a li");
	output_discard(file);
	check(access(path, F_OK) != 0, "no file stays when half of it was written");
	file = open_or_die(path, true);
	unlink(path);
	put(path, "another's");
	output_discard(file);
	check_string(content(path), "another's", "a file that was put in its place stays");
	unlink(path);
	file = open_or_die(path, true);
	unlink(path);
	put(path, "");
	output_discard(file);
	check(unlink(path) == 0, "an empty one stays, too");
	output_discard(NULL);
}

static void test_replace(void)
{
	const char *path = in_folder("old");
	struct output_file *file;
	struct stat status;

	put(path, "the old content, longer than the new");
	chmod(path, 0640);
	refuse(path, false, "it exists");
	output_discard(open_or_die(path, true));
	check_string(content(path), "the old content, longer than the new",
		     "an old file is untouched when the run fails");
	file = open_or_die(path, true);
	check_string(content(path), "the old content, longer than the new",
		     "an old file is untouched until something is written");
	write_text(file, "new");
	write_text(file, "er");
	check(!output_close(file), "the output file is closed");
	check_string(content(path), "newer", "content of a file that was replaced");
	check(stat(path, &status) == 0 && (status.st_mode & 07777) == 0640,
	      "a file that was replaced keeps its mode");
	file = open_or_die(path, true);
	write_text(file, "half a li");
	output_discard(file);
	check_string(content(path), "", "content of an old file of which half was written");
	unlink(path);
}

static void test_refused(void)
{
	char long_name[400];

	memset(long_name, 'x', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	refuse(in_folder("none/f"), true, "its folder does not exist");
	refuse(folder, true, "Is a directory");
	refuse(in_folder(long_name), true, strerror(ENAMETOOLONG));
	put(in_folder("file"), "x");
	refuse(in_folder("file/f"), true, "Not a directory");
	if (symlink("file", in_folder("link")) || symlink("nowhere", in_folder("dangling")) ||
	    link(in_folder("file"), in_folder("hard")) || mkfifo(in_folder("fifo"), 0600))
		abort();
	refuse(in_folder("link"), true, "symbolic link");
	refuse(in_folder("link"), false, "it exists");
	refuse(in_folder("dangling"), true, "symbolic link");
	check(access(in_folder("nowhere"), F_OK) != 0, "no file is made through a dangling link");
	refuse(in_folder("hard"), true, "hard links");
	refuse(in_folder("fifo"), false, "it exists");
	refuse("/dev/fd/999999", true, "Bad file descriptor");
	refuse("/dev/fd/12x", true, "/dev/fd/12x");
	unlink(in_folder("link"));
	unlink(in_folder("dangling"));
	unlink(in_folder("hard"));
	unlink(in_folder("fifo"));
}

/*
 * Root may write everywhere, so only another user can test rights. Only root can test other owners.
 */
static void test_rights(void)
{
	const char *path = in_folder("file");

	if (geteuid() == 0) {
		if (chown(path, 12345, 12345) != 0)
			abort();
		output_discard(open_or_die(path, true));
		check(true, "root may replace another user's file in a closed folder");
		chmod(folder, 01777);
		refuse(path, true, "another user, in a folder that all can write to");
		chmod(folder, 0700);
	} else {
		chmod(path, 0400);
		refuse(path, true, "Permission denied");
		chmod(folder, 0500);
		refuse(in_folder("other"), true, "Permission denied");
		chmod(folder, 0700);
	}
	unlink(path);
}

static void put_into(const char *path, const char *text)
{
	struct output_file *file = open_or_die(path, true);
	struct xtop_error *error;

	write_text(file, text);
	error = output_close(file);
	check(!error, "written to %.60s%s%.200s", path, error ? ": " : "",
	      error ? error_message(error) : "");
	error_destroy(error);
}

/* Targets that are no regular files: opened for writing, never emptied, never removed. */
static void test_streams(void)
{
	const char *fifo = in_folder("fifo"), *path = in_folder("shell");
	char name[32], bytes[64] = "";
	int reader, fd;
	ssize_t got;

	put_into("/dev/null", "gone\n");
	check(access("/dev/null", W_OK) == 0, "/dev/null is still there");
	if (mkfifo(fifo, 0600) || (reader = open(fifo, O_RDONLY | O_NONBLOCK)) < 0)
		abort();
	put_into(fifo, "through a FIFO\n");
	got = read(reader, bytes, sizeof(bytes) - 1);
	check(got == 15 && strcmp(bytes, "through a FIFO\n") == 0, "read %zd bytes: %s", got,
	      bytes);
	output_discard(open_or_die(fifo, true));
	check(access(fifo, F_OK) == 0, "a FIFO stays when the run fails");
	close(reader);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	if (fd < 0 || write(fd, "before ", 7) != 7)
		abort();
	snprintf(name, sizeof(name), "/dev/fd/%d", fd);
	put_into(name, "after");
	check(fcntl(fd, F_GETFD) >= 0, "the user's descriptor is still open");
	output_discard(open_or_die(name, true));
	check_string(content(path), "before after",
		     "the text is appended by the user's descriptor");
	close(fd);
	fd = open(path, O_RDONLY);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	refuse(name, true, "not open for writing");
	close(fd);
	unlink(path);
	unlink(fifo);
}

/*
 * Another user's FIFO in /tmp could make us wait, or pass our results to that user. Only root can
 * make such a FIFO.
 */
static void test_foreign_fifo(void)
{
	const char *fifo = in_folder("foreign");

	if (geteuid() != 0)
		return;
	if (mkfifo(fifo, 0666) || chown(fifo, 12345, 12345))
		abort();
	chmod(folder, 01777);
	refuse(fifo, true, "another user, in a folder that all can write to");
	chmod(folder, 0700);
	unlink(fifo);
}

/*
 * Only root can make links of other users. A link that leads to the file by ".." or that begins at
 * the root is followed like another.
 */
static void test_links_on_the_way(void)
{
	char results[512], link[512], target[512];
	int fd;

	snprintf(results, sizeof(results), "%s", in_folder("results"));
	snprintf(link, sizeof(link), "%s", in_folder("link"));
	snprintf(target, sizeof(target), "..//%s/./results", strrchr(folder, '/') + 1);
	if (mkdir(results, 0700) || symlink(target, link))
		abort();
	put(in_folder("results/old"), "old");
	if (geteuid() == 0) {
		if (lchown(link, 12345, 12345))
			abort();
		refuse(in_folder("link/new"), false, "a symbolic link of another user");
		refuse(in_folder("link/old"), true, "a symbolic link of another user");
		fd = open(in_folder("results/empty"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
		output_remove(in_folder("link/empty"), fd, NULL);
		check(unlink(in_folder("results/empty")) == 0,
		      "nothing is removed behind such a link");
		close(fd);
		setenv("SUDO_UID", "12345", 1);
	}
	output_discard(open_or_die(in_folder("link//new"), false));
	output_discard(open_or_die(in_folder("link/old"), true));
	unsetenv("SUDO_UID");
	unlink(link);
	if (symlink(results, link))
		abort();
	output_discard(open_or_die(in_folder("link/old"), true));
	check_string(content(in_folder("results/old")), "old", "a link of the user is followed");
	unlink(link);
	if (symlink("link", link))
		abort();
	refuse(in_folder("link/new"), false, "a symbolic link");
	refuse(in_folder("results/old/new"), false, strerror(ENOTDIR));
	refuse(in_folder("results/"), true, strerror(EISDIR));
	refuse("", true, "does not exist");
	unlink(link);
	unlink(in_folder("results/old"));
	rmdir(results);
}

/* Whether a walk comes to the folder of PATH. If not, errno says why. */
static bool arrives(const char *path)
{
	const char *name;
	int fd;

	errno = 0;
	fd = output_folder_open(path, &name);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* A user who called no sudo: SUDO_UID says nothing. */
static void walk_as_user(void)
{
	if (setgid(54321) || setuid(54321))
		_exit(8);
	setenv("SUDO_UID", "12345", 1);
	_exit(arrives(in_folder("roots/x")) + 2 * arrives(in_folder("users/x")) +
	      4 * arrives(in_folder("others/x")));
}

/* Links to FOLDER itself, of root and of two users. */
static void test_owners(void)
{
	static const struct {
		const char *name;
		uid_t owner;
	} links[] = { { "roots", 0 }, { "users", 54321 }, { "others", 12345 } };
	int status = 0;
	pid_t pid;

	if (geteuid())
		return;
	for (size_t i = 0; i < 3; i++)
		if (symlink(folder, in_folder(links[i].name)) ||
		    lchown(in_folder(links[i].name), links[i].owner, links[i].owner))
			abort();
	setenv("SUDO_UID", "54321", 1);
	check(arrives(in_folder("users/x")), "root follows a link of who called sudo");
	check(!arrives(in_folder("others/x")) && errno == ELOOP, "but no link of another user");
	unsetenv("SUDO_UID");
	chmod(folder, 0711);
	pid = fork();
	if (pid == 0)
		walk_as_user();
	waitpid(pid, &status, 0);
	check(WEXITSTATUS(status) == 3, "a user follows links of root and of his own: %d",
	      WEXITSTATUS(status));
	chmod(folder, 0700);
	for (size_t i = 0; i < 3; i++)
		unlink(in_folder(links[i].name));
}

static void test_long_paths(void)
{
	static char path[2 * PATH_MAX];
	const char *link = in_folder("long");

	memset(path, '/', sizeof(path) - 1);
	check(!arrives(path) && errno == ENAMETOOLONG, "a path can be too long");
	path[PATH_MAX - 1] = 'x';
	path[PATH_MAX] = '\0';
	check(arrives(path), "or be just short enough");
	path[1000] = '\0'; /* XFS has links of at most 1,024 bytes */
	if (symlink(path, link))
		abort();
	snprintf(path, sizeof(path), "%s/", link);
	while (strlen(path) < PATH_MAX - 8)
		strcat(path, "./");
	strcat(path, "b");
	check(!arrives(path) && errno == ENAMETOOLONG, "so can what a link and the rest make");
	unlink(link);
	check(!arrives(in_folder("no/such/x")) && errno == ENOENT, "a folder that is not there");
}

/* As on a full disk: the error is reported, and no half of a file stays. */
static void test_full(void)
{
	struct rlimit limit = { .rlim_cur = 4096, .rlim_max = RLIM_INFINITY };
	const char *path = in_folder("full");
	struct output_file *file;
	struct xtop_error *error;

	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &limit);
	file = open_or_die(path, true);
	for (unsigned i = 0; i < 1000; i++)
		write_text(file, "main;work;more 12\n");
	error = output_close(file);
	limit.rlim_cur = RLIM_INFINITY;
	setrlimit(RLIMIT_FSIZE, &limit);
	check(error && strstr(error_message(error), path), "the error of a full disk: %s",
	      error ? error_message(error) : "(no error)");
	error_destroy(error);
	check(access(path, F_OK) != 0, "no file is left after an error");
}

static void test_full_at_close(void)
{
	const char *path = in_folder("late");
	struct output_file *file = open_or_die(path, true);
	struct xtop_error *error;

	write_text(file, "main;work 12\n");
	close_errno = EDQUOT;
	error = output_close(file);
	close_errno = 0;
	check(error && strstr(error_message(error), strerror(EDQUOT)), "an error at the close: %s",
	      error ? error_message(error) : "(no error)");
	error_destroy(error);
	check(access(path, F_OK) != 0, "no file is left after an error");
	unlink(path);
}

static void test_stdout(void)
{
	struct output_file *file = open_or_die("-", false);

	write_text(file, "# to stdout\n");
	check(!output_close(file), "the output to stdout is closed");
	check(fcntl(STDOUT_FILENO, F_GETFD) >= 0, "the descriptor of stdout is still open");
}

int main(void)
{
	if (!mkdtemp(folder))
		abort();
	test_new();
	test_replace();
	test_refused();
	test_rights();
	test_streams();
	test_foreign_fifo();
	test_links_on_the_way();
	test_owners();
	test_long_paths();
	test_full();
	test_full_at_close();
	test_stdout();
	rmdir(folder);
	return tap_done();
}
