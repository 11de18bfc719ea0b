/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Debug files of kernel modules in dom0, by their names: for distributions that have no links by
 * build-id to them. Resolver's thread.
 */
#ifndef XTOP_LINUX_MODULE_FILES_H
#define XTOP_LINUX_MODULE_FILES_H

#include "linux/process/debug_files.h"

#define MODULE_FILES_MAX LIMIT(65536, 64) /* Debian's kernel has 4,000 */

struct module_files;

/* Nothing is looked for yet. RELEASE is the guest's: "6.1.0-37-amd64". NULL: out of memory. */
struct module_files *module_files_create(const struct debug_places *places, const char *release);
void module_files_destroy(struct module_files *files); /* NULL allowed */
/*
 * Lets IMAGE, a module's, have the lines of a file that has its name and its build-id. The first
 * call reads the folders. IMAGE stays as it was if there is none.
 */
void module_files_find_lines(struct module_files *files, struct image *image);
size_t module_files_count(const struct module_files *files);

#endif
