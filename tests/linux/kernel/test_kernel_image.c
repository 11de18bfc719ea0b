/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finding a kernel: one that is sealed, not yet sealed or never sealed (rodata=off), and seen from
 * the page tables of user mode; how much of it is read; and guests that are no Linux.
 */
#include "config.h"

#include "linux/kernel/kernel_image.h"

#include <stdlib.h>

#include "tests/support/made_memory.h"
#include "tests/support/make_kallsyms.h"
#include "tests/support/tap.h"

#define FRONT_BYTES     (4U << 20) /* rodata in front of the tables */
#define BACK_BYTES      (2U << 20)
#define ENTRY_BYTES     (2U << 20) /* text that user mode's page tables map, too */
#define CR3_PAIR        0x1000
#define FEW             5000 /* functions: the smallest kernels have so many */
#define FEW_FRONT_BYTES (2U << 20)
#define MANY            40000

static struct made_memory *made;
static struct memory_root kernel;
static struct made_kallsyms tables;

/* Enough names to be seen. Read-only data begins FRONT_BYTES before them. */
static void begin(const struct made_layout *layout, unsigned n_functions, unsigned text,
		  unsigned rodata)
{
	uint64_t front = n_functions == FEW ? FEW_FRONT_BYTES : FRONT_BYTES;
	struct made_layout larger = *layout;

	larger.n_functions = n_functions;
	make_kallsyms(&larger, &tables);
	made = made_create();
	kernel = made_root(made);
	made_map(made, kernel, MADE_TEXT, MADE_TEXT_BYTES - front, text | MADE_PAGE_2M);
	made_map(made, kernel, MADE_RODATA - front, front + tables.size_bytes + BACK_BYTES, rodata);
	made_map(made, kernel, MADE_RODATA + (32 << 20), 4 << 20, MADE_WRITE);
	made_put(made, kernel, MADE_RODATA, tables.bytes, tables.size_bytes);
}

static void end(void)
{
	made_destroy(made);
	made_kallsyms_deinit(&tables);
}

/* The number of symbols found by the page tables at CR3. */
static uint32_t symbols(uint64_t cr3, uint64_t *textp, uint64_t *rootp)
{
	struct registers regs = { .cr3 = cr3, .cr4 = 0x20 };
	struct kernel_image *image = kernel_image_find(made_memory(made), &regs);
	struct kallsyms *kallsyms = NULL;
	uint32_t n = 0;

	memory_refresh(made_memory(made));
	if (image && kernel_image_find_kallsyms(image, &kallsyms)) {
		n = kallsyms->n;
		*textp = kernel_image_text(image);
		*rootp = kernel_image_root(image).cr3;
	}
	kallsyms_destroy(kallsyms);
	kernel_image_destroy(image);
	return n;
}

static void check_found(uint64_t cr3, uint64_t root, const char *what)
{
	uint64_t text_found = 0, root_found = 0;

	check_u64(symbols(cr3, &text_found, &root_found), tables.n, what);
	check(text_found == MADE_TEXT && root_found == root, "%s: its text and its tables", what);
}

/* Pages of the tables, and of what has to be read besides. */
static size_t pages_allowed(const struct made_layout *layout)
{
	return (tables.end - (layout->before ? tables.addresses : tables.num)) / GUEST_PAGE_SIZE +
	       256;
}

static void test_sealed(void)
{
	for (unsigned i = 0; i < n_made_layouts; i++) {
		const struct made_layout *layout = &made_layouts[i];

		begin(layout, i % 3 ? FEW : MANY, MADE_EXECUTE, MADE_READ);
		check_found(kernel.cr3, kernel.cr3, layout->what);
		check(memory_counts(made_memory(made)).pages < pages_allowed(layout),
		      "%s: what is before the tables is not read", layout->what);
		end();
	}
}

static void test_unsealed(void)
{
	struct memory_root user, elsewhere;

	begin(&made_layouts[12], MANY, MADE_EXECUTE | MADE_WRITE, MADE_EXECUTE | MADE_WRITE);
	check_found(kernel.cr3, kernel.cr3, "not sealed");
	end();

	/* A pair of frames: the kernel's tables, then the user's. */
	begin(&made_layouts[12], MANY, MADE_EXECUTE | MADE_WRITE, MADE_EXECUTE | MADE_WRITE);
	elsewhere = kernel;
	for (kernel = made_root(made); kernel.cr3 & CR3_PAIR; kernel = made_root(made))
		continue;
	user = made_root(made);
	made_share_kernel(made, kernel, elsewhere);
	check_u64(user.cr3, kernel.cr3 | CR3_PAIR,
		  "the kernel's tables are found beside those of user mode");
	check_found(user.cr3, kernel.cr3, "not sealed, from user mode");
	for (uint64_t at = MADE_TEXT; at < MADE_TEXT + ENTRY_BYTES; at += GUEST_PAGE_SIZE)
		made_alias(made, user, at, kernel, at, MADE_EXECUTE | MADE_WRITE);
	check_found(user.cr3, kernel.cr3, "not sealed, from user mode that has the entry code");
	end();
}

static void test_none(void)
{
	uint64_t text, root, large = MADE_RODATA + (8 << 20);

	made = made_create();
	kernel = made_root(made);
	check_u64(symbols(kernel.cr3, &text, &root), 0, "no kernel is found in an empty memory");
	made_map(made, kernel, 0, 16 << 20, MADE_EXECUTE | MADE_WRITE | MADE_PAGE_2M);
	check_u64(symbols(kernel.cr3, &text, &root), 0,
		  "a unikernel at low addresses is no kernel");
	made_map(made, kernel, MADE_TEXT, 2 << 20, MADE_EXECUTE | MADE_WRITE | MADE_PAGE_2M);
	check_u64(symbols(kernel.cr3, &text, &root), 0,
		  "a unikernel at Linux's addresses is no kernel");
	made_map(made, kernel, large, 4 << 20, MADE_READ);
	check_u64(symbols(kernel.cr3, &text, &root), 0,
		  "constant data without constant code is no kernel");
	check(memory_counts(made_memory(made)).pages < 2100, "every page was read at most once");
	made_destroy(made);
}

int main(void)
{
	test_sealed();
	test_unsealed();
	test_none();
	return tap_done();
}
