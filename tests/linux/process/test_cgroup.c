/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The control group of a task: its path, the name that people know, what is refused. */
#include "config.h"

#include <string.h>

#include "linux/process/cgroup.h"
#include "tests/support/made_linux.h"
#include "tests/support/tap.h"

static struct made_linux *made;
static uint64_t task, root;

static void begin(void)
{
	made = made_linux_create(MADE_TREE);
	task = made_task(made, 100, 100, "server", 0, 0);
	root = made_cgroup(made, 0, "");
}

static void check_path(uint64_t group, const char *expected, const char *what)
{
	char path[CGROUP_PATH_BYTES] = "";

	made_set_cgroup(made, task, group);
	check(cgroup_read(&made->guest, task, path), "%s: it can be read", what);
	check_string(path, expected, what);
}

static void check_refused(const char *what)
{
	char path[CGROUP_PATH_BYTES];

	check(!cgroup_read(&made->guest, task, path), "refused: %s", what);
}

static void test_paths(void)
{
	uint64_t slice, unit;

	begin();
	slice = made_cgroup(made, root, "system.slice");
	unit = made_cgroup(made, slice, "nginx.service");
	check(cgroup_has_layout(&made->guest.layout),
	      "a kernel with the members has control groups");
	check_path(root, "/", "the root");
	check_path(slice, "/system.slice", "a group");
	check_path(unit, "/system.slice/nginx.service", "a group in a group");
	made_without(made, CSS_SET_CGROUP);
	check(!cgroup_has_layout(&made->guest.layout),
	      "a kernel without the members has no control groups");
	check_refused("a kernel without control groups");
	made_linux_destroy(made);
}

/* A group so deep that LEVELS groups stand below the root. */
static uint64_t make_deep(unsigned levels, const char *name)
{
	uint64_t group = root;

	while (levels--)
		group = made_cgroup(made, group, name);
	return group;
}

static void test_bounds(void)
{
	char name[300], path[CGROUP_PATH_BYTES];
	uint64_t first, second;

	begin();
	made_set_cgroup(made, task, make_deep(CGROUP_MAX_DEPTH - 1, "g"));
	check(cgroup_read(&made->guest, task, path) && strlen(path) == 2 * (CGROUP_MAX_DEPTH - 1),
	      "the deepest allowed group is read");
	made_set_cgroup(made, task, make_deep(CGROUP_MAX_DEPTH, "g"));
	check_refused("a deeper group");

	memset(name, 'n', sizeof(name));
	name[255] = '\0';
	made_set_cgroup(made, task, make_deep(1, name));
	check(cgroup_read(&made->guest, task, path) && strlen(path) == 256,
	      "the longest allowed name is read");
	made_set_cgroup(made, task, make_deep(16, name));
	check_refused("a path of 4 KiB");
	name[255] = 'n';
	name[256] = '\0';
	made_set_cgroup(made, task, make_deep(1, name));
	check_refused("a longer name");

	first = made_cgroup(made, root, "first");
	second = made_cgroup(made, first, "second");
	made_set(made, first, KERNFS_PARENT, second);
	made_set_cgroup(made, task, second);
	check_refused("a circle");
	made_linux_destroy(made);
}

static void test_damaged(void)
{
	static const uint64_t nowhere[] = { 0, 0x1234, 0xffffffffdead0000, UINT64_MAX - 6 };
	uint64_t group, set, cgroup;

	begin();
	group = made_cgroup(made, root, "group");
	for (size_t i = 0; i < sizeof(nowhere) / sizeof(nowhere[0]); i++) {
		set = made_set_cgroup(made, task, group);
		check(linux_read_u64(&made->guest, set + made_offset(made, CSS_SET_CGROUP),
				     &cgroup),
		      "a task whose set has a group is read");
		made_set(made, task, TASK_CGROUPS, nowhere[i]);
		check_refused("a task without a set");
		made_set(made, task, TASK_CGROUPS, set);
		made_set(made, set, CSS_SET_CGROUP, nowhere[i]);
		check_refused("a set without a group");
		made_set(made, set, CSS_SET_CGROUP, cgroup);
		made_set(made, cgroup, CGROUP_NODE, nowhere[i]);
		check_refused("a group without a directory");
		made_set(made, cgroup, CGROUP_NODE, group);
		made_set(made, group, KERNFS_NAME, nowhere[i]);
		check_refused("a directory without a name");
		group = made_cgroup(made, root, "group");
		if (!nowhere[i])
			continue;
		made_set_cgroup(made, task, group);
		made_set(made, group, KERNFS_PARENT, nowhere[i]);
		check_refused("a directory in nothing");
		group = made_cgroup(made, root, "group");
	}
	made_set_cgroup(made, task, made_cgroup(made, root, "a/b"));
	check_refused("a name with a slash");
	made_set_cgroup(made, task, made_cgroup(made, root, ""));
	check_refused("an empty name");
	made_linux_destroy(made);
}

#define DIGITS "3f2ab1c2d3e4f5061728394a5b6c7d8e9fa0b1c2d3e4f5061728394a5b6c7d8e"

static void test_names(void)
{
	static const struct {
		const char *path, *name;
	} names[] = {
		{ "/", "" },
		{ "/init.scope", "init.scope" },
		{ "/system.slice", "system.slice" },
		{ "/system.slice/nginx.service", "nginx.service" },
		{ "/user.slice/user-1000.slice/session-1.scope", "session-1.scope" },
		{ "/user.slice/user-1000.slice/user@1000.service/app.slice/a.service",
		  "user@1000.service/app.slice/a.service" },
		{ "/docker/" DIGITS, "docker/3f2ab1c2d3e4" },
		{ "/system.slice/docker-" DIGITS ".scope", "docker-3f2ab1c2d3e4.scope" },
		{ "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-podb7e2.slice/"
		  "cri-containerd-" DIGITS ".scope",
		  "cri-containerd-3f2ab1c2d3e4.scope" },
		{ "/machine.slice/0123456789abcdef0123456789abcdef", "0123456789ab" },
		{ "/build/0123456789abcdef0123456789abcde",
		  "build/0123456789abcdef0123456789abcde" },
		{ "/slice/x.slicer/y", "slice/x.slicer/y" },
	};
	char path[CGROUP_PATH_BYTES], name[CGROUP_NAME_BYTES];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		cgroup_shorten(names[i].path, name);
		check_string(name, names[i].name, names[i].path);
	}
	memset(path, 'x', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	cgroup_shorten(path, name);
	check_u64(strlen(name), CGROUP_NAME_BYTES - 1, "one name that is too long is cut");
	path[0] = '/';
	for (size_t i = 1; i < sizeof(path) - 1; i++)
		path[i] = i % 10 ? 'x' : '/';
	cgroup_shorten(path, name);
	check(strlen(name) < CGROUP_NAME_BYTES && strlen(name) > CGROUP_NAME_BYTES - 12 &&
		      strcmp(name + strlen(name) - 5, path + strlen(path) - 5) == 0,
	      "a path that is too long loses its first groups: %s", name);
}

int main(void)
{
	test_paths();
	test_bounds();
	test_damaged();
	test_names();
	return tap_done();
}
