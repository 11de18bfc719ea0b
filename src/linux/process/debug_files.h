/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Debug files in dom0: the functions that were stripped off a program, in a file of their own.
 * Distributions put them into packages (-dbgsym, -debuginfo), below /usr/lib/debug. Resolver's
 * thread.
 */
#ifndef XTOP_PROCESS_DEBUG_FILES_H
#define XTOP_PROCESS_DEBUG_FILES_H

#include "xtop/os/os_ops.h"
#include "xtop/symbol/image.h"

/* Where debug files are looked for. */
struct debug_places {
	const struct os_folders *folders; /* of --debug-dir, the caller's; NULL: none */
	int root_fd;                      /* of --root, the caller's; -1: none */
};

/*
 * Gives IMAGE the names of its debug file. PATH: that of IMAGE's file in the guest; NULL: not
 * known, or another file may have it now. True: there was a debug file of the same build. IMAGE
 * must not be in an address space yet.
 */
bool debug_files_read(const struct debug_places *places, struct image *image, const char *path);

/*
 * Lets IMAGE have the source lines of its debug file, or of the file itself below --root, if lines
 * are read at all (line_client.h). ANCHOR, ANCHOR_ADDRESS: as line_client_add_file() has them.
 */
void debug_files_find_lines(const struct debug_places *places, struct image *image,
			    const char *path, const char *anchor, uint64_t anchor_address);
/* The same of FD, a debug file that was fetched. */
void debug_files_use_lines(const struct debug_places *places, struct image *image, int fd,
			   const char *anchor, uint64_t anchor_address);

#endif
