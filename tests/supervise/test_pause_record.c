/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a killed xtop leaves, and how the next one reads it. A pause is ours only if all processes
 * of the record are gone, the record says "stopped", and the guest has not run since.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervise/pause_record.h"
#include "tests/support/children.h"
#include "tests/support/folder.h"
#include "tests/support/tap.h"

static struct {
	char folder[sizeof("/tmp/xtop-test-XXXXXX")];
	char records[64]; /* the folder of the records */
	struct pause_found found;
} left = { .folder = "/tmp/xtop-test-XXXXXX" };
static struct guest_info info = {
	.name = "web01", .uuid = "11111111-2222-3333-4444-555555555555", .domid = 7, .n_vcpus = 2
};

/*
 * flock() replaces libc's, because at that moment the file is open and not yet locked. It plays
 * another xtop that starts at this moment, and removes the file, or has it locked, so many times.
 * With is_replaced, a third xtop then makes a file of the same name.
 */
static struct {
	unsigned n_removed, n_locked;
	bool is_replaced;
} meanwhile;

static void remove_file(void)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/%u.%s.%d", left.records, info.domid, info.uuid, getpid());
	unlink(path);
	if (meanwhile.is_replaced)
		close(open(path, O_WRONLY | O_CREAT | O_EXCL, 0600));
}

int flock(int fd, int operation)
{
	struct stat status;

	if (fstat(fd, &status) || !S_ISREG(status.st_mode)) /* the folder */
		return (int)syscall(SYS_flock, fd, operation);
	if (meanwhile.n_locked) {
		meanwhile.n_locked--;
		errno = EWOULDBLOCK;
		return -1;
	}
	if (meanwhile.n_removed) {
		meanwhile.n_removed--;
		remove_file();
	}
	return (int)syscall(SYS_flock, fd, operation);
}

#define OWNER ((uint32_t)getpid()) /* the process that the records name: it lives */

static void make_file(struct pause_file *file)
{
	if (pause_file_create(left.records, &info, OWNER, true, file))
		abort();
}

/*
 * Leaves the record of a killed xtop: STOPPED, with the guest's CPU time CPU_TIME_NS, SINCE_NS
 * before.
 */
static void leave_since(bool stopped, uint64_t cpu_time_ns, uint64_t since_ns)
{
	pid_t child = fork();

	if (child == 0) {
		struct pause_file file;

		make_file(&file);
		if (!file.record)
			_exit(1);
		pause_mark_begin(&file.record->mark, cpu_time_ns, since_ns);
		if (!stopped)
			pause_mark_end(&file.record->mark);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

static void leave(bool stopped, uint64_t cpu_time_ns)
{
	leave_since(stopped, cpu_time_ns, 0);
}

/* Finds records and removes the stale ones, as after a release. */
static void look(uint64_t cpu_time_ns)
{
	unsigned stale;

	pause_find_records(left.records, &info, cpu_time_ns, &left.found);
	stale = left.found.stale;
	pause_close_records(&left.found, true);
	left.found.stale = stale;
}

static void test_ends_well(void)
{
	struct pause_file file;
	struct stat status;

	look(0);
	check(!left.found.live && !left.found.stale, "no record is found at first");
	make_file(&file);
	check(file.record && count_files(left.records) == 1, "a record is made: %s",
	      file.path ? file.path : "none");
	check(stat(left.records, &status) == 0 && (status.st_mode & 07777) == 0700,
	      "the folder of records has mode 0700");
	check(file.path && stat(file.path, &status) == 0 && (status.st_mode & 07777) == 0600,
	      "the record file has mode 0600");
	pause_mark_begin(&file.record->mark, 5, 0);
	look(5);
	check(left.found.live == 1 && !left.found.stale && count_files(left.records) == 1,
	      "a locked record is live, and stays");
	pause_mark_end(&file.record->mark);
	pause_file_remove(&file);
	check(!file.record && count_files(left.records) == 0, "the record is removed");
	pause_mark_begin(NULL, 1, 1);
	pause_mark_end(NULL);
}

/* Another xtop starts at the same moment: the record is in the folder, or there is none. */
static void test_starts_together(void)
{
	struct pause_file file;

	meanwhile.n_removed = 3;
	make_file(&file);
	check(file.record && count_files(left.records) == 1,
	      "a record that was removed before it was locked is made again");
	look(0);
	check_u64(left.found.live, 1, "records that another xtop sees");
	pause_file_remove(&file);
	check_u64(count_files(left.records), 0, "records after the removal");
	meanwhile.n_locked = 3;
	make_file(&file);
	check(file.record && count_files(left.records) == 1,
	      "a record that another xtop has locked is made again");
	pause_file_remove(&file);
	meanwhile.n_removed = 1000;
	make_file(&file);
	check(!file.record && file.fd < 0 && !file.path && meanwhile.n_removed > 900,
	      "always removed: no record, after %u tries", 1000 - meanwhile.n_removed);
	pause_file_remove(&file);
	meanwhile.n_removed = 0;
}

/* When the file is opened it is there. When it is locked, another file has its name. */
static void test_judged_meanwhile(void)
{
	struct pause_file file;

	make_file(&file);
	munmap(file.record, sizeof(*file.record));
	close(file.fd);
	meanwhile.n_removed = 1;
	meanwhile.is_replaced = true;
	look(0);
	meanwhile.is_replaced = false;
	check(!left.found.stale && count_files(left.records) == 1,
	      "a new file of the same name is not removed");
	file = (struct pause_file){ .path = file.path, .fd = -1 };
	pause_file_remove(&file);
}

/* The lock belongs to the open file: a child that has the file open holds the lock. */
static void test_survivor(void)
{
	struct pause_file file;
	int pipe_fds[2];
	pid_t child;
	char byte;

	if (pipe(pipe_fds))
		abort();
	make_file(&file);
	child = fork();
	if (child == 0) {
		close(pipe_fds[1]);
		_exit(read(pipe_fds[0], &byte, 1) != 0);
	}
	close(pipe_fds[0]);
	munmap(file.record, sizeof(*file.record)); /* a mapping holds the file open, too */
	file.record = NULL;
	close(file.fd);
	look(0);
	check_u64(left.found.live, 1, "live records while a child lives");
	close(pipe_fds[1]);
	waitpid(child, NULL, 0);
	look(0);
	check(!left.found.live && left.found.stale == 1 && count_files(left.records) == 0,
	      "a record is stale and removed after the child has ended");
	file.fd = -1;
	pause_file_remove(&file);
}

static void test_left(void)
{
	leave(true, 1000000000);
	look(1000000000);
	check(left.found.stale == 1 && left.found.stopped == 1 && !left.found.run && left.found.pid,
	      "a guest that a killed xtop has stopped is found as ours");
	look(1000000000);
	check(!left.found.stale, "a stale record is found only once");
	leave(true, 1000000000);
	look(1200000000);
	check_u64(left.found.stopped, 1,
		  "each vCPU may use 0.1 s between mark and stop: found as stopped");
	leave(true, 1000000000);
	look(1200000001);
	check(!left.found.stopped && left.found.run == 1,
	      "a guest that used more CPU time has run: not our pause");
	leave_since(true, 1000000000, 300000000);
	look(1800000000);
	check_u64(left.found.stopped, 1,
		  "a vCPU may also use the time from look to mark: found as stopped");
	leave_since(true, 1000000000, 300000000);
	look(1800000001);
	check_u64(left.found.run, 1, "a vCPU that used more than that has run: found as run");
	leave_since(true, 1000000000, UINT64_MAX);
	look(1200000001);
	check_u64(left.found.run, 1, "a time that is damaged counts as 0: found as run");
	leave_since(true, 1000000000, 10000000000);
	look(1200000001);
	check_u64(left.found.run, 1, "a time of ten seconds counts as 0: found as run");
	leave(true, 1000000000);
	look(999999999);
	check(!left.found.stopped && left.found.run == 1,
	      "a guest with less CPU time than before is not our pause");
	leave(false, 1000000000);
	look(1000000000);
	check(left.found.stale == 1 && !left.found.stopped && !left.found.run,
	      "an xtop that was killed while the guest ran has left no pause");
	leave(true, 1);
	leave(true, 1);
	look(1);
	check_u64(left.found.stopped, 2, "pauses of two xtops that were killed during a stop");
}

/* xtop may be killed before it has released the guest, or while it does that. */
static void test_found_and_killed(void)
{
	struct pause_found second;

	leave(true, 1);
	pause_find_records(left.records, &info, 1, &left.found);
	check(left.found.stopped == 1 && count_files(left.records) == 1,
	      "a record that was found is not yet removed");
	pause_find_records(left.records, &info, 1, &second);
	check(!second.stopped && second.live == 1,
	      "another xtop does not find the same record meanwhile");
	pause_close_records(&second, true);
	pause_close_records(&left.found, false);
	check_u64(count_files(left.records), 1,
		  "records that stay when the finder is killed before the release");
	look(1);
	check(left.found.stopped == 1 && count_files(left.records) == 0,
	      "the next xtop finds the record that stayed");
	for (unsigned i = 0; i <= PAUSE_MAX_FOUND; i++)
		leave(true, 1);
	look(1);
	check(left.found.stopped == PAUSE_MAX_FOUND && count_files(left.records) == 1,
	      "a search leaves the record that is more than it can keep");
	look(1);
	check(left.found.stopped == 1 && count_files(left.records) == 0,
	      "the next xtop finds the record that was left");
}

static void test_others(void)
{
	leave(true, 1);
	info.domid = 8;
	look(1);
	check(!left.found.stale && count_files(left.records) == 1,
	      "a record of another domid stays");
	info.domid = 7;
	info.uuid[0] = '9';
	look(1);
	check(!left.found.stale && count_files(left.records) == 1,
	      "a record of another domain with the same domid stays");
	info.uuid[0] = '1';
	look(1);
	check(left.found.stopped == 1 && count_files(left.records) == 0,
	      "the record of the domain itself is found and removed");
}

/* --- two at a time ---------------------------------------------------------------------------- */

/* An xtop that samples the domain until it is killed. Returns when its record is there. */
static pid_t start_another(void)
{
	struct pause_file file;
	int ready[2];
	char byte;
	pid_t child;

	if (pipe(ready))
		abort();
	child = fork();
	if (child == 0) {
		make_file(&file);
		close(ready[1]);
		for (;;)
			pause();
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1)) /* end of file */
		abort();
	close(ready[0]);
	return child;
}

/* A domain that another xtop samples: create a record of our own. Returns the error. */
static const char *create_second(bool shared)
{
	static char message[200];
	struct pause_file file;
	struct xtop_error *error = pause_file_create(left.records, &info, 1, shared, &file);

	snprintf(message, sizeof(message), "%s", error ? error_message(error) : "");
	check(!error == !!file.record, "a second xtop gets either a record or an error");
	error_destroy(error);
	pause_file_remove(&file);
	return message;
}

static void test_second(void)
{
	pid_t another = start_another();
	char wanted[128];

	snprintf(wanted, sizeof(wanted),
		 "domain 'web01' is already profiled by process %d (xtop): --shared allows both",
		 another);
	check_string(create_second(false), wanted, "a second xtop is refused");
	check_u64(count_files(left.records), 1,
		  "records that are left, which are the first xtop's");
	check_string(create_second(true), "", "a second xtop that may share gets no error");
	info.domid = 8;
	check_string(create_second(false), "", "a second xtop for another domain gets no error");
	info.domid = 7;
	kill_process(another, SIGKILL);
	waitpid(another, NULL, 0);
	check_string(create_second(false), "",
		     "a second xtop gets no error after the first was killed");
	look(0);
}

/* Until BARRIER ends, then create a record, and keep it until HOLD ends. */
static int create_at(int barrier, int hold)
{
	struct pause_file file;
	char byte;

	if (read(barrier, &byte, 1) || pause_file_create(left.records, &info, OWNER, false, &file))
		return 1;
	return read(hold, &byte, 1) != 0;
}

/* Eight at the same moment: one of them gets the guest. */
static void test_race(void)
{
	unsigned winners = 0;
	int barrier[2], hold[2], status;
	pid_t children[8];

	if (pipe(barrier) || pipe(hold))
		abort();
	for (unsigned i = 0; i < 8; i++) {
		children[i] = fork();
		if (children[i])
			continue;
		close(barrier[1]);
		close(hold[1]);
		_exit(create_at(barrier[0], hold[0]));
	}
	close(barrier[1]);
	for (unsigned refused = 0; refused < 7; refused++) /* the others have ended */
		if (waitpid(-1, &status, 0) < 0 || !WIFEXITED(status) || !WEXITSTATUS(status))
			abort();
	close(hold[1]);
	if (waitpid(-1, &status, 0) > 0)
		winners += WIFEXITED(status) && !WEXITSTATUS(status);
	check_u64(winners, 1, "xtops that sample, of eight that start together");
	close(barrier[0]);
	close(hold[0]);
	look(0);
}

/* Another xtop holds the folder's lock, and is stopped. */
static void test_stuck(void)
{
	int folder_fd = open(left.records, O_RDONLY | O_DIRECTORY);

	if (flock(folder_fd, LOCK_EX))
		abort();
	check_string(create_second(false),
		     "another xtop is starting at this moment: start this one again",
		     "the lock is not given back");
	check_string(create_second(true), "", "--shared does without the lock");
	close(folder_fd);
	check_string(create_second(false), "",
		     "an xtop gets no error after the lock was given back");
}

static void put(const char *name, const char *bytes)
{
	char path[200];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%u.%s.%s", left.records, info.domid, info.uuid, name);
	file = fopen(path, "w");
	fputs(bytes, file);
	fclose(file);
}

/* A record with wrong first bytes. */
static void test_damaged_magic(void)
{
	struct pause_file file;

	make_file(&file);
	pause_mark_begin(&file.record->mark, 0, 0);
	file.record->magic[0]++;
	munmap(file.record, sizeof(*file.record));
	close(file.fd);
	file = (struct pause_file){ .path = file.path, .fd = -1 };
	look(0);
	check(left.found.stale == 1 && !left.found.stopped,
	      "a file with another magic is no record");
	pause_file_remove(&file);
}

/* A link with the name that this process uses. */
static void test_link_made_before(void)
{
	struct pause_file file;
	char path[200], target[80];

	snprintf(path, sizeof(path), "%s/%u.%s.%d", left.records, info.domid, info.uuid, getpid());
	snprintf(target, sizeof(target), "%s/target", left.folder);
	check(symlink(target, path) == 0, "a symlink with a record's name is made");
	make_file(&file);
	check(!file.record && access(target, F_OK) < 0, "nothing is written through the symlink");
	pause_file_remove(&file);
	unlink(path);
	unlink(target);
}

static void test_damaged(void)
{
	char path[200];

	put("1", "");
	put("2", "XTOPRUN\n and no more");
	put("3", "something else of a good length, which is neither a record nor anything that one "
		 "could take for a record, were it not for its name");
	look(0);
	check(left.found.stale == 3 && !left.found.stopped && count_files(left.records) == 0,
	      "three damaged records are stale and removed: %u", left.found.stale);
	snprintf(path, sizeof(path), "%s/%u.%s.4", left.records, info.domid, info.uuid);
	check(symlink("/etc/passwd", path) == 0, "a symlink to /etc/passwd is made");
	look(0);
	check(!left.found.stale && count_files(left.records) == 1,
	      "a symlink in the folder is not followed");
	unlink(path);
	test_damaged_magic();
	test_link_made_before();
}

static void check_tried(const char *directory, bool works, const char *what)
{
	struct xtop_error *error = pause_try_directory(directory);

	check(!error == works, "%s: %s", what, error ? error_message(error) : "stops are recorded");
	error_destroy(error);
}

/* A folder that others can write to is not trusted. */
static void test_open_folder(void)
{
	struct pause_file file;

	leave(true, 1);
	chmod(left.records, 0777);
	look(1);
	check(!left.found.stale, "a folder that others may write to is not read");
	make_file(&file);
	check(!file.record && file.fd < 0, "a folder that others may write to is not written to");
	pause_file_remove(&file);
	chmod(left.records, 0700);
	if (geteuid() == 0 && chown(left.records, 65534, 65534) == 0) {
		look(1);
		check(!left.found.stale, "another user's folder is not read");
		if (chown(left.records, 0, 0))
			abort();
	}
	look(1);
	check_u64(left.found.stopped, 1, "stopped guests found in our own closed folder");
	check(!pause_file_create("/nonexistent/x", &info, OWNER, false, &file) && !file.record,
	      "without a folder there is no record and no error");
	check_tried("/nonexistent/x", false, "a folder that is missing");
	check_tried(left.records, true, "a folder of our own");
	check_u64(count_files(left.records), 0, "files that a try leaves");
}

#define NO_MOUNT 2

/* In a child: a file system of one page, which another file uses. */
static int create_where_full(void)
{
	static const char page[4096];
	struct xtop_error *error;
	struct pause_file file;
	char path[80];
	int fd;

	if (unshare(CLONE_NEWNS) && unshare(CLONE_NEWUSER | CLONE_NEWNS))
		return NO_MOUNT;
	if (mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", left.records, "tmpfs", 0, "size=4096,mode=0700"))
		return NO_MOUNT;
	snprintf(path, sizeof(path), "%s/full", left.records);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	if (write(fd, page, sizeof(page)) != sizeof(page))
		return NO_MOUNT;
	make_file(&file);
	if (file.record || file.fd >= 0)
		return 1;
	pause_file_remove(&file);
	error = pause_try_directory(left.records);
	if (!error)
		return 1;
	error_destroy(error);
	return count_files(left.records) == 1 ? 0 : 1;
}

/* With a full disk, xtop goes on without a record, and gets no SIGBUS. */
static void test_full(void)
{
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(create_where_full());
	waitpid(child, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NO_MOUNT)
		printf("# SKIP a full file system: mount() is not allowed here\n");
	else
		check(WIFEXITED(status) && !WEXITSTATUS(status),
		      "a full file system: no record, status %x", status);
}

int main(void)
{
	if (!mkdtemp(left.folder))
		abort();
	snprintf(left.records, sizeof(left.records), "%s/run", left.folder);
	test_ends_well();
	test_starts_together();
	test_judged_meanwhile();
	test_survivor();
	test_left();
	test_found_and_killed();
	test_others();
	test_second();
	test_race();
	test_stuck();
	test_damaged();
	test_open_folder();
	test_full();
	rmdir(left.records);
	rmdir(left.folder);
	return tap_done();
}
