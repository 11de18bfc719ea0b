/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds a program's debug file; see debug_files.h. Resolver's thread. The layout of a folder of
 * debug files, and of /usr/lib/debug below --root (GDB manual, Separate Debug Files):
 *
 *   .build-id/c0/ffee12...debug    the build-id's first byte, then its other bytes, in hexadecimal
 *   usr/bin/NAME                   for the program /usr/bin/PROGRAM; NAME is in its .gnu_debuglink
 *
 * Below --root the file NAME may also lie beside the program, or in .debug beside the program.
 *
 * Build-id, path and NAME come from the guest. So root_file.c opens all these files, and no path
 * leads out of its folder. A file is used only if its build-id, or else its CRC, shows that it
 * belongs to the program.
 *
 * A link in such a folder is followed as if the folder were the root directory. Fedora's .build-id/
 * has links to ../../usr/bin/NAME: the targets stay within the folder.
 */
#include "config.h"

#include "linux/process/debug_files.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "xtop/base/cleanup.h"
#include "xtop/base/root_file.h"
#include "xtop/elf/elf.h"
#include "xtop/supervise/line_client.h"

#define DEBUG_FILES_BELOW_ROOT "/usr/lib/debug"

/* What a search is for, and what happens with a file that is found. */
struct debug_search {
	const struct debug_places *places;
	struct image *image;
	const struct build_id *id;
	bool (*use)(const struct debug_search *search, int fd, bool by_link);
	const char *anchor; /* start of the lines; see debug_files_find_lines() */
	uint64_t anchor_address;
	int *found_fd; /* receives the descriptor of a file that is only opened */
};

static bool debug_files_try(const struct debug_search *search, int folder, const char *path,
			    bool by_link)
{
	_cleanup_(root_file_close) struct root_file file = { .fd = -1 };

	return root_file_open(folder, path, &file) && search->use(search, file.fd, by_link);
}

/* --- files named by build-id ------------------------------------------------------------------ */

/* Writes "/.build-id/c0/ffee.debug" to PATH. Returns false if there is no build-id. */
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

static bool debug_files_search_by_id(const struct debug_search *search)
{
	const struct debug_places *places = search->places;
	char path[sizeof(DEBUG_FILES_BELOW_ROOT) + 2 * BUILD_ID_MAX_BYTES + 32];
	char *in_folder = path + sizeof(DEBUG_FILES_BELOW_ROOT) - 1;

	memcpy(path, DEBUG_FILES_BELOW_ROOT, sizeof(DEBUG_FILES_BELOW_ROOT));
	if (!debug_files_print_build_id(search->id, in_folder,
					sizeof(path) - sizeof(DEBUG_FILES_BELOW_ROOT) + 1))
		return false;
	for (unsigned i = 0; places->folders && i < places->folders->n; i++)
		if (debug_files_try(search, places->folders->fds[i], in_folder, false))
			return true;
	return debug_files_try(search, places->root_fd, path, false);
}

/* --- files named by a link -------------------------------------------------------------------- */

/* Tries the path that consists of BEFORE, the folder of PATH, BEHIND and the link's name. */
static bool debug_files_try_link(const struct debug_search *search, int folder, const char *before,
				 const char *path, const char *after)
{
	const char *slash = strrchr(path, '/');
	int length = slash ? (int)(slash - path) : 0;
	char tried[PATH_MAX];

	return (size_t)snprintf(tried, sizeof(tried), "%s%.*s%s/%s", before, length, path, after,
				search->image->link->name) < sizeof(tried) &&
	       debug_files_try(search, folder, tried, true);
}

static bool debug_files_search_by_link(const struct debug_search *search, const char *path)
{
	const struct debug_places *places = search->places;

	if (!search->image->link || !path)
		return false;
	for (unsigned i = 0; places->folders && i < places->folders->n; i++)
		if (debug_files_try_link(search, places->folders->fds[i], "", path, ""))
			return true;
	return debug_files_try_link(search, places->root_fd, "", path, "") ||
	       debug_files_try_link(search, places->root_fd, "", path, "/.debug") ||
	       debug_files_try_link(search, places->root_fd, DEBUG_FILES_BELOW_ROOT, path, "");
}

static bool debug_files_use_names(const struct debug_search *search, int fd, bool by_link)
{
	return image_read_debug_file(search->image, fd, by_link);
}

bool debug_files_read(const struct debug_places *places, struct image *image, const char *path)
{
	const struct debug_search search = { .places = places,
					     .image = image,
					     .id = &image->build_id,
					     .use = debug_files_use_names };

	return debug_files_search_by_id(&search) || debug_files_search_by_link(&search, path);
}

/* --- lines ------------------------------------------------------------------------------------ */

static bool debug_files_use_build(const struct debug_search *search, int fd, bool by_link)
{
	(void)by_link;
	if (!image_is_build(fd, search->id))
		return false;
	*search->found_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return *search->found_fd >= 0;
}

/*
 * Finds the file into which dwz put common parts. Debian's debug packages have it at a path that
 * contains .dwz/, and no link by its build-id. Returns -1 if the file is not there.
 */
static int debug_files_find_alt(const struct debug_places *places, const struct elf_alt_link *alt)
{
	const char *dwz = strstr(alt->name, "/.dwz/");
	char below_root[sizeof(DEBUG_FILES_BELOW_ROOT) + sizeof(alt->name)];
	int fd = -1;
	const struct debug_search search = { .places = places,
					     .id = &alt->build_id,
					     .use = debug_files_use_build,
					     .found_fd = &fd };

	if (!alt->name[0] || debug_files_search_by_id(&search) || !dwz)
		return fd;
	for (unsigned i = 0; places->folders && i < places->folders->n; i++)
		if (debug_files_try(&search, places->folders->fds[i], dwz, false))
			return fd;
	snprintf(below_root, sizeof(below_root), "%s%s", DEBUG_FILES_BELOW_ROOT, dwz);
	debug_files_try(&search, places->root_fd, below_root, false);
	return fd;
}

static bool debug_files_add_lines(const struct debug_search *search, int fd, bool by_link)
{
	struct image *image = search->image;
	_cleanup_close_ int alt_fd = -1;
	struct elf_alt_link alt;

	if (!image_has_lines(image, fd, by_link, &alt))
		return false;
	alt_fd = debug_files_find_alt(search->places, &alt);
	image->lines = line_client_add_file(search->places->lines, fd, alt_fd, image->name,
					    search->anchor, search->anchor_address);
	image->lines_by_symbol = line_client_is_by_symbol(search->places->lines, image->lines);
	return image->lines;
}

void debug_files_find_lines(const struct debug_places *places, struct image *image,
			    const char *path, const char *anchor, uint64_t anchor_address)
{
	const struct debug_search search = { .places = places,
					     .image = image,
					     .id = &image->build_id,
					     .use = debug_files_add_lines,
					     .anchor = anchor,
					     .anchor_address = anchor_address };

	if (!places->lines || image->lines || debug_files_search_by_id(&search) ||
	    debug_files_search_by_link(&search, path) || !path)
		return;
	debug_files_try(&search, places->root_fd, path, false);
}

void debug_files_use_lines(const struct debug_places *places, struct image *image, int fd,
			   const char *anchor, uint64_t anchor_address)
{
	const struct debug_search search = { .places = places,
					     .image = image,
					     .anchor = anchor,
					     .anchor_address = anchor_address };

	if (places->lines && !image->lines)
		debug_files_add_lines(&search, fd, false);
}
