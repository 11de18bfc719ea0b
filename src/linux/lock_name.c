/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a lock is part of; see lock_name.h. */
#include "config.h"

#include "linux/lock_name.h"

#include <stdio.h>

#include "linux/kernel/member.h"
#include "linux/process/path.h"

/* An inode is known by its i_mapping, which points to its own i_data. */
static bool lock_name_is_inode(const struct linux_guest *guest, uint64_t inode)
{
	uint64_t mapping;

	return layout_has(&guest->layout, INODE_DATA) &&
	       member_read_pointer(guest, inode, INODE_MAPPING, &mapping) &&
	       mapping == inode + layout_offset(&guest->layout, INODE_DATA);
}

static bool lock_name_put_inode(const struct linux_guest *guest, uint64_t lock,
			     char name[OS_LOCK_NAME_BYTES])
{
	char file[PATH_MAX_NAME_BYTES + 1];
	uint64_t inode;

	if (!layout_has(&guest->layout, INODE_RWSEM))
		return false;
	inode = lock - layout_offset(&guest->layout, INODE_RWSEM);
	if (!lock_name_is_inode(guest, inode))
		return false;
	if (path_read_inode_name(guest, inode, file))
		snprintf(name, OS_LOCK_NAME_BYTES, "i_rwsem of %.48s", file);
	else
		snprintf(name, OS_LOCK_NAME_BYTES, "i_rwsem of an inode");
	return true;
}

void lock_name_read(const struct linux_guest *guest, const struct lock_wait *wait, uint64_t mm,
		     char name[OS_LOCK_NAME_BYTES])
{
	name[0] = '\0';
	if (wait->kind != OS_LOCK_RWSEM)
		return;
	if (mm && layout_has(&guest->layout, MM_MMAP_LOCK) &&
	    wait->address == mm + layout_offset(&guest->layout, MM_MMAP_LOCK))
		snprintf(name, OS_LOCK_NAME_BYTES, "mmap_lock");
	else
		lock_name_put_inode(guest, wait->address, name);
}
