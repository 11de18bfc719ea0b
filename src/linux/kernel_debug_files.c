/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the debug files of a kernel and its modules; see kernel_debug_files.h. The order of the
 * search:
 *
 *   a file of -k with the kernel's build-id
 *   a debug folder, by build-id (process/debug_files.h)
 *   by name: the kernel's at a path of kernel_debug_files_paths[], a module's in module_files.c
 *   --debuginfod: the servers are asked when a sample was found in the image, as such a file may
 *   have hundreds of megabytes
 *
 * The kernel may have been moved (KASLR): addresses in the kernel are relative to its first symbol.
 * The sections of a loaded module are placed differently than in its file: addresses in a module
 * are relative to their functions.
 */
#include "config.h"

#include "linux/kernel_debug_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "linux/module_files.h"
#include "xtop/base/cleanup.h"
#include "xtop/base/root_file.h"
#include "xtop/base/vector.h"
#include "xtop/supervise/fetch.h"
#include "xtop/supervise/line_client.h"
#include "xtop/symbol/symbol.h"

/* An image whose debug file may be fetched. */
struct kernel_debug_files_awaited {
	struct image *image;
	struct kernel_start start; /* the kernel's start; a module has LINE_BY_SYMBOL and 0 */
};

/* Paths below a debug folder, and below usr/lib/debug of --root. %s is the release. */
static const char *const kernel_debug_files_paths[] = {
	"boot/vmlinux-%s",        /* Debian, linux-image-*-dbg: no build-id link leads there */
	"lib/modules/%s/vmlinux", /* Fedora, kernel-debuginfo */
	"boot/vmlinux-%s.debug",  /* openSUSE */
};
#define N_KERNEL_DEBUG_PATHS                                                                       \
	(sizeof(kernel_debug_files_paths) / sizeof(kernel_debug_files_paths[0]))
#define KERNEL_DEBUG_BELOW_ROOT "usr/lib/debug/"

struct kernel_debug_files {
	const struct os_guest *guest;
	char release[128];
	struct module_files *modules;
	struct kernel_debug_files_awaited *awaited;
	size_t n_awaited, capacity;
};

struct kernel_debug_files *kernel_debug_files_create(const struct os_guest *guest,
						     const char *release)
{
	struct kernel_debug_files *files = calloc(1, sizeof(*files));

	if (!files)
		return NULL;
	files->guest = guest;
	snprintf(files->release, sizeof(files->release), "%s", release);
	files->modules = module_files_create(&guest->debug, release);
	return files;
}

/* The order of the remaining images does not matter. */
static void kernel_debug_files_forget(struct kernel_debug_files *files, size_t index)
{
	image_unref(files->awaited[index].image);
	files->awaited[index] = files->awaited[--files->n_awaited];
}

void kernel_debug_files_destroy(struct kernel_debug_files *files)
{
	if (!files)
		return;
	while (files->n_awaited)
		kernel_debug_files_forget(files, files->n_awaited - 1);
	free(files->awaited);
	module_files_destroy(files->modules);
	free(files);
}

/* Does nothing if allocation fails. */
static void kernel_debug_files_await(struct kernel_debug_files *files, struct image *image,
				     struct kernel_start start)
{
	if (image->lines || !files->guest->debug.fetch || !image->build_id.size_bytes ||
	    !vector_reserve(files->awaited, files->capacity, files->n_awaited + 1))
		return;
	files->awaited[files->n_awaited++] =
		(struct kernel_debug_files_awaited){ image_ref(image), start };
}

/* The lines of a file of -k with the kernel's build-id; 0 if there is none. */
static uint32_t kernel_debug_files_find_given(const struct image *kernel,
					      const struct symbols *symbols)
{
	for (size_t i = 0; symbols && i < symbols_count(symbols); i++) {
		const struct image *given = symbols_image(symbols, i);

		if (given->lines && build_id_equal(&given->build_id, &kernel->build_id))
			return given->lines;
	}
	return 0;
}

static void kernel_debug_files_try_path(const struct kernel_debug_files *files, struct image *image,
					const struct kernel_start *start, int folder,
					const char *path)
{
	const struct debug_places *places = &files->guest->debug;
	_cleanup_(root_file_close) struct root_file file = { .fd = -1 };

	if (!image->lines && folder >= 0 && root_file_open(folder, path, &file))
		debug_files_use_lines(places, image, file.fd, start->symbol, start->address);
}

/* The build-id decides, because another kernel may be installed under the same release. */
static void kernel_debug_files_find_by_name(const struct kernel_debug_files *files,
					    struct image *image, const struct kernel_start *start)
{
	const struct os_folders *folders = files->guest->debug.folders;

	if (image->lines || strchr(files->release, '/') || !image->build_id.size_bytes)
		return;
	for (size_t i = 0; i < N_KERNEL_DEBUG_PATHS; i++) {
		char path[256] = KERNEL_DEBUG_BELOW_ROOT;
		char *below = path + strlen(path);

		snprintf(below, sizeof(path) - strlen(path), kernel_debug_files_paths[i],
			 files->release);
		for (unsigned j = 0; j < folders->n; j++)
			kernel_debug_files_try_path(files, image, start, folders->fds[j], below);
		kernel_debug_files_try_path(files, image, start, files->guest->debug.root_fd, path);
	}
}

void kernel_debug_files_find_kernel(struct kernel_debug_files *files, struct image *image,
				    const struct kernel_start *start)
{
	const struct debug_places *places = &files->guest->debug;

	image->lines = line_client_add_moved(
		places->lines, kernel_debug_files_find_given(image, files->guest->symbols),
		start->symbol, start->address);
	debug_files_find_lines(places, image, NULL, start->symbol, start->address);
	kernel_debug_files_find_by_name(files, image, start);
	kernel_debug_files_await(files, image, *start);
}

void kernel_debug_files_find_module(struct kernel_debug_files *files, struct image *image)
{
	const struct debug_places *places = &files->guest->debug;

	if (!image->build_id.size_bytes)
		return;
	debug_files_find_lines(places, image, NULL, LINE_BY_SYMBOL, 0);
	if (!image->lines && files->modules)
		module_files_find_lines(files->modules, image);
	kernel_debug_files_await(files, image, (struct kernel_start){ LINE_BY_SYMBOL, 0 });
}

/* Returns true when the wait for the file is over. */
static bool kernel_debug_files_poll_one(const struct kernel_debug_files *files,
					const struct kernel_debug_files_awaited *awaited)
{
	const struct debug_places *places = &files->guest->debug;
	int fd = -1;

	if (awaited->image->n_references == 1) /* the module has been unloaded */
		return true;
	if (!awaited->image->wants_lines)
		return false;
	switch (fetch_ask(places->fetch, &awaited->image->build_id, &fd)) {
	case FETCH_WAITING:
		return false;
	case FETCH_FOUND:
		debug_files_use_lines(places, awaited->image, fd, awaited->start.symbol,
				      awaited->start.address);
		close(fd);
		break;
	case FETCH_OFF:
	case FETCH_NONE:
		break;
	}
	return true;
}

bool kernel_debug_files_poll(struct kernel_debug_files *files)
{
	bool found = false;

	for (size_t i = files->n_awaited; i-- > 0;) {
		const struct kernel_debug_files_awaited *awaited = &files->awaited[i];

		if (!kernel_debug_files_poll_one(files, awaited))
			continue;
		found |= awaited->image->lines != 0;
		kernel_debug_files_forget(files, i);
	}
	return found;
}
