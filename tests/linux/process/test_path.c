/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Paths of files through directories and mounts, and files by name; rings, depths, odd names. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "linux/process/path.h"
#include "tests/support/made_linux.h"
#include "tests/support/tap.h"

static struct made_linux *made;
static struct path_name name;

static void check_path(uint64_t file, const char *path, bool deleted)
{
	check(path_read(&made->guest, file, &name), "%s can be read", path);
	check_string(name.path, path, "path that the kernel's names give");
	check(name.deleted == deleted, "deleted: %d", name.deleted);
}

static void test_names(void)
{
	uint64_t file, dentry, inode;

	made = made_linux_create(MADE_TREE);
	check_path(made_file(made, "/init", "", 0), "/init", false);
	check_path(made_file(made, "/lib/x86_64-linux-gnu/libc.so.6", "", 0),
		   "/lib/x86_64-linux-gnu/libc.so.6", false);
	check(path_read(&made->guest, made_file(made, "/lib/a b\n\033[2J", "", 0), &name) &&
		      strcmp(name.path, "/lib/a b\n\033[2J") == 0,
	      "control bytes of a name stay as they are");
	check_path(made_file_at(made, made->root_mount, made->root_dentry, made_inode(made, 0)),
		   "/", false);

	inode = made_inode(made, 0);
	dentry = made_dentry(made, made->root_dentry, "gone", inode);
	made_set(made, dentry, DENTRY_HASH_PPREV, 0);
	check_path(made_file_at(made, made->root_mount, dentry, inode), "/gone", true);
	dentry = made_dentry(made, 0, "memfd:code", inode);
	check_path(made_file_at(made, made->root_mount, dentry, inode), "/memfd:code", false);

	/*
	 * overlayfs: the struct file has the path below, and after it the path that the user
	 * knows.
	 */
	file = made_file_at(made, made->root_mount,
			    made_dentry(made, made->root_dentry, "below", inode), inode);
	dentry = made_dentry(made, made->root_dentry, "above", inode);
	made_put_u64(made->memory, made->guest.root,
		     file + made_offset(made, BACKING_FILE_USER_PATH),
		     made->root_mount + made_offset(made, MOUNT_MNT));
	made_put_u64(made->memory, made->guest.root,
		     file + made_offset(made, BACKING_FILE_USER_PATH) + 8, dentry);
	check_path(file, "/below", false);
	made_set_u32(made, file, FILE_MODE, 1U << 25 | 5);
	check_path(file, "/above", false);
	made_linux_destroy(made);
}

static void test_mounts(void)
{
	uint64_t opt, disk, disk_root, below, inner, inner_root, file, inode;

	made = made_linux_create(MADE_TREE);
	inode = made_inode(made, 0);
	opt = made_dentry(made, made->root_dentry, "opt", made_inode(made, 0));
	disk = made_mount(made, made->root_mount, opt, &disk_root);
	below = made_dentry(made, disk_root, "data", made_inode(made, 0));
	inner = made_mount(made, disk, below, &inner_root);
	file = made_file_at(made, inner, made_dentry(made, inner_root, "prog", inode), inode);
	check_path(file, "/opt/data/prog", false);
	check_path(made_file_at(made, inner, inner_root, inode), "/opt/data", false);
	/* A bind mount: the root of the mount is a directory further down. */
	made_set(made, inner + made_offset(made, MOUNT_MNT), VFSMOUNT_ROOT, below);
	file = made_file_at(made, inner, made_dentry(made, below, "bound", inode), inode);
	check_path(file, "/opt/data/bound", false);
	made_linux_destroy(made);
}

static uint64_t file_of(uint64_t dentry)
{
	return made_file_at(made, made->root_mount, dentry, made_inode(made, 0));
}

static void check_no_path(uint64_t file, const char *what)
{
	check(!path_read(&made->guest, file, &name), "no path is read: %s", what);
	check_string(name.path, "", "a path that cannot be read is empty");
}

static void test_components(void)
{
	char want[PATH_MAX_BYTES] = "";
	uint64_t dentry;

	made = made_linux_create(MADE_TREE);
	check_no_path(0, "address 0");
	check_no_path(0xffffffffc0000000, "a struct file that cannot be read");
	dentry = made->root_dentry;
	for (int i = 0; i < PATH_MAX_COMPONENTS - 1; i++) {
		dentry = made_dentry(made, dentry, "d", 0);
		strcat(want, "/d");
	}
	check_path(file_of(dentry), want, false);
	check_no_path(file_of(made_dentry(made, dentry, "d", 0)), "one component too many");
	made_linux_destroy(made);
}

static void test_lengths(void)
{
	char long_name[256] = "", want[PATH_MAX_BYTES + 10] = "";
	uint64_t dentry;

	made = made_linux_create(MADE_TREE);
	memset(long_name, 'n', sizeof(long_name) - 1);
	dentry = made->root_dentry;
	for (int i = 0; i < 16; i++) {
		const char *component = long_name + (i == 15);

		dentry = made_dentry(made, dentry, component, 0);
		snprintf(want + strlen(want), sizeof(want) - strlen(want), "/%s", component);
	}
	check_u64(strlen(want), PATH_MAX_BYTES - 1, "the longest path is read");
	check_path(file_of(dentry), want, false);
	made_set_u32(made, dentry, DENTRY_NAME_LEN, 255);
	check_no_path(file_of(dentry), "a NUL in a name");
	made_set_u32(made, dentry, DENTRY_NAME_LEN, 254);
	check_no_path(file_of(made_dentry(made, dentry, "x", 0)), "a path longer than the limit");
	dentry = made_dentry(made, made->root_dentry, "x", 0);
	made_set_u32(made, dentry, DENTRY_NAME_LEN, 2);
	check_no_path(file_of(dentry), "a NUL in a short name");
	made_linux_destroy(made);
}

static void test_damaged(void)
{
	uint64_t dentry, other, file, mount, root;

	made = made_linux_create(MADE_TREE);
	dentry = made_dentry(made, made->root_dentry, "ring", 0);
	other = made_dentry(made, dentry, "other", 0);
	file = file_of(dentry);
	made_set(made, dentry, DENTRY_PARENT, other);
	check_no_path(file, "directories in a ring");
	made_set(made, dentry, DENTRY_PARENT, made->root_dentry);
	check_path(file, "/ring", false);
	made_set_u32(made, dentry, DENTRY_NAME_LEN, 256);
	check_no_path(file, "a name longer than the limit");
	made_set_u32(made, dentry, DENTRY_NAME_LEN, 0);
	check_no_path(file, "an empty name");
	made_set_u32(made, dentry, DENTRY_NAME_LEN, 4);
	made_set(made, dentry, DENTRY_NAME, 0x1000);
	check_no_path(file, "a name outside the kernel");

	mount = made_mount(made, made->root_mount, made->root_dentry, &root);
	made_set(made, mount, MOUNT_PARENT, mount + 8);
	made_set(made, mount + 8, MOUNT_PARENT, mount);
	made_set(made, mount, MOUNT_MOUNTPOINT, root);
	file = made_file_at(made, mount, made_dentry(made, root, "f", 0), made_inode(made, 0));
	path_read(&made->guest, file, &name);
	check(true, "a walk up a ring of mounts ends");
	made_linux_destroy(made);
}

/* A kernel with hlists of children, or with those to Linux 6.7. */
static void begin_find(bool hlist)
{
	made = made_linux_create(MADE_TREE);
	if (hlist)
		return;
	made_without(made, DENTRY_CHILDREN);
	made_without(made, DENTRY_SIB);
	made->guest.layout.values[DENTRY_SUBDIRS] = 0x90;
	made->guest.layout.values[DENTRY_CHILD] = 0x80;
}

static void test_find(bool hlist)
{
	uint64_t file, task, inode = 0, directory;

	begin_find(hlist);
	task = made_task(made, 7, 7, "java", MADE_OBJECTS + 0x100000, 0);
	check(!path_find_file(&made->guest, task, "/tmp/perf-7.map", &inode),
	      "a file in a directory that does not exist is not found");
	file = made_file(made, "/tmp/perf-7.map", "x", 1);
	made_file(made, "/tmp/perf-77.map", "x", 1);
	made_file(made, "/tmp/perf-6.map", "x", 1);
	check(path_find_file(&made->guest, task, "/tmp/perf-7.map", &inode) &&
		      inode == made_inode_of(made, file),
	      "a file among others is found");
	check(!path_find_file(&made->guest, task, "/tmp/perf-8.map", &inode),
	      "a file that does not exist is not found");
	directory = made_dentry(made, made->root_dentry, "neg", 0);
	made_dentry(made, directory, "perf-7.map", 0);
	check(!path_find_file(&made->guest, task, "/neg/perf-7.map", &inode),
	      "a negative dentry is no file");
	check(inode == made_inode_of(made, file), "a failure leaves the result untouched");
	made_linux_destroy(made);
}

/* A path of several names, and paths from the working directory. */
static void test_find_deep(bool hlist)
{
	uint64_t file, task, fs, inode = 0;

	begin_find(hlist);
	task = made_task(made, 7, 7, "python3", MADE_OBJECTS + 0x100000, 0);
	file = made_file(made, "/srv/shop/app.py", "x", 1);
	check(path_find_file(&made->guest, task, "/srv/shop/app.py", &inode) &&
		      inode == made_inode_of(made, file),
	      "a file two directories down is found");
	check(path_find_file(&made->guest, task, "srv/./shop//app.py", &inode),
	      "a path from the working directory, with nothing between two slashes");
	check(!path_find_file(&made->guest, task, "app.py", &inode),
	      "the file is in another directory");
	check(!path_find_file(&made->guest, task, "/srv/shop/app.p", &inode), "a part of a name");
	memory_read_u64(made->guest.memory, made->guest.root, task + made_offset(made, TASK_FS),
			&fs);
	made_set_fs_path(made, fs, FS_PWD, made_dentry(made, made->root_dentry, "work", 0));
	check(!path_find_file(&made->guest, task, "srv/shop/app.py", &inode),
	      "another working directory has no such file");
	check(path_find_file(&made->guest, task, "/srv/shop/app.py", &inode),
	      "the root directory still has it");
	made_linux_destroy(made);
}

/* A mount on the directory, as tmpfs on /tmp. */
static void test_find_mounted(bool hlist)
{
	uint64_t task, inode = 0, directory, mount, root, other, map;

	begin_find(hlist);
	task = made_task(made, 7, 7, "java", MADE_OBJECTS + 0x100000, 0);
	directory = made_dentry(made, made->root_dentry, "tmp", made_inode(made, 0));
	mount = made_mount(made, made->root_mount, directory, &root);
	made_mount(made, made->root_mount, made_dentry(made, made->root_dentry, "proc", 0), &other);
	map = made_inode(made, 5);
	made_dentry(made, root, "perf-7.map", map);
	check(path_find_file(&made->guest, task, "/tmp/perf-7.map", &inode) && inode == map,
	      "a file below a mount is found");
	made_set(made, mount, MOUNT_CHILD, mount + made_offset(made, MOUNT_CHILD));
	made_set(made, made->root_mount, MOUNT_MOUNTS, mount + made_offset(made, MOUNT_CHILD));
	made_set(made, mount, MOUNT_MOUNTPOINT, made->root_dentry);
	check(!path_find_file(&made->guest, task, "/tmp/perf-7.map", &inode),
	      "a walk down a ring of mounts ends");
	made_set(made, made->root_mount, MOUNT_MOUNTS, 0x1234);
	check(!path_find_file(&made->guest, task, "/tmp/perf-7.map", &inode),
	      "without a list of mounts the directory below is searched");
	made_linux_destroy(made);
}

static void test_find_limits(bool hlist)
{
	uint64_t task, inode = 0, directory, dentry, map;
	enum layout_member link = hlist ? DENTRY_SIB : DENTRY_CHILD;

	begin_find(hlist);
	task = made_task(made, 7, 7, "java", MADE_OBJECTS + 0x100000, 0);
	map = made_inode(made, 5);
	directory = made_dentry(made, made->root_dentry, "ring", made_inode(made, 0));
	dentry = made_dentry(made, directory, "a", map);
	made_set(made, dentry, link, dentry + made_offset(made, link));
	check(!path_find_file(&made->guest, task, "/ring/perf-7.map", &inode),
	      "a walk over a ring of children ends");
	for (int i = 0; i < PATH_MAX_ENTRIES; i++)
		made_dentry(made, directory, "n", map);
	check(!path_find_file(&made->guest, task, "/ring/a", &inode),
	      "an entry beyond the limit is not found");
	check(path_find_file(&made->guest, task, "/ring/n", &inode),
	      "an entry within the limit is found");
	made_linux_destroy(made);
}

static void test_find_depth(bool hlist)
{
	char path[2 * PATH_MAX_DEPTH + 3] = "";
	uint64_t task, inode, dentry;

	begin_find(hlist);
	task = made_task(made, 7, 7, "java", MADE_OBJECTS + 0x100000, 0);
	dentry = made->root_dentry;
	for (int i = 0; i <= PATH_MAX_DEPTH; i++)
		dentry = made_dentry(made, dentry, "d", made_inode(made, 5));
	for (int i = 0; i < PATH_MAX_DEPTH; i++)
		strcat(path, "/d");
	check(path_find_file(&made->guest, task, path, &inode), "the deepest file is found");
	strcat(path, "/d");
	check(!path_find_file(&made->guest, task, path, &inode),
	      "a file that is deeper is not found");
	made_linux_destroy(made);
}

/* A symbolic link in DIRECTORY. Its text is in the inode, or in the page cache. */
static void make_link(uint64_t directory, const char *link, const char *text, bool cached)
{
	uint64_t inode = made_inode(made, strlen(text)), address;

	made_set_u32(made, inode, INODE_MODE, 0120777);
	made_dentry(made, directory, link, inode);
	if (cached) {
		made_cache(made, inode, text, strlen(text));
		return;
	}
	address = made_object(made, strlen(text) + 1, 8);
	made_put_string(made->memory, made->guest.root, address, text);
	made_set(made, inode, INODE_LINK, address);
}

static void check_finds(uint64_t task, const char *path, uint64_t inode, const char *what)
{
	uint64_t found = 0;

	check(path_find_file(&made->guest, task, path, &found) == (inode != 0) && found == inode,
	      "%s: %s", path, what);
}

static void test_links(bool hlist)
{
	char path[2 * PATH_MAX_DEPTH + 8] = "";
	uint64_t task, inode, root, srv, mount_root;

	begin_find(hlist);
	task = made_task(made, 7, 7, "python3", MADE_OBJECTS + 0x100000, 0);
	inode = made_inode_of(made, made_file(made, "/srv/releases/12/app.py", "x", 1));
	root = made->root_dentry;
	srv = made_dentry(made, root, "www", made_inode(made, 0));
	make_link(root, "app.py", "srv/releases/12/app.py", false);
	make_link(srv, "current", "../srv/releases/12", false);
	make_link(srv, "cached", "/srv/releases/12/", true);
	make_link(srv, "chain", "current", true);
	make_link(srv, "ring", "ring", false);
	make_link(srv, "far", "../../../srv/releases/12", false);
	check_finds(task, "/app.py", inode, "the last component is a link");
	check_finds(task, "www/current/app.py", inode, "a link to a directory, with \"..\"");
	check_finds(task, "/www/cached/app.py", inode, "a link with its text in the page cache");
	check_finds(task, "/www/chain//app.py", inode, "a link to a link");
	check_finds(task, "/www/far/app.py", inode, "nothing is above the root");
	check_finds(task, "/www/ring/app.py", 0, "a ring of links ends");
	check_finds(task, "/www/current/app", 0, "no such file");
	made_mount(made, made->root_mount, srv, &mount_root);
	make_link(mount_root, "up", "../app.py", false);
	check_finds(task, "/www/up", inode, "a link that leaves its mount");
	for (int i = 0; i < PATH_MAX_DEPTH; i++)
		strcat(path, "/.");
	strcat(path, "/app.py");
	check_finds(task, path, inode, "\".\" is no component");
	made_linux_destroy(made);
}

/* How kernels lay out a struct ovl_inode. */
enum overlay_shape { SHAPE_INODE, SHAPE_PATH, SHAPE_ENTRY, N_SHAPES };

/* An inode of overlayfs whose lower file is DENTRY's. */
static uint64_t make_overlay(uint64_t super, enum overlay_shape shape, uint64_t upper,
			     uint64_t dentry, uint64_t lower)
{
	uint64_t inode = made_inode(made, 5), entry = made_object(made, 24, 8);
	uint64_t words = inode + made_offset(made, INODE_SIZEOF);

	made_set(made, inode, INODE_SB, super);
	made_write(made, words, upper);
	made_write(made, entry, 1);
	made_write(made, entry + 8, made_object(made, 8, 8));
	made_write(made, entry + 16, dentry);
	made_write(made, words + 8, shape == SHAPE_INODE ? lower : entry);
	if (shape == SHAPE_PATH) {
		made_write(made, words + 8, made_object(made, 64, 8));
		made_write(made, words + 16, dentry);
	}
	return inode;
}

static void test_overlay(enum overlay_shape shape)
{
	uint64_t task, super, lower, upper, low, up, above, nested, other;

	begin_find(true);
	task = made_task(made, 7, 7, "php", MADE_OBJECTS + 0x100000, 0);
	super = made_object(made, MADE_OBJECT_BYTES, 64);
	made_set(made, super, SUPER_MAGIC, 0x794c7630);
	lower = made_inode(made, 5);
	upper = made_inode(made, 5);
	low = made_dentry(made, 0, "lower", lower);
	up = made_dentry(made, 0, "upper", upper);
	above = make_overlay(super, shape, 0, low, lower);
	made_dentry(made, made->root_dentry, "lower.php", above);
	made_dentry(made, made->root_dentry, "upper.php",
		    make_overlay(super, shape, up, low, lower));
	check_finds(task, "/lower.php", lower, "the image's file has the pages");
	check_finds(task, "/upper.php", upper, "the container's own file has the pages");
	other = made_object(made, MADE_OBJECT_BYTES, 64);
	made_set(made, other, SUPER_MAGIC, 0x794c7630);
	nested = make_overlay(other, shape, 0, made_dentry(made, 0, "above", above), above);
	made_dentry(made, made->root_dentry, "nested.php", nested);
	check_finds(task, "/nested.php", lower, "an overlayfs on another one");
	made_cache(made, lower, "<?php", 5);
	check_finds(task, "/upper.php", lower, "metacopy=on: the image's file has the pages");
	made_cache(made, upper, "<?php", 5);
	check_finds(task, "/upper.php", upper, "both have pages: the container's own file");
	made_set(made, lower, INODE_MTIME_SEC, 1);
	check_finds(task, "/lower.php", above, "a file with another time is not taken");
	made_linux_destroy(made);
}

int main(void)
{
	test_names();
	test_mounts();
	test_components();
	test_lengths();
	test_damaged();
	for (int hlist = 0; hlist < 2; hlist++) {
		test_find(hlist);
		test_find_deep(hlist);
		test_find_mounted(hlist);
		test_find_limits(hlist);
		test_find_depth(hlist);
		test_links(hlist);
	}
	for (enum overlay_shape shape = 0; shape < N_SHAPES; shape++)
		test_overlay(shape);
	return tap_done();
}
