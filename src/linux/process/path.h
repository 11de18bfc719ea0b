/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Paths of the guest's files as the guest would print them, and files by their names, from the
 * directory entries that its kernel keeps in memory. Resolver's thread.
 */
#ifndef XTOP_PROCESS_PATH_H
#define XTOP_PROCESS_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "linux/kernel/linux_guest.h"

#define PATH_MAX_BYTES      4096 /* with the NUL: Linux PATH_MAX */
#define PATH_MAX_COMPONENTS 256  /* mounts crossed included */
#define PATH_MAX_NAME_BYTES 255  /* one component, without the NUL: Linux NAME_MAX */
#define PATH_MAX_ENTRIES    4096 /* looked at in one directory or one list of mounts */

struct path_name {
	char path[PATH_MAX_BYTES]; /* "/bin/wl", "/memfd:code"; raw bytes of the guest */
	bool deleted;              /* no file has this path any more, or another file has it */
};

/*
 * The path of the struct file at FILE. False: it cannot be read, is no file, or exceeds a limit;
 * then name->path is "".
 */
bool path_read(const struct linux_guest *linux_guest, uint64_t file, struct path_name *name);

/*
 * One path of the inode at INODE; it may have others, by links and by mounts. Where the kernel does
 * not tell a mount of its file system, the path begins at that file system's root. False: as
 * path_read(), or the kernel has no name of it in memory.
 */
bool path_read_inode(const struct linux_guest *linux_guest, uint64_t inode,
		     struct path_name *name);

/*
 * The inode of DIRECTORY/NAME, seen from the root directory of the task_struct at TASK. DIRECTORY
 * is one component and may be a mount point: "tmp". False: there is no such file, or the kernel
 * does not have it in memory; *inode is untouched.
 */
bool path_find_file(const struct linux_guest *linux_guest, uint64_t task, const char *directory,
		    const char *name, uint64_t *inode);

#endif
