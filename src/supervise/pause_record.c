/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of stops in files; see pause_record.h. The starter makes a record, the sampler writes the
 * marks, and the keeper removes the record. The starter, and main while main has its rights, look
 * for records of killed xtops.
 *
 * A pause was made by xtop if the mark says that a stop had begun and not ended, and if the guest
 * has used no CPU time since the look before that stop. If an administrator has released the guest
 * in between, and has paused it again for another reason, the guest has used CPU time.
 */
#include "config.h"

#include "supervise/pause_record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "xtop/base/cleanup.h"
#include "xtop/supervise/broker.h"

#define PAUSE_MAGIC "XTOPRUN\n"
/*
 * CPU time that each vCPU may use between the mark and the pause that follows it. If a vCPU has
 * used more, somebody has released the guest since.
 */
#define PAUSE_SLACK_NS 100000000ULL
#define PAUSE_MAX_NS   10000000000ULL /* most from mark to stop; a damaged record has more */
/*
 * How often to try to make and lock a file. A second try is needed only if another xtop starts at
 * that moment.
 */
#define PAUSE_ATTEMPTS 16
#define PAUSE_LOCK_MS  200 /* how long to wait for an xtop that starts at this moment */

static int pause_open_directory(const char *path)
{
	struct stat status;
	int fd;

	mkdir(path, 0700); /* open() below tells whether the folder is there */
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || (fstat(fd, &status) == 0 && status.st_uid == geteuid() &&
		       !(status.st_mode & (S_IWGRP | S_IWOTH))))
		return fd;
	close(fd);
	return -1;
}

/* Writes "DOMID.UUID.", with which the names of the domain's files begin. */
static void pause_name_front(const struct guest_info *info, char front[64])
{
	snprintf(front, 64, "%u.%.36s.", info->domid, info->uuid);
}

/* Calls VISIT for each file in FOLDER that is named after the domain of INFO. */
static void pause_visit_records(int folder, const struct guest_info *info,
				void (*visit)(int folder, const char *name, void *context),
				void *context)
{
	DIR *stream = folder < 0 ? NULL : fdopendir(openat(folder, ".", O_RDONLY | O_CLOEXEC));
	struct dirent *entry;
	char front[64];

	pause_name_front(info, front);
	while (stream && (entry = readdir(stream)))
		if (strncmp(entry->d_name, front, strlen(front)) == 0 &&
		    strlen(entry->d_name) < PAUSE_NAME_BYTES)
			visit(folder, entry->d_name, context);
	if (stream)
		closedir(stream);
}

/*
 * Gives the new FILE its size, and maps it. Writes zeros instead of only setting the size: if the
 * disk is full, this fails now, and not by SIGBUS later.
 */
static bool pause_map(struct pause_file *file)
{
	static const struct pause_record empty;
	void *map = MAP_FAILED;

	if (pwrite(file->fd, &empty, sizeof(empty), 0) == sizeof(empty))
		map = mmap(NULL, sizeof(*file->record), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_POPULATE, file->fd, 0);
	file->record = map == MAP_FAILED ? NULL : map;
	return file->record;
}

/*
 * Whether NAME is still the name of the file FD. If this process has locked the file, nobody
 * removes NAME.
 */
static bool pause_is_in_folder(int folder, const char *name, int fd)
{
	struct stat named, opened;

	return fstat(fd, &opened) == 0 && fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

/*
 * Creates the file NAME and locks it. Returns -1 after a failure. Before the file is locked, it
 * looks like a file of a killed xtop: another xtop that starts at this moment may lock it to read
 * it, or may already have removed it.
 */
static int pause_open_locked(int folder, const char *name)
{
	for (unsigned i = 0; i < PAUSE_ATTEMPTS; i++) {
		int fd = openat(folder, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

		if (fd < 0)
			return -1;
		if (flock(fd, LOCK_EX | LOCK_NB) == 0 && pause_is_in_folder(folder, name, fd))
			return fd;
		close(fd);
		sched_yield();
	}
	return -1;
}

/*
 * Returns the process of NAME's record if a living xtop has locked the record, and otherwise 0. An
 * xtop that judges the record of a killed xtop has locked it, too; then the process is dead.
 */
static uint32_t pause_get_owner(int folder, const char *name)
{
	_cleanup_close_ int fd =
		openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct pause_record record;

	if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB) == 0 ||
	    pread(fd, &record, sizeof(record), 0) != sizeof(record) ||
	    (kill((pid_t)record.pid, 0) < 0 && errno == ESRCH))
		return 0;
	return record.pid;
}

static void pause_update_owner(int folder, const char *name, void *context)
{
	uint32_t *pid = context;

	if (!*pid)
		*pid = pause_get_owner(folder, name);
}

static void pause_create_in(int folder, const char *directory, const struct guest_info *info,
			    uint32_t pid, struct pause_file *file)
{
	char front[64], name[80];

	pause_name_front(info, front);
	snprintf(name, sizeof(name), "%s%d", front, getpid());
	file->fd = pause_open_locked(folder, name);
	if (file->fd < 0 || asprintf(&file->path, "%s/%s", directory, name) < 0 ||
	    !pause_map(file)) {
		pause_file_remove(file);
		return;
	}
	*file->record = (struct pause_record){ .domid = info->domid, .pid = pid };
	memcpy(file->record->uuid, info->uuid, sizeof(file->record->uuid));
	memcpy(file->record->magic, PAUSE_MAGIC, sizeof(file->record->magic));
}

/*
 * Lets one xtop at a time look for other records and make its own. The lock ends when FOLDER is
 * closed. False: another xtop holds the lock. Somebody may have stopped that xtop (SIGSTOP), and
 * the starter must not wait for long.
 */
static bool pause_lock_directory(int folder)
{
	const struct timespec nap = { .tv_nsec = 1000000 };

	for (unsigned i = 0; i < PAUSE_LOCK_MS; i++) {
		if (flock(folder, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
			return true;
		nanosleep(&nap, NULL);
	}
	return false;
}

struct xtop_error *pause_file_create(const char *directory, const struct guest_info *info,
				     uint32_t pid, bool shared, struct pause_file *file)
{
	_cleanup_close_ int folder = pause_open_directory(directory);
	uint32_t other = 0;

	*file = (struct pause_file){ .fd = -1 };
	if (folder < 0)
		return NULL;
	if (!pause_lock_directory(folder) && !shared)
		return error_create("another xtop is starting at this moment: "
				    "start this one again");
	if (!shared)
		pause_visit_records(folder, info, pause_update_owner, &other);
	if (other)
		return error_create("domain '%s' is already profiled by process %u (xtop): "
				    "--shared allows both",
				    info->name, other);
	pause_create_in(folder, directory, info, pid, file);
	return NULL;
}

struct xtop_error *pause_try_directory(const char *directory)
{
	_cleanup_close_ int folder = pause_open_directory(directory);
	const struct guest_info none = { .uuid = "none" };
	struct pause_file file = { .fd = -1 };
	bool made;

	if (folder >= 0)
		pause_create_in(folder, directory, &none, (uint32_t)getpid(), &file);
	made = file.record;
	pause_file_remove(&file);
	return made ? NULL
		    : error_create("stops are not recorded, because '%s' is missing, full or not "
				   "root's own: a guest stays paused if all of xtop is killed at "
				   "once in a stop",
				   directory);
}

struct xtop_error *guest_try_record(void)
{
	return pause_try_directory(PAUSE_DIRECTORY);
}

void pause_file_remove(struct pause_file *file)
{
	if (file->path)
		unlink(file->path);
	pause_file_close(file);
}

void pause_file_close(struct pause_file *file)
{
	if (file->record)
		munmap(file->record, sizeof(*file->record));
	if (file->fd >= 0)
		close(file->fd);
	free(file->path);
	*file = (struct pause_file){ .fd = -1 };
}

/* --- records of other processes --------------------------------------------------------------- */

/*
 * Whether the guest can have used CPU_TIME_NS although nobody has released it since the mark. If
 * so, the pause is xtop's own.
 */
static bool pause_is_ours(const struct pause_record *record, unsigned n_vcpus, uint64_t cpu_time_ns)
{
	uint64_t since_ns = record->mark.since_ns < PAUSE_MAX_NS ? record->mark.since_ns : 0;

	return cpu_time_ns >= record->mark.cpu_time_ns &&
	       cpu_time_ns - record->mark.cpu_time_ns <= (since_ns + PAUSE_SLACK_NS) * n_vcpus;
}

static void pause_judge_record(const struct pause_record *record, const struct guest_info *info,
			       uint64_t cpu_time_ns, struct pause_found *found)
{
	if (memcmp(record->magic, PAUSE_MAGIC, sizeof(record->magic)) != 0 ||
	    !record->mark.is_stopped)
		return;
	found->pid = record->pid;
	if (pause_is_ours(record, info->n_vcpus, cpu_time_ns))
		found->stopped++;
	else
		found->run++;
}

/* Moves the descriptor *FD to FOUND, and with it the lock. */
static void pause_keep_file(struct pause_found *found, const char *name, int *fd)
{
	memcpy(found->files[found->stale].name, name, strlen(name) + 1);
	found->files[found->stale++].fd = *fd;
	*fd = -1;
}

/* What pause_judge_file() needs to know. */
struct pause_judgement {
	const struct guest_info *info;
	uint64_t cpu_time_ns;
	struct pause_found *found;
};

static void pause_judge_file(int folder, const char *name, void *context)
{
	const struct pause_judgement *judgement = context;
	struct pause_found *found = judgement->found;
	_cleanup_close_ int fd = openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct pause_record record = { 0 };

	if (fd < 0 || found->stale == PAUSE_MAX_FOUND)
		return;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		found->live++;
		return;
	}
	if (!pause_is_in_folder(folder, name, fd))
		return; /* another xtop has removed the file; a new one may have its name */
	if (pread(fd, &record, sizeof(record), 0) < 0)
		return;
	pause_judge_record(&record, judgement->info, judgement->cpu_time_ns, found);
	pause_keep_file(found, name, &fd);
}

void pause_find_records(const char *directory, const struct guest_info *info, uint64_t cpu_time_ns,
			struct pause_found *found)
{
	struct pause_judgement judgement = { info, cpu_time_ns, found };

	*found = (struct pause_found){ .folder = pause_open_directory(directory) };
	pause_visit_records(found->folder, info, pause_judge_file, &judgement);
}

void pause_close_records(struct pause_found *found, bool remove)
{
	for (unsigned i = 0; i < found->stale; i++) {
		if (remove)
			unlinkat(found->folder, found->files[i].name, 0);
		close(found->files[i].fd);
	}
	if (found->folder >= 0)
		close(found->folder);
	found->stale = 0;
	found->folder = -1;
}
