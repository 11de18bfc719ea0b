/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A Linux kernel's tasks, control groups and address spaces, made by hand; see made_linux.h. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "made_linux.h"

#define TASK_BYTES 4096

static const struct {
	enum layout_member member;
	int32_t value;
} made_values[] = {
	{ TASK_FLAGS, 0x2c },
	{ TASK_STACK, 0x20 },
	{ TASK_MM, 0x308 },
	{ TASK_PID, 0x4a4 },
	{ TASK_TGID, 0x4ac },
	{ TASK_GROUP_LEADER, 0x4c0 },
	{ TASK_START_TIME, 0x570 },
	{ TASK_REAL_PARENT, 0x4b8 },
	{ TASK_SELF_EXEC_ID, 0x898 },
	{ TASK_COMM, 0x7f8 },
	{ TASK_FS, 0x820 },
	{ TASK_THREAD_PID, 0x500 },
	{ TASK_STATE, 0x18 },
	{ TASK_ON_CPU, 0x34 },
	{ TASK_RUN_SUM, 0x110 },
	{ TASK_RUN_SUM_THEN, 0x118 },
	{ TASK_RUN_DELAY, 0x3a8 },
	{ TASK_LAST_ARRIVAL, 0x3b0 },
	{ TASK_LAST_QUEUED, 0x3b8 },
	{ TASK_EXIT_STATE, 0x480 },
	{ TASK_PID_LINKS, 0x540 },
	{ TASK_SWITCHES, 0x580 },
	{ TASK_PREEMPTIONS, 0x588 },
	{ TASK_SP, 0xc00 },
	{ PID_TASKS, 0x10 },
	{ PID_NS_IDR, 0x8 },
	{ TASK_CPU, 0x10 },
	{ TASK_PI_BLOCKED_ON, 0x5a0 },
	{ MUTEX_OWNER, 0 },
	{ MUTEX_WAIT_LIST, 0x10 },
	{ MUTEX_WAITER_LIST, 0 },
	{ MUTEX_WAITER_TASK, 0x10 },
	{ RWSEM_COUNT, 0 },
	{ RWSEM_OWNER, 8 },
	{ RWSEM_WAIT_LIST, 0x18 },
	{ RWSEM_WAITER_LIST, 8 },
	{ RWSEM_WAITER_TASK, 0x20 },
	{ SEMAPHORE_WAIT_LIST, 8 },
	{ SEMAPHORE_WAITER_LIST, 0 },
	{ SEMAPHORE_WAITER_TASK, 0x10 },
	{ PERCPU_RWSEM_WAIT_LIST, 0x48 },
	{ PERCPU_RWSEM_WRITER, 0x38 },
	{ PERCPU_RWSEM_BLOCK, 0x58 },
	{ WAIT_ENTRY_LIST, 0x18 },
	{ WAIT_ENTRY_TASK, 8 },
	{ TICK_DEVICE_EVENTS, 0 },
	{ IRQ_INFO_LIST, 0x8 },
	{ IRQ_INFO_TYPE, 0x5c },
	{ IRQ_INFO_PORT, 0x64 },
	{ IRQ_INFO_CPU, 0x68 },
	{ IRQ_INFO_VIRQ, 0x80 },
	{ IRQ_INFO_DEVICE, 0x80 },
	{ XENBUS_DEVICE_PATH, 0x8 },
	{ EVENT_DEVICE_NEXT, 0x18 },
	{ RT_MUTEX_OWNER, 0x18 },
	{ RT_MUTEX_WAITER_LOCK, 0x38 },
	{ MM_MMAP_LOCK, 0xe0 },
	{ MM_OWNER, 0x1c0 },
	{ INODE_RWSEM, 0xa0 },
	{ INODE_DATA, 0x160 },
	{ INODE_MMAP_RWSEM, 0x198 },
	{ INODE_INVALIDATE_LOCK, 0x1d0 },
	{ INODE_DENTRIES, 0x148 },
	{ DENTRY_ALIAS, 0xb0 },
	{ UPID_NS, 8 },
	{ TASK_CGROUPS, 0x8b0 },
	{ CSS_SET_CGROUP, 0x88 },
	{ CGROUP_NODE, 0xf8 },
	{ KERNFS_NAME, 0x10 },
	{ KERNFS_PARENT, 0x8 },
	{ FS_ROOT, 0x18 },
	{ FS_PWD, 0x28 },
	{ PID_LEVEL, 4 },
	{ PID_NUMBERS, 0x60 },
	{ UPID_SIZEOF, 16 },
	{ UPID_NR, 0 },
	{ MM_PGD, 0x50 },
	{ MM_MAP_COUNT, 0x68 },
	{ MM_TOTAL_VM, 0x80 },
	{ MM_VDSO, 0x1a0 },
	{ MM_VDSO_IMAGE, 0x1a8 },
	{ VDSO_IMAGE_DATA, 8 },
	{ VDSO_IMAGE_SIZE, 0 },
	{ MM_START_STACK, 0xd0 },
	{ MM_START_BRK, 0xc0 },
	{ MM_ARG_START, 0x1b0 },
	{ MM_ARG_END, 0x1b8 },
	{ MAPLE_ROOT, 0x8 },
	{ MAPLE_R64_PIVOT, 8 },
	{ MAPLE_R64_SLOT, 128 },
	{ MAPLE_A64_PIVOT, 8 },
	{ MAPLE_A64_SLOT, 80 },
	{ VMA_START, 0x0 },
	{ VMA_END, 0x10 },
	{ VMA_FLAGS, 0x28 },
	{ VMA_PGOFF, 0x60 },
	{ VMA_FILE, 0x70 },
	{ FILE_PATH, 0x98 },
	{ FILE_INODE, 0xa8 },
	{ FILE_MODE, 0xc },
	{ BACKING_FILE_USER_PATH, 0x140 },
	{ PATH_MNT, 0 },
	{ PATH_DENTRY, 8 },
	{ DENTRY_PARENT, 0x18 },
	{ DENTRY_NAME, 0x28 },
	{ DENTRY_NAME_LEN, 0x24 },
	{ DENTRY_INODE, 0x30 },
	{ DENTRY_HASH_PPREV, 0x10 },
	{ DENTRY_CHILDREN, 0x90 },
	{ DENTRY_SIB, 0x80 },
	{ VFSMOUNT_ROOT, 0 },
	{ MOUNT_MNT, 0x20 },
	{ MOUNT_PARENT, 0x10 },
	{ MOUNT_MOUNTPOINT, 0x18 },
	{ MOUNT_MOUNTS, 0x60 },
	{ MOUNT_CHILD, 0x70 },
	{ MOUNT_OF_SUPER, 0x80 },
	{ SUPER_MOUNTS, 0x48 },
	{ INODE_MODE, 0 },
	{ INODE_LINK, 0x78 },
	{ INODE_SIZEOF, 0x1e0 },
	{ SUPER_MAGIC, 0x60 },
	{ INODE_SIZE, 0x50 },
	{ INODE_SB, 0x28 },
	{ INODE_INO, 0x40 },
	{ INODE_MAPPING, 0x30 },
	{ INODE_GENERATION, 0x90 },
	{ INODE_MTIME_SEC, 0x60 },
	{ INODE_MTIME_NSEC, 0x6c },
	{ MAPPING_PAGES, 0x8 },
	{ XARRAY_HEAD, 0x8 },
	{ XA_NODE_SHIFT, 0 },
	{ XA_NODE_SLOTS, 40 },
	{ PAGE_SIZEOF, MADE_PAGE_BYTES },
	{ PAGE_INDEX, 32 },
	{ FOLIO_INDEX, 32 },
};

static void made_layout(struct made_linux *made, enum made_areas areas)
{
	struct layout *layout = &made->guest.layout;

	for (size_t i = 0; i < LAYOUT_MEMBERS; i++)
		layout->values[i] = -1;
	for (size_t i = 0; i < sizeof(made_values) / sizeof(made_values[0]); i++)
		layout->values[made_values[i].member] = made_values[i].value;
	if (areas == MADE_LIST) {
		layout->values[MM_MMAP] = 0;
		layout->values[VMA_NEXT] = 0x18;
		layout->values[MAPLE_ROOT] = -1;
	} else {
		layout->values[MM_MT] = 0x8;
	}
	if (areas == MADE_TREE)
		layout->values[MM_LOCK_SEQ] = 0x78;
	made->guest.has_layout = true;
}

struct made_linux *made_linux_create(enum made_areas areas)
{
	struct made_linux *made = calloc(1, sizeof(*made));

	if (!made)
		exit(99);
	made->memory = made_create();
	made->next = MADE_OBJECTS;
	made->next_page = 0x100;
	made->guest = (struct linux_guest){ .memory = made_memory(made->memory),
					    .root = made_root(made->memory),
					    .type = GUEST_PV,
					    .page_offset = MADE_DIRECT_MAP,
					    .vmemmap = MADE_VMEMMAP };
	made_layout(made, areas);
	made->super_block = made_object(made, MADE_OBJECT_BYTES, 64);
	made->root_mount = made_mount(made, 0, 0, &made->root_dentry);
	return made;
}

void made_linux_destroy(struct made_linux *made)
{
	made_destroy(made->memory);
	free(made);
}

uint64_t made_object(struct made_linux *made, size_t size_bytes, size_t alignment)
{
	uint64_t object = (made->next + alignment - 1) & ~(uint64_t)(alignment - 1);

	made->next = object + size_bytes;
	made_map(made->memory, made->guest.root, object, size_bytes, MADE_WRITE);
	return object;
}

unsigned made_offset(const struct made_linux *made, enum layout_member member)
{
	if (!layout_has(&made->guest.layout, member))
		exit(99);
	return layout_offset(&made->guest.layout, member);
}

void made_without(struct made_linux *made, enum layout_member member)
{
	made->guest.layout.values[member] = -1;
}

void made_write(struct made_linux *made, uint64_t address, uint64_t value)
{
	made_put_u64(made->memory, made->guest.root, address, value);
	memory_refresh(made->guest.memory);
}

void made_set(struct made_linux *made, uint64_t object, enum layout_member member, uint64_t value)
{
	made_write(made, object + made_offset(made, member), value);
}

void made_set_u32(struct made_linux *made, uint64_t object, enum layout_member member,
		  uint32_t value)
{
	made_put_u32(made->memory, made->guest.root, object + made_offset(made, member), value);
	memory_refresh(made->guest.memory);
}

uint64_t made_get(struct made_linux *made, uint64_t address)
{
	uint64_t value;

	if (!linux_read_u64(&made->guest, address, &value))
		exit(99);
	return value;
}

void made_set_fs_path(struct made_linux *made, uint64_t fs, enum layout_member member,
		      uint64_t dentry)
{
	uint64_t path = fs + made_offset(made, member);

	made_write(made, path + made_offset(made, PATH_MNT), made_vfsmount(made, made->root_mount));
	made_write(made, path + made_offset(made, PATH_DENTRY), dentry);
}

uint64_t made_task(struct made_linux *made, uint32_t pid, uint32_t tgid, const char *comm,
		   uint64_t mm, uint64_t leader)
{
	uint64_t task = made_object(made, TASK_BYTES, 64);
	uint64_t fs = made_object(made, MADE_OBJECT_BYTES, 64);
	char name[16] = "";

	strncpy(name, comm, sizeof(name) - 1);
	made_put(made->memory, made->guest.root, task + made_offset(made, TASK_COMM), name,
		 sizeof(name));
	made_set_u32(made, task, TASK_PID, pid);
	made_set_u32(made, task, TASK_TGID, tgid);
	made_set_u32(made, task, TASK_FLAGS, mm ? 0x400000 : 0x200040);
	made_set(made, task, TASK_MM, mm);
	made_set(made, task, TASK_GROUP_LEADER, leader ? leader : task);
	made_set(made, task, TASK_START_TIME, 1000000 + pid);
	made_set(made, task, TASK_FS, fs);
	made_set_fs_path(made, fs, FS_ROOT, made->root_dentry);
	made_set_fs_path(made, fs, FS_PWD, made->root_dentry);
	return task;
}

uint64_t made_cgroup(struct made_linux *made, uint64_t parent, const char *name)
{
	uint64_t node = made_object(made, MADE_OBJECT_BYTES, 64);
	uint64_t text = made_object(made, strlen(name) + 1, 8);

	made_put_string(made->memory, made->guest.root, text, name);
	made_set(made, node, KERNFS_NAME, text);
	made_set(made, node, KERNFS_PARENT, parent);
	return node;
}

uint64_t made_set_cgroup(struct made_linux *made, uint64_t task, uint64_t group)
{
	uint64_t set = made_object(made, MADE_OBJECT_BYTES, 64);
	uint64_t cgroup = made_object(made, MADE_OBJECT_BYTES, 64);

	made_set(made, cgroup, CGROUP_NODE, group);
	made_set(made, set, CSS_SET_CGROUP, cgroup);
	made_set(made, task, TASK_CGROUPS, set);
	return set;
}

/* --- address spaces --------------------------------------------------------------------------- */

uint64_t made_vma(struct made_linux *made, const struct vma *area)
{
	uint64_t vma = made_object(made, MADE_OBJECT_BYTES, 64);

	made_set(made, vma, VMA_START, area->start);
	made_set(made, vma, VMA_END, area->end);
	made_set(made, vma, VMA_FLAGS, area->flags);
	made_set(made, vma, VMA_PGOFF, area->page_offset);
	made_set(made, vma, VMA_FILE, area->file);
	return vma;
}

uint64_t made_maple_node(struct made_linux *made, unsigned type)
{
	return made_object(made, 256, 256) | type << 3 | 4;
}

void made_maple_set(struct made_linux *made, uint64_t node, unsigned i, uint64_t pivot,
		    uint64_t slot)
{
	bool arange = (node >> 3 & 15) == 3;
	uint64_t address = node & ~255ULL;

	if (pivot)
		made_write(made,
			   address + made_offset(made, arange ? MAPLE_A64_PIVOT : MAPLE_R64_PIVOT) +
				   8 * i,
			   pivot);
	made_write(made,
		   address + made_offset(made, arange ? MAPLE_A64_SLOT : MAPLE_R64_SLOT) + 8 * i,
		   slot);
}

/* Makes a leaf with the areas and the gaps between them. */
static uint64_t made_leaf(struct made_linux *made, const struct vma *areas, size_t n, uint64_t min,
			  uint64_t max)
{
	uint64_t node = made_maple_node(made, 1);
	unsigned i = 0;

	for (size_t a = 0; a < n; a++) {
		if (areas[a].start > min)
			made_maple_set(made, node, i++, areas[a].start - 1, 0);
		made_maple_set(made, node, i++, areas[a].end - 1, made_vma(made, &areas[a]));
		min = areas[a].end;
	}
	if (min <= max && min)
		made_maple_set(made, node, i, max == UINT64_MAX ? 0 : max, 0);
	return node;
}

#define LEAF_AREAS 7 /* areas with a gap before each */

/* Makes a maple tree of AREAS: leaves, and as many levels above them as it takes. */
static uint64_t made_tree(struct made_linux *made, const struct vma *areas, size_t n, uint64_t min,
			  uint64_t max)
{
	uint64_t node;
	size_t step = LEAF_AREAS, first = 0;
	unsigned i = 0;

	if (n <= LEAF_AREAS)
		return made_leaf(made, areas, n, min, max);
	while (step * 10 < n)
		step *= 10;
	node = made_maple_node(made, 3);
	for (; first < n; first += step, i++) {
		bool last = first + step >= n;
		uint64_t end = last ? max : areas[first + step].start - 1;

		made_maple_set(made, node, i, last ? 0 : end,
			       made_tree(made, areas + first, last ? n - first : step, min, end));
		min = end + 1;
	}
	return node;
}

static uint64_t made_list(struct made_linux *made, const struct vma *areas, size_t n)
{
	uint64_t next = 0;

	while (n-- > 0) {
		uint64_t vma = made_vma(made, &areas[n]);

		made_set(made, vma, VMA_NEXT, next);
		next = vma;
	}
	return next;
}

void made_areas(struct made_linux *made, uint64_t mm, const struct vma *areas, size_t n)
{
	const struct layout *layout = &made->guest.layout;
	uint64_t pages = 0, root = 0;

	for (size_t i = 0; i < n; i++)
		pages += (areas[i].end - areas[i].start) >> GUEST_PAGE_SHIFT;
	if (layout_has(layout, MM_MT)) {
		if (n)
			root = (made_tree(made, areas, n, 0, UINT64_MAX) & ~7ULL) | 2;
		made_write(made, mm + made_offset(made, MM_MT) + made_offset(made, MAPLE_ROOT),
			   root);
	} else {
		made_set(made, mm, MM_MMAP, made_list(made, areas, n));
	}
	made_set_u32(made, mm, MM_MAP_COUNT, (uint32_t)n);
	made_set(made, mm, MM_TOTAL_VM, pages);
	if (layout_has(layout, MM_LOCK_SEQ))
		made_set_u32(made, mm, MM_LOCK_SEQ,
			     (uint32_t)made_get(made, mm + made_offset(made, MM_LOCK_SEQ)) + 1);
}

uint64_t made_mm(struct made_linux *made, const struct vma *areas, size_t n)
{
	uint64_t mm = made_object(made, 1024, 64), pgd;
	struct memory_root root = made_root(made->memory);

	/* The top page table is one more page of the direct map. */
	pgd = MADE_DIRECT_MAP + (made->next_page++ << GUEST_PAGE_SHIFT);
	*made_entry(made->memory, made->guest.root, pgd, 1) = (root.cr3 & ~GUEST_PAGE_MASK) | 3;
	made_set(made, mm, MM_PGD, pgd);
	made_areas(made, mm, areas, n);
	return mm;
}

struct memory_root made_mm_root(struct made_linux *made, uint64_t mm)
{
	struct memory_root root = { 0 };
	frame_t frame;

	if (!memory_translate(made->guest.memory, made->guest.root,
			      made_get(made, mm + made_offset(made, MM_PGD)), &frame))
		exit(99);
	root.cr3 = frame.value << GUEST_PAGE_SHIFT;
	return root;
}
