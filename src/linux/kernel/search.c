/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A kernel without CONFIG_KALLSYMS_ALL has names for its functions and for no data. The data that
 * xtop needs is found by its contents, and through functions that use it:
 *
 *   banner         the text "Linux version " and a digit
 *   BTF            its header, and sections with the sizes in the header
 *   notes          the last build-id before BTF: the linker puts it there
 *                  (include/asm-generic/vmlinux.lds.h)
 *   page tables, unwind tables, current task, stacks, direct map, lists of modules and of BPF
 *                  programs: search_x86.c. On arm64 the two lists and per-CPU variables:
 *                  search_arm64.c. On i386 page tables, current task, per-CPU areas and the two
 *                  lists: search_i386.c. On 32-bit Arm unwind tables, current task and per-CPU
 *                  areas: search_arm32.c
 *
 * All results are guesses. The readers validate guesses as they validate symbols. Resolver's
 * thread.
 */
#include "config.h"

#include "linux/kernel/search.h"

#include <stdlib.h>

#include "linux/kernel/arch.h"
#include "linux/kernel/search_arch.h"
#include "xtop/base/cleanup.h"
#include "xtop/base/limit.h"

/* limit for the whole image; kernel_image.c has this limit for one range */
#define SEARCH_MAX_BYTES   (64U << 20)
#define SEARCH_MAX_DATA_32 (16U << 20) /* Debian's kernel has 7 MiB of data and bss */
/* words of a note with a build-id of 20 bytes: sizes, type, "GNU", the id */
#define SEARCH_NOTE_WORDS 9
/* least size of BTF's types: Debian's kernels have 2 to 3 MiB */
#define SEARCH_MIN_BTF_BYTES LIMIT(64U << 10, 256)

static void search_banner(struct search *search)
{
	static const char head[] = "Linux version ";
	const uint8_t *at = search->bytes, *end = at + search->size_bytes;

	for (; (at = memmem(at, (size_t)(end - at), head, sizeof(head) - 1)); at++) {
		const uint8_t *digit = at + sizeof(head) - 1;

		if (digit < end && *digit >= '0' && *digit <= '9') {
			search_set(search, LINUX_BANNER,
				   search->address + (uint64_t)(at - search->bytes));
			return;
		}
	}
}

/*
 * Size of the BTF blob that may begin at AT; 0 if no blob can begin there. btf.c describes the
 * header, and checks the whole blob later.
 */
static size_t search_btf_bytes(const struct search *search, size_t at)
{
	uint64_t header_bytes, types_bytes, strings, strings_bytes, all;

	if (search_u32(search, at) != 0x0001eb9f || search_u32(search, at + 8) != 0)
		return 0;
	header_bytes = search_u32(search, at + 4);
	types_bytes = search_u32(search, at + 12);
	strings = search_u32(search, at + 16);
	strings_bytes = search_u32(search, at + 20);
	all = header_bytes + strings + strings_bytes;
	return header_bytes >= 24 && header_bytes <= 64 && strings >= types_bytes &&
			       types_bytes >= SEARCH_MIN_BTF_BYTES && all <= search->size_bytes - at
		       ? all
		       : 0;
}

/*
 * Finds the kernel's own BTF, and the last build-id before the BTF. The vDSO's build-id may be
 * anywhere else.
 */
static void search_btf(struct search *search)
{
	static const uint32_t note[] = { 4, 20, 3, 0x00554e47 }; /* NT_GNU_BUILD_ID of "GNU" */
	size_t last_note = SIZE_MAX, all;

	for (size_t at = 0; at + 4 * SEARCH_NOTE_WORDS <= search->size_bytes; at += 4) {
		if (search_u32(search, at) == note[0] &&
		    memcmp(search->bytes + at, note, sizeof(note)) == 0)
			last_note = at;
		all = search_btf_bytes(search, at);
		if (!all)
			continue;
		search_set(search, LINUX_BTF_START, search->address + at);
		search_set(search, LINUX_BTF_STOP, search->address + at + all);
		break;
	}
	if (last_note == SIZE_MAX)
		return;
	search_set(search, LINUX_NOTES_START, search->address + last_note);
	search_set(search, LINUX_NOTES_STOP, search->address + last_note + 4 * SEARCH_NOTE_WORDS);
}

/* --- the image -------------------------------------------------------------------------------- */

static void search_range(struct search *search, bool constant, bool data)
{
	const uint64_t *symbols = search->guest->symbols;

	if (constant && !symbols[LINUX_BANNER])
		search_banner(search);
	if (constant && !symbols[LINUX_BTF_START])
		search_btf(search);
	if (constant && search->guest->root.width == ROOT_ARM32)
		search_arm32_constants(search);
	if (!data || root_is_arm(search->guest->root))
		return;
	if (arch_word_bytes(search->guest->root) == sizeof(uint32_t))
		search_i386_data(search);
	else
		search_x86_data(search);
}

/*
 * Number of bytes of RANGE to search. The image of a 32-bit kernel is part of the direct map: all
 * of memory may follow its data in the same range.
 */
static size_t search_range_bytes(const struct search *search, const struct memory_range *range)
{
	size_t bytes = range->end - range->start;

	if (range->writable && arch_word_bytes(search->guest->root) == sizeof(uint32_t) &&
	    bytes > SEARCH_MAX_DATA_32)
		return SEARCH_MAX_DATA_32;
	return bytes;
}

/*
 * Searches all of RANGES except the text. A writable and executable range is an image that is not
 * sealed: the range has code, constants and data, and is searched.
 */
static void search_image(struct search *search, const struct memory_range *ranges, size_t n)
{
	size_t left = SEARCH_MAX_BYTES;

	for (size_t i = 0; i < n; i++) {
		const struct memory_range *range = &ranges[i];
		_cleanup_free_ uint8_t *bytes = NULL;

		search->size_bytes = search_range_bytes(search, range);
		if ((range->executable && !range->writable) || search->size_bytes > left)
			continue;
		bytes = malloc(search->size_bytes);
		if (!bytes)
			return;
		left -= search->size_bytes;
		memory_read_bulk(search->guest->memory, search->guest->root, range->start, bytes,
				 search->size_bytes);
		search->bytes = bytes;
		search->address = range->start;
		search_range(search, !range->writable || range->executable, range->writable);
	}
}

void search_symbols(struct linux_guest *guest, const struct memory_range *ranges, size_t n)
{
	struct search search = {
		.guest = guest,
		.image_start = guest->symbols[LINUX_TEXT],
		.image_end = n ? ranges[n - 1].end : 0,
	};

	search_set(&search, LINUX_END, search.image_end);
	search_image(&search, ranges, n);
	if (guest->root.width == ROOT_ARM64)
		search_arm64_functions(&search);
	else if (arch_word_bytes(guest->root) != sizeof(uint32_t))
		search_x86_functions(&search);
	else if (guest->root.width == ROOT_ARM32)
		search_arm32_functions(&search);
	else
		search_i386_functions(&search);
}
