/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The structures of a Linux kernel, made by hand in made_memory: tasks, areas in both layouts,
 * files, directory entries, mounts and page cache, at offsets that no kernel has. A test damages
 * them by made_set(). Objects are addresses of the guest.
 *
 *   struct made_linux *made = made_linux_create(MADE_TREE);
 *   uint64_t file = made_file(made, "/lib/libx.so", bytes, sizeof(bytes));
 *   uint64_t mm = made_mm(made, areas, n);
 */
#ifndef TESTS_MADE_LINUX_H
#define TESTS_MADE_LINUX_H

#include "linux/kernel/linux_guest.h"
#include "linux/process/vmas.h"
#include "made_memory.h"

#define MADE_DIRECT_MAP 0xffff888000000000ULL
#define MADE_VMEMMAP    0xffffea0000000000ULL
#define MADE_OBJECTS    0xffffc90000000000ULL /* start of all objects but the page cache */
#define MADE_PAGE_BYTES 64                    /* sizeof(struct page) */
#define MADE_OBJECT_BYTES 512 /* size of any struct here except tasks and nodes */

enum made_areas {
	MADE_LIST,  /* up to Linux 6.0: a list, no mm_lock_seq */
	MADE_TREE,  /* maple tree and mm_lock_seq */
	MADE_EARLY, /* 6.1 to 6.3: maple tree, no mm_lock_seq */
};

struct made_linux {
	struct made_memory *memory;
	struct linux_guest guest;
	uint64_t next;      /* address of free memory for objects */
	uint64_t next_page; /* free page frame number */
	uint64_t root_dentry, root_mount, super_block;
	unsigned n_inodes;
};

struct made_linux *made_linux_create(enum made_areas areas);
void made_linux_destroy(struct made_linux *made);

/* A new object of zeros. */
uint64_t made_object(struct made_linux *made, size_t size_bytes, size_t alignment);
/* Sets the member of an object and calls memory_refresh(), so that the change is seen. */
void made_set(struct made_linux *made, uint64_t object, enum layout_member member, uint64_t value);
void made_set_u32(struct made_linux *made, uint64_t object, enum layout_member member,
		  uint32_t value);
/* From now on the kernel has no such member. */
void made_without(struct made_linux *made, enum layout_member member);
/* The word at ADDRESS, which is mapped. */
uint64_t made_get(struct made_linux *made, uint64_t address);
/* Sets the word at ADDRESS and calls memory_refresh(). */
void made_write(struct made_linux *made, uint64_t address, uint64_t value);
/* Precondition: MEMBER exists. */
unsigned made_offset(const struct made_linux *made, enum layout_member member);

/* Sets MEMBER of the struct fs_struct at FS, a struct path, to DENTRY below the root mount. */
void made_set_fs_path(struct made_linux *made, uint64_t fs, enum layout_member member,
		      uint64_t dentry);
/* A task_struct. LEADER is 0 if the task leads its own group. */
uint64_t made_task(struct made_linux *made, uint32_t pid, uint32_t tgid, const char *comm,
		   uint64_t mm, uint64_t leader);

/*
 * A control group below PARENT, which is 0 for the root. Returns the group's struct kernfs_node,
 * which can be the parent of other groups.
 */
uint64_t made_cgroup(struct made_linux *made, uint64_t parent, const char *name);
/* Moves TASK to GROUP. Returns the struct css_set. */
uint64_t made_set_cgroup(struct made_linux *made, uint64_t task, uint64_t group);

/* --- files ------------------------------------------------------------------------------------ */

/* An inode with an empty page cache. */
uint64_t made_inode(struct made_linux *made, uint64_t size_bytes);
/* A dentry in PARENT's list of children. PARENT is 0 for a root, INODE for a negative dentry. */
uint64_t made_dentry(struct made_linux *made, uint64_t parent, const char *name, uint64_t inode);
/*
 * A struct mount on the dentry MOUNTPOINT, in the list of the mount PARENT, which is 0 for the first
 * mount. *ROOT is its root dentry.
 */
uint64_t made_mount(struct made_linux *made, uint64_t parent, uint64_t mountpoint, uint64_t *root);
/* The struct vfsmount in MOUNT. */
static inline uint64_t made_vfsmount(const struct made_linux *made, uint64_t mount)
{
	return mount + made_offset(made, MOUNT_MNT);
}
/* A struct file. */
uint64_t made_file_at(struct made_linux *made, uint64_t mount, uint64_t dentry, uint64_t inode);
/*
 * A struct file below the root mount, with all directories on the way. Its bytes are in the page
 * cache, in folios of one page.
 */
uint64_t made_file(struct made_linux *made, const char *path, const void *bytes, size_t size_bytes);
uint64_t made_inode_of(struct made_linux *made, uint64_t file);

/* --- page cache ------------------------------------------------------------------------------- */

/*
 * A folio of N pages, from page INDEX of the file on. *MEMORY is the address of its first page in
 * the direct map.
 */
uint64_t made_folio(struct made_linux *made, uint64_t index, unsigned n, uint64_t *memory);
uint64_t made_xa_node(struct made_linux *made, unsigned shift);
void made_xa_slot(struct made_linux *made, uint64_t node, unsigned slot, uint64_t entry);
/* Sets the head of the inode's page cache. */
void made_xa_head(struct made_linux *made, uint64_t inode, uint64_t entry);
static inline uint64_t made_xa_entry(uint64_t node)
{
	return node | 2;
}
/* Fills the page cache with BYTES: folios of one page, as many levels as it takes. */
void made_cache(struct made_linux *made, uint64_t inode, const void *bytes, size_t size_bytes);
/* Replaces page INDEX in the page cache, which made_cache() filled, by ENTRY. */
void made_cache_entry(struct made_linux *made, uint64_t inode, uint64_t index, uint64_t entry);
/* The frame of page INDEX, which is in the page cache; calls memory_refresh(). */
frame_t made_cache_frame(struct made_linux *made, uint64_t inode, uint64_t index);

/* --- address spaces --------------------------------------------------------------------------- */

/* An mm_struct with page tables and N AREAS, ascending. */
uint64_t made_mm(struct made_linux *made, const struct vma *areas, size_t n);
/* Gives MM other areas; counts and mm_lock_seq change as in a kernel. */
void made_areas(struct made_linux *made, uint64_t mm, const struct vma *areas, size_t n);
uint64_t made_vma(struct made_linux *made, const struct vma *area);
/* An encoded maple node. TYPE is 1 for a leaf, 2 for a range, 3 for an arange. */
uint64_t made_maple_node(struct made_linux *made, unsigned type);
/* Sets SLOT i of a node, and its PIVOT unless PIVOT is 0; the last slot has no pivot. */
void made_maple_set(struct made_linux *made, uint64_t node, unsigned i, uint64_t pivot,
		    uint64_t slot);
/* The page tables of MM. */
struct memory_root made_mm_root(struct made_linux *made, uint64_t mm);

#endif
