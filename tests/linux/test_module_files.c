/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Debug files of modules by name, in folders as distributions have them: found by name and build-id
 * together; not through links, not in the folder of another release, not with a release that is a
 * path. The file is tests/lines/inlined, which has DWARF.
 */
#include "config.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "linux/module_files.h"
#include "tests/support/must.h"
#include "tests/support/no_lines.h"
#include "tests/support/shell.h"
#include "tests/support/tap.h"
#include "xtop/supervise/line_client.h"
#include "xtop/supervise/sandbox.h"

static struct line_client *lines;

#define RELEASE "6.1.0-1-amd64"

struct fixture {
	char top[sizeof("/tmp/xtop-modules-XXXXXX")];
	char program[512];
	struct os_folders folders;
	struct debug_places places;
};

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

static void check_found(struct fixture *fixture, const char *release, const char *name, bool want,
			const char *what)
{
	struct module_files *files = module_files_create(&fixture->places, release);
	struct image *image = make_image(fixture, name);

	module_files_find_lines(files, image);
	check(!!image->lines == want && (!want || line_client_is_by_symbol(lines, image->lines)),
	      "%s", what);
	image_unref(image);
	module_files_destroy(files);
}

static void test_names(struct fixture *fixture)
{
	check_found(fixture, RELEASE, "[made_up]", true,
		    "a file with a hyphen in its name is found");
	check_found(fixture, RELEASE, "[sound]", true, "a file of Fedora's below usr/ is found");
	check_found(fixture, RELEASE, "[made]", false, "a part of a name is not found");
	check_found(fixture, RELEASE, "[other]", false, "a file of another build is not used");
	check_found(fixture, RELEASE, "[link]", false, "a link is not listed");
	check_found(fixture, RELEASE, "[behind]", false, "a folder behind a link is not read");
	check_found(fixture, "6.1.0-2-amd64", "[made_up]", false,
		    "files of another release are not read");
	check_found(fixture, "", "[made_up]", false, "an empty release gives no files");
	check_found(fixture, "..", "[made_up]", false, "a release that leads up gives no files");
	check_found(fixture, "x/../" RELEASE, "[made_up]", false,
		    "a release that is a path gives no files");
}

/* Folders are read once: a file that is found later was not there when they were read. */
static void test_no_build_id(struct fixture *fixture)
{
	struct module_files *files = module_files_create(&fixture->places, RELEASE);
	struct image *image = make_image(fixture, "[late]");

	image->build_id.size_bytes = 0;
	module_files_find_lines(files, image);
	check(!image->lines, "no file is found for a module without a build-id");
	image_unref(image);
	shell("cp %s %s/debug/lib/modules/" RELEASE "/kernel/late.ko", fixture->program,
	      fixture->top);
	image = make_image(fixture, "[late]");
	module_files_find_lines(files, image);
	check(image->lines, "a module without a build-id reads no folders");
	image_unref(image);
	module_files_destroy(files);
}

/* As in xtop's process: another user, few system calls, and Landlock where the kernel has it. */
static void test_in_sandbox(struct fixture *fixture)
{
	struct module_files *files = module_files_create(&fixture->places, RELEASE);
	struct image *image = make_image(fixture, "[made_up]");
	int status;
	pid_t child;

	shell("chmod -R a+rX %s", fixture->top);
	child = fork();
	if (child == 0) {
		if (sandbox_enter(fixture->folders.fds, fixture->folders.n))
			_exit(98);
		module_files_find_lines(files, image);
		_exit(image->lines ? 0 : 1);
	}
	check(waitpid(child, &status, 0) == child && status == 0,
	      "a module's file is found in the sandbox, too");
	image_unref(image);
	module_files_destroy(files);
}

static void test_root(struct fixture *fixture)
{
	fixture->folders.n = 0;
	fixture->places.root_fd = open(fixture->top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	shell("mkdir -p %s/usr/lib && mv %s/debug %s/usr/lib/debug", fixture->top, fixture->top,
	      fixture->top);
	check_found(fixture, RELEASE, "[made_up]", true, "a module's file is found below --root");
	close(fixture->places.root_fd);
}

int main(void)
{
	static struct fixture fixture = { .top = "/tmp/xtop-modules-XXXXXX",
					  .places = { .folders = &fixture.folders,
						      .root_fd = -1 } };
	const char *build = getenv("top_builddir");
	char path[600];

	snprintf(fixture.program, sizeof(fixture.program), "%s/tests/lines/inlined",
		 build ? build : ".");
	must(line_client_start(&no_lines_reader, &lines));
	fixture.places.lines = lines;
	if (!mkdtemp(fixture.top))
		return 99;
	shell("cd %s && mkdir -p debug/lib/modules/" RELEASE
	      "/kernel/net debug/usr/lib/modules/" RELEASE " elsewhere",
	      fixture.top);
	shell("cp %s %s/debug/lib/modules/" RELEASE "/kernel/net/made-up.ko", fixture.program,
	      fixture.top);
	/* A module is a relocatable file: ET_REL is 1. */
	shell("printf '\\001' | dd of=%s/debug/lib/modules/" RELEASE
	      "/kernel/net/made-up.ko bs=1 seek=16 conv=notrunc 2>/dev/null",
	      fixture.top);
	shell("cp %s %s/debug/usr/lib/modules/" RELEASE "/sound.ko.debug", fixture.program,
	      fixture.top);
	shell("cp %s %s/elsewhere/behind.ko", fixture.program, fixture.top);
	shell("cp /proc/self/exe %s/debug/lib/modules/" RELEASE "/kernel/other.ko", fixture.top);
	shell("ln -s %s %s/debug/lib/modules/" RELEASE "/kernel/link.ko", fixture.program,
	      fixture.top);
	shell("ln -s %s/elsewhere %s/debug/lib/modules/" RELEASE "/kernel/elsewhere", fixture.top,
	      fixture.top);
	snprintf(path, sizeof(path), "%s/debug", fixture.top);
	fixture.folders.fds[fixture.folders.n++] = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	test_names(&fixture);
	test_no_build_id(&fixture);
	test_in_sandbox(&fixture);
	close(fixture.folders.fds[0]);
	test_root(&fixture);
	line_client_stop(lines);
	shell("rm -rf %s", fixture.top);
	return tap_done();
}
