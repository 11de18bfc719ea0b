/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finding a kernel of 32 bits by its page tables, with PAE and without. Tables without PAE have no bit
 * against execution, so there text and rodata are one range.
 *
 *   physical   0      16 MiB   32 MiB            after kallsyms
 *              data   text     kallsyms (rodata)  data            all of it from 3 GiB on
 */
#include "config.h"

#include <string.h>

#include "linux/kernel/kernel_image.h"
#include "tests/support/make_kallsyms.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"

#define BASE         UINT64_C(0xc0000000)
#define TEXT         (BASE + (16 << 20))
#define RODATA       (TEXT + MADE_TEXT_BYTES)
#define RODATA_BYTES (8U << 20)
#define ALL_BYTES    (64U << 20)
#define TOP          UINT64_C(0x1000) /* physical: the top table */
#define TABLE        UINT64_C(0x2000) /* the table; PAE: that of the last GiB */

enum { PRESENT = 1, WRITABLE = 2, LARGE = 0x80 };
#define NO_EXECUTE (1ULL << 63)

static struct made_kallsyms tables;
static uint8_t top[GUEST_PAGE_SIZE], table[GUEST_PAGE_SIZE];

/* A page of the guest; all that is neither tables nor kallsyms is zeros. */
static void read_frames(void *context, const frame_t *frames, size_t n, void *to, bool *ok)
{
	uint64_t start = RODATA - BASE, end = start + tables.size_bytes;

	(void)context;
	memset(to, 0, n * GUEST_PAGE_SIZE);
	for (size_t i = 0; i < n; i++) {
		uint64_t at = frames[i].value << GUEST_PAGE_SHIFT;
		uint8_t *page = (uint8_t *)to + i * GUEST_PAGE_SIZE;

		ok[i] = at < ALL_BYTES;
		if (at == TOP || at == TABLE)
			memcpy(page, at == TOP ? top : table, GUEST_PAGE_SIZE);
		else if (at >= start && at < end)
			memcpy(page, tables.bytes + (at - start),
			       end - at < GUEST_PAGE_SIZE ? end - at : GUEST_PAGE_SIZE);
	}
}

static void close_frames(void *context)
{
	(void)context;
}

/* make_kallsyms() writes for an image at MADE_TEXT; all its addresses are relative to that. */
static void make_tables(void)
{
	struct made_layout layout = { .what = "6.1 of 32 bits",
				      .before = true,
				      .encoding = KALLSYMS_RELATIVE,
				      .long_lengths = true,
				      .text_only = true,
				      .n_functions = 40000,
				      .aligned_4 = true,
				      .is_short = true };
	uint32_t text = TEXT;

	make_kallsyms(&layout, &tables);
	memcpy(tables.bytes + tables.base, &text, sizeof(text));
}

/* Entry N of the tables that map the last GiB by pages of 2 MiB, or of 4 MiB without PAE. */
static void put_entry(bool pae, unsigned n)
{
	uint64_t physical = (uint64_t)n * (pae ? 2 << 20 : 4 << 20), entry = physical;
	bool is_text = physical >= TEXT - BASE && physical < RODATA - BASE;
	bool is_constant = physical >= TEXT - BASE && physical < RODATA - BASE + RODATA_BYTES;

	entry |= PRESENT | LARGE | (is_constant ? 0 : WRITABLE) | (is_text ? 0 : NO_EXECUTE);
	if (pae)
		memcpy(table + n * sizeof(entry), &entry, sizeof(entry));
	else
		memcpy(top + (768 + n) * sizeof(uint32_t), &entry, sizeof(uint32_t));
}

static void make_page_tables(bool pae)
{
	uint64_t entry = TABLE | PRESENT;

	memset(top, 0, sizeof(top));
	memset(table, 0, sizeof(table));
	for (unsigned i = 0; i < ALL_BYTES / (pae ? 2 << 20 : 4 << 20); i++)
		put_entry(pae, i);
	if (pae)
		memcpy(top + 3 * sizeof(entry), &entry, sizeof(entry));
}

static void test_found(struct memory *memory, bool pae)
{
	struct registers regs = { .cr3 = TOP, .width = pae ? WIDTH_32_PAE : WIDTH_32 };
	const char *what = pae ? "with PAE" : "without PAE";
	struct kernel_image *image;
	struct kallsyms *kallsyms = NULL;

	make_page_tables(pae);
	memory_refresh(memory);
	image = kernel_image_find(memory, &regs);
	if (!check(image && kernel_image_find_kallsyms(image, &kallsyms), "a kernel %s", what))
		return;
	check_u64(kallsyms->n, tables.n, "number of symbols of the kernel");
	check_u64(kallsyms_text(kallsyms), TEXT, "address of _text");
	check_u64(kernel_image_text(image), TEXT, "the range with the text is found");
	kallsyms_destroy(kallsyms);
	kernel_image_destroy(image);
}

int main(void)
{
	static const struct memory_ops ops = { .read = read_frames, .close = close_frames };
	struct memory *memory;

	must(memory_create(&ops, NULL, &memory));
	make_tables();
	test_found(memory, true);
	test_found(memory, false);
	memory_destroy(memory);
	made_kallsyms_deinit(&tables);
	return tap_done();
}
