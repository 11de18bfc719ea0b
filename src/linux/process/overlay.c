/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of overlayfs; see overlay.h. Its inodes have no pages: the file is one of an upper file
 * system, if the container has written to it, or else one of a lower file system, the image's.
 * overlayfs is a module in most kernels, and the kernel's types lack its own. These words follow
 * the inode in its struct ovl_inode (Linux fs/overlayfs/ovl_entry.h):
 *
 *   up to 5.18   upper dentry, lower inode
 *   up to 6.4    upper dentry, layer, lower dentry
 *   from 6.5     upper dentry, ovl_entry: { number of layers, layer, lower dentry, ... }
 *
 * The inode that is found must have the size and the time of the last change that overlayfs has
 * copied from it, in another file system (ovl_copyattr(), fs/overlayfs/util.c).
 */
#include "config.h"

#include "linux/process/overlay.h"

#include "linux/kernel/member.h"

#define OVERLAY_MAGIC      0x794c7630 /* Linux include/uapi/linux/magic.h */
#define OVERLAY_MAX_NESTED 4          /* an overlayfs may lie on another one */
#define OVERLAY_WORDS      3
#define OVERLAY_FIRST      2 /* word of an ovl_entry that has the first lower dentry */

static bool overlay_has(const struct linux_guest *guest, uint64_t inode)
{
	uint64_t super, magic;

	return member_read_pointer(guest, inode, INODE_SB, &super) &&
	       member_read_word(guest, super, SUPER_MAGIC, &magic) && magic == OVERLAY_MAGIC;
}

/* Whether both inodes are in different file systems, and alike. */
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

/* Whether DENTRY has an inode that is like *INODE, which it replaces. */
static bool overlay_try(const struct linux_guest *guest, uint64_t dentry, uint64_t *inode)
{
	uint64_t below;

	if (!member_read_pointer(guest, dentry, DENTRY_INODE, &below) ||
	    !overlay_is_same(guest, *inode, below))
		return false;
	*inode = below;
	return true;
}

/* Tries the three shapes of a struct ovl_inode. */
static bool overlay_step(const struct linux_guest *guest, uint64_t *inode)
{
	uint64_t at = *inode + layout_offset(&guest->layout, INODE_SIZEOF), lower;
	uint64_t words[OVERLAY_WORDS] = { 0 };

	for (unsigned i = 0; i < OVERLAY_WORDS; i++)
		linux_read_word(guest, at + i * linux_word_bytes(guest), &words[i]);
	if (overlay_try(guest, words[0], inode) || overlay_try(guest, words[2], inode))
		return true;
	if (overlay_is_same(guest, *inode, words[1])) {
		*inode = words[1];
		return true;
	}
	return linux_is_kernel_of(guest, words[1]) &&
	       linux_read_word(guest, words[1] + OVERLAY_FIRST * linux_word_bytes(guest), &lower) &&
	       overlay_try(guest, lower, inode);
}

void overlay_find_inode(const struct linux_guest *guest, uint64_t *inode)
{
	if (!layout_has(&guest->layout, INODE_SIZEOF))
		return;
	for (unsigned i = 0; i < OVERLAY_MAX_NESTED && overlay_has(guest, *inode); i++)
		if (!overlay_step(guest, inode))
			return;
}
