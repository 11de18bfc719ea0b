/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a killed xtop leaves, and what the next one makes of it: only a record whose processes are
 * all gone, that says "stopped", of a guest that has not run since, is a pause of ours.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervise/pause_record.h"
#include "tests/support/tap.h"

static char folder[] = "/tmp/xtop-test-XXXXXX";
static char records[64];
static struct pause_found found;
static struct guest_info info = {
	.name = "web01", .uuid = "11111111-2222-3333-4444-555555555555", .domid = 7, .n_vcpus = 2
};

/*
 * In the place of libc's: at that instant the file is open and not locked yet. Another xtop that
 * starts takes away what is in the folder, or has it locked, so many times; or has done so, and a
 * third has made its own of that name.
 */
static unsigned n_taken_away, n_locked;
static bool is_made_anew;

static void take_away(void)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/%u.%s.%d", records, info.domid, info.uuid, getpid());
	unlink(path);
	if (is_made_anew)
		close(open(path, O_WRONLY | O_CREAT | O_EXCL, 0600));
}

int flock(int fd, int operation)
{
	if (n_locked) {
		n_locked--;
		errno = EWOULDBLOCK;
		return -1;
	}
	if (n_taken_away) {
		n_taken_away--;
		take_away();
	}
	return (int)syscall(SYS_flock, fd, operation);
}

static unsigned n_files(void)
{
	DIR *stream = opendir(records);
	struct dirent *entry;
	unsigned n = 0;

	while (stream && (entry = readdir(stream)))
		n += entry->d_name[0] != '.';
	if (stream)
		closedir(stream);
	return n;
}

/* An xtop that is killed: STOPPED, with the guest's clock at CPU_TIME_NS, SINCE_NS ago. */
static void leave_since(bool stopped, uint64_t cpu_time_ns, uint64_t since_ns)
{
	pid_t child = fork();

	if (child == 0) {
		struct pause_file file;

		pause_file_create(records, &info, &file);
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

static void look(uint64_t cpu_time_ns)
{
	pause_find_records(records, &info, cpu_time_ns, &found);
}

static void test_ends_well(void)
{
	struct pause_file file;
	struct stat status;

	look(0);
	check(!found.live && !found.stale, "nothing there yet");
	pause_file_create(records, &info, &file);
	check(file.record && n_files() == 1, "a record: %s", file.path ? file.path : "none");
	check(stat(records, &status) == 0 && (status.st_mode & 07777) == 0700, "folder: 0700");
	check(file.path && stat(file.path, &status) == 0 && (status.st_mode & 07777) == 0600,
	      "file: 0600");
	pause_mark_begin(&file.record->mark, 5, 0);
	look(5);
	check(found.live == 1 && !found.stale && n_files() == 1, "it is locked: live, and stays");
	pause_mark_end(&file.record->mark);
	pause_file_remove(&file);
	check(!file.record && n_files() == 0, "removed");
	pause_mark_begin(NULL, 1, 1);
	pause_mark_end(NULL);
}

/* Another xtop starts just then: the record is in the folder, or there is none. */
static void test_starts_together(void)
{
	struct pause_file file;

	n_taken_away = 3;
	pause_file_create(records, &info, &file);
	check(file.record && n_files() == 1, "taken away before it was locked: made again");
	look(0);
	check_u64(found.live, 1, "and the next one sees it");
	pause_file_remove(&file);
	check_u64(n_files(), 0, "removed");
	n_locked = 3;
	pause_file_create(records, &info, &file);
	check(file.record && n_files() == 1, "while another judges it: made again");
	pause_file_remove(&file);
	n_taken_away = 1000;
	pause_file_create(records, &info, &file);
	check(!file.record && file.fd < 0 && !file.path && n_taken_away > 900,
	      "always taken away: none, after %u", 1000 - n_taken_away);
	pause_file_remove(&file);
	n_taken_away = 0;
}

/* It was there when it was opened; when it is locked, another of its name is. */
static void test_judged_meanwhile(void)
{
	struct pause_file file;

	pause_file_create(records, &info, &file);
	munmap(file.record, sizeof(*file.record));
	close(file.fd);
	n_taken_away = 1;
	is_made_anew = true;
	look(0);
	is_made_anew = false;
	check(!found.stale && n_files() == 1, "a new one in its place is not taken for it");
	file = (struct pause_file){ .path = file.path, .fd = -1 };
	pause_file_remove(&file);
}

/* The lock is of the open file: a child that has it keeps it. */
static void test_survivor(void)
{
	struct pause_file file;
	int pipe_fds[2];
	pid_t child;
	char byte;

	if (pipe(pipe_fds))
		abort();
	pause_file_create(records, &info, &file);
	child = fork();
	if (child == 0) {
		close(pipe_fds[1]);
		_exit(read(pipe_fds[0], &byte, 1) != 0);
	}
	close(pipe_fds[0]);
	munmap(file.record, sizeof(*file.record)); /* a mapping is of the open file, too */
	file.record = NULL;
	close(file.fd);
	look(0);
	check_u64(found.live, 1, "live while a child of it lives");
	close(pipe_fds[1]);
	waitpid(child, NULL, 0);
	look(0);
	check(!found.live && found.stale == 1 && n_files() == 0, "stale after it, and removed");
	file.fd = -1;
	pause_file_remove(&file);
}

static void test_left(void)
{
	leave(true, 1000000000);
	look(1000000000);
	check(found.stale == 1 && found.stopped == 1 && !found.run && found.pid, "stopped: ours");
	look(1000000000);
	check(!found.stale, "told once only");
	leave(true, 1000000000);
	look(1200000000);
	check_u64(found.stopped, 1, "0.1 s a vCPU may pass between look and stop");
	leave(true, 1000000000);
	look(1200000001);
	check(!found.stopped && found.run == 1, "it has run since: somebody else's");
	leave_since(true, 1000000000, 300000000);
	look(1800000000);
	check_u64(found.stopped, 1, "and what passed between them");
	leave_since(true, 1000000000, 300000000);
	look(1800000001);
	check_u64(found.run, 1, "but no more");
	leave_since(true, 1000000000, UINT64_MAX);
	look(1200000001);
	check_u64(found.run, 1, "a damaged time between them counts for none");
	leave_since(true, 1000000000, 10000000000);
	look(1200000001);
	check_u64(found.run, 1, "nor does one of ten seconds");
	leave(true, 1000000000);
	look(999999999);
	check(!found.stopped && found.run == 1, "a clock that went back: somebody else's");
	leave(false, 1000000000);
	look(1000000000);
	check(found.stale == 1 && !found.stopped && !found.run, "killed while the guest ran");
	leave(true, 1);
	leave(true, 1);
	look(1);
	check_u64(found.stopped, 2, "two xtops, both killed in a stop");
}

static void test_others(void)
{
	leave(true, 1);
	info.domid = 8;
	look(1);
	check(!found.stale && n_files() == 1, "another domid");
	info.domid = 7;
	info.uuid[0] = '9';
	look(1);
	check(!found.stale && n_files() == 1, "another domain of that number");
	info.uuid[0] = '1';
	look(1);
	check(found.stopped == 1 && n_files() == 0, "its own");
}

static void put(const char *name, const char *bytes)
{
	char path[200];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%u.%s.%s", records, info.domid, info.uuid, name);
	file = fopen(path, "w");
	fputs(bytes, file);
	fclose(file);
}

/* All of a record but its first bytes. */
static void test_damaged_magic(void)
{
	struct pause_file file;

	pause_file_create(records, &info, &file);
	pause_mark_begin(&file.record->mark, 0, 0);
	file.record->magic[0]++;
	munmap(file.record, sizeof(*file.record));
	close(file.fd);
	file = (struct pause_file){ .path = file.path, .fd = -1 };
	look(0);
	check(found.stale == 1 && !found.stopped, "one with another magic is no record");
	pause_file_remove(&file);
}

/* At the name that this process would take. */
static void test_link_made_before(void)
{
	struct pause_file file;
	char path[200], target[80];

	snprintf(path, sizeof(path), "%s/%u.%s.%d", records, info.domid, info.uuid, getpid());
	snprintf(target, sizeof(target), "%s/target", folder);
	check(symlink(target, path) == 0, "a symlink in a record's place");
	pause_file_create(records, &info, &file);
	check(!file.record && access(target, F_OK) < 0, "is not written through");
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
	check(found.stale == 3 && !found.stopped && n_files() == 0, "damaged ones: %u",
	      found.stale);
	snprintf(path, sizeof(path), "%s/%u.%s.4", records, info.domid, info.uuid);
	check(symlink("/etc/passwd", path) == 0, "a symlink");
	look(0);
	check(!found.stale && n_files() == 1, "is not followed");
	unlink(path);
	test_damaged_magic();
	test_link_made_before();
}

/* A folder others can write to holds nothing to be believed. */
static void test_open_folder(void)
{
	struct pause_file file;

	leave(true, 1);
	chmod(records, 0777);
	look(1);
	check(!found.stale, "an open folder is not read");
	pause_file_create(records, &info, &file);
	check(!file.record && file.fd < 0, "nor written to");
	pause_file_remove(&file);
	chmod(records, 0700);
	if (geteuid() == 0 && chown(records, 65534, 65534) == 0) {
		look(1);
		check(!found.stale, "nor is somebody else's");
		if (chown(records, 0, 0))
			abort();
	}
	look(1);
	check_u64(found.stopped, 1, "closed again");
	pause_file_create("/nonexistent/x", &info, &file);
	check(!file.record, "no folder: no record");
}

#define NO_MOUNT 2

/* In a child: a file system of one page, which another file has. */
static int create_where_full(void)
{
	static const char page[4096];
	struct pause_file file;
	char path[80];
	int fd;

	if (unshare(CLONE_NEWNS) && unshare(CLONE_NEWUSER | CLONE_NEWNS))
		return NO_MOUNT;
	if (mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", records, "tmpfs", 0, "size=4096,mode=0700"))
		return NO_MOUNT;
	snprintf(path, sizeof(path), "%s/full", records);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	if (write(fd, page, sizeof(page)) != sizeof(page))
		return NO_MOUNT;
	pause_file_create(records, &info, &file);
	if (file.record || file.fd >= 0)
		return 1;
	pause_file_remove(&file);
	return n_files() == 1 ? 0 : 1;
}

/* Who cannot keep a record goes on without, and is not killed by one that has no room. */
static void test_full(void)
{
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(create_where_full());
	waitpid(child, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NO_MOUNT)
		printf("# SKIP a full file system: nothing may be mounted here\n");
	else
		check(WIFEXITED(status) && !WEXITSTATUS(status),
		      "a full file system: no record, status %x", status);
}

int main(void)
{
	if (!mkdtemp(folder))
		abort();
	snprintf(records, sizeof(records), "%s/run", folder);
	test_ends_well();
	test_starts_together();
	test_judged_meanwhile();
	test_survivor();
	test_left();
	test_others();
	test_damaged();
	test_open_folder();
	test_full();
	rmdir(records);
	rmdir(folder);
	return tap_done();
}
