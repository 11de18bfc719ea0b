/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files below a directory of dom0, opened by paths from an untrusted source: below --root DIR, a
 * copy or a mount of the guest's root file system; below --debug-dir DIR and --source-dir DIR. Any
 * thread.
 */
#ifndef XTOP_ROOT_FILE_H
#define XTOP_ROOT_FILE_H

#include <stdbool.h>
#include <stdint.h>

struct root_file {
	int fd; /* -1: not open */
	uint64_t size_bytes;
};

/*
 * PATH may be anything: neither PATH nor a symbolic link on the way leads out of the directory
 * ROOT_FD (-1: there is none). Returns false if there is no such regular file; *FILE is then
 * untouched.
 */
bool root_file_open(int root_fd, const char *path, struct root_file *file);
void root_file_close(struct root_file *file); /* FILE need not be open */

#endif
