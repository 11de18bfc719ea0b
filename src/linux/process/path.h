/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the paths of the guest's files, as the guest would print them, and files by their names, in
 * the directory entries that the kernel keeps in memory. Resolver's thread.
 */
#ifndef XTOP_PROCESS_PATH_H
#define XTOP_PROCESS_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "linux/kernel/linux_guest.h"

#define PATH_MAX_BYTES      4096 /* Linux's PATH_MAX, which counts the NUL */
#define PATH_MAX_COMPONENTS 256  /* includes the mounts that are crossed */
#define PATH_MAX_NAME_BYTES 255  /* one component, without the NUL: Linux NAME_MAX */
#define PATH_MAX_ENTRIES    4096 /* limit for one directory or one list of mounts */
#define PATH_MAX_DEPTH      24   /* components on the way down: each may search two lists */
#define PATH_MAX_LINKS      8    /* symbolic links on the way down */

struct path_name {
	char path[PATH_MAX_BYTES]; /* "/bin/wl", "/memfd:code"; raw bytes of the guest */
	bool deleted;              /* no file has this path any more, or another file has it */
};

/*
 * Reads the path of the struct file at FILE. Returns false, and sets name->path to "", if it cannot
 * be read, is no file, or exceeds a limit.
 */
bool path_read(const struct linux_guest *guest, uint64_t file, struct path_name *name);

/*
 * Reads a path of the inode at INODE. Links and mounts may give the inode more paths. If the kernel
 * does not show a mount of the inode's file system, the path begins at that file system's root.
 * Returns false as path_read() does, or if the kernel has no name of the inode in memory.
 */
bool path_read_inode(const struct linux_guest *guest, uint64_t inode, struct path_name *name);

/*
 * Finds the inode of PATH, seen from the root directory of the task_struct at TASK, or from its
 * working directory if PATH does not begin with '/'. Follows mounts and symbolic links. An inode of
 * overlayfs gives way to the one below that has the file's pages. Returns false and leaves *inode
 * untouched if there is no such file, or if the kernel does not have it in memory.
 */
bool path_find_file(const struct linux_guest *guest, uint64_t task, const char *path,
		    uint64_t *inode);

#endif
