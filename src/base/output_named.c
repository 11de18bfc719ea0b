/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks and opens files that are named while xtop runs; see output.h. Runs in the broker's child,
 * or in main if there is no broker. The path may come from a main that an attacker controls.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output_folder.h"
#include "xtop/base/cleanup.h"
#include "xtop/base/output.h"

/* Whether a component of PATH begins with a dot, and is neither "." nor "..". */
static bool output_is_hidden(const char *path)
{
	while (*path) {
		size_t length = strcspn(path, "/");

		if (path[0] == '.' && length > 1 + (size_t)(path[1] == '.'))
			return true;
		path += length + (path[length] == '/');
	}
	return false;
}

static bool output_has_ending(const char *path, const char *const *endings)
{
	size_t length = strlen(path);

	for (size_t i = 0; endings[i]; i++) {
		size_t ending = strlen(endings[i]);

		if (length > ending && strcmp(path + length - ending, endings[i]) == 0)
			return true;
	}
	return false;
}

static struct xtop_error *output_refuse_ending(const char *path, const char *const *endings)
{
	char text[128] = "";
	size_t used = 0;

	for (size_t i = 0; endings[i]; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i ? ", " : "",
					 endings[i]);
	return error_create("cannot write '%s': the name must end in one of %s", path, text);
}

/* The folder and name of a file that is to be written. */
struct output_place {
	const char *path, *name;
	int folder;
};

/* Opens the existing file first and then checks it: it cannot be exchanged in between. */
static struct xtop_error *output_replace_at(const struct output_place *place, int *fdp)
{
	_cleanup_close_ int fd = openat(place->folder, place->name,
					O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0)
		return error_create_errno(errno, "cannot write '%s'", place->path);
	if (!S_ISREG(status.st_mode) || status.st_nlink != 1 || status.st_uid != geteuid())
		return error_create("cannot write '%s': it exists, and is not a file of your own "
				    "with this one name",
				    place->path);
	*fdp = fd;
	fd = -1;
	return NULL;
}

/*
 * Whether there is a file that may be replaced. This is checked before the open, because opening a
 * device has effects.
 */
static bool output_is_replaceable(const struct output_place *place)
{
	struct stat status;

	return fstatat(place->folder, place->name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(status.st_mode);
}

struct xtop_error *output_open_named_fd(const char *path, const char *const *endings, bool replace,
					int *fdp, bool *existsp)
{
	struct output_place place = { .path = path };
	_cleanup_close_ int folder = -1;
	struct xtop_error *error;

	*existsp = false;
	if (output_is_hidden(path))
		return error_create("cannot write '%s': no part of the path may begin with a dot",
				    path);
	if (!output_has_ending(path, endings))
		return output_refuse_ending(path, endings);
	error = output_open_folder(path, &folder, &place.name);
	if (error)
		return error;
	place.folder = folder;
	if (replace && output_is_replaceable(&place))
		return output_replace_at(&place, fdp);
	error = output_create_at(folder, place.name, path, fdp);
	*existsp = error && output_is_replaceable(&place);
	return error;
}

void output_remove_named(const char *path, const struct output_id *made)
{
	const char *name;
	_cleanup_close_ int folder = output_folder_open(path, &name);

	if (!output_is_hidden(path))
		output_remove_at(folder, name, made);
}
