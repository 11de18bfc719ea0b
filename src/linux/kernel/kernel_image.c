/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Searches a guest for a Linux kernel. Linux maps its image within one window of addresses
 * (arch.h), wherever randomisation moves it:
 *
 *     text    r-x
 *     rodata  r--   the largest range that is neither writable nor executable; kallsyms is there
 *     data    rw-   with holes where boot code was
 *
 * So the page tables alone tell where to search. kallsyms_find() checks the tables that it finds,
 * so its result also tells whether the image is Linux. A kernel that boots or runs with rodata=off
 * has not sealed its image: all of the image is one writable and executable range (seen in 5.10 to
 * 7.3). That range begins with the text, and is searched instead of rodata. Under page-table
 * isolation a vCPU in user mode runs on tables that lack the kernel: then the kernel's tables of
 * the same process are used.
 *
 * Resolver's thread.
 */
#include "config.h"

#include "linux/kernel/kernel_image.h"

#include <stdlib.h>
#include <string.h>

#include "linux/kernel/arch.h"
#include "xtop/base/cleanup.h"
#include "xtop/base/limit.h"

#define IMAGE_MAX_RANGES   LIMIT(4096, 64)
#define IMAGE_MAX_TRIES    4 /* ranges that are searched, the largest first */
#define IMAGE_RODATA_MIN   LIMIT(256 << 10, 16 << 10) /* bytes; kallsyms alone is larger */
#define IMAGE_RODATA_MAX   LIMIT(64U << 20, 256U << 10)

struct kernel_image {
	struct memory *memory;
	struct memory_root root;
	bool unsealed; /* the image is writable and executable */
	size_t n;
	struct memory_range ranges[IMAGE_MAX_RANGES];
};

static bool image_copy_more(struct kallsyms_input *input, size_t up_to)
{
	const struct kernel_image *image = input->context;
	size_t from = input->present_bytes;
	size_t to = (up_to + GUEST_PAGE_MASK) & ~(size_t)GUEST_PAGE_MASK;

	if (to > input->size_bytes || to <= from)
		return false;
	/* This file owns the buffer; the input only reads it. */
	memory_read_bulk(image->memory, image->root, input->address + from,
			 (uint8_t *)input->bytes + from, to - from);
	input->present_bytes = to;
	return true;
}

/* Copies the bytes from FROM up to the first byte that was copied before. */
static bool image_copy_front(struct kallsyms_input *input, size_t from)
{
	const struct kernel_image *image = input->context;

	from &= ~(size_t)GUEST_PAGE_MASK;
	if (from < input->absent_bytes) {
		memory_read_bulk(image->memory, image->root, input->address + from,
				 (uint8_t *)input->bytes + from, input->absent_bytes - from);
		input->absent_bytes = from;
	}
	return true;
}

static bool image_read_page(void *context, size_t at, uint8_t *page)
{
	const struct kallsyms_input *input = context;
	const struct kernel_image *image = input->context;

	return memory_read(image->memory, image->root, input->address + at, page,
			   GUEST_PAGE_SIZE) == GUEST_PAGE_SIZE;
}

/* Searches from the page with the first name on. If nothing is found there, searches everything. */
static void image_find(struct kallsyms_input *input, struct kallsyms **kallsymsp)
{
	const struct kallsyms_probe probe = {
		.size_bytes = input->size_bytes,
		.read = image_read_page,
		.context = input,
	};
	size_t before;

	if (!kallsyms_probe(&probe, &before))
		return;
	input->present_bytes = input->absent_bytes = before;
	error_destroy(kallsyms_find(input, kallsymsp));
	if (*kallsymsp || !input->absent_bytes || input->steps >= KALLSYMS_MAX_STEPS)
		return;
	image_copy_front(input, 0);
	error_destroy(kallsyms_find(input, kallsymsp));
}

/*
 * Returns the first executable range. If modules lie beside the image, returns the largest
 * executable range.
 */
static const struct memory_range *image_text(const struct kernel_image *image)
{
	const struct memory_range *best = NULL;
	bool has_modules = arch_get_addresses(image->root).has_modules;

	for (size_t i = 0; i < image->n; i++) {
		const struct memory_range *range = &image->ranges[i];

		if (!range->executable || range->writable != image->unsealed)
			continue;
		if (!has_modules)
			return range;
		if (!best || range->end - range->start > best->end - best->start)
			best = range;
	}
	return best;
}

/*
 * Whether RANGE may have kallsyms. Page tables of i386 without PAE have no bit that forbids
 * execution: there text and rodata are one range.
 */
static bool image_is_data(const struct kernel_image *image, const struct memory_range *range)
{
	bool executable = image->unsealed || image->root.width == WIDTH_32;

	return range->writable == image->unsealed && range->executable == executable;
}

static bool image_search(struct kernel_image *image, const struct memory_range *range,
			 struct kallsyms **kallsymsp)
{
	const struct arch_addresses addresses = arch_get_addresses(image->root);
	const struct memory_range *text = image_text(image);
	size_t size_bytes = range->end - range->start;
	_cleanup_free_ uint8_t *bytes = NULL;
	struct kallsyms_input input = {
		.address = range->start,
		.size_bytes = size_bytes < IMAGE_RODATA_MAX ? size_bytes : IMAGE_RODATA_MAX,
		.more = image_copy_more,
		.work = memory_work(image->memory),
		.front = image_copy_front,
		.context = image,
		.text_start = text ? text->start : 0,
		.text_end = text ? text->end : 0,
		.head_bytes = addresses.head_bytes,
		.image_start = addresses.image_start,
		.is_short = arch_word_bytes(image->root) == sizeof(uint32_t),
	};

	bytes = calloc(1, input.size_bytes); /* bytes that are not copied have to be zeros */
	if (!bytes)
		return false;
	input.bytes = bytes;
	image_find(&input, kallsymsp);
	return *kallsymsp;
}

/* The largest range of data that is smaller than BELOW. */
static const struct memory_range *image_next_range(const struct kernel_image *image, uint64_t below)
{
	const struct memory_range *best = NULL;
	uint64_t best_bytes = IMAGE_RODATA_MIN - 1;

	for (size_t i = 0; i < image->n; i++) {
		const struct memory_range *range = &image->ranges[i];
		uint64_t size_bytes = range->end - range->start;

		if (image_is_data(image, range) && size_bytes > best_bytes && size_bytes < below) {
			best = range;
			best_bytes = size_bytes;
		}
	}
	return best;
}

bool kernel_image_find_kallsyms(struct kernel_image *image, struct kallsyms **kallsymsp)
{
	const struct memory_range *range;
	uint64_t below = UINT64_MAX;

	for (int i = 0; i < IMAGE_MAX_TRIES; i++) {
		range = image_next_range(image, below);
		if (!range)
			break;
		if (image_search(image, range, kallsymsp))
			return true;
		below = range->end - range->start;
	}
	return false;
}

/* --- the image's address ---------------------------------------------------------------------- */

static bool image_is(struct kernel_image *image, bool unsealed)
{
	image->unsealed = unsealed;
	return image_text(image) && image_next_range(image, UINT64_MAX);
}

/* Finds out what is mapped under ROOT at the addresses where the image lies in most guests. */
static void image_read_near(struct kernel_image *image, struct memory_root root)
{
	const struct arch_addresses addresses = arch_get_addresses(root);

	image->root = root;
	image->n = memory_ranges(image->memory, root, addresses.image_start, addresses.near_end,
				 image->ranges, IMAGE_MAX_RANGES);
}

/*
 * Tries the addresses where the image lies in few guests. Returns false if there are no such
 * addresses, or no image.
 */
static bool image_try_far(struct kernel_image *image, struct memory_root root)
{
	const struct arch_addresses addresses = arch_get_addresses(root);

	if (addresses.near_end == addresses.image_end)
		return false;
	image->n = memory_ranges(image->memory, root, addresses.near_end, addresses.image_end,
				 image->ranges, IMAGE_MAX_RANGES);
	return image_is(image, false);
}

/*
 * User-mode tables map a little of an unsealed image, too. So the kernel's tables are tried first;
 * only then is ROOT accepted for an unsealed image.
 */
static bool image_try_tables(struct kernel_image *image, struct memory_root root)
{
	struct memory_root kernel = arch_kernel_tables(root);

	image_read_near(image, root);
	if (image_is(image, false) || image_try_far(image, root))
		return true;
	if (memcmp(&kernel, &root, sizeof(root)) != 0) {
		image_read_near(image, kernel);
		if (image_is(image, false) || image_try_far(image, kernel) || image_is(image, true))
			return true;
		image_read_near(image, root);
	}
	return image_is(image, true);
}

struct kernel_image *kernel_image_open(struct memory *memory, struct memory_root root)
{
	struct kernel_image *image = malloc(sizeof(*image));

	if (!image)
		return NULL;
	image->memory = memory;
	if (image_try_tables(image, root))
		return image;
	free(image);
	return NULL;
}

struct kernel_image *kernel_image_find(struct memory *memory, const struct registers *regs)
{
	return kernel_image_open(memory, walk_root(regs));
}

void kernel_image_destroy(struct kernel_image *image)
{
	free(image);
}

struct memory_root kernel_image_root(const struct kernel_image *image)
{
	return image->root;
}

uint64_t kernel_image_text(const struct kernel_image *image)
{
	return image_text(image)->start;
}

const struct memory_range *kernel_image_ranges(const struct kernel_image *image, size_t *np)
{
	const struct memory_range *text = image_text(image);

	*np = image->n - (size_t)(text - image->ranges);
	return text;
}
