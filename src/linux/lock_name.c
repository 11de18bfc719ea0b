/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a lock is part of; see lock_name.h. All but the path are exact:
 *
 *   static data  the variable that has the lock's address in it, by the kernel's own table
 *   mmap_lock    an mm_struct around it, whose owner says that it is his; or that of the waiter
 *   i_rwsem      an inode around it, whose i_mapping points to its own i_data. A path is one of
 *                those that the inode has: other links and mounts show it elsewhere
 */
#include "config.h"

#include "linux/lock_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "linux/kernel/member.h"
#include "linux/process/path.h"

/* "cgroup_mutex", "init_mm+0x78" */
static bool lock_name_put_data(struct data_names *names, uint64_t lock,
			       char name[OS_LOCK_NAME_BYTES])
{
	struct symtab_entry entry;

	if (!data_names_find(names, lock, &entry))
		return false;
	if (entry.start == lock)
		snprintf(name, OS_LOCK_NAME_BYTES, "%s", entry.name);
	else
		snprintf(name, OS_LOCK_NAME_BYTES, "%.40s+0x%" PRIx64, entry.name,
			 lock - entry.start);
	return true;
}

/* The process whose memory MM is, by its owner. 0: not known, or no mm_struct. */
static uint32_t lock_name_find_owner(const struct linux_guest *guest, uint64_t mm)
{
	uint64_t owner, back;
	uint32_t tgid;

	if (!member_read_pointer(guest, mm, MM_OWNER, &owner) ||
	    !member_read_u64(guest, owner, TASK_MM, &back) || back != mm ||
	    !member_read_u32(guest, owner, TASK_TGID, &tgid))
		return 0;
	return tgid;
}

static bool lock_name_put_mm(const struct linux_guest *guest, uint64_t lock, uint64_t mm,
			     uint32_t tgid, char name[OS_LOCK_NAME_BYTES])
{
	uint64_t around;

	if (!layout_has(&guest->layout, MM_MMAP_LOCK))
		return false;
	around = lock - layout_offset(&guest->layout, MM_MMAP_LOCK);
	if (around != mm)
		tgid = lock_name_find_owner(guest, around);
	if (!tgid)
		return false;
	snprintf(name, OS_LOCK_NAME_BYTES, "mmap_lock of %" PRIu32, tgid);
	return true;
}

/* An inode is known by its i_mapping, which points to its own i_data. */
static bool lock_name_is_inode(const struct linux_guest *guest, uint64_t inode)
{
	uint64_t mapping;

	return layout_has(&guest->layout, INODE_DATA) &&
	       member_read_pointer(guest, inode, INODE_MAPPING, &mapping) &&
	       mapping == inode + layout_offset(&guest->layout, INODE_DATA);
}

/* A long path keeps its end: "i_rwsem of ...log/nginx/access.log". */
static bool lock_name_put_inode(const struct linux_guest *guest, uint64_t lock,
				char name[OS_LOCK_NAME_BYTES])
{
	static const char head[] = "i_rwsem of ";
	const size_t room = OS_LOCK_NAME_BYTES - sizeof(head);
	struct path_name path;
	uint64_t inode;
	size_t n;

	if (!layout_has(&guest->layout, INODE_RWSEM))
		return false;
	inode = lock - layout_offset(&guest->layout, INODE_RWSEM);
	if (!lock_name_is_inode(guest, inode))
		return false;
	if (!path_read_inode(guest, inode, &path))
		snprintf(path.path, sizeof(path.path), "an inode");
	n = strlen(path.path);
	if (n <= room)
		snprintf(name, OS_LOCK_NAME_BYTES, "%s%.*s", head, (int)room, path.path);
	else
		snprintf(name, OS_LOCK_NAME_BYTES, "%s...%.*s", head, (int)room - 3,
			 path.path + n - (room - 3));
	return true;
}

void lock_name_read(struct data_names *names, const struct lock_wait *wait, uint64_t mm,
		    uint32_t tgid, char name[OS_LOCK_NAME_BYTES])
{
	name[0] = '\0';
	if (wait->space || lock_name_put_data(names, wait->address, name) ||
	    wait->kind != OS_LOCK_RWSEM)
		return;
	if (!lock_name_put_mm(names->guest, wait->address, mm, tgid, name))
		lock_name_put_inode(names->guest, wait->address, name);
}
