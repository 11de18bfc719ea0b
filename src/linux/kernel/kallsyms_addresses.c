/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The last step of the search for a kernel's symbols: finds where the addresses are and how they
 * are stored, by trying each place and each encoding. kallsyms_find.c has the layouts, kallsyms.h
 * the encodings. Resolver's thread.
 *
 * The right addresses ascend from the first symbol to the last, because nm -n has sorted them, and
 * have _text where the code is. Wrong addresses are out of order after a few symbols, or have _text
 * elsewhere. The addresses are valid for the running kernel: relocation has changed the base and
 * the absolute addresses, and the other addresses are relative to what was moved.
 */
#include "config.h"

#include "linux/kernel/kallsyms_finder.h"

/* The image begins with its code, after at most one large page of other data. */
#define TEXT_SLACK_BYTES (2ULL << 20)

#define LOOK_ADDRESSES 65536 /* addresses between two checks whether work is over */

/* Size of a pointer in the tables. */
static size_t finder_word(const struct kallsyms_finder *finder)
{
	return finder->input->is_short ? sizeof(uint32_t) : sizeof(uint64_t);
}

static uint64_t finder_address(const struct kallsyms_finder *finder, size_t at, uint32_t index,
			       uint64_t base)
{
	size_t slot = at + 4 * (size_t)index, word = finder_word(finder);
	uint32_t offset;

	switch (finder->out->encoding) {
	case KALLSYMS_ABSOLUTE:
		return finder_load(finder, at + word * index, word);
	case KALLSYMS_PERCPU:
		offset = finder_load(finder, slot, 4);
		return (int32_t)offset >= 0 ? offset : base - 1 - (int64_t)(int32_t)offset;
	case KALLSYMS_RELATIVE:
		return base + (uint32_t)finder_load(finder, slot, 4);
	case KALLSYMS_PLACE_RELATIVE:
		offset = finder_load(finder, slot, 4);
		return finder->input->address + slot + (int64_t)(int32_t)offset;
	}
	return 0;
}

/* Linux has its code before its read-only data (arch/x86/kernel/vmlinux.lds.S). */
static bool finder_is_text_start(const struct kallsyms_finder *finder, uint64_t address)
{
	const struct kallsyms_input *input = finder->input;

	if (!input->text_start)
		return address >= input->image_start && address < input->address;
	return address + input->head_bytes >= input->text_start &&
	       address + input->head_bytes - input->text_start < TEXT_SLACK_BYTES;
}

/*
 * Reads the addresses at AT in ENCODING. Returns false if the addresses do not ascend, or if they
 * do not have _text where the code is.
 */
static bool finder_read_addresses(struct kallsyms_finder *finder, size_t at,
				  enum kallsyms_encoding encoding, uint64_t base)
{
	struct kallsyms *out = finder->out;
	uint32_t text = finder->mark_indices[KALLSYMS_TEXT];
	uint64_t last = 0;

	if (text == finder->n)
		text = finder->mark_indices[KALLSYMS_STEXT];
	out->encoding = encoding;
	if (text == finder->n ||
	    !finder_is_text_start(finder, finder_address(finder, at, text, base)))
		return false;
	for (uint32_t i = 0; i < finder->n; i++) {
		uint64_t address = finder_address(finder, at, i, base);

		if (address < last || (i % LOOK_ADDRESSES == 0 && finder_is_over(finder)))
			return finder_spend(finder, i) && false;
		out->addresses[i] = last = address;
	}
	return finder_spend(finder, finder->n);
}

static bool finder_read_offsets(struct kallsyms_finder *finder, size_t at, size_t base_at)
{
	uint64_t base = finder_load(finder, base_at, finder_word(finder));

	return base >= finder->input->image_start &&
	       (finder_read_addresses(finder, at, KALLSYMS_PERCPU, base) ||
		finder_read_addresses(finder, at, KALLSYMS_RELATIVE, base));
}

/*
 * num_syms is directly before the names. Up to 6.3, offsets and base, or the addresses, are before
 * num_syms, so the word before num_syms is a kernel address.
 */
static bool finder_addresses_before(struct kallsyms_finder *finder)
{
	size_t offsets_bytes = finder_align(finder, 4 * (size_t)finder->n),
	       num = finder->names - finder->align, word = finder_word(finder);

	finder->out->tables_before = true;
	if (num < word || !finder_need_from(finder, num - word) ||
	    finder_load(finder, num - word, word) < finder->input->image_start)
		return false;
	if (num >= offsets_bytes + word && finder_need_from(finder, num - word - offsets_bytes) &&
	    finder_read_offsets(finder, num - word - offsets_bytes, num - word))
		return true;
	return num >= word * finder->n && finder_need_from(finder, num - word * finder->n) &&
	       finder_read_addresses(finder, num - word * finder->n, KALLSYMS_ABSOLUTE, 0);
}

/* Tries offsets from a base and offsets from their own places: only one kind ascends from _text. */
static bool finder_addresses_after(struct kallsyms_finder *finder)
{
	size_t at = finder->token_index + TOKEN_INDEX_BYTES, word = finder_word(finder);
	size_t base_at = at + finder_align(finder, 4 * (size_t)finder->n);

	finder->out->tables_before = false;
	if (finder_need(finder, base_at + word) && finder_read_offsets(finder, at, base_at))
		return true;
	if (finder_need(finder, at + 4 * (size_t)finder->n) &&
	    finder_read_addresses(finder, at, KALLSYMS_PLACE_RELATIVE, 0))
		return true;
	return finder_need(finder, at + word * finder->n) &&
	       finder_read_addresses(finder, at, KALLSYMS_ABSOLUTE, 0);
}

bool finder_find_addresses(struct kallsyms_finder *finder)
{
	return finder_addresses_before(finder) || finder_addresses_after(finder);
}
