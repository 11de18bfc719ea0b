/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of overlayfs, in which containers run: which inode has the pages. Resolver's thread. */
#ifndef XTOP_PROCESS_OVERLAY_H
#define XTOP_PROCESS_OVERLAY_H

#include <stdint.h>

#include "linux/kernel/linux_guest.h"

/*
 * Replaces *INODE, if it is overlayfs's, by the inode of the file system below that has the file.
 * Leaves it if there is none in memory.
 */
void overlay_find_inode(const struct linux_guest *guest, uint64_t *inode);

#endif
