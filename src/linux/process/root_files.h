/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A copy or mount of the guest's root file system in dom0 (--root DIR): files by the paths that the
 * guest knows them by. Resolver's thread.
 */
#ifndef XTOP_PROCESS_ROOT_FILES_H
#define XTOP_PROCESS_ROOT_FILES_H

#include "xtop/bytes.h"

struct root_file {
	int fd; /* -1: none */
	uint64_t size_bytes;
};

/*
 * PATH is the guest's and may be anything: neither it nor a symbolic link on the way leads out of
 * the directory ROOT_FD. False: no such file, or no regular one.
 */
bool root_file_open(int root_fd, const char *path, struct root_file *file);
void root_file_close(struct root_file *file);
struct bytes root_file_bytes(struct root_file *file);

#endif
