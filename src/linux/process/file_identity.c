/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * File identities out of struct inode; see file_identity.h. A program that is written anew keeps
 * its inode but not its mtime; a deleted file's inode number comes back with another generation.
 * Resolver's thread.
 */
#include "config.h"

#include "linux/process/file_identity.h"

#include "linux/kernel/member.h"

bool file_identity_read(const struct linux_guest *linux_guest, uint64_t inode,
			struct file_identity *identityp)
{
	struct file_identity identity = { 0 };

	if (!member_read_pointer(linux_guest, inode, INODE_SB, &identity.super_block) ||
	    !member_read_u64(linux_guest, inode, INODE_INO, &identity.inode_number) ||
	    !member_read_u64(linux_guest, inode, INODE_SIZE, &identity.size_bytes))
		return false;
	/* These stay 0 if the kernel has no such members. */
	member_read_u64(linux_guest, inode, INODE_MTIME_SEC, &identity.mtime_sec);
	member_read_u32(linux_guest, inode, INODE_MTIME_NSEC, &identity.mtime_nsec);
	member_read_u32(linux_guest, inode, INODE_GENERATION, &identity.generation);
	*identityp = identity;
	return true;
}

bool file_identity_equal(const struct file_identity *a, const struct file_identity *b)
{
	return a->super_block == b->super_block && a->inode_number == b->inode_number &&
	       a->size_bytes == b->size_bytes && a->mtime_sec == b->mtime_sec &&
	       a->mtime_nsec == b->mtime_nsec && a->generation == b->generation;
}
