/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of who samples which guest; see supervise/pause_record.h. The broker's process, but for the
 * marks, which are the sampler's.
 *
 * How a pause is known as ours: the mark says that a stop had begun and not ended, and the guest has
 * used no CPU time since the look before that stop. If an administrator let it run in between and
 * has paused it again for reasons of his own, it has.
 */
#include "config.h"

#include "supervise/pause_record.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "xtop/cleanup.h"

#define PAUSE_MAGIC "XTOPRUN\n"
/*
 * Of each vCPU, besides the time between look and stop: until the pause that follows the mark. More
 * than this and somebody has let the guest go since.
 */
#define PAUSE_SLACK_NS 100000000ULL
#define PAUSE_MAX_NS   10000000000ULL /* between look and stop: anything longer is a damaged record */
/* To make a file that nobody takes away before it is locked: each needs another xtop that starts. */
#define PAUSE_ATTEMPTS 16

static int pause_open_directory(const char *path)
{
	struct stat status;
	int fd;

	mkdir(path, 0700); /* that it is there already shows below */
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || (fstat(fd, &status) == 0 && status.st_uid == geteuid() &&
		       !(status.st_mode & (S_IWGRP | S_IWOTH))))
		return fd;
	close(fd);
	return -1;
}

/* "DOMID.UUID.", to be compared with the front of a name. */
static void pause_name_front(const struct guest_info *info, char front[64])
{
	snprintf(front, 64, "%u.%.36s.", info->domid, info->uuid);
}

/* Written, not only made so long: without room for it there is none, and no SIGBUS later. */
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

/* Whether the file of FD is still the one of that NAME. Who has it locked keeps it so. */
static bool pause_is_in_folder(int folder, const char *name, int fd)
{
	struct stat named, opened;

	return fstat(fd, &opened) == 0 && fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

/*
 * A file of NAME, locked; < 0: none. Before it is locked it looks like one that was left, and an xtop
 * that starts at that instant may have it locked to judge it, or taken away.
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

void pause_file_create(const char *directory, const struct guest_info *info,
		       struct pause_file *file)
{
	_cleanup_close_ int folder = pause_open_directory(directory);
	char front[64], name[80];

	*file = (struct pause_file){ .fd = -1 };
	if (folder < 0)
		return;
	pause_name_front(info, front);
	snprintf(name, sizeof(name), "%s%d", front, getpid());
	file->fd = pause_open_locked(folder, name);
	if (file->fd < 0 || asprintf(&file->path, "%s/%s", directory, name) < 0 ||
	    !pause_map(file)) {
		pause_file_remove(file);
		return;
	}
	*file->record = (struct pause_record){
		.domid = info->domid,
		.pid = (uint32_t)getpid(),
	};
	memcpy(file->record->uuid, info->uuid, sizeof(file->record->uuid));
	memcpy(file->record->magic, PAUSE_MAGIC, sizeof(file->record->magic));
}

void pause_file_remove(struct pause_file *file)
{
	if (file->path)
		unlink(file->path);
	if (file->record)
		munmap(file->record, sizeof(*file->record));
	if (file->fd >= 0)
		close(file->fd);
	free(file->path);
	*file = (struct pause_file){ .fd = -1 };
}

/* --- what is left of others ------------------------------------------------------------------- */

/* Whether the guest may have used so much CPU time without anybody letting it go. */
static bool pause_is_ours(const struct pause_record *record, unsigned n_vcpus, uint64_t cpu_time_ns)
{
	uint64_t since_ns = record->mark.since_ns < PAUSE_MAX_NS ? record->mark.since_ns : 0;

	return cpu_time_ns >= record->mark.cpu_time_ns &&
	       cpu_time_ns - record->mark.cpu_time_ns <= (since_ns + PAUSE_SLACK_NS) * n_vcpus;
}

static void pause_judge(const struct pause_record *record, const struct guest_info *info,
			uint64_t cpu_time_ns, struct pause_leftovers *found)
{
	found->stale++;
	if (memcmp(record->magic, PAUSE_MAGIC, sizeof(record->magic)) != 0 || !record->mark.is_stopped)
		return;
	found->pid = record->pid;
	if (pause_is_ours(record, info->n_vcpus, cpu_time_ns))
		found->stopped++;
	else
		found->run++;
}

static void pause_look_at(int folder, const char *name, const struct guest_info *info,
			  uint64_t cpu_time_ns, struct pause_leftovers *found)
{
	_cleanup_close_ int fd = openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct pause_record record = { 0 };

	if (fd < 0)
		return;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		found->live++;
		return;
	}
	if (!pause_is_in_folder(folder, name, fd))
		return; /* another xtop has judged it; what has its name now is somebody's, and new */
	if (pread(fd, &record, sizeof(record), 0) < 0)
		return;
	pause_judge(&record, info, cpu_time_ns, found);
	unlinkat(folder, name, 0);
}

void pause_find_leftovers(const char *directory, const struct guest_info *info,
			  uint64_t cpu_time_ns, struct pause_leftovers *found)
{
	int folder = pause_open_directory(directory);
	DIR *stream = folder < 0 ? NULL : fdopendir(folder);
	struct dirent *entry;
	char front[64];

	*found = (struct pause_leftovers){ 0 };
	pause_name_front(info, front);
	while (stream && (entry = readdir(stream)))
		if (strncmp(entry->d_name, front, strlen(front)) == 0)
			pause_look_at(folder, entry->d_name, info, cpu_time_ns, found);
	if (stream)
		closedir(stream);
	else if (folder >= 0)
		close(folder);
}
