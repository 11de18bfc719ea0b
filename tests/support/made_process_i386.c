/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process of a made 32-bit kernel; see made_process_i386.h. */
#include "config.h"

#include "made_process_i386.h"

#include <stdio.h>
#include <string.h>

#define AT(offset) (MADE_BASE + (offset))
#define PAGE       4096U

/* Pages 0 and 1 are code, page 2 is read only. */
const uint32_t made_file_frames[MADE_PAGES] = { 0x68, 0x6b, MADE_FRAMES + 1 };

static void put(struct made_i386 *made, uint64_t offset, uint64_t word)
{
	made_i386_put(made, offset, word, 4);
}

static bool is_arm(const struct made_i386 *made)
{
	return root_is_arm(made->guest.root);
}

/* OFFSET for a number of 8 bytes, which Arm has at a multiple of 8. */
static unsigned wide(const struct made_i386 *made, unsigned offset)
{
	return is_arm(made) ? (offset + 7) & ~7U : offset;
}

static void put_tables(struct made_i386 *made)
{
	bool pae = made->guest.root.width != WIDTH_32;
	unsigned bytes = pae ? 8 : 4, table = is_arm(made) ? 3 : 7, page = is_arm(made) ? 3 : 5;

	made_i386_put(made, pae ? MADE_TABLES + 0x20 : MADE_TABLES + 4 * (MADE_CODE >> 22),
		      is_arm(made) ? MADE_USER_TABLES | table
		      : pae	   ? MADE_USER_TABLES | 1
				   : MADE_USER_PAGES | table,
		      bytes);
	if (pae)
		made_i386_put(made, MADE_USER_TABLES + 8 * (MADE_CODE >> 21),
			      MADE_USER_PAGES | table, 8);
	for (unsigned i = 0; i < MADE_PAGES; i++)
		made_i386_put(made, MADE_USER_PAGES +
					    bytes * ((MADE_CODE >> 12) % (PAGE / bytes) + i),
			      (uint64_t)made_file_frames[i] * PAGE | page, bytes);
	/* A page that the process has changed before it was protected. */
	made_i386_put(made, MADE_USER_PAGES +
				    bytes * ((MADE_CODE >> 12) % (PAGE / bytes) + MADE_PAGES),
		      0x110 * PAGE | page, bytes);
}

/* Offsets in mm_struct, and of the path in struct file. */
struct shape {
	bool is_list; /* areas are in a list, as up to 6.0; else in a maple tree */
	unsigned tree, root, pgd, tables_bytes, total_vm, exec_vm, vdso, path;
};

static const struct shape shape_510 = { true, 0, 0, 28, 44, 108, 132, 460, 8 };
static const struct shape shape_61 = { false, 0, 4, 28, 44, 96, 116, 460, 8 };
static const struct shape shape_65 = { false, 64, 72, 92, 112, 164, 188, 624, 112 };
static const struct shape *shape;

static const struct made_area {
	uint32_t start, n_pages;
	uint32_t flags; /* vm_flags */
	uint32_t page;  /* the first page in the file, or of the stack */
	bool has_file;
} areas[MADE_N_AREAS] = {
	{ MADE_CODE, 2, 0x75, 0, true },
	{ MADE_CODE + 2 * PAGE, 1, 0x71, 2, true },
	{ MADE_CODE + 3 * PAGE, 1, 0x100071, 2, true },
	{ MADE_VDSO_AT, 2, 0x4000075, 0, false },
	{ 0x7fbde000, 33, 0x100173, 0x7ffde, false },
};

static void put_area(struct made_i386 *made, unsigned i)
{
	uint32_t end = areas[i].start + areas[i].n_pages * PAGE;
	uint64_t area = MADE_AREAS + i * MADE_AREA_BYTES;
	unsigned mm_at = shape->is_list ? 32 : 8;
	unsigned flags_at = made->guest.root.width == WIDTH_32 ? mm_at + 8
							       : wide(made, mm_at + 4) + 8;

	put(made, area, areas[i].start);
	put(made, area + 4, end);
	put(made, area + mm_at, AT(MADE_MM));
	put(made, area + flags_at, areas[i].flags);
	put(made, area + flags_at + 36, areas[i].page);
	put(made, area + flags_at + 40, areas[i].has_file ? AT(MADE_FILE) : 0);
	if (shape->is_list) {
		put(made, area + 8, i < MADE_N_AREAS - 1 ? AT(area + MADE_AREA_BYTES) : 0);
		put(made, area + 12, i ? AT(area - MADE_AREA_BYTES) : 0);
		return;
	}
	/* Slots 0, 2, 4 .. are the gaps between the areas. */
	put(made, MADE_MAPLE + 4 + 8 * i, areas[i].start - 1);
	put(made, MADE_MAPLE + 4 + 8 * i + 4, end - 1);
	put(made, MADE_MAPLE + 128 + 8 * i + 4, AT(area));
}

static void put_areas(struct made_i386 *made)
{
	if (!shape->is_list)
		put(made, MADE_MAPLE, AT(MADE_MM + shape->tree) | 1);
	for (unsigned i = 0; i < MADE_N_AREAS; i++)
		put_area(made, i);
	if (shape->is_list)
		return;
	put(made, MADE_MAPLE + 4 + 8 * 5, 0xffffffff);
	put(made, MADE_MAPLE + 128 + 8 * 5 + 4, AT(MADE_FILE)); /* a leftover */
}

static void put_mm(struct made_i386 *made)
{
	if (shape->is_list)
		put(made, MADE_MM, AT(MADE_AREAS));
	else
		put(made, MADE_MM + shape->root, AT(MADE_MAPLE) | 1 << 3 | 2);
	put(made, MADE_MM + shape->pgd, AT(MADE_TABLES) +
					(made->guest.root.width != WIDTH_32 ? 0x20 : 0));
	put(made, MADE_MM + shape->pgd + 8, 1);
	put(made, MADE_MM + shape->pgd + 12, 1);
	put(made, MADE_MM + shape->tables_bytes, 3 * PAGE);
	put(made, MADE_MM + shape->tables_bytes + 4, 5);
	put(made, MADE_MM + shape->total_vm - 4, 39); /* hiwater_vm */
	put(made, MADE_MM + shape->total_vm, 39);
	put(made, MADE_MM + shape->exec_vm, 4); /* pinned_vm before it is aligned */
	put(made, MADE_MM + shape->vdso, MADE_VDSO_AT);
	put(made, MADE_MM + shape->vdso + 4, AT(MADE_VDSO_IMAGE));
	put(made, MADE_VDSO_IMAGE, AT(MADE_VDSO));
	put(made, MADE_VDSO_IMAGE + 4, PAGE);
	memcpy(made->bytes + MADE_VDSO, "\177ELF", 4);
}

static void put_dentry(struct made_i386 *made, uint64_t dentry, uint64_t name, const char *text,
		       uint64_t inode)
{
	unsigned name_at = wide(made, 20);

	put(made, dentry + 12, 0xc0001234);
	put(made, dentry + 16, AT(MADE_ROOT_DENTRY));
	put(made, dentry + name_at + 4, strlen(text));
	put(made, dentry + name_at + 8, AT(name));
	put(made, dentry + wide(made, name_at + 12), AT(inode));
	put(made, dentry + 84, AT(MADE_SUPER_BLOCK));
	memcpy(made->bytes + name, text, strlen(text) + 1);
}

static void put_file(struct made_i386 *made)
{
	put(made, MADE_FILE + shape->path, AT(MADE_MOUNT + 16));
	put(made, MADE_FILE + shape->path + 4, AT(MADE_DENTRY));
	put(made, MADE_FILE + shape->path + 8, AT(MADE_INODE));
	put_dentry(made, MADE_DENTRY, MADE_NAMES, "init", MADE_INODE);
	put_dentry(made, MADE_ROOT_DENTRY, MADE_NAMES + 32, "/", 0);
	put(made, MADE_MOUNT + 8, AT(MADE_MOUNT));
	put(made, MADE_MOUNT + 12, AT(MADE_ROOT_DENTRY));
	put(made, MADE_MOUNT + 16, AT(MADE_ROOT_DENTRY));
}

static void put_inode(struct made_i386 *made)
{
	uint64_t mapping = MADE_INODE + 256;
	unsigned size = wide(made, 52), mtime = size + 8 + wide(made, 12);

	put(made, MADE_INODE, 0100755);
	put(made, MADE_INODE + 24, AT(0x1000)); /* i_op */
	put(made, MADE_INODE + 28, AT(MADE_SUPER_BLOCK));
	put(made, MADE_INODE + 32, AT(mapping));
	put(made, MADE_INODE + 36, AT(0x1040)); /* i_security */
	put(made, MADE_INODE + 40, 17);
	put(made, MADE_INODE + 44, 1);
	put(made, MADE_INODE + size, MADE_FILE_BYTES);
	put(made, MADE_INODE + mtime, 1700000000);
	put(made, MADE_INODE + mtime + 8, 999999999);
	put(made, mapping, AT(MADE_INODE));
	put(made, mapping + 12, AT(MADE_XA_NODE) | 2);
	for (unsigned i = 0; i < MADE_PAGES; i++) {
		uint64_t page = MADE_PAGE_ARRAY + MADE_PAGE_BYTES * made_file_frames[i];

		put(made, MADE_XA_NODE + 20 + 4 * i, AT(page));
		put(made, page + 12, AT(mapping));
		put(made, page + 16, i);
		snprintf((char *)made->bytes + made_file_frames[i] * PAGE, 16, "page %u", i);
	}
}

static void put_process(struct made_i386 *made, uint64_t task, const struct shape *of)
{
	shape = of;
	put(made, task + MADE_MM_AT, AT(MADE_MM));
	put(made, task + MADE_MM_AT + 4, AT(MADE_MM));
	made_i386_put(made, task + MADE_START, 1500000000, 8);
	made_i386_put(made, task + MADE_START + 8, 1500000200, 8);
	put_tables(made);
	put_areas(made);
	put_mm(made);
	put_file(made);
	put_inode(made);
	memory_refresh(made->guest.memory);
}

void made_process_i386(struct made_i386 *made, uint64_t task)
{
	put_process(made, task, &shape_61);
}

void made_process_510_i386(struct made_i386 *made, uint64_t task)
{
	put_process(made, task, &shape_510);
}

void made_process_65_i386(struct made_i386 *made, uint64_t task)
{
	put_process(made, task, &shape_65);
}
