/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Debug files in dom0. They have the symbols that were stripped off a program. Distributions put
 * them into packages (-dbgsym, -debuginfo), below /usr/lib/debug. Resolver's thread.
 */
#ifndef XTOP_PROCESS_DEBUG_FILES_H
#define XTOP_PROCESS_DEBUG_FILES_H

#include "xtop/os/os_ops.h"
#include "xtop/symbol/image.h"

/*
 * Gives IMAGE the names of its debug file. PATH is the path of IMAGE's file in the guest; NULL if
 * unknown, or if another file may have that path now. Returns true if there was a debug file of the
 * same build. IMAGE must not be in an address space yet.
 */
bool debug_files_read(const struct debug_places *places, struct image *image, const char *path);

/*
 * Gives IMAGE the source lines of its debug file, or of the file itself below --root, if lines are
 * read at all (places->lines). ANCHOR and ANCHOR_ADDRESS have the meaning that
 * line_client_add_file() defines.
 */
void debug_files_find_lines(const struct debug_places *places, struct image *image,
			    const char *path, const char *anchor, uint64_t anchor_address);
/* Gives IMAGE the source lines of FD, a debug file that was fetched. */
void debug_files_use_lines(const struct debug_places *places, struct image *image, int fd,
			   const char *anchor, uint64_t anchor_address);

#endif
