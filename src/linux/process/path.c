/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guest's directory entries, walked up for the name of a file and down for a file of a name.
 * Resolver's thread; read while the guest runs, so every walk has a bound and what it yields may
 * be a mixture of before and after a rename().
 *
 * Up, as d_path() of the kernel (Linux fs/d_path.c):
 *
 *   file.f_path    { mnt, dentry }
 *   dentry         d_name, d_parent; the root of a file system is its own parent
 *   vfsmount       mnt_root: the dentry that is mounted; it is a member of ..
 *   mount          mnt_parent, mnt_mountpoint: where; the first mount of all is its own parent
 *
 * At a dentry that is the mount's root the walk goes on at the mount point, in the parent mount. A
 * dentry that is its own parent but not its mount's root has no place in a tree: memfd, SysV
 * shared memory; its name is all there is. Unhashed (d_hash.pprev is NULL): the file was deleted.
 *
 * A file of overlayfs that is mapped is the one below, of a file system whose mount nobody sees.
 * From 6.5 it is a struct backing_file, told by FMODE_BACKING, and has the path the user knows
 * behind it (Linux commit def3ae83da02 ("fs: store real path instead of fake path in backing file
 * f_path") (in v6.6)); before, f_path was the user's.
 *
 * Down: a dentry's children hang in a list, by hlist_node d_sib from d_children, or to Linux 6.7 by
 * list_head d_child from d_subdirs (Linux commit da549bdd15c2 ("dentry: switch the lists of
 * children to hlist") (in v6.8)); only those that were looked up lately are in memory. Child mounts
 * hang in mount.mnt_mounts by mnt_child.
 */
#include "config.h"

#include "linux/process/path.h"

#include <string.h>

#include "linux/kernel/member.h"

#define PATH_FMODE_BACKING (1U << 25) /* Linux include/linux/fs.h, since v6.5 */

struct path_place {
	uint64_t vfsmount, dentry;
};

/* --- up --------------------------------------------------------------------------------------- */

/* A path that is written from its end to its front. */
struct path_writer {
	char *buffer;
	size_t start; /* of what is written */
};

static bool path_prepend(struct path_writer *writer, const char *bytes, size_t n)
{
	if (n > writer->start)
		return false;
	writer->start -= n;
	memcpy(writer->buffer + writer->start, bytes, n);
	return true;
}

/* N: without the NUL, of which there is none. */
static bool path_read_name(const struct linux_guest *linux_guest, uint64_t dentry, char *name,
			   size_t *n)
{
	uint64_t address;
	uint32_t length;

	if (!member_read_u32(linux_guest, dentry, DENTRY_NAME_LEN, &length) || !length ||
	    length > PATH_MAX_NAME_BYTES ||
	    !member_read_pointer(linux_guest, dentry, DENTRY_NAME, &address) ||
	    memory_read(linux_guest->memory, linux_guest->root, address, name, length) != length ||
	    memchr(name, '\0', length))
		return false;
	*n = length;
	return true;
}

static bool path_prepend_dentry(const struct linux_guest *linux_guest, uint64_t dentry,
				struct path_writer *writer)
{
	char name[PATH_MAX_NAME_BYTES];
	size_t n;

	return path_read_name(linux_guest, dentry, name, &n) && path_prepend(writer, name, n) &&
	       path_prepend(writer, "/", 1);
}

/* From the root of a mount to where it is mounted. False in *more: it is mounted nowhere. */
static bool path_cross(const struct linux_guest *linux_guest, struct path_place *place, bool *more)
{
	uint64_t mount, parent;

	if (!layout_has(&linux_guest->layout, MOUNT_MNT))
		return false;
	mount = place->vfsmount - layout_offset(&linux_guest->layout, MOUNT_MNT);
	if (!member_read_pointer(linux_guest, mount, MOUNT_PARENT, &parent))
		return false;
	*more = parent != mount;
	if (!*more)
		return true;
	place->vfsmount = parent + layout_offset(&linux_guest->layout, MOUNT_MNT);
	return member_read_pointer(linux_guest, mount, MOUNT_MOUNTPOINT, &place->dentry);
}

/* One component, or one mount. */
static bool path_step_up(const struct linux_guest *linux_guest, struct path_place *place,
			 struct path_writer *writer, bool *more)
{
	uint64_t root, parent;

	if (!member_read_pointer(linux_guest, place->vfsmount, VFSMOUNT_ROOT, &root) ||
	    !member_read_pointer(linux_guest, place->dentry, DENTRY_PARENT, &parent))
		return false;
	if (place->dentry == root)
		return path_cross(linux_guest, place, more);
	if (!path_prepend_dentry(linux_guest, place->dentry, writer))
		return false;
	*more = parent != place->dentry;
	place->dentry = parent;
	return true;
}

static bool path_read_place(const struct linux_guest *linux_guest, uint64_t address,
			    struct path_place *place)
{
	return member_read_pointer(linux_guest, address, PATH_MNT, &place->vfsmount) &&
	       member_read_pointer(linux_guest, address, PATH_DENTRY, &place->dentry);
}

static bool path_place_of_file(const struct linux_guest *linux_guest, uint64_t file,
			       struct path_place *place)
{
	const struct layout *layout = &linux_guest->layout;
	enum layout_member member = FILE_PATH;
	uint32_t mode = 0;

	if (layout_has(layout, BACKING_FILE_USER_PATH) &&
	    member_read_u32(linux_guest, file, FILE_MODE, &mode) && mode & PATH_FMODE_BACKING)
		member = BACKING_FILE_USER_PATH;
	return layout_has(layout, member) && linux_is_kernel(file) &&
	       path_read_place(linux_guest, file + layout_offset(layout, member), place);
}

static bool path_is_deleted(const struct linux_guest *linux_guest, uint64_t dentry)
{
	uint64_t hashed, parent = dentry;

	if (!member_read_u64(linux_guest, dentry, DENTRY_HASH_PPREV, &hashed) || hashed)
		return false;
	/* roots are not hashed either */
	return member_read_u64(linux_guest, dentry, DENTRY_PARENT, &parent) && parent != dentry;
}

bool path_of_file(const struct linux_guest *linux_guest, uint64_t file, struct path_name *name)
{
	struct path_writer writer = { .buffer = name->path, .start = sizeof(name->path) - 1 };
	struct path_place place;
	bool more = true;

	*name = (struct path_name){ .path = "" };
	if (!path_place_of_file(linux_guest, file, &place))
		return false;
	name->deleted = path_is_deleted(linux_guest, place.dentry);
	for (unsigned i = 0; more; i++)
		if (i == PATH_MAX_COMPONENTS ||
		    !path_step_up(linux_guest, &place, &writer, &more)) {
			name->path[0] = '\0';
			return false;
		}
	if (writer.start == sizeof(name->path) - 1)
		path_prepend(&writer, "/", 1);
	memmove(name->path, name->path + writer.start, sizeof(name->path) - writer.start);
	return true;
}

/* --- down ------------------------------------------------------------------------------------- */

static bool path_has_name(const struct linux_guest *linux_guest, uint64_t dentry, const char *name)
{
	char read[PATH_MAX_NAME_BYTES];
	size_t n;

	return path_read_name(linux_guest, dentry, read, &n) && n == strlen(name) &&
	       memcmp(read, name, n) == 0;
}

/* Where the list of children begins, what ends it, and where a child has its link. */
struct path_list {
	uint64_t head;
	bool circular; /* list_head: it ends at its head. Else hlist: at NULL */
	enum layout_member link;
};

static bool path_children(const struct linux_guest *linux_guest, uint64_t dentry,
			  struct path_list *list)
{
	const struct layout *layout = &linux_guest->layout;
	bool hlist = layout_has(layout, DENTRY_CHILDREN) && layout_has(layout, DENTRY_SIB);

	if (!hlist && (!layout_has(layout, DENTRY_SUBDIRS) || !layout_has(layout, DENTRY_CHILD)))
		return false;
	list->circular = !hlist;
	list->link = hlist ? DENTRY_SIB : DENTRY_CHILD;
	list->head = dentry + layout_offset(layout, hlist ? DENTRY_CHILDREN : DENTRY_SUBDIRS);
	return true;
}

static bool path_find_child(const struct linux_guest *linux_guest, uint64_t dentry,
			    const char *name, uint64_t *childp)
{
	struct path_list list;
	uint64_t link;

	if (!path_children(linux_guest, dentry, &list) ||
	    !linux_read_u64(linux_guest, list.head, &link))
		return false;
	for (unsigned i = 0; i < PATH_MAX_ENTRIES && linux_is_kernel(link) && link != list.head;
	     i++) {
		uint64_t child = link - layout_offset(&linux_guest->layout, list.link);

		if (path_has_name(linux_guest, child, name)) {
			*childp = child;
			return true;
		}
		if (!linux_read_u64(linux_guest, link, &link))
			return false;
	}
	return false;
}

/* What is mounted on PLACE, if something is; of several the one that hides the others. */
static void path_enter_mount(const struct linux_guest *linux_guest, struct path_place *place)
{
	const struct layout *layout = &linux_guest->layout;
	uint64_t mount, head, link, child, mountpoint, root;

	if (!layout_has(layout, MOUNT_MNT) || !layout_has(layout, MOUNT_MOUNTS) ||
	    !layout_has(layout, MOUNT_CHILD))
		return;
	mount = place->vfsmount - layout_offset(layout, MOUNT_MNT);
	head = mount + layout_offset(layout, MOUNT_MOUNTS);
	if (!linux_is_kernel(mount) || !linux_read_u64(linux_guest, head, &link))
		return;
	for (unsigned i = 0; i < PATH_MAX_ENTRIES && linux_is_kernel(link) && link != head; i++) {
		child = link - layout_offset(layout, MOUNT_CHILD);
		if (member_read_u64(linux_guest, child, MOUNT_MOUNTPOINT, &mountpoint) &&
		    mountpoint == place->dentry &&
		    member_read_pointer(linux_guest, child + layout_offset(layout, MOUNT_MNT),
					VFSMOUNT_ROOT, &root)) {
			*place = (struct path_place){ child + layout_offset(layout, MOUNT_MNT),
						      root };
			return;
		}
		if (!linux_read_u64(linux_guest, link, &link))
			return;
	}
}

bool path_find_file(const struct linux_guest *linux_guest, uint64_t task, const char *directory,
		    const char *name, uint64_t *inode)
{
	const struct layout *layout = &linux_guest->layout;
	struct path_place place;
	uint64_t fs, dentry;

	if (!layout_has(layout, FS_ROOT) || !member_read_pointer(linux_guest, task, TASK_FS, &fs) ||
	    !path_read_place(linux_guest, fs + layout_offset(layout, FS_ROOT), &place) ||
	    !path_find_child(linux_guest, place.dentry, directory, &place.dentry))
		return false;
	path_enter_mount(linux_guest, &place);
	return path_find_child(linux_guest, place.dentry, name, &dentry) &&
	       member_read_pointer(linux_guest, dentry, DENTRY_INODE, inode); /* NULL: negative */
}
