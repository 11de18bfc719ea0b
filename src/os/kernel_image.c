/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Looking for a Linux kernel in a guest. Linux on x86-64 maps its image inside one window, wherever
 * randomisation slides it (Linux arch/x86/include/asm/page_64_types.h, KERNEL_IMAGE_SIZE; Linux
 * Documentation/arch/x86/x86_64/mm.rst):
 *
 *   ffffffff80000000 ─ ffffffffbfffffff
 *     text    r-x
 *     rodata  r--   the largest piece that is neither writable nor executable: kallsyms is in it
 *     data    rw-   with holes where boot code was
 *
 * so the page tables alone say where to look, and the self-checking search of kallsyms.c says
 * whether it is Linux. Under page-table isolation a vCPU in user mode runs on tables that lack the
 * kernel; the kernel's lie in the page before (Linux arch/x86/include/asm/pgtable.h,
 * kernel_to_user_pgdp()).
 *
 * Resolver's thread.
 */
#include "config.h"

#include "os/kernel_image.h"

#include <stdlib.h>

#include "xtop/cleanup.h"
#include "xtop/guest.h"

#define IMAGE_WINDOW_START  0xffffffff80000000
#define IMAGE_WINDOW_END    0xffffffffc0000000
#define IMAGE_MAX_RANGES    4096
#define IMAGE_MAX_TRIES     4          /* ranges searched of one root, the largest first */
#define IMAGE_RODATA_MIN    (256 << 10) /* the tables alone are larger */
#define IMAGE_RODATA_MAX    (64U << 20)
#define IMAGE_CHUNK_BYTES   (1U << 20) /* copied at a time */
#define CR3_ISOLATION       0x1000     /* bit that tells the two page tables of a pair apart */

struct image_window {
	struct memory *memory;
	struct memory_root root;
	size_t n;
	struct memory_range ranges[IMAGE_MAX_RANGES];
};

static bool image_copy_more(struct kallsyms_input *input, size_t up_to)
{
	const struct image_window *window = input->context;
	size_t from = input->present_bytes, to = from;

	while (to < up_to && to < input->size_bytes)
		to = to + IMAGE_CHUNK_BYTES < input->size_bytes ? to + IMAGE_CHUNK_BYTES
								: input->size_bytes;
	if (to == from)
		return false;
	/* The buffer is ours; the input only reads it. */
	memory_read_bulk(window->memory, window->root, input->address + from,
			 (uint8_t *)input->bytes + from, to - from);
	input->present_bytes = to;
	return true;
}

static const struct memory_range *image_text(const struct image_window *window)
{
	for (size_t i = 0; i < window->n; i++)
		if (window->ranges[i].executable && !window->ranges[i].writable)
			return &window->ranges[i];
	return NULL;
}

static bool image_search(struct image_window *window, const struct memory_range *range,
			 struct kallsyms **kallsymsp)
{
	const struct memory_range *text = image_text(window);
	size_t size_bytes = range->end - range->start;
	_cleanup_free_ uint8_t *bytes = NULL;
	struct kallsyms_input input = {
		.address = range->start,
		.size_bytes = size_bytes < IMAGE_RODATA_MAX ? size_bytes : IMAGE_RODATA_MAX,
		.more = image_copy_more,
		.context = window,
		.text_start = text ? text->start : 0,
		.text_end = text ? text->end : 0,
	};

	bytes = malloc(input.size_bytes);
	if (!bytes)
		return false;
	input.bytes = bytes;
	error_destroy(kallsyms_find(&input, kallsymsp));
	return *kallsymsp;
}

/* The largest range of constant data that is smaller than BELOW. */
static const struct memory_range *image_next_range(const struct image_window *window,
						   uint64_t below)
{
	const struct memory_range *best = NULL;
	uint64_t best_bytes = IMAGE_RODATA_MIN - 1;

	for (size_t i = 0; i < window->n; i++) {
		const struct memory_range *range = &window->ranges[i];
		uint64_t size_bytes = range->end - range->start;

		if (!range->writable && !range->executable && size_bytes > best_bytes &&
		    size_bytes < below) {
			best = range;
			best_bytes = size_bytes;
		}
	}
	return best;
}

static bool image_find_under(struct image_window *window, struct kallsyms **kallsymsp)
{
	const struct memory_range *range;
	uint64_t below = UINT64_MAX;

	window->n = memory_ranges(window->memory, window->root, IMAGE_WINDOW_START,
				  IMAGE_WINDOW_END, window->ranges, IMAGE_MAX_RANGES);
	for (int i = 0; i < IMAGE_MAX_TRIES; i++) {
		range = image_next_range(window, below);
		if (!range)
			break;
		if (image_search(window, range, kallsymsp))
			return true;
		below = range->end - range->start;
	}
	return false;
}

bool kernel_image_find(struct memory *memory, const struct registers *regs,
		       struct kallsyms **kallsymsp, struct memory_root *root)
{
	_cleanup_free_ struct image_window *window = malloc(sizeof(*window));
	uint64_t tables = regs->cr3;

	if (!window)
		return false;
	window->memory = memory;
	window->root = walk_root(regs);
	if (!image_find_under(window, kallsymsp)) {
		if (!(tables & CR3_ISOLATION))
			return false;
		window->root.cr3 = tables & ~(uint64_t)CR3_ISOLATION;
		if (!image_find_under(window, kallsymsp))
			return false;
	}
	*root = window->root;
	return true;
}
