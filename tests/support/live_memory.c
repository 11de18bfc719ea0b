/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process's memory; see live_memory.h. A frame number is the level of a page table and the part of
 * the address that leads to it; level 0 is the page itself. The page tables have an entry for every
 * page. A page that the process does not have is refused when it is read.
 */
#include "config.h"

#include "tests/support/live_memory.h"

#include <stdlib.h>

#include "xtop/base/vcpu.h"
#include "xtop/memory/walk.h"

#define LEVEL_SHIFT 36
#define LEVEL_BITS  9
#define N_LEVELS    4ULL
#define PRESENT     7ULL

struct live_memory {
	live_read_page_fn *read_page;
	void *context;
};

/* The page table FRAME, whose entries lead to the tables or pages one level lower. */
static void live_fill_table(uint64_t frame, uint64_t *entries)
{
	uint64_t level = frame >> LEVEL_SHIFT, prefix = frame & ((1ULL << LEVEL_SHIFT) - 1);

	for (uint64_t i = 0; i < 1 << LEVEL_BITS; i++)
		entries[i] = ((level - 1) << LEVEL_SHIFT | prefix << LEVEL_BITS | i)
				     << GUEST_PAGE_SHIFT |
			     PRESENT;
}

static void live_read(void *context, const frame_t *frames, size_t n, void *pages, bool *ok)
{
	struct live_memory *memory = context;

	for (size_t i = 0; i < n; i++) {
		char *page = (char *)pages + i * GUEST_PAGE_SIZE;

		ok[i] = true;
		if (frames[i].value >> LEVEL_SHIFT)
			live_fill_table(frames[i].value, (uint64_t *)(void *)page);
		else
			ok[i] = memory->read_page(memory->context, frames[i].value, page);
	}
}

struct xtop_error *live_memory_create(live_read_page_fn *read_page, void *context,
				      struct memory **memoryp, struct memory_root *root)
{
	static const struct memory_ops ops = { .read = live_read, .close = free };
	struct live_memory *memory = malloc(sizeof(*memory));
	struct registers regs = { .arch = ARCH_X86,
				  .cr0 = 1ULL << 31, /* paging is on */
				  .cr3 = N_LEVELS << LEVEL_SHIFT << GUEST_PAGE_SHIFT };

	if (!memory)
		return error_create("out of memory");
	*memory = (struct live_memory){ read_page, context };
	*root = walk_root(&regs);
	return memory_create(&ops, memory, memoryp);
}
