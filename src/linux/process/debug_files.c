/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds a program's debug file; see debug_files.h. Resolver's thread. A folder of debug files, and
 * /usr/lib/debug below --root, is laid out like this (GDB manual, Separate Debug Files):
 *
 *   .build-id/c0/ffee12...debug    the build-id's first byte, then the others, in hexadecimal
 *   usr/bin/NAME                   for the program /usr/bin/PROGRAM; NAME by its .gnu_debuglink
 *
 * Below --root the file NAME may also stand beside the program, or in .debug beside it.
 *
 * Build-id, path and NAME are the guest's. So root_file.c opens all these files, and no path leads
 * out of its folder. A file is used only if its build-id, or else its CRC, says that it belongs to
 * the program.
 *
 * A link in such a folder is followed as if the folder were the root directory. Fedora's
 * .build-id/ has links to ../../usr/bin/NAME: these stay within the folder.
 */
#include "config.h"

#include "linux/process/debug_files.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "linux/process/root_file.h"
#include "xtop/cleanup.h"

#define DEBUG_FILES_BELOW_ROOT "/usr/lib/debug"

static bool debug_files_try(int folder, const char *path, struct image *image, bool by_link)
{
	_cleanup_(root_file_close) struct root_file file = { .fd = -1 };

	return root_file_open(folder, path, &file) &&
	       image_read_debug_file(image, file.fd, by_link);
}

/* --- by build-id ------------------------------------------------------------------------------ */

/* "/.build-id/c0/ffee.debug". False: there is no build-id. */
static bool debug_files_print_build_id(const struct build_id *id, char *path, size_t capacity)
{
	size_t length = (size_t)snprintf(path, capacity, "/.build-id/");

	if (id->size_bytes < 2 || length + 2 * id->size_bytes + sizeof("/.debug") > capacity)
		return false;
	for (size_t i = 0; i < id->size_bytes; i++)
		length += (size_t)snprintf(path + length, capacity - length, "%02x%s", id->bytes[i],
					   i ? "" : "/");
	snprintf(path + length, capacity - length, ".debug");
	return true;
}

static bool debug_files_read_by_id(const struct debug_places *places, struct image *image)
{
	char path[sizeof(DEBUG_FILES_BELOW_ROOT) + 2 * BUILD_ID_MAX_BYTES + 32];
	char *in_folder = path + sizeof(DEBUG_FILES_BELOW_ROOT) - 1;

	memcpy(path, DEBUG_FILES_BELOW_ROOT, sizeof(DEBUG_FILES_BELOW_ROOT));
	if (!debug_files_print_build_id(&image->build_id, in_folder,
					sizeof(path) - sizeof(DEBUG_FILES_BELOW_ROOT) + 1))
		return false;
	for (unsigned i = 0; places->folders && i < places->folders->n; i++)
		if (debug_files_try(places->folders->fds[i], in_folder, image, false))
			return true;
	return debug_files_try(places->root_fd, path, image, false);
}

/* --- by link ---------------------------------------------------------------------------------- */

/* Tries BEFORE, the folder of PATH, BEHIND and the link's name, put together. */
static bool debug_files_try_link(int folder, const char *before, const char *path,
				 const char *behind, struct image *image)
{
	const char *slash = strrchr(path, '/');
	int length = slash ? (int)(slash - path) : 0;
	char tried[PATH_MAX];

	return (size_t)snprintf(tried, sizeof(tried), "%s%.*s%s/%s", before, length, path, behind,
				image->link->name) < sizeof(tried) &&
	       debug_files_try(folder, tried, image, true);
}

static bool debug_files_read_by_link(const struct debug_places *places, struct image *image,
				     const char *path)
{
	if (!image->link || !path)
		return false;
	for (unsigned i = 0; places->folders && i < places->folders->n; i++)
		if (debug_files_try_link(places->folders->fds[i], "", path, "", image))
			return true;
	return debug_files_try_link(places->root_fd, "", path, "", image) ||
	       debug_files_try_link(places->root_fd, "", path, "/.debug", image) ||
	       debug_files_try_link(places->root_fd, DEBUG_FILES_BELOW_ROOT, path, "", image);
}

bool debug_files_read(const struct debug_places *places, struct image *image, const char *path)
{
	return debug_files_read_by_id(places, image) ||
	       debug_files_read_by_link(places, image, path);
}
