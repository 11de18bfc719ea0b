/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of overlayfs; see overlay.h. Its inodes have no pages: an inode of the upper file system
 * has them, if the container has written to the file, or else one of a lower file system, the
 * image's. overlayfs is a module in most kernels, and the kernel's types lack its own. These words
 * follow the inode in its struct ovl_inode (Linux fs/overlayfs/ovl_entry.h):
 *
 *   up to 5.18   upper dentry, lower inode
 *   up to 6.4    upper dentry, layer, lower dentry
 *   from 6.5     upper dentry, ovl_entry: { number of layers, layer, lower dentry, ... }
 *
 * An inode is the right one if it lies in another file system, and has the size and the time of the
 * last change that overlayfs has copied (ovl_copyattr(), fs/overlayfs/util.c).
 */
#include "config.h"

#include "linux/process/overlay.h"

#include "linux/kernel/member.h"

#define OVERLAY_MAGIC      0x794c7630 /* Linux include/uapi/linux/magic.h */
#define OVERLAY_MAX_NESTED 4          /* an overlayfs may lie on another one */
#define OVERLAY_WORDS      3
#define OVERLAY_FIRST      2 /* word of an ovl_entry that has the first lower dentry */
#define OVERLAY_MAX_LAYERS 4 /* lower dentries that are tried */

static bool overlay_has(const struct linux_guest *guest, uint64_t inode)
{
	uint64_t super, magic = 0;

	return member_read_pointer(guest, inode, INODE_SB, &super) &&
	       member_read_word(guest, super, SUPER_MAGIC, &magic) && magic == OVERLAY_MAGIC;
}

/* Whether two inodes lie in different file systems, and have one size and one time. */
static bool overlay_is_same(const struct linux_guest *guest, uint64_t above, uint64_t below)
{
	static const enum layout_member members[] = { INODE_SIZE, INODE_MTIME_SEC };
	uint64_t super, other, x, y;
	uint32_t ns = 0, other_ns = 0;

	if (!member_read_pointer(guest, above, INODE_SB, &super) ||
	    !member_read_pointer(guest, below, INODE_SB, &other) || super == other)
		return false;
	for (unsigned i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		if (!member_read_u64(guest, above, members[i], &x) ||
		    !member_read_u64(guest, below, members[i], &y) || x != y)
			return false;
	member_read_u32(guest, above, INODE_MTIME_NSEC, &ns);
	member_read_u32(guest, below, INODE_MTIME_NSEC, &other_ns);
	return ns == other_ns;
}

/* Whether INODE has pages in memory, or belongs to another overlayfs. */
static bool overlay_has_pages(const struct linux_guest *guest, uint64_t inode)
{
	uint64_t mapping, head;

	return overlay_has(guest, inode) ||
	       (layout_has(&guest->layout, MAPPING_PAGES) &&
		layout_has(&guest->layout, XARRAY_HEAD) &&
		member_read_pointer(guest, inode, INODE_MAPPING, &mapping) &&
		linux_read_word(guest,
				mapping + layout_offset(&guest->layout, MAPPING_PAGES) +
					layout_offset(&guest->layout, XARRAY_HEAD),
				&head) &&
		head);
}

/* A search for the inode below ABOVE. */
struct overlay_search {
	const struct linux_guest *guest;
	uint64_t above;
	uint64_t found; /* 0: nothing yet; otherwise the first inode that is like ABOVE */
};

/* Tries INODE. Returns true if it is found, and has pages: nothing better can come. */
static bool overlay_try(struct overlay_search *search, uint64_t inode)
{
	if (!overlay_is_same(search->guest, search->above, inode))
		return false;
	if (!search->found)
		search->found = inode;
	if (!overlay_has_pages(search->guest, inode))
		return false;
	search->found = inode;
	return true;
}

static bool overlay_try_dentry(struct overlay_search *search, uint64_t dentry)
{
	uint64_t inode;

	return member_read_pointer(search->guest, dentry, DENTRY_INODE, &inode) &&
	       overlay_try(search, inode);
}

/* Tries the lower dentries of the ovl_entry ENTRY. The last one has the data. */
static bool overlay_try_entry(struct overlay_search *search, uint64_t entry)
{
	unsigned word_bytes = linux_word_bytes(search->guest);
	uint64_t dentry;

	if (!linux_is_kernel_of(search->guest, entry))
		return false;
	for (unsigned i = 0; i < OVERLAY_MAX_LAYERS; i++)
		if (linux_read_word(search->guest, entry + (OVERLAY_FIRST + 2 * i) * word_bytes,
				    &dentry) &&
		    overlay_try_dentry(search, dentry))
			return true;
	return false;
}

/*
 * Tries the three shapes of a struct ovl_inode. With metacopy=on, a file whose owner or mode has
 * changed has two inodes that are alike: the upper one has no data, a lower one has the pages.
 */
static bool overlay_step(const struct linux_guest *guest, uint64_t *inode)
{
	uint64_t at = *inode + layout_offset(&guest->layout, INODE_SIZEOF);
	struct overlay_search search = { .guest = guest, .above = *inode };
	uint64_t words[OVERLAY_WORDS] = { 0 };

	for (unsigned i = 0; i < OVERLAY_WORDS; i++)
		linux_read_word(guest, at + i * linux_word_bytes(guest), &words[i]);
	if (!overlay_try_dentry(&search, words[0]) && !overlay_try_dentry(&search, words[2]) &&
	    !overlay_try(&search, words[1]))
		overlay_try_entry(&search, words[1]);
	if (search.found)
		*inode = search.found;
	return search.found;
}

void overlay_find_inode(const struct linux_guest *guest, uint64_t *inode)
{
	if (!layout_has(&guest->layout, INODE_SIZEOF))
		return;
	for (unsigned i = 0; i < OVERLAY_MAX_NESTED && overlay_has(guest, *inode); i++)
		if (!overlay_step(guest, inode))
			return;
}
