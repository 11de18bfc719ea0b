/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A limit for files that grow; see disk_room.h. */
#include "config.h"

#include "xtop/base/disk_room.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define DISK_ROOM_PART  20 /* 1/20 of a file system stays free */
#define DISK_ROOM_SPARE (1ULL << 30)
#define DISK_ROOM_LEAST (256ULL << 20)

uint64_t disk_room_spare(uint64_t total)
{
	uint64_t part = total / DISK_ROOM_PART;

	return part < DISK_ROOM_SPARE ? part : DISK_ROOM_SPARE;
}

/* The largest file behind a standard stream. The shell may append to one that is large already. */
static uint64_t disk_room_streams(void)
{
	uint64_t most = 0;
	struct stat status;

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
		    (uint64_t)status.st_size > most)
			most = (uint64_t)status.st_size;
	return most;
}

void disk_room_keep(const char *path)
{
	uint64_t least = disk_room_streams() + DISK_ROOM_LEAST, room, spare;
	struct statvfs disk;
	struct rlimit limit;
	struct stat status;

	if (stat(path, &status) < 0 || !S_ISREG(status.st_mode) || statvfs(path, &disk) < 0 ||
	    getrlimit(RLIMIT_FSIZE, &limit) < 0)
		return;
	room = (uint64_t)disk.f_bavail * disk.f_frsize;
	spare = disk_room_spare((uint64_t)disk.f_blocks * disk.f_frsize);
	room = room > spare + least ? room - spare : least;
	if (limit.rlim_cur > room)
		limit.rlim_cur = room;
	if (limit.rlim_max > room)
		limit.rlim_max = room;
	setrlimit(RLIMIT_FSIZE, &limit);
}
