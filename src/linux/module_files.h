/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the debug files of kernel modules in dom0 by their names, for distributions without
 * build-id links to these files. Resolver's thread.
 */
#ifndef XTOP_LINUX_MODULE_FILES_H
#define XTOP_LINUX_MODULE_FILES_H

#include "linux/process/debug_files.h"

#define MODULE_FILES_MAX LIMIT(65536, 64) /* Debian's kernel has 4,000 modules */

struct module_files;

/*
 * Does not search yet. RELEASE is the guest's release: "6.1.0-37-amd64". Returns NULL if memory is
 * out.
 */
struct module_files *module_files_create(const struct debug_places *places, const char *release);
void module_files_destroy(struct module_files *files); /* NULL allowed */
/*
 * Gives a module's IMAGE the lines of the file with the module's name and build-id. The first call
 * reads the folders. IMAGE stays unchanged if there is no such file.
 */
void module_files_find_lines(struct module_files *files, struct image *image);

#endif
