/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fuzzer's guest; see guest.h. */
#include "config.h"

#include "guest.h"

#define TABLE_FRAME  1 /* frame of the level 1 table; the other tables follow */
#define POOL_FRAME   0x100
#define ABSENT_FRAME 0x200 /* cannot be read */
#define POOL_PAGES   (FUZZ_GUEST_BYTES / GUEST_PAGE_SIZE)
#define ENTRY_FLAGS  3 /* present, writable; on arm64: a table, or a page */
#define ARM64_TG1_4K 2
#define ARM64_BITS   48 /* bits of an address: four levels of pages of 4 KiB */

static void guest_read(void *context, const frame_t *frames, size_t n, void *pages, bool *ok)
{
	struct fuzz_guest *guest = context;

	for (size_t i = 0; i < n; i++) {
		uint64_t frame = frames[i].value;
		const void *from = NULL;

		if (frame >= TABLE_FRAME && frame < TABLE_FRAME + 4)
			from = guest->tables[frame - TABLE_FRAME];
		else if (frame >= POOL_FRAME && frame < POOL_FRAME + POOL_PAGES)
			from = (char *)guest->pool + (frame - POOL_FRAME) * GUEST_PAGE_SIZE;
		ok[i] = from;
		if (from)
			memcpy((char *)pages + i * GUEST_PAGE_SIZE, from, GUEST_PAGE_SIZE);
	}
}

static void guest_close(void *context)
{
	(void)context;
}

/* All entries of a level lead to the same table of the next. */
static void guest_map(struct fuzz_guest *guest)
{
	for (unsigned level = 1; level < 4; level++)
		for (unsigned i = 0; i < 512; i++)
			guest->tables[level][i] =
				(TABLE_FRAME + level - 1) << GUEST_PAGE_SHIFT | ENTRY_FLAGS;
	for (unsigned i = 0; i < 510; i++)
		guest->tables[0][i] =
			(POOL_FRAME + i % POOL_PAGES) << GUEST_PAGE_SHIFT | ENTRY_FLAGS;
	guest->tables[0][510] = (uint64_t)ABSENT_FRAME << GUEST_PAGE_SHIFT | ENTRY_FLAGS;
}

struct fuzz_guest *fuzz_guest(void)
{
	static const struct memory_ops ops = { .read = guest_read, .close = guest_close };
	static struct fuzz_guest guest;

	if (guest.memory)
		return &guest;
	guest_map(&guest);
	fuzz_succeed(memory_create(&ops, &guest, &guest.memory));
	return &guest;
}

static struct memory_root guest_root(bool arm64)
{
	uint64_t table = (TABLE_FRAME + 3) << GUEST_PAGE_SHIFT;

	if (!arm64)
		return (struct memory_root){ .cr3 = table };
	return (struct memory_root){ .arm64 = { .table0 = table,
						.table1 = table,
						.size0 = 64 - ARM64_BITS,
						.size1 = 64 - ARM64_BITS,
						.granule1 = ARM64_TG1_4K,
						.kind = ROOT_ARM64 } };
}

void fuzz_guest_fill(struct fuzz_guest *guest, struct fuzz *fuzz)
{
	size_t n = fuzz->left_bytes < FUZZ_GUEST_BYTES ? fuzz->left_bytes : FUZZ_GUEST_BYTES;

	memset(guest->pool, 0, sizeof(guest->pool));
	fuzz_take(fuzz, guest->pool, n);
	for (size_t i = 0; i < (n + 7) / 8; i++)
		if (guest->pool[i] >> 56 == 0xff)
			guest->pool[i] |= 0xffff800000000000;
	memory_refresh(guest->memory);
	guest->linux_guest.memory = guest->memory;
	guest->linux_guest.root = guest_root(guest->arm64);
}

/* The value of MEMBER: an offset at *NEXT, which grows, or a count, a size or a bit number. */
static int32_t layout_value(enum layout_member member, int32_t *next)
{
	int32_t offset = *next;

	switch (member) {
	case MAPLE_R64_PIVOT:
	case MAPLE_A64_PIVOT:
		return 8;
	case MAPLE_R64_SLOT:
		return 128; /* 15 pivots */
	case MAPLE_A64_SLOT:
		return 80; /* 9 */
	case PAGE_SIZEOF:
		return 64;
	case ORC_SP_REG_BITS:
		return 32;
	case ORC_BP_REG_BITS:
		return 36;
	case ORC_TYPE_BITS:
		return 40;
	case ORC_TYPE_WIDTH:
		return 3;
	case ORC_SIGNAL_BITS:
		return 43;
	default:
		*next += member == TASK_COMM || member == DENTRY_NAME ? 16 : 8;
		return offset;
	}
}

/* The offset after the last member of the same struct. */
static int32_t layout_next(const struct layout *layout, int member)
{
	int32_t next = 0, unused;

	for (int i = 0; i < member; i++) {
		int32_t behind = layout->values[i];

		if (strcmp(layout_struct(i), layout_struct(member)) != 0)
			continue;
		unused = behind;
		layout_value(i, &unused);
		next = unused > behind && unused > next ? unused : next;
	}
	return next;
}

static const struct layout *layout_whole(void)
{
	static struct layout layout;
	static bool made;

	for (int i = 0; i < LAYOUT_MEMBERS && !made; i++) {
		int32_t next = layout_next(&layout, i);

		layout.values[i] = layout_value(i, &next);
	}
	made = true;
	return &layout;
}

void fuzz_guest_layout(struct fuzz_guest *guest, struct fuzz *fuzz)
{
	struct layout *layout = &guest->linux_guest.layout;
	unsigned changes = fuzz_u8(fuzz) % 16;

	*layout = *layout_whole();
	guest->linux_guest.has_layout = true;
	while (changes-- > 0) {
		unsigned member = fuzz_u16(fuzz) % LAYOUT_MEMBERS;
		uint16_t value = fuzz_u16(fuzz);

		layout->values[member] = value == 0xffff      ? LAYOUT_MAX
					 : (int16_t)value < 0 ? -1
							      : value;
	}
}
