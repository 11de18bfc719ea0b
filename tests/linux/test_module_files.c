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

#define RELEASE "6.1.0-1-amd64"

static char top[] = "/tmp/xtop-modules-XXXXXX";
static char program[512];
static struct os_folders folders;
static struct debug_places places = { .folders = &folders, .root_fd = -1 };

static struct image *make_image(const char *name)
{
	int fd = open(program, O_RDONLY | O_CLOEXEC);
	struct loads loads;
	struct image *image;

	must(image_create(name, &image));
	must(image_read_host_elf(image, fd, &loads));
	close(fd);
	return image;
}

static void check_found(const char *release, const char *name, bool want, const char *what)
{
	struct module_files *files = module_files_create(&places, release);
	struct image *image = make_image(name);

	module_files_find_lines(files, image);
	check(!!image->lines == want && (!want || line_client_is_by_symbol(image->lines)), "%s", what);
	image_unref(image);
	module_files_destroy(files);
}

static void test_names(void)
{
	struct image *image;
	struct module_files *files;

	check_found(RELEASE, "[made_up]", true, "a file with a hyphen in its name is found");
	check_found(RELEASE, "[sound]", true, "a file of Fedora's below usr/ is found");
	check_found(RELEASE, "[made]", false, "a part of a name is not found");
	check_found(RELEASE, "[other]", false, "a file of another build is not used");
	check_found(RELEASE, "[link]", false, "a link is not listed");
	check_found(RELEASE, "[behind]", false, "a folder behind a link is not read");
	check_found("6.1.0-2-amd64", "[made_up]", false, "files of another release are not read");
	check_found("", "[made_up]", false, "an empty release gives no files");
	check_found("..", "[made_up]", false, "a release that leads up gives no files");
	check_found("x/../" RELEASE, "[made_up]", false, "a release that is a path gives no files");
	image = make_image("[made_up]");
	image->build_id.size_bytes = 0;
	files = module_files_create(&places, RELEASE);
	module_files_find_lines(files, image);
	check(!image->lines && module_files_count(files) == 0,
	      "a module without a build-id reads no files");
	image_unref(image);
	module_files_destroy(files);
}

/* As in xtop's process: another user, few system calls, and Landlock where the kernel has it. */
static void test_in_sandbox(void)
{
	struct module_files *files = module_files_create(&places, RELEASE);
	struct image *image = make_image("[made_up]");
	int status;
	pid_t child;

	shell("chmod -R a+rX %s", top);
	child = fork();
	if (child == 0) {
		if (sandbox_enter(folders.fds, folders.n))
			_exit(98);
		module_files_find_lines(files, image);
		_exit(image->lines ? 0 : 1);
	}
	check(waitpid(child, &status, 0) == child && status == 0,
	      "a module's file is found in the sandbox, too");
	image_unref(image);
	module_files_destroy(files);
}

static void test_root(void)
{
	folders.n = 0;
	places.root_fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	shell("mkdir -p %s/usr/lib && mv %s/debug %s/usr/lib/debug", top, top, top);
	check_found(RELEASE, "[made_up]", true, "a module's file is found below --root");
	close(places.root_fd);
}

int main(void)
{
	const char *build = getenv("top_builddir");
	char path[600];

	snprintf(program, sizeof(program), "%s/tests/lines/inlined", build ? build : ".");
	must(line_client_start(&no_lines_reader));
	if (!mkdtemp(top))
		return 99;
	shell("cd %s && mkdir -p debug/lib/modules/" RELEASE "/kernel/net debug/usr/lib/modules/" RELEASE
	      " elsewhere",
	      top);
	shell("cp %s %s/debug/lib/modules/" RELEASE "/kernel/net/made-up.ko", program, top);
	/* A module is a relocatable file: ET_REL is 1. */
	shell("printf '\\001' | dd of=%s/debug/lib/modules/" RELEASE
	      "/kernel/net/made-up.ko bs=1 seek=16 conv=notrunc 2>/dev/null",
	      top);
	shell("cp %s %s/debug/usr/lib/modules/" RELEASE "/sound.ko.debug", program, top);
	shell("cp %s %s/elsewhere/behind.ko", program, top);
	shell("cp /proc/self/exe %s/debug/lib/modules/" RELEASE "/kernel/other.ko", top);
	shell("ln -s %s %s/debug/lib/modules/" RELEASE "/kernel/link.ko", program, top);
	shell("ln -s %s/elsewhere %s/debug/lib/modules/" RELEASE "/kernel/elsewhere", top, top);
	snprintf(path, sizeof(path), "%s/debug", top);
	folders.fds[folders.n++] = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	test_names();
	test_in_sandbox();
	close(folders.fds[0]);
	test_root();
	line_client_stop();
	shell("rm -rf %s", top);
	return tap_done();
}
