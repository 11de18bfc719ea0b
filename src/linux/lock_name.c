/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the object that contains a lock; see lock_name.h. All names are exact, except the path:
 *
 *   static data  the variable at the lock's address, in the kernel's own symbol table
 *   mmap_lock    an mm_struct around the lock: the waiter's, or one that its owner points back to
 *   i_rwsem      an inode around the lock: its i_mapping points to its own i_data. The locks in
 *                i_data are found in the same way. The path is one of the inode's paths: other
 *                links and mounts have other paths
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

/*
 * The process whose memory MM is, according to MM's owner. 0 if unknown, or if MM is no mm_struct.
 */
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

/* An inode is recognised by its i_mapping, which points to its own i_data. */
static bool lock_name_is_inode(const struct linux_guest *guest, uint64_t inode)
{
	uint64_t mapping;

	return layout_has(&guest->layout, INODE_DATA) &&
	       member_read_pointer(guest, inode, INODE_MAPPING, &mapping) &&
	       mapping == inode + layout_offset(&guest->layout, INODE_DATA);
}

/* "i_rwsem of /a/b". A long path keeps its end: "i_rwsem of ...log/nginx/access.log". */
static void lock_name_put_path(const char *what, const char *path, char name[OS_LOCK_NAME_BYTES])
{
	size_t head = (size_t)snprintf(name, OS_LOCK_NAME_BYTES, "%s of ", what),
	       room = OS_LOCK_NAME_BYTES - head - 1, n = strlen(path);
	bool cut = n > room;

	snprintf(name + head, room + 1, "%s%s", cut ? "..." : "",
		 path + (cut ? n - (room - 3) : 0));
}

static bool lock_name_put_inode(const struct linux_guest *guest, uint64_t lock,
				char name[OS_LOCK_NAME_BYTES])
{
	static const struct {
		enum layout_member member;
		const char *name;
	} locks[] = { { INODE_RWSEM, "i_rwsem" },
		      { INODE_MMAP_RWSEM, "i_mmap_rwsem" },
		      { INODE_INVALIDATE_LOCK, "invalidate_lock" } };

	for (size_t i = 0; i < sizeof(locks) / sizeof(locks[0]); i++) {
		struct path_name path;
		uint64_t inode;

		if (!layout_has(&guest->layout, locks[i].member))
			continue;
		inode = lock - layout_offset(&guest->layout, locks[i].member);
		if (!lock_name_is_inode(guest, inode))
			continue;
		if (!path_read_inode(guest, inode, &path))
			snprintf(path.path, sizeof(path.path), "an inode");
		lock_name_put_path(locks[i].name, path.path, name);
		return true;
	}
	return false;
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
