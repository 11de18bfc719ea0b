/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of the guest's files as it would print them, and files by their names, from the directory
 * entries its kernel keeps. Resolver's thread.
 */
#ifndef XTOP_PROCESS_PATH_H
#define XTOP_PROCESS_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "linux/kernel/linux.h"

#define PATH_MAX_BYTES      4096 /* with the NUL: Linux PATH_MAX */
#define PATH_MAX_COMPONENTS 256  /* mounts crossed included */
#define PATH_MAX_NAME_BYTES 255  /* of a component: Linux NAME_MAX */
#define PATH_MAX_ENTRIES    4096 /* looked at in one directory, and of mounts */

struct path_name {
	char path[PATH_MAX_BYTES]; /* "/bin/wl", "/memfd:code"; raw bytes of the guest */
	bool deleted;              /* nothing has this name any more, or another file has */
};

/* Of a struct file. False: not readable, no such thing, or beyond the limits; *name has something. */
bool path_of_file(const struct linux_guest *linux_guest, uint64_t file, struct path_name *name);

/*
 * The inode of DIRECTORY/NAME, seen from the root directory of the task: DIRECTORY is one component,
 * which may be a mount point, "tmp". False: not there, or the kernel has not got it in memory.
 */
bool path_find_file(const struct linux_guest *linux_guest, uint64_t task, const char *directory,
		    const char *name, uint64_t *inode);

#endif
