/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of locks: static data, address spaces and inodes; and lists of mounts that cannot be right. */
#include "config.h"

#include "linux/lock_name.h"
#include "tests/linux/lock_fixture.h"
#include "tests/support/must.h"

static void check_name(struct lock_fixture *fixture, uint64_t lock, uint64_t mm, const char *want,
		       const char *what)
{
	struct data_names names = { .guest = &fixture->made->guest, .is_read = true };
	const struct lock_wait wait = { .kind = OS_LOCK_RWSEM, .address = lock };
	char name[OS_LOCK_NAME_BYTES];

	lock_name_read(&names, &wait, mm, 4711, name);
	check_string(name, want, what);
}

static void test_inodes(struct lock_fixture *fixture)
{
	uint64_t inode, lock, directory, dentry, root, mount, part, super;

	begin(fixture);
	inode = made_inode(fixture->made, 0);
	lock = inode + made_offset(fixture->made, INODE_RWSEM);
	directory = made_dentry(fixture->made, fixture->made->root_dentry, "log",
				made_inode(fixture->made, 0));
	mount = made_mount(fixture->made, fixture->made->root_mount, directory, &root);
	part = made_mount(fixture->made, fixture->made->root_mount, directory, &dentry);
	dentry = made_dentry(fixture->made,
			     made_dentry(fixture->made, root, "web", made_inode(fixture->made, 0)),
			     "access.log", inode);
	made_set(fixture->made, inode, INODE_MAPPING,
		 inode + made_offset(fixture->made, INODE_DATA));
	made_set(fixture->made, inode, INODE_DENTRIES,
		 dentry + made_offset(fixture->made, DENTRY_ALIAS));
	check_name(fixture, lock, 0, "i_rwsem of /web/access.log",
		   "an inode's lock has a path from the file system's root");
	super = made_object(fixture->made, 256, 64);
	made_set(fixture->made, inode, INODE_SB, super);
	made_set(fixture->made, super, SUPER_MOUNTS,
		 mount + made_offset(fixture->made, MOUNT_OF_SUPER));
	made_set(fixture->made, mount, MOUNT_OF_SUPER,
		 super + made_offset(fixture->made, SUPER_MOUNTS));
	check_name(fixture, lock, 0, "i_rwsem of /log/web/access.log",
		   "an inode's lock has a path through the mount point");
	check_name(fixture, inode + made_offset(fixture->made, INODE_MMAP_RWSEM), 0,
		   "i_mmap_rwsem of /log/web/access.log", "i_mmap_rwsem has its own name");
	check_name(fixture, inode + made_offset(fixture->made, INODE_INVALIDATE_LOCK), 0,
		   "invalidate_lock of /log/web/access.log", "invalidate_lock has its own name");
	check_name(fixture, inode + made_offset(fixture->made, INODE_DATA), 0, "",
		   "another address in an inode has no name");
	made_set(fixture->made, mount + made_offset(fixture->made, MOUNT_MNT), VFSMOUNT_ROOT,
		 dentry);
	check_name(fixture, lock, 0, "i_rwsem of /web/access.log",
		   "a mount of a part of a file system is not used");
	made_set(fixture->made, mount, MOUNT_OF_SUPER,
		 mount + made_offset(fixture->made, MOUNT_OF_SUPER));
	check_name(fixture, lock, 0, "i_rwsem of /web/access.log",
		   "a circular list of mounts ends");
	fixture->made->guest.layout.values[SUPER_FIRST_MOUNT] =
		made_offset(fixture->made, SUPER_MOUNTS);
	fixture->made->guest.layout.values[MOUNT_NEXT_OF_SUPER] =
		made_offset(fixture->made, MOUNT_OF_SUPER);
	made_set(fixture->made, super, SUPER_FIRST_MOUNT, part);
	made_set(fixture->made, part, MOUNT_NEXT_OF_SUPER, mount);
	made_set(fixture->made, part + made_offset(fixture->made, MOUNT_MNT), VFSMOUNT_ROOT,
		 dentry);
	made_set(fixture->made, mount + made_offset(fixture->made, MOUNT_MNT), VFSMOUNT_ROOT, root);
	made_set(fixture->made, mount, MOUNT_NEXT_OF_SUPER, 0);
	check_name(fixture, lock, 0, "i_rwsem of /log/web/access.log",
		   "the second mount of a chain is used");
	made_set(fixture->made, mount + made_offset(fixture->made, MOUNT_MNT), VFSMOUNT_ROOT,
		 dentry);
	made_set(fixture->made, mount, MOUNT_NEXT_OF_SUPER, part);
	check_name(fixture, lock, 0, "i_rwsem of /web/access.log",
		   "a circular chain of mounts ends");
	for (unsigned i = 0; i < 8; i++)
		dentry = made_dentry(fixture->made, dentry, "directory", inode);
	made_set(fixture->made, inode, INODE_DENTRIES,
		 dentry + made_offset(fixture->made, DENTRY_ALIAS));
	check_name(fixture, lock, 0,
		   "i_rwsem of ...directory/directory/directory/directory/directory",
		   "a path that is too long keeps its end");
	made_set(fixture->made, inode, INODE_DENTRIES, 0);
	check_name(fixture, lock, 0, "i_rwsem of an inode",
		   "an inode without a name is shown as an inode");
	made_set(fixture->made, inode, INODE_MAPPING, inode);
	check_name(fixture, lock, 0, "", "an object that is no inode has no name");
	end(fixture);
}

static void test_mmap_locks(struct lock_fixture *fixture)
{
	uint64_t mm, lock, owner;

	begin(fixture);
	mm = made_mm(fixture->made, NULL, 0);
	lock = mm + made_offset(fixture->made, MM_MMAP_LOCK);
	check_name(fixture, lock, mm, "mmap_lock of 4711",
		   "the waiter's own mmap_lock has its tgid");
	check_name(fixture, lock + 8, mm, "", "a lock beside an mmap_lock has no name");
	check_name(fixture, lock, 0, "", "an mmap_lock that nobody owns has no name");
	owner = made_task(fixture->made, 12, 10, "owner", mm, 0);
	made_set(fixture->made, mm, MM_OWNER, owner);
	check_name(fixture, lock, 0, "mmap_lock of 10", "another process's mmap_lock has its tgid");
	made_set(fixture->made, owner, TASK_MM, mm + 8);
	check_name(fixture, lock, 0, "", "an mmap_lock whose owner has another mm has no name");
	end(fixture);
}

static void test_variables(struct lock_fixture *fixture)
{
	struct data_names names = { .guest = &fixture->made->guest, .is_read = true };
	struct lock_wait wait = { .kind = OS_LOCK_MUTEX, .address = 0xffffffff82001000 };
	char name[OS_LOCK_NAME_BYTES];

	begin(fixture);
	names.guest = &fixture->made->guest;
	fixture->made->guest.text_start = 0xffffffff81000000;
	fixture->made->guest.text_end = 0xffffffff83000000;
	must(symtab_create(&names.tab));
	must(symtab_add(names.tab,
			&(struct symbol_definition){ .start = wait.address,
						     .limit = fixture->made->guest.text_end,
						     .rank = SYMBOL_LOCAL,
						     .name = "cgroup_mutex",
						     .name_bytes = 12 }));
	must(symtab_add(names.tab,
			&(struct symbol_definition){ .start = wait.address + 32,
						     .limit = fixture->made->guest.text_end,
						     .rank = SYMBOL_LOCAL,
						     .name = "init_mm",
						     .name_bytes = 7 }));
	must(symtab_seal(names.tab));
	lock_name_read(&names, &wait, 0, 0, name);
	check_string(name, "cgroup_mutex", "a static lock has its variable's name");
	wait.address += 32 + 0x78;
	lock_name_read(&names, &wait, 0, 0, name);
	check_string(name, "init_mm+0x78", "a lock within a static object has an offset");
	wait.address = MADE_OBJECTS;
	lock_name_read(&names, &wait, 0, 0, name);
	check_string(name, "", "an address outside static data has no name");
	wait.space = 1;
	wait.address = 0xffffffff82001000;
	lock_name_read(&names, &wait, 0, 0, name);
	check_string(name, "", "an address of user code has no name");
	data_names_deinit(&names);
	end(fixture);
}

int main(void)
{
	struct lock_fixture fixture = { 0 };

	test_inodes(&fixture);
	test_mmap_locks(&fixture);
	test_variables(&fixture);
	return tap_done();
}
