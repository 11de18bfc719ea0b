/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The structures of a Linux kernel, made by hand in made_memory: tasks, areas in both layouts,
 * files, directory entries, mounts and page cache, at offsets that no kernel has. What a test wants
 * to be wrong it overwrites with made_set(). Objects are addresses, as the guest has them.
 *
 *   struct made_linux *made = made_linux_create(MADE_TREE);
 *   uint64_t file = made_file(made, "/lib/libx.so", bytes, sizeof(bytes));
 *   uint64_t mm = made_mm(made, areas, n);
 */
#ifndef TESTS_MADE_LINUX_H
#define TESTS_MADE_LINUX_H

#include "linux/kernel/linux.h"
#include "linux/process/vmas.h"
#include "made_memory.h"

#define MADE_DIRECT_MAP 0xffff888000000000ULL
#define MADE_VMEMMAP    0xffffea0000000000ULL
#define MADE_OBJECTS    0xffffc90000000000ULL /* all but page cache */
#define MADE_PAGE_BYTES 64                    /* sizeof(struct page) */

enum made_areas {
	MADE_LIST,  /* to Linux 6.0; no mm_lock_seq */
	MADE_TREE,  /* maple tree and mm_lock_seq */
	MADE_EARLY, /* 6.1 to 6.3: maple tree, no mm_lock_seq */
};

struct made_linux {
	struct made_memory *memory;
	struct linux_guest guest;
	uint64_t next; /* free object memory */
	uint64_t next_page; /* pfn */
	uint64_t root_dentry, root_mount, super_block;
	unsigned n_inodes;
};

struct made_linux *made_linux_create(enum made_areas areas);
void made_linux_destroy(struct made_linux *made);

/* A fresh object of zeros. */
uint64_t made_object(struct made_linux *made, size_t size_bytes, size_t alignment);
/* The member of an object; memory_refresh() included, so that the change is seen. */
void made_set(struct made_linux *made, uint64_t object, enum layout_member member, uint64_t value);
void made_set_u32(struct made_linux *made, uint64_t object, enum layout_member member,
		  uint32_t value);
/* The kernel has no such member. */
void made_without(struct made_linux *made, enum layout_member member);
unsigned made_offset(const struct made_linux *made, enum layout_member member);

/* LEADER 0: its own. */
uint64_t made_task(struct made_linux *made, uint32_t pid, uint32_t tgid, const char *comm,
		   uint64_t mm, uint64_t leader);

/* --- files ------------------------------------------------------------------------------------ */

uint64_t made_inode(struct made_linux *made, uint64_t size_bytes);
/* A child of PARENT, in its list; INODE 0: negative. */
uint64_t made_dentry(struct made_linux *made, uint64_t parent, const char *name, uint64_t inode);
/* What is mounted on MOUNTPOINT of PARENT, in its list; the struct mount. ROOT: its own root dentry. */
uint64_t made_mount(struct made_linux *made, uint64_t parent, uint64_t mountpoint, uint64_t *root);
uint64_t made_file_at(struct made_linux *made, uint64_t mount, uint64_t dentry, uint64_t inode);
/* With all directories, below the root mount; its bytes are in the page cache, in folios of one page. */
uint64_t made_file(struct made_linux *made, const char *path, const void *bytes, size_t size_bytes);
uint64_t made_inode_of(struct made_linux *made, uint64_t file);

/* --- page cache ------------------------------------------------------------------------------- */

/* A folio of N pages, from page INDEX of the file on; its first page's address in the direct map. */
uint64_t made_folio(struct made_linux *made, uint64_t index, unsigned n, uint64_t *memory);
uint64_t made_xa_node(struct made_linux *made, unsigned shift);
void made_xa_slot(struct made_linux *made, uint64_t node, unsigned slot, uint64_t entry);
/* The head of the inode's page cache. */
void made_xa_head(struct made_linux *made, uint64_t inode, uint64_t entry);
static inline uint64_t made_xa_entry(uint64_t node)
{
	return node | 2;
}
/* All of BYTES as folios of one page in as many levels as it takes. */
void made_cache(struct made_linux *made, uint64_t inode, const void *bytes, size_t size_bytes);
/* Page INDEX of what made_cache() made is not there: ENTRY stands for it. */
void made_cache_entry(struct made_linux *made, uint64_t inode, uint64_t index, uint64_t entry);

/* --- address spaces --------------------------------------------------------------------------- */

/* An mm_struct with page tables and those areas, ascending. */
uint64_t made_mm(struct made_linux *made, const struct vma *areas, size_t n);
/* Other areas: counts and mm_lock_seq change as they would. */
void made_areas(struct made_linux *made, uint64_t mm, const struct vma *areas, size_t n);
uint64_t made_vma(struct made_linux *made, const struct vma *area);
/* An encoded node of leaf, range or arange type. */
uint64_t made_maple_node(struct made_linux *made, unsigned type);
void made_maple_set(struct made_linux *made, uint64_t node, unsigned i, uint64_t pivot,
		    uint64_t slot);
struct memory_root made_mm_root(struct made_linux *made, uint64_t mm);

#endif
