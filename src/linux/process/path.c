/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Walks the guest's directory entries: up to find the name of a file, down to find a file by its
 * name; see path.h. Resolver's thread. The guest runs meanwhile, so every walk has a bound, and the
 * result may mix what was before a rename() with what came after.
 *
 * The way up, as the kernel's d_path() goes it (Linux fs/d_path.c):
 *
 *   file.f_path    { mnt, dentry }
 *   dentry         d_name, d_parent; the root of a file system is its own parent
 *   vfsmount       mnt_root: the dentry that is mounted; the vfsmount is a member of ..
 *   mount          mnt_parent, mnt_mountpoint: where it is mounted; the first is its own parent
 *
 * At the root dentry of a mount, the walk continues at the mount point, in the parent mount. A
 * dentry that is its own parent but not its mount's root has no place in a tree (memfd, SysV shared
 * memory): its name is the whole path. An unhashed dentry (d_hash.pprev is NULL) is a deleted file.
 *
 * A mapped file of overlayfs is the underlying file, on a file system with a mount that no user
 * sees. From 6.5 such a file is a struct backing_file, marked by FMODE_BACKING, and the path that
 * the user knows follows the struct file (Linux commit def3ae83da02 ("fs: store real path instead
 * of fake path in backing file f_path") (in v6.6)). Before, f_path is that path.
 *
 * The way down: a dentry's children are in a list, linked by hlist_node d_sib from d_children, or
 * up to Linux 6.7 by list_head d_child from d_subdirs (Linux commit da549bdd15c2 ("dentry: switch
 * the lists of children to hlist") (in v6.8)). Memory has only the children that were looked up
 * lately. Child mounts are in the list mount.mnt_mounts, linked by mnt_child. The text of a
 * symbolic link takes the link's place in the path; it is at inode.i_link, or the file's content.
 */
#include "config.h"

#include "linux/process/path.h"

#include <string.h>

#include "linux/kernel/kernel_types.h"
#include "linux/kernel/member.h"
#include "linux/process/overlay.h"
#include "linux/process/page_cache.h"
#include "linux/process/path_writer.h"

#define PATH_FMODE_BACKING (1U << 25) /* Linux include/linux/fs.h, since v6.5 */
#define PATH_MODE_TYPE     0170000    /* Linux include/uapi/linux/stat.h: S_IFMT, S_IFLNK */
#define PATH_MODE_LINK     0120000

struct path_place {
	uint64_t vfsmount, dentry;
	unsigned n_left; /* list entries that may still be looked at on the way down */
};

/* --- names up to the root --------------------------------------------------------------------- */

/* Reads the N bytes of the name, at most PATH_MAX_NAME_BYTES, without a NUL. */
static bool path_read_name(const struct linux_guest *guest, uint64_t dentry, char *name, size_t *n)
{
	uint64_t address;
	uint32_t length;

	if (!member_read_u32(guest, dentry, DENTRY_NAME_LEN, &length) || !length ||
	    length > PATH_MAX_NAME_BYTES ||
	    !member_read_pointer(guest, dentry, DENTRY_NAME, &address) ||
	    memory_read(guest->memory, guest->root, address, name, length) != length ||
	    memchr(name, '\0', length))
		return false;
	*n = length;
	return true;
}

static bool path_prepend_dentry(const struct linux_guest *guest, uint64_t dentry,
				struct path_writer *writer)
{
	char name[PATH_MAX_NAME_BYTES];
	size_t n;

	return path_read_name(guest, dentry, name, &n) && path_writer_prepend(writer, name, n) &&
	       path_writer_prepend(writer, "/", 1);
}

/* Goes from the root of a mount to its mount point. *MORE is false if it is mounted nowhere. */
static bool path_leave_mount(const struct linux_guest *guest, struct path_place *place, bool *more)
{
	uint64_t mount, parent;

	if (!layout_has(&guest->layout, MOUNT_MNT))
		return false;
	mount = place->vfsmount - layout_offset(&guest->layout, MOUNT_MNT);
	if (!member_read_pointer(guest, mount, MOUNT_PARENT, &parent))
		return false;
	*more = parent != mount;
	if (!*more)
		return true;
	place->vfsmount = parent + layout_offset(&guest->layout, MOUNT_MNT);
	return member_read_pointer(guest, mount, MOUNT_MOUNTPOINT, &place->dentry);
}

/* Goes up by one component, or by one mount. *MORE is false if nothing is above. */
static bool path_step_up(const struct linux_guest *guest, struct path_place *place,
			 struct path_writer *writer, bool *more)
{
	uint64_t root, parent;

	if (!member_read_pointer(guest, place->vfsmount, VFSMOUNT_ROOT, &root) ||
	    !member_read_pointer(guest, place->dentry, DENTRY_PARENT, &parent))
		return false;
	if (place->dentry == root)
		return path_leave_mount(guest, place, more);
	if (!path_prepend_dentry(guest, place->dentry, writer))
		return false;
	*more = parent != place->dentry;
	place->dentry = parent;
	return true;
}

static bool path_read_place(const struct linux_guest *guest, uint64_t address,
			    struct path_place *place)
{
	return member_read_pointer(guest, address, PATH_MNT, &place->vfsmount) &&
	       member_read_pointer(guest, address, PATH_DENTRY, &place->dentry);
}

static bool path_place_of_file(const struct linux_guest *guest, uint64_t file,
			       struct path_place *place)
{
	const struct layout *layout = &guest->layout;
	enum layout_member member = FILE_PATH;
	uint32_t mode = 0;

	if (member_read_u32(guest, file, FILE_MODE, &mode) && mode & PATH_FMODE_BACKING) {
		kernel_types_end(guest);
		if (layout_has(layout, BACKING_FILE_USER_PATH))
			member = BACKING_FILE_USER_PATH;
	}
	return layout_has(layout, member) && linux_is_kernel_of(guest, file) &&
	       path_read_place(guest, file + layout_offset(layout, member), place);
}

static bool path_is_deleted(const struct linux_guest *guest, uint64_t dentry)
{
	uint64_t hashed, parent = dentry;

	if (!member_read_word(guest, dentry, DENTRY_HASH_PPREV, &hashed) || hashed)
		return false;
	/* Roots are not hashed either. */
	return member_read_word(guest, dentry, DENTRY_PARENT, &parent) && parent != dentry;
}

/* Reads the path of PLACE. */
static bool path_read_up(const struct linux_guest *guest, struct path_place place,
			 struct path_name *name)
{
	struct path_writer writer;
	bool more = true;

	name->deleted = path_is_deleted(guest, place.dentry);
	path_writer_begin(&writer, name->path, sizeof(name->path));
	for (unsigned i = 0; more; i++)
		if (i == PATH_MAX_COMPONENTS || !path_step_up(guest, &place, &writer, &more)) {
			name->path[0] = '\0';
			return false;
		}
	path_writer_end(&writer);
	return true;
}

bool path_read(const struct linux_guest *guest, uint64_t file, struct path_name *name)
{
	struct path_place place;

	*name = (struct path_name){ .path = "" };
	return path_place_of_file(guest, file, &place) && path_read_up(guest, place, name);
}

/* --- entries below a folder ------------------------------------------------------------------- */

static bool path_has_name(const struct linux_guest *guest, uint64_t dentry, const char *name,
			  size_t length)
{
	char read[PATH_MAX_NAME_BYTES];
	size_t n;

	return path_read_name(guest, dentry, read, &n) && n == length && memcmp(read, name, n) == 0;
}

/*
 * A walk along a list of the kernel. A struct list_head ends at its head, a struct hlist_head at
 * NULL. The links are at OFFSET in the objects, and each link points to the next link. In a chain
 * of pointers to the objects themselves, the pointer to the next object is STEP bytes after the
 * object's start.
 */
struct path_list {
	const struct linux_guest *guest;
	uint64_t head, link; /* link of the current object, at first the head */
	unsigned offset, step, n_left;
};

static bool path_list_begin(struct path_list *list, const struct linux_guest *guest, uint64_t head,
			    enum layout_member link_member)
{
	*list = (struct path_list){ .guest = guest,
				    .head = head,
				    .link = head,
				    .offset = layout_offset(&guest->layout, link_member),
				    .n_left = PATH_MAX_ENTRIES };
	return linux_is_kernel_of(guest, head);
}

/* Returns false if the list ends, cannot be read, or is longer than PATH_MAX_ENTRIES. */
static bool path_list_next(struct path_list *list, uint64_t *object)
{
	if (!list->n_left-- ||
	    !linux_read_word(list->guest, list->link + list->step, &list->link) ||
	    !linux_is_kernel_of(list->guest, list->link) || list->link == list->head)
		return false;
	*object = list->link - list->offset;
	return true;
}

/* Begins a chain of objects. *HEAD points to the first object. */
static bool path_chain_begin(struct path_list *list, const struct linux_guest *guest, uint64_t head,
			     enum layout_member next_member)
{
	unsigned step = layout_offset(&guest->layout, next_member);

	*list = (struct path_list){ .guest = guest,
				    .head = head,
				    .link = head - step,
				    .step = step,
				    .n_left = PATH_MAX_ENTRIES };
	return linux_is_kernel_of(guest, head);
}

static bool path_list_children(struct path_list *list, const struct linux_guest *guest,
			       uint64_t dentry)
{
	const struct layout *layout = &guest->layout;

	if (layout_has(layout, DENTRY_CHILDREN) && layout_has(layout, DENTRY_SIB))
		return path_list_begin(list, guest, dentry + layout_offset(layout, DENTRY_CHILDREN),
				       DENTRY_SIB);
	return layout_has(layout, DENTRY_SUBDIRS) && layout_has(layout, DENTRY_CHILD) &&
	       path_list_begin(list, guest, dentry + layout_offset(layout, DENTRY_SUBDIRS),
			       DENTRY_CHILD);
}

static bool path_list_mounts(struct path_list *list, const struct linux_guest *guest,
			     uint64_t vfsmount)
{
	const struct layout *layout = &guest->layout;

	return layout_has(layout, MOUNT_MNT) && layout_has(layout, MOUNT_MOUNTS) &&
	       layout_has(layout, MOUNT_CHILD) &&
	       path_list_begin(list, guest,
			       vfsmount - layout_offset(layout, MOUNT_MNT) +
				       layout_offset(layout, MOUNT_MOUNTS),
			       MOUNT_CHILD);
}

/* Goes from PLACE to its child whose name is the first LENGTH bytes of NAME. */
static bool path_enter_child(const struct linux_guest *guest, struct path_place *place,
			     const char *name, size_t length)
{
	struct path_list list;
	uint64_t child;

	if (!path_list_children(&list, guest, place->dentry))
		return false;
	for (; place->n_left && path_list_next(&list, &child); place->n_left--)
		if (path_has_name(guest, child, name, length)) {
			place->dentry = child;
			return true;
		}
	return false;
}

/*
 * Enters the file system that is mounted on PLACE, if there is one. The mount that hides the others
 * is first in the list.
 */
static void path_enter_mount(const struct linux_guest *guest, struct path_place *place)
{
	struct path_list list;
	uint64_t mount, vfsmount, mountpoint, root;

	if (!path_list_mounts(&list, guest, place->vfsmount))
		return;
	for (; place->n_left && path_list_next(&list, &mount); place->n_left--) {
		vfsmount = mount + layout_offset(&guest->layout, MOUNT_MNT);
		if (member_read_word(guest, mount, MOUNT_MOUNTPOINT, &mountpoint) &&
		    mountpoint == place->dentry &&
		    member_read_pointer(guest, vfsmount, VFSMOUNT_ROOT, &root)) {
			place->vfsmount = vfsmount;
			place->dentry = root;
			return;
		}
	}
}

/* A way down from a task's directory. */
struct path_way {
	const struct linux_guest *guest;
	struct path_place root, place;
	char left[PATH_MAX_BYTES]; /* the components that are left, with those of links */
	unsigned n_components, n_links;
};

/* Goes to the directory above, which may be in the mount above. The task's root has none. */
static bool path_leave(struct path_way *way)
{
	struct path_place *place = &way->place;
	uint64_t root;
	bool more = true;

	for (unsigned i = 0; more && i < PATH_MAX_DEPTH; i++) {
		if (place->vfsmount == way->root.vfsmount && place->dentry == way->root.dentry)
			return true;
		if (!member_read_pointer(way->guest, place->vfsmount, VFSMOUNT_ROOT, &root))
			return false;
		if (place->dentry != root)
			return member_read_pointer(way->guest, place->dentry, DENTRY_PARENT,
						   &place->dentry);
		if (!path_leave_mount(way->guest, place, &more))
			return false;
	}
	return !more;
}

/* Goes to the component whose name is the first N bytes of NAME. */
static bool path_enter(struct path_way *way, const char *name, size_t n)
{
	if (n == 1 && *name == '.')
		return true;
	if (way->n_components++ == PATH_MAX_DEPTH)
		return false;
	if (n == 2 && memcmp(name, "..", n) == 0)
		return path_leave(way);
	if (!path_enter_child(way->guest, &way->place, name, n))
		return false;
	path_enter_mount(way->guest, &way->place);
	return true;
}

static bool path_is_link(const struct path_way *way, uint64_t *inode)
{
	uint16_t mode;

	return member_read_pointer(way->guest, way->place.dentry, DENTRY_INODE, inode) &&
	       member_read(way->guest, *inode, INODE_MODE, &mode, sizeof(mode)) &&
	       (mode & PATH_MODE_TYPE) == PATH_MODE_LINK;
}

/* Reads the text of the link INODE. Returns its length; 0: it cannot be read. */
static size_t path_read_link(const struct linux_guest *guest, uint64_t inode,
			     char text[PATH_MAX_BYTES])
{
	struct page_cache cache;
	struct bytes bytes;
	uint64_t address;

	overlay_find_inode(guest, &inode);
	if (member_read_pointer(guest, inode, INODE_LINK, &address))
		return memory_read_string(guest->memory, guest->root, address, text, PATH_MAX_BYTES)
			       ? strlen(text)
			       : 0;
	if (!page_cache_init(&cache, guest, inode) || cache.size_bytes >= PATH_MAX_BYTES)
		return 0;
	bytes = page_cache_bytes(&cache);
	return bytes.read(bytes.context, 0, text, cache.size_bytes) == cache.size_bytes
		       ? cache.size_bytes
		       : 0;
}

/* Goes back to FROM, the directory of the link INODE, and puts the link's text in front of REST. */
static bool path_take_link(struct path_way *way, const struct path_place *from, uint64_t inode,
			   const char *rest)
{
	char text[PATH_MAX_BYTES];
	size_t n = path_read_link(way->guest, inode, text), n_rest = strlen(rest) + 1;
	unsigned n_left = way->place.n_left;

	if (!n || way->n_links++ == PATH_MAX_LINKS || n + 1 + n_rest > sizeof(way->left))
		return false;
	memmove(way->left + n + 1, rest, n_rest);
	memcpy(way->left, text, n);
	way->left[n] = '/';
	way->place = *text == '/' ? way->root : *from;
	way->place.n_left = n_left;
	return true;
}

/* Goes down to what way->left says. */
static bool path_step_down(struct path_way *way)
{
	const char *path = way->left;

	way->place.n_left = 2 * PATH_MAX_ENTRIES;
	while (*(path += strspn(path, "/"))) {
		struct path_place from = way->place;
		size_t n = strcspn(path, "/");
		uint64_t inode;

		if (!path_enter(way, path, n))
			return false;
		path += n;
		if (path_is_link(way, &inode)) {
			if (!path_take_link(way, &from, inode, path))
				return false;
			path = way->left;
		}
	}
	return true;
}

bool path_find_file(const struct linux_guest *guest, uint64_t task, const char *path,
		    uint64_t *inode)
{
	const struct layout *layout = &guest->layout;
	struct path_way way = { .guest = guest };
	size_t n = strlen(path);
	uint64_t fs, found;

	/* Mounts below a directory are not known before all types are; the caller tries again. */
	if (layout->partial && !layout_has(layout, MOUNT_MOUNTS))
		return false;
	if (n >= sizeof(way.left) || !layout_has(layout, FS_ROOT) ||
	    !member_read_pointer(guest, task, TASK_FS, &fs) ||
	    !path_read_place(guest, fs + layout_offset(layout, FS_ROOT), &way.root))
		return false;
	memcpy(way.left, path, n + 1);
	way.place = way.root;
	if (*path != '/' &&
	    (!layout_has(layout, FS_PWD) ||
	     !path_read_place(guest, fs + layout_offset(layout, FS_PWD), &way.place)))
		return false;
	if (!path_step_down(&way) ||
	    /* NULL if the name has no file */
	    !member_read_pointer(guest, way.place.dentry, DENTRY_INODE, &found))
		return false;
	overlay_find_inode(guest, &found);
	*inode = found;
	return true;
}

/* --- paths of inodes -------------------------------------------------------------------------- */

/* Whether MOUNT shows all of its file system, and is mounted somewhere. */
static bool path_is_whole_mount(const struct linux_guest *guest, uint64_t mount, uint64_t vfsmount)
{
	uint64_t root = 0, up = 0, parent = 0; /* gcc -O1 does not see that they are set */

	return member_read_pointer(guest, vfsmount, VFSMOUNT_ROOT, &root) &&
	       member_read_pointer(guest, root, DENTRY_PARENT, &up) && up == root &&
	       member_read_pointer(guest, mount, MOUNT_PARENT, &parent) && parent != mount;
}

static bool path_list_mounts_of_super(struct path_list *list, const struct linux_guest *guest,
				      uint64_t super)
{
	const struct layout *layout = &guest->layout;

	if (layout_has(layout, SUPER_FIRST_MOUNT) && layout_has(layout, MOUNT_NEXT_OF_SUPER))
		return path_chain_begin(list, guest,
					super + layout_offset(layout, SUPER_FIRST_MOUNT),
					MOUNT_NEXT_OF_SUPER);
	return layout_has(layout, SUPER_MOUNTS) && layout_has(layout, MOUNT_OF_SUPER) &&
	       path_list_begin(list, guest, super + layout_offset(layout, SUPER_MOUNTS),
			       MOUNT_OF_SUPER);
}

/* The vfsmount of a whole mount of INODE's file system; 0 if none is known. */
static uint64_t path_find_mount(const struct linux_guest *guest, uint64_t inode)
{
	const struct layout *layout = &guest->layout;
	uint64_t super, mount;
	struct path_list list;

	if (!layout_has(layout, MOUNT_MNT) ||
	    !member_read_pointer(guest, inode, INODE_SB, &super) ||
	    !path_list_mounts_of_super(&list, guest, super))
		return 0;
	while (path_list_next(&list, &mount)) {
		uint64_t vfsmount = mount + layout_offset(layout, MOUNT_MNT);

		if (path_is_whole_mount(guest, mount, vfsmount))
			return vfsmount;
	}
	return 0;
}

/* Reads the path within the file system. A dentry that is its own parent is the root. */
static bool path_read_bare(const struct linux_guest *guest, uint64_t dentry, struct path_name *name)
{
	struct path_writer writer;
	uint64_t parent;

	path_writer_begin(&writer, name->path, sizeof(name->path));
	for (unsigned i = 0; i < PATH_MAX_COMPONENTS; i++) {
		if (!member_read_pointer(guest, dentry, DENTRY_PARENT, &parent))
			break;
		if (parent == dentry) {
			path_writer_end(&writer);
			return true;
		}
		if (!path_prepend_dentry(guest, dentry, &writer))
			break;
		dentry = parent;
	}
	name->path[0] = '\0';
	return false;
}

/* Uses the first of the inode's names: i_dentry is a list of dentries, linked by d_alias. */
bool path_read_inode(const struct linux_guest *guest, uint64_t inode, struct path_name *name)
{
	const struct layout *layout = &guest->layout;
	struct path_place place;
	uint64_t link;

	*name = (struct path_name){ .path = "" };
	kernel_types_end(guest); /* the list of a file system's mounts */
	if (!layout_has(layout, DENTRY_ALIAS) ||
	    !member_read_pointer(guest, inode, INODE_DENTRIES, &link))
		return false;
	place.dentry = link - layout_offset(layout, DENTRY_ALIAS);
	place.vfsmount = path_find_mount(guest, inode);
	return (place.vfsmount && path_read_up(guest, place, name)) ||
	       path_read_bare(guest, place.dentry, name);
}
