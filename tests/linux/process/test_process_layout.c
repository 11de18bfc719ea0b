/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a 32-bit kernel without BTF keeps mappings and files: found by a process, and refused as soon
 * as one thing does not agree. Then the areas, the path and the pages that are read so.
 */
#include "config.h"

#include <string.h>

#include "linux/kernel/arch.h"
#include "linux/kernel/layout_32.h"
#include "linux/process/page_cache.h"
#include "linux/process/path.h"
#include "linux/process/process_arch.h"
#include "linux/process/process_layout.h"
#include "tests/support/made_arm32.h"
#include "tests/support/made_process_i386.h"
#include "tests/support/tap.h"

#define PAGE GUEST_PAGE_SIZE

static struct made_i386 *made;

static void begin(bool pae)
{
	made_i386_begin(made, true);
	made->guest.vmemmap = 0;
	if (!pae) {
		memset(made->bytes + MADE_TABLES, 0, 0x2000);
		made_i386_put(made, MADE_TABLES + 4 * 768, 0x80 | 3, 4);
		made_i386_put(made, MADE_OWN + 4 * 768, 0x80 | 3, 4);
		made->guest.root = (struct memory_root){ .cr3 = MADE_TABLES, .width = WIDTH_32 };
	}
	memory_refresh(made->guest.memory);
	made_i386_search(made);
	layout_32_find(&made->guest, &made->guest.layout);
}

static bool has(enum layout_member member, unsigned offset)
{
	return layout_has(&made->guest.layout, member) &&
	       layout_offset(&made->guest.layout, member) == offset;
}

static void test_found(bool pae)
{
	unsigned flags = pae ? 20 : 16;

	begin(pae);
	made_process_i386(made, MADE_TASK);
	made_i386_put(made, MADE_TASK + MADE_START - 120, MADE_BASE + MADE_TASK, 8);
	made_i386_put(made, MADE_TASK + MADE_START - 112, MADE_BASE + MADE_TASK + 12, 8);
	memory_refresh(made->guest.memory);
	check(process_layout_32_find(&made->guest), "a process of the running task, %s",
	      pae ? "with PAE" : "without");
	check(has(TASK_MM, MADE_MM_AT) && has(MM_MT, 0) && has(MM_PGD, 28) &&
		      has(MM_MAP_COUNT, 48) && has(MM_TOTAL_VM, 96),
	      "mm_struct: members are found");
	check(has(MM_VDSO, 460) && has(MM_VDSO_IMAGE, 464),
	      "mm_struct: the members of the vDSO are found");
	check(has(VMA_FLAGS, flags) && has(VMA_PGOFF, flags + 36) && has(VMA_FILE, flags + 40),
	      "vm_area_struct: members are found");
	check(has(TASK_START_TIME, MADE_START), "task_struct: the start time is found");
	check(has(FILE_PATH, 8) && has(FILE_INODE, 16), "struct file: members are found");
	check(has(INODE_SB, 28) && has(INODE_MAPPING, 32) && has(INODE_INO, 40) &&
		      has(INODE_SIZE, 52) && has(INODE_MTIME_SEC, 72) && has(INODE_MTIME_NSEC, 80),
	      "struct inode: members are found");
	check(has(PAGE_SIZEOF, MADE_PAGE_BYTES), "struct page: members are found");
	check_u64(made->guest.vmemmap, MADE_BASE + MADE_PAGE_ARRAY,
		  "the array of struct page is found");
}

static void begin_arm32(void)
{
	made_arm32_begin(made);
	made->guest.vmemmap = 0;
	made_arm32_search(made);
	layout_32_find(&made->guest, &made->guest.layout);
}

/* Arm has numbers of 8 bytes at multiples of 8. */
static void test_arm32(void)
{
	begin_arm32();
	made_process_i386(made, MADE_TASK);
	check(process_layout_32_find(&made->guest), "a process of 32-bit Arm gives a layout");
	check(has(TASK_MM, MADE_MM_AT) && has(MM_PGD, 28) && has(MM_MAP_COUNT, 48) &&
		      has(MM_TOTAL_VM, 96),
	      "mm_struct of Arm: members are found");
	check(has(VMA_FLAGS, 24) && has(VMA_FILE, 64), "vm_area_struct of Arm: members are found");
	check(has(DENTRY_NAME_LEN, 28) && has(DENTRY_NAME, 32) && has(DENTRY_INODE, 40),
	      "struct dentry of Arm: members are found");
	check(has(INODE_INO, 40) && has(INODE_SIZE, 56) && has(INODE_MTIME_SEC, 80) &&
		      has(INODE_MTIME_NSEC, 88),
	      "struct inode of Arm: members are found");
	check(has(PAGE_SIZEOF, MADE_PAGE_BYTES), "struct page of Arm: members are found");
	begin_arm32();
	made_process_i386(made, MADE_TASK);
	made_i386_put(made, MADE_TABLES + 0x20 + 8 * 3, 0, 8);
	memory_refresh(made->guest.memory);
	check(!process_layout_32_find(&made->guest),
	      "page tables without the kernel's part give no layout");
}

/* --- which process ---------------------------------------------------------------------------- */

#define PARENT   (MADE_PID + 12) /* real_parent, in a task with a canary */
#define CHILDREN (MADE_PID + 20)
#define SIBLING  (MADE_PID + 28)

static void put(uint64_t offset, uint64_t word)
{
	made_i386_put(made, offset, word, 4);
}

static void test_tasks(void)
{
	begin(true);
	check(!process_layout_32_find(&made->guest), "kernel threads alone give no layout");
	made_process_i386(made, MADE_PARENT);
	check(process_layout_32_find(&made->guest), "a parent's process gives a layout");

	begin(true);
	made_process_i386(made, MADE_LEADER);
	put(MADE_PARENT + CHILDREN, MADE_BASE + MADE_TASK + SIBLING);
	put(MADE_TASK + SIBLING, MADE_BASE + MADE_LEADER + SIBLING);
	put(MADE_LEADER + SIBLING, MADE_BASE + MADE_PARENT + CHILDREN);
	memory_refresh(made->guest.memory);
	check(process_layout_32_find(&made->guest),
	      "a process of a child of the first task gives a layout");

	begin(true);
	put(MADE_PARENT + CHILDREN, MADE_BASE + MADE_TASK + SIBLING);
	put(MADE_TASK + SIBLING, MADE_BASE + MADE_TASK + SIBLING);
	put(MADE_TASK + PARENT, MADE_BASE + MADE_LEADER);
	put(MADE_LEADER + PARENT, MADE_BASE + MADE_TASK);
	memory_refresh(made->guest.memory);
	check(!process_layout_32_find(&made->guest), "rings of parents and of children end");
	put(MADE_TASK + PARENT, 0x1000);
	put(MADE_TASK + CHILDREN, 0x1000);
	memory_refresh(made->guest.memory);
	check(!process_layout_32_find(&made->guest), "tasks below 3 GiB give no layout");
}

/* --- what does not agree ---------------------------------------------------------------------- */

#define PAGE_0 (MADE_PAGE_ARRAY + MADE_PAGE_BYTES * 0x68)

static const struct {
	const char *what;
	uint32_t at, word;
} spoilt[] = {
	{ "active_mm is another", MADE_TASK + MADE_MM_AT + 4, MADE_BASE + MADE_MM + 8 },
	{ "the root node is of another tree", MADE_MAPLE, (MADE_BASE + MADE_MM + 4) | 1 },
	{ "the root is no node", MADE_MM + 4, MADE_BASE + MADE_AREAS },
	{ "the tree leads to itself", MADE_MM + 4, (MADE_BASE + MADE_MAPLE) | 2 << 3 | 2 },
	{ "areas overlap", MADE_AREAS + MADE_AREA_BYTES, MADE_CODE },
	{ "an area is missing", MADE_MAPLE + 128 + 8 * 4 + 4, 0 },
	{ "another number of areas", MADE_MM + 48, 6 },
	{ "page tables of half a page", MADE_MM + 44, 0x800 },
	{ "another number of pages", MADE_MM + 96, 40 },
	{ "another number of pages with code", MADE_MM + 116, 5 },
	{ "flags that are not those of code", MADE_AREAS + 20, 0x71 },
	{ "page tables that are those of the kernel", MADE_MM + 28, MADE_BASE + MADE_OWN },
	{ "page tables that are none", MADE_MM + 28, MADE_BASE + MADE_NAMES },
	{ "a file that is none", MADE_FILE + 16, MADE_BASE + MADE_DENTRY },
	{ "a dentry of another inode", MADE_DENTRY + 32, MADE_BASE + MADE_MM },
	{ "a name without bytes", MADE_DENTRY + 24, 0 },
	{ "a name that lies nowhere", MADE_DENTRY + 28, 0xf0000000 },
	{ "a parent that is none", MADE_DENTRY + 16, 0x1000 },
	{ "a mount that is none", MADE_FILE + 8, MADE_BASE + MADE_NAMES },
	{ "a mapping of another inode", MADE_INODE + 256, MADE_BASE + MADE_DENTRY },
	{ "a super block that the dentry lacks", MADE_INODE + 28, MADE_BASE + MADE_MM },
	{ "a directory", MADE_INODE, 040755 },
	{ "a device", MADE_INODE + 48, 0x801 },
	{ "a file of 4 GiB and more", MADE_INODE + 56, 1 },
	{ "a time that is none", MADE_INODE + 80, 1000000000 },
	{ "a page of another mapping", PAGE_0 + 12, MADE_BASE + MADE_INODE },
	{ "pages that are not where the process has them", MADE_XA_NODE + 20,
	  MADE_BASE + PAGE_0 + MADE_PAGE_BYTES },
	{ "a node with a shift that is none", MADE_XA_NODE, 7 },
	{ "no page in the cache", MADE_INODE + 256 + 12, 0 },
};

static void test_refused(void)
{
	struct layout before;

	for (size_t i = 0; i < sizeof(spoilt) / sizeof(spoilt[0]); i++) {
		begin(true);
		made_process_i386(made, MADE_TASK);
		put(spoilt[i].at, spoilt[i].word);
		memory_refresh(made->guest.memory);
		before = made->guest.layout;
		check(!process_layout_32_find(&made->guest) && !made->guest.vmemmap &&
			      memcmp(&made->guest.layout, &before, sizeof(before)) == 0,
		      "no layout is found: %s", spoilt[i].what);
	}
	begin(true);
	made_process_i386(made, MADE_TASK);
	put(MADE_VDSO, 0);
	memory_refresh(made->guest.memory);
	check(process_layout_32_find(&made->guest) && !layout_has(&made->guest.layout, MM_VDSO),
	      "a process without a vDSO gives a layout");
	begin(true);
	made_process_i386(made, MADE_TASK);
	made_i386_put(made, MADE_TASK + MADE_START + 40, 2000000, 8);
	made_i386_put(made, MADE_TASK + MADE_START + 48, 2000000, 8);
	memory_refresh(made->guest.memory);
	check(process_layout_32_find(&made->guest) &&
		      !layout_has(&made->guest.layout, TASK_START_TIME),
	      "if two times match, none is taken for the start time");
}

/* --- what is read so -------------------------------------------------------------------------- */

static struct vma seen[8];
static size_t n_seen;

static bool visit(void *context, const struct vma *vma)
{
	(void)context;
	if (n_seen < 8)
		seen[n_seen++] = *vma;
	return true;
}

static void test_pages(void)
{
	char bytes[3 * 4096] = "";
	struct page_cache cache;
	struct bytes file;
	frame_t frame;

	check(page_cache_init(&cache, &made->guest, MADE_BASE + MADE_INODE),
	      "a page cache is opened with the found layout");
	check_u64(cache.size_bytes, MADE_FILE_BYTES, "the page cache knows the file's size");
	check(page_cache_find_frame(&cache, 1, &frame) && frame.value == made_file_frames[1],
	      "the frame of a page is found");
	file = page_cache_bytes(&cache);
	check_u64(file.read(file.context, 0, bytes, sizeof(bytes)), MADE_FILE_BYTES,
		  "the whole file is read");
	check(strcmp(bytes, "page 0") == 0 && strcmp(bytes + PAGE, "page 1") == 0 &&
		      strcmp(bytes + 2 * PAGE, "page 2") == 0,
	      "a page that the kernel has not mapped is read");
}

static void test_read(void)
{
	uint64_t address = 0, size_bytes = 0;
	struct path_name name;
	struct vmas_key key;

	begin(true);
	made_process_i386(made, MADE_TASK);
	process_layout_32_find(&made->guest);
	n_seen = 0;
	check_u64(vmas_walk(&made->guest, MADE_BASE + MADE_MM, visit, NULL), VMAS_DONE,
		  "a walk over the areas succeeds");
	check(n_seen == 5 && seen[1].start == MADE_CODE + 2 * PAGE &&
		      seen[1].end == MADE_CODE + 3 * PAGE && seen[1].flags == 0x71 &&
		      seen[1].page_offset == 2 && seen[1].file == MADE_BASE + MADE_FILE,
	      "the walk finds the five areas with their members");
	check(vmas_read_key(&made->guest, MADE_BASE + MADE_MM, &key) && key.map_count == 5 &&
		      key.total_vm == 39 && key.vdso == MADE_VDSO_AT,
	      "the key of changes is read");
	check(path_read(&made->guest, MADE_BASE + MADE_FILE, &name) &&
		      strcmp(name.path, "/init") == 0 && !name.deleted,
	      "a path is read: %s", name.path);
	made_i386_put(made, MADE_DENTRY + 12, 0, 4);
	memory_refresh(made->guest.memory);
	check(path_read(&made->guest, MADE_BASE + MADE_FILE, &name) && name.deleted,
	      "a deleted file is recognised");
	check(process_arch_find_vdso(&made->guest, MADE_BASE + MADE_MM, &address, &size_bytes) &&
		      address == MADE_BASE + MADE_VDSO && size_bytes == PAGE,
	      "the kernel's own copy of the vDSO is found");
	test_pages();
}

/* Up to 6.0 areas are in a list. */
static void test_list(bool pae)
{
	unsigned flags = pae ? 44 : 40;

	begin(pae);
	made_process_510_i386(made, MADE_TASK);
	check(process_layout_32_find(&made->guest), "a list of areas, %s",
	      pae ? "with PAE" : "without");
	check(has(MM_MMAP, 0) && has(VMA_NEXT, 8) && !layout_has(&made->guest.layout, MM_MT) &&
		      has(VMA_FLAGS, flags) && has(VMA_PGOFF, flags + 36) &&
		      has(VMA_FILE, flags + 40) && has(MM_TOTAL_VM, 108),
	      "mm_struct with a list: members are found");
	n_seen = 0;
	check_u64(vmas_walk(&made->guest, MADE_BASE + MADE_MM, visit, NULL), VMAS_DONE,
		  "a walk over the list of areas succeeds");
	check(n_seen == 5 && seen[4].start == 0x7fbde000 && seen[1].file == MADE_BASE + MADE_FILE &&
		      seen[1].page_offset == 2,
	      "the walk over the list finds the five areas");

	begin(pae);
	made_process_510_i386(made, MADE_TASK);
	made_i386_put(made, MADE_AREAS + MADE_AREA_BYTES + 12, 0, 4);
	memory_refresh(made->guest.memory);
	check(!process_layout_32_find(&made->guest),
	      "a list that does not lead back gives no layout");
}

static void test_list_arm32(void)
{
	begin_arm32();
	made_process_510_i386(made, MADE_TASK);
	check(process_layout_32_find(&made->guest), "a list of areas of 32-bit Arm gives a layout");
	check(has(MM_MMAP, 0) && has(VMA_FLAGS, 48) && has(VMA_FILE, 88) && has(MM_TOTAL_VM, 108),
	      "mm_struct of Arm with a list: members are found");
}

/* mm_struct and file have other members first, and the tree has its flags before its root. */
static void test_65(bool pae)
{
	begin(pae);
	made_process_65_i386(made, MADE_TASK);
	check(process_layout_32_find(&made->guest), "a process of Linux 6.5, %s",
	      pae ? "with PAE" : "without");
	check(has(MM_MT, 64) && has(MAPLE_ROOT, 8) && has(MM_PGD, 92) && has(MM_MAP_COUNT, 116) &&
		      has(MM_TOTAL_VM, 164) && has(MM_VDSO, 624) && has(FILE_PATH, 112),
	      "mm_struct of Linux 6.5: members are found");
	n_seen = 0;
	check_u64(vmas_walk(&made->guest, MADE_BASE + MADE_MM, visit, NULL), VMAS_DONE,
		  "a walk with the layout of Linux 6.5 succeeds");
	check_u64(n_seen, 5, "number of areas with the layout of Linux 6.5");
}

/* Top tables of 32 bytes: many lie in one page. */
static void test_roots(void)
{
	struct memory_root root = { .cr3 = 0 }, other;

	begin(true);
	check(arch_read_root(&made->guest, MADE_BASE + MADE_TABLES + 0x20, &root) &&
		      root.cr3 == MADE_TABLES + 0x20 && root.width == WIDTH_32_PAE,
	      "a root of page tables inside a page is read");
	other = root;
	other.cr3 += 0x20;
	check(arch_is_same_process(root, root, true) && !arch_is_same_process(root, other, true),
	      "the next 32 bytes are another process's table");
	root.cr3 &= ~CR3_USER_TABLE;
	other.cr3 = root.cr3 | CR3_USER_TABLE;
	check(arch_is_same_process(root, other, true) && !arch_is_same_process(root, other, false),
	      "with page-table isolation the same bytes of the next page are the process's own");
	check(!arch_is_same_process(other, root, true), "a user's table has no pair above it");
}

int main(void)
{
	made = made_i386();
	test_arm32();
	test_found(true);
	test_found(false);
	test_tasks();
	test_refused();
	test_read();
	test_list(true);
	test_list(false);
	test_list_arm32();
	test_65(true);
	test_65(false);
	test_roots();
	made_i386_destroy();
	return tap_done();
}
