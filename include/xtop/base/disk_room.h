/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How large a file may become that grows for as long as the run lasts. The kernel keeps the limit
 * (RLIMIT_FSIZE), so a process that was taken over cannot fill the disk by such a file.
 */
#ifndef XTOP_DISK_ROOM_H
#define XTOP_DISK_ROOM_H

#include <stdint.h>

/* What stays free of a file system of TOTAL bytes: a twentieth, at most 1 GiB. */
uint64_t disk_room_spare(uint64_t total);
/*
 * From now on no file of this process becomes larger than what is free now beside PATH, without the
 * spare room. The limit is at least 256 MiB, because it also holds for files in memory. Does
 * nothing if PATH is not a regular file.
 */
void disk_room_keep(const char *path);

#endif
