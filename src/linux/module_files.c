/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the debug files of modules; see module_files.h. They lie in these folders below a debug
 * folder or below /usr/lib/debug of --root, or in the same folders below usr/:
 *
 *   lib/modules/RELEASE/kernel/net/netfilter/nf_tables.ko       Debian, linux-image-*-dbg
 *   lib/modules/RELEASE/kernel/.../nf_tables.ko.debug           Fedora, kernel-debuginfo
 *
 * Nothing in the guest tells the folders in between. So all files of that release are listed once,
 * when the first module needs lines. A file is used only if it has the module's build-id. In file
 * names "-" and "_" are equal, as for modprobe: snd-pcm.ko is snd_pcm.
 *
 * The folders below --root may belong to a guest. So no symbolic link is followed, and depth and
 * number of names have limits. RELEASE comes from guest memory.
 */
#include "config.h"

#include "linux/module_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "xtop/base/cleanup.h"
#include "xtop/base/root_file.h"
#include "xtop/base/vector.h"
#include "xtop/supervise/line_client.h"

#define MODULE_FILES_MAX_DEPTH   16
#define MODULE_FILES_MAX_ENTRIES (4 * MODULE_FILES_MAX) /* names that are looked at */
#define MODULE_FILES_BELOW_ROOT  "usr/lib/debug"

struct module_file {
	int folder; /* descriptor of a debug folder or of --root; borrowed */
	char *path; /* relative to FOLDER */
};

struct module_files {
	struct debug_places places;
	char release[128];
	bool listed;
	size_t n_entries; /* names that were looked at */
	struct module_file *list;
	size_t n, capacity;
};

struct module_files *module_files_create(const struct debug_places *places, const char *release)
{
	struct module_files *files = calloc(1, sizeof(*files));

	if (!files)
		return NULL;
	files->places = *places;
	snprintf(files->release, sizeof(files->release), "%s", release);
	return files;
}

void module_files_destroy(struct module_files *files)
{
	if (!files)
		return;
	for (size_t i = 0; i < files->n; i++)
		free(files->list[i].path);
	free(files->list);
	free(files);
}

/* --- listing ---------------------------------------------------------------------------------- */

/* The length of the module's name in the file name NAME; 0 if the file is no module. */
static size_t module_files_name_length(const char *name)
{
	const char *end = strstr(name, ".ko");

	return end && (!end[3] || strcmp(end + 3, ".debug") == 0) ? (size_t)(end - name) : 0;
}

static int module_files_open_folder(int folder, const char *name)
{
	return openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static void module_files_add(struct module_files *files, int folder, const char *path)
{
	char *copy;

	if (files->n == MODULE_FILES_MAX ||
	    !vector_reserve(files->list, files->capacity, files->n + 1))
		return;
	copy = strdup(path);
	if (copy)
		files->list[files->n++] = (struct module_file){ folder, copy };
}

/* Lists the files below the folder AT, which is PATH of FOLDER. Closes AT. */
static void module_files_walk(struct module_files *files, int folder, int at, const char *path,
			      unsigned depth)
{
	DIR *stream = fdopendir(at);
	struct dirent *entry;

	if (!stream) {
		close(at);
		return;
	}
	while ((entry = readdir(stream)) && files->n_entries++ < MODULE_FILES_MAX_ENTRIES) {
		char below[PATH_MAX];
		int inner;

		if (entry->d_name[0] == '.' ||
		    (size_t)snprintf(below, sizeof(below), "%s/%s", path, entry->d_name) >=
			    sizeof(below))
			continue;
		if (module_files_name_length(entry->d_name)) {
			module_files_add(files, folder, below);
			continue;
		}
		if ((entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN) ||
		    depth == MODULE_FILES_MAX_DEPTH)
			continue;
		inner = module_files_open_folder(dirfd(stream), entry->d_name);
		if (inner >= 0)
			module_files_walk(files, folder, inner, below, depth + 1);
	}
	closedir(stream);
}

/* Lists the files below PATH of FOLDER. Each component of PATH must be a folder and no link. */
static void module_files_list_path(struct module_files *files, int folder, const char *path)
{
	char rest[PATH_MAX], *next = rest, *name;
	int at = folder, inner;

	snprintf(rest, sizeof(rest), "%s", path);
	while ((name = strsep(&next, "/"))) {
		inner = module_files_open_folder(at, name);
		if (at != folder)
			close(at);
		if (inner < 0)
			return;
		at = inner;
	}
	module_files_walk(files, folder, at, path, 0);
}

static void module_files_list_folder(struct module_files *files, int folder, const char *above)
{
	static const char *const places[] = { "", "usr/" };

	for (size_t i = 0; folder >= 0 && i < sizeof(places) / sizeof(places[0]); i++) {
		char path[256];

		snprintf(path, sizeof(path), "%s%slib/modules/%s", above, places[i],
			 files->release);
		module_files_list_path(files, folder, path);
	}
}

static void module_files_list(struct module_files *files)
{
	const struct os_folders *folders = files->places.folders;

	files->listed = true;
	if (!files->release[0] || files->release[0] == '.' || strchr(files->release, '/'))
		return;
	for (unsigned i = 0; folders && i < folders->n; i++)
		module_files_list_folder(files, folders->fds[i], "");
	module_files_list_folder(files, files->places.root_fd, MODULE_FILES_BELOW_ROOT "/");
}

/* --- finding ---------------------------------------------------------------------------------- */

static char module_files_letter(char letter)
{
	return letter == '-' ? '_' : letter;
}

/* Whether the file at PATH has the name of MODULE, such as "[snd_pcm]". */
static bool module_files_is_named(const char *path, const char *module)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t length = module_files_name_length(name);

	if (*module != '[' || strlen(module) != length + 2)
		return false;
	for (size_t i = 0; i < length; i++)
		if (module_files_letter(name[i]) != module_files_letter(module[i + 1]))
			return false;
	return true;
}

void module_files_find_lines(struct module_files *files, struct image *image)
{
	if (!image->build_id.size_bytes)
		return;
	if (!files->listed)
		module_files_list(files);
	for (size_t i = 0; i < files->n && !image->lines; i++) {
		const struct module_file *file = &files->list[i];
		_cleanup_(root_file_close) struct root_file found = { .fd = -1 };

		if (module_files_is_named(file->path, image->name) &&
		    root_file_open(file->folder, file->path, &found))
			debug_files_use_lines(&files->places, image, found.fd, LINE_BY_SYMBOL, 0);
	}
}
