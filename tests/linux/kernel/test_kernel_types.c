/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Types that are read out of a guest in two parts: how much of the BTF is read at first, and which
 * guesses about the rest are taken. The BTF lies in a kernel's memory, with the first task's mounts.
 */
#include "config.h"

#include "linux/kernel/kernel_types.h"

#include <stdlib.h>
#include <string.h>

#include "tests/linux/kernel/kernel_structs.h"
#include "tests/support/made_memory.h"
#include "tests/support/make_btf.h"
#include "tests/support/tap.h"

#define BTF    0xffffffff82800123ULL
#define TASK   0xffff888000010000ULL
#define FS     0xffff888000020000ULL
#define MOUNT  0xffff888000030000ULL
#define ABOVE  0xffff888000040000ULL
#define DENTRY 0xffff888000050000ULL

static struct made_memory *made;
static struct linux_guest guest;
static size_t btf_bytes;

/* Begins with a kernel whose struct mount, among the last types, is as MOUNT_TEXT says. */
static void begin(const char *mount_text)
{
	static const char *const others[] = { "task_struct", "fs_struct",     "path",
					      "vfsmount",    "irq_info",      "pcpu_hot",
					      "tk_data",     "xenbus_device", "maple_node",
					      "mount",       "backing_file" };
	struct make_btf *make = make_btf_create();
	uint8_t *blob;

	make_btf_text(make, "struct path 16 { ptr mnt @0; ptr dentry @8; }"
			    "struct fs_struct 64 { path root @24; path pwd @40; }"
			    "struct vfsmount 32 { ptr mnt_root @0; ptr mnt_sb @8; }"
			    "struct task_struct 200 { u8 comm[16] @64; u32 pid @80; ptr fs @96; }");
	add_structs(make, others, sizeof(others) / sizeof(others[0]));
	add_unknown(make, 1800);
	make_btf_text(make, mount_text);
	blob = make_btf_blob(make, &btf_bytes);
	make_btf_destroy(make);
	made = made_create();
	guest = (struct linux_guest){ .memory = made_memory(made), .root = made_root(made) };
	layout_init(&guest.layout);
	guest.symbols[LINUX_BTF_START] = BTF;
	guest.symbols[LINUX_BTF_STOP] = BTF + btf_bytes;
	guest.symbols[LINUX_INIT_TASK] = TASK;
	made_put(made, guest.root, BTF, blob, btf_bytes);
	free(blob);
}

/* A mount at ADDRESS on POINT of PARENT: its first pointers from AT on, and its vfsmount at VFS. */
static void put_mount(uint64_t address, uint64_t parent, uint64_t point, unsigned at, unsigned vfs)
{
	made_put_u64(made, guest.root, address + at, parent);
	made_put_u64(made, guest.root, address + at + 8, point);
	made_put_u64(made, guest.root, address + vfs, DENTRY);
}

/* The first task's root, in a mount that is mounted on another one. */
static void put_mounts(unsigned at, unsigned vfs)
{
	made_put_u64(made, guest.root, TASK + 96, FS);
	made_put_u64(made, guest.root, FS + 24, MOUNT + vfs);
	made_put_u64(made, guest.root, FS + 32, DENTRY);
	put_mount(MOUNT, ABOVE, DENTRY + 0x100, at, vfs);
	put_mount(ABOVE, ABOVE, DENTRY, at, vfs);
	memory_refresh(guest.memory);
}

static void end(void)
{
	kernel_types_destroy(&guest);
	made_destroy(made);
}

static uint64_t read_bytes(void)
{
	return memory_counts(guest.memory).pages * GUEST_PAGE_SIZE;
}

#define USUAL "struct mount 320 { ptr mnt_parent @16; ptr mnt_mountpoint @24; vfsmount mnt @32;"       \
	      "  u8 mnt_mounts[16] @96; }"
#define MOVED "struct mount 320 { ptr mnt_parent @40; ptr mnt_mountpoint @48; vfsmount mnt @64;"       \
	      "  u8 mnt_mounts[16] @96; }"

static void test_usual(void)
{
	begin(USUAL);
	put_mounts(16, 32);
	kernel_types_begin(&guest);
	check(guest.has_layout && guest.types && guest.layout.partial,
	      "the last types are not read at first");
	check(read_bytes() * 2 < btf_bytes, "%zu of %zu bytes were read", (size_t)read_bytes(),
	      btf_bytes);
	check(layout_offset_or(&guest.layout, TASK_COMM, 0) == 64, "members of tasks are known");
	check(layout_offset_or(&guest.layout, MOUNT_MNT, 0) == 32 &&
		      !layout_has(&guest.layout, MOUNT_MOUNTS),
	      "where a mount's vfsmount is was guessed; other members are not known");
	kernel_types_end(&guest);
	check(!guest.types && !guest.layout.partial && layout_has(&guest.layout, MOUNT_MOUNTS),
	      "then all types are read");
	kernel_types_end(&guest);
	check(layout_offset_or(&guest.layout, MOUNT_MNT, 0) == 32, "and are read once");
	end();
}

static void test_moved(void)
{
	begin(MOVED);
	put_mounts(40, 64);
	kernel_types_begin(&guest);
	check(guest.has_layout && !guest.types && !guest.layout.partial,
	      "all types are read if a mount is not as expected");
	check(layout_offset_or(&guest.layout, MOUNT_MNT, 0) == 64 &&
		      layout_offset_or(&guest.layout, MOUNT_PARENT, 0) == 40,
	      "a mount's members are those of BTF");
	end();
}

static void test_no_end(void)
{
	begin(USUAL);
	put_mounts(16, 32);
	put_mount(ABOVE, MOUNT, DENTRY, 16, 32);
	memory_refresh(guest.memory);
	kernel_types_begin(&guest);
	check(guest.has_layout && !guest.layout.partial, "mounts in a circle are no proof");
	end();
}

static void test_unreadable(void)
{
	begin(USUAL);
	put_mounts(16, 32);
	made_refuse(made, guest.root, BTF + btf_bytes / 2, true);
	kernel_types_begin(&guest);
	check(guest.has_layout && guest.types, "a page that is not needed may be missing");
	kernel_types_end(&guest);
	check(guest.types && guest.layout.partial && layout_has(&guest.layout, TASK_COMM),
	      "what was known stays known if the rest cannot be read");
	made_refuse(made, guest.root, BTF + btf_bytes / 2, false);
	memory_refresh(guest.memory);
	kernel_types_end(&guest);
	check(!guest.types && !guest.layout.partial && layout_has(&guest.layout, MOUNT_MOUNTS),
	      "a rest that can be read later is read then");
	end();
}

int main(void)
{
	test_usual();
	test_moved();
	test_no_end();
	test_unreadable();
	return tap_done();
}
