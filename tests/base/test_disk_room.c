/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The limit of files that grow, in processes of their own: it cannot be taken back. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/tap.h"
#include "xtop/base/disk_room.h"

#define MIB (1ULL << 20)
#define GIB (1ULL << 30)

static char path[] = "/tmp/xtop-disk-room-XXXXXX";

/* Calls TEST in a process of its own. */
static bool passes(bool (*test)(void))
{
	int status = 1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(!test());
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static uint64_t limit_now(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur == limit.rlim_max
		       ? limit.rlim_cur
		       : 0;
}

/* Other processes write to the disk, too: 2 GiB more or less are let through. */
static bool is_what_is_free(void)
{
	struct statvfs disk;
	uint64_t most, spare;

	if (statvfs(path, &disk) < 0)
		return false;
	most = (uint64_t)disk.f_bavail * disk.f_frsize;
	spare = disk_room_spare((uint64_t)disk.f_blocks * disk.f_frsize);
	disk_room_keep(path);
	most = most > spare + 256 * MIB ? most - spare : 256 * MIB;
	return limit_now() >= 256 * MIB && limit_now() < most + 2 * GIB &&
	       limit_now() + 2 * GIB > most;
}

static bool stops_a_write(void)
{
	uint64_t limit;
	int fd = open(path, O_WRONLY);

	signal(SIGXFSZ, SIG_IGN);
	disk_room_keep(path);
	limit = limit_now();
	return pwrite(fd, "x", 1, (off_t)limit - 1) == 1 &&
	       pwrite(fd, "x", 1, (off_t)limit) < 0 && errno == EFBIG;
}

static bool leaves_streams(void)
{
	int fd = open(path, O_RDWR);
	uint64_t before;

	disk_room_keep("/dev/null"); /* so far without a limit */
	before = limit_now();
	dup2(fd, STDOUT_FILENO);
	if (ftruncate(fd, (off_t)(1ULL << 43))) /* 8 TiB, without a block on the disk */
		return true; /* this file system has no such files */
	disk_room_keep(path);
	return before == RLIM_INFINITY && limit_now() >= (1ULL << 43) + 256 * MIB;
}

static bool stays_low(void)
{
	const struct rlimit low = { 1000, 2000 };
	struct rlimit limit;

	if (setrlimit(RLIMIT_FSIZE, &low))
		return false;
	disk_room_keep(path);
	return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur == 1000 &&
	       limit.rlim_max == 2000;
}

int main(void)
{
	int fd = mkstemp(path);

	if (fd < 0)
		abort();
	check_u64(disk_room_spare(0), 0, "a disk of 0 bytes has no spare room");
	check_u64(disk_room_spare(200 * MIB), 10 * MIB,
		  "a twentieth of a small disk is spare room");
	check_u64(disk_room_spare(20 * GIB), GIB, "1 GiB of 20 GiB is spare room");
	check_u64(disk_room_spare(4096 * GIB), GIB, "1 GiB of a large disk is spare room");
	check(passes(is_what_is_free), "the limit is the free room without the spare room");
	check(passes(stops_a_write), "a write beyond the limit fails");
	check(!ftruncate(fd, 0) && passes(leaves_streams),
	      "a stream that is larger already can be written to");
	check(passes(stays_low), "a limit that was lower before stays");
	unlink(path);
	return tap_done();
}
