/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source lines of a kernel and its modules: from a debug folder at once; from servers only when a
 * sample was met, and if the file is of the same build; a module that goes away meanwhile. The file
 * is tests/lines/inlined, which has DWARF.
 */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "linux/kernel_debug_files.h"
#include "supervise/fetcher.h"
#include "tests/support/fetched_file.h"
#include "tests/support/must.h"
#include "tests/support/no_lines.h"
#include "tests/support/shell.h"
#include "tests/support/tap.h"
#include "xtop/supervise/fetch.h"
#include "xtop/supervise/line_client.h"

#define TEXT    0xffffffff81000000ULL
#define WAIT_MS 20000

static const struct kernel_start start = { "_text", TEXT };

struct fixture {
	char top[sizeof("/tmp/xtop-kernel-lines-XXXXXX")];
	char program[512];
	struct os_guest guest;
	struct os_folders folders;
};

static char content[1 << 20]; /* bytes of the program: the process that fetches may open nothing */
static size_t content_bytes;

/* The server has one file for all build-ids but those that begin with 1. */
static int find_program(const uint8_t *build_id, size_t size_bytes, const char *source,
			char message[96])
{
	(void)size_bytes, (void)source, (void)message;
	return build_id[0] == 1 ? -1 : fetched_file_make(content, content_bytes);
}

static void read_program(struct fixture *fixture)
{
	FILE *file = fopen(fixture->program, "r");

	content_bytes = file ? fread(content, 1, sizeof(content), file) : 0;
	if (!content_bytes || content_bytes == sizeof(content))
		exit(99);
	fclose(file);
}

static struct image *make_image(struct fixture *fixture, const char *name)
{
	int fd = open(fixture->program, O_RDONLY | O_CLOEXEC);
	struct loads loads;
	struct image *image;

	must(image_create(name, &image));
	must(image_read_host_elf(image, fd, &loads));
	close(fd);
	return image;
}

/* Polls until something was found; false: nothing. */
static bool wait_for(struct kernel_debug_files *files, unsigned ms)
{
	const struct timespec nap = { .tv_nsec = 1000000 };

	for (unsigned i = 0; i < ms; i++) {
		if (kernel_debug_files_poll(files))
			return true;
		nanosleep(&nap, NULL);
	}
	return false;
}

static void test_fetched(struct fixture *fixture)
{
	struct kernel_debug_files *files = kernel_debug_files_create(&fixture->guest, "6.1");
	struct image *kernel = make_image(fixture, "[kernel]"),
		     *module = make_image(fixture, "[ext4]"),
		     *other = make_image(fixture, "[other]"),
		     *absent = make_image(fixture, "[absent]"),
		     *gone = make_image(fixture, "[gone]");
	struct fetch_progress progress;

	other->build_id.bytes[1] ^= 1;
	absent->build_id.bytes[0] = 1;
	kernel_debug_files_find_kernel(files, kernel, &start);
	kernel_debug_files_find_module(files, module);
	kernel_debug_files_find_module(files, other);
	kernel_debug_files_find_module(files, absent);
	kernel_debug_files_find_module(files, gone);
	check(!kernel->lines && !module->lines, "no folder has the kernel's debug files");
	check(!wait_for(files, 20), "nothing is fetched before a sample was met");
	fetch_get_progress(fixture->guest.debug.fetch, &progress);
	check_u64(progress.n_waiting + progress.n_found + progress.n_none, 0,
		  "nothing is requested before a sample was met");
	kernel->wants_lines = true;
	check(wait_for(files, WAIT_MS) && kernel->lines, "the kernel's fetched lines are used");
	check(!line_client_is_by_symbol(fixture->guest.debug.lines, kernel->lines),
	      "the kernel's lines are relative to _text");
	module->wants_lines = other->wants_lines = absent->wants_lines = gone->wants_lines = true;
	image_unref(gone);
	check(wait_for(files, WAIT_MS) && module->lines, "the module's fetched lines are used");
	check(line_client_is_by_symbol(fixture->guest.debug.lines, module->lines),
	      "the module's lines are relative to its symbols");
	check(!wait_for(files, 200), "files without samples are not fetched");
	check(!other->lines, "a fetched file of another build is not used");
	check(!absent->lines, "a file that no server has gives no lines");
	fetch_get_progress(fixture->guest.debug.fetch, &progress);
	check(progress.n_found <= 3 && !progress.n_waiting, "nothing is requested twice");
	kernel_debug_files_destroy(files);
	image_unref(kernel);
	image_unref(module);
	image_unref(other);
	image_unref(absent);
}

/* As Debian's packages have it, without a link by build-id. */
static void test_name(struct fixture *fixture)
{
	struct kernel_debug_files *files;
	struct image *kernel;
	unsigned found = 0;
	static const char *const paths[] = { "boot/vmlinux-6.1-x", "lib/modules/6.1-x/vmlinux" };

	fixture->folders.fds[fixture->folders.n++] = open(fixture->top, O_RDONLY | O_CLOEXEC);
	for (size_t i = 0; i < 2; i++) {
		shell("mkdir -p %s/boot %s/lib/modules/6.1-x && cp %s %s/%s", fixture->top,
		      fixture->top, fixture->program, fixture->top, paths[i]);
		kernel = make_image(fixture, "[kernel]");
		files = kernel_debug_files_create(&fixture->guest, "6.1-x");
		kernel_debug_files_find_kernel(files, kernel, &start);
		found += kernel->lines != 0;
		kernel_debug_files_destroy(files);
		kernel->lines = 0;
		kernel->build_id.bytes[0] ^= 1;
		files = kernel_debug_files_create(&fixture->guest, "6.1-x");
		kernel_debug_files_find_kernel(files, kernel, &start);
		check(!kernel->lines, "%s: another build is not taken", paths[i]);
		kernel_debug_files_destroy(files);
		image_unref(kernel);
		shell("rm %s/%s", fixture->top, paths[i]);
	}
	check_u64(found, 2, "the kernel's file is found by its name");
	close(fixture->folders.fds[0]);
	fixture->folders.n = 0;
}

static void test_folder(struct fixture *fixture)
{
	struct kernel_debug_files *files = kernel_debug_files_create(&fixture->guest, "6.1");
	struct image *kernel = make_image(fixture, "[kernel]"),
		     *module = make_image(fixture, "[ext4]");
	char path[600], id[2 * BUILD_ID_MAX_BYTES + 1];

	build_id_to_text(&kernel->build_id, id);
	shell("mkdir -p %s/.build-id/%.2s && cp %s %s/.build-id/%.2s/%s.debug", fixture->top, id,
	      fixture->program, fixture->top, id, id + 2);
	snprintf(path, sizeof(path), "%s", fixture->top);
	fixture->folders.fds[fixture->folders.n++] = open(path, O_RDONLY | O_CLOEXEC);
	kernel_debug_files_find_kernel(files, kernel, &start);
	kernel_debug_files_find_module(files, module);
	check(kernel->lines && !line_client_is_by_symbol(fixture->guest.debug.lines, kernel->lines),
	      "a folder has the kernel's lines");
	check(module->lines && line_client_is_by_symbol(fixture->guest.debug.lines, module->lines),
	      "a folder has the module's lines");
	kernel_debug_files_destroy(files);
	files = kernel_debug_files_create(&fixture->guest, "6.1");
	kernel->lines = module->lines = 0;
	kernel->build_id.size_bytes = module->build_id.size_bytes = 0;
	kernel_debug_files_find_module(files, module);
	check(!module->lines, "a kernel without a build-id has no lines");
	kernel_debug_files_destroy(files);
	image_unref(kernel);
	image_unref(module);
	close(fixture->folders.fds[0]);
	fixture->folders.n = 0;
}

int main(void)
{
	static struct fixture fixture = { .top = "/tmp/xtop-kernel-lines-XXXXXX" };
	const struct fetcher_settings settings = { .find = find_program,
						   .cache = fixture.top };
	const char *build = getenv("top_builddir");

	snprintf(fixture.program, sizeof(fixture.program), "%s/tests/lines/inlined",
		 build ? build : ".");
	read_program(&fixture);
	if (!mkdtemp(fixture.top))
		return 99;
	must(fetch_start_with(&settings, &fixture.guest.debug.fetch));
	must(line_client_start(&no_lines_reader, &fixture.guest.debug.lines));
	fixture.guest.debug.folders = &fixture.folders;
	fixture.guest.debug.root_fd = -1;
	test_fetched(&fixture);
	test_name(&fixture);
	test_folder(&fixture);
	line_client_stop(fixture.guest.debug.lines);
	fetch_stop(fixture.guest.debug.fetch);
	shell("rm -rf %s", fixture.top);
	return tap_done();
}
