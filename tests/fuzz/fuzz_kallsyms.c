/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The search for kernel symbols and their decoding, in tables of every layout. The input changes
 * the tables, and they are copied from the guest piece by piece.
 */
#include "config.h"

#include "fuzz.h"
#include "linux/kernel/kallsyms.h"
#include "tests/support/make_kallsyms.h"

#define MAX_LAYOUTS 32
#define FUNCTIONS   260  /* the search wants 2 groups of 256 */
#define MARGIN      1024 /* bytes of other data before and after the tables */

static struct made_kallsyms made[MAX_LAYOUTS];

static const struct made_kallsyms *made_of(unsigned i)
{
	i %= n_made_layouts;
	if (!made[i].bytes) {
		struct made_layout layout = made_layouts[i];

		layout.n_functions = FUNCTIONS;
		make_kallsyms(&layout, &made[i]);
	}
	return &made[i];
}

static bool more(struct kallsyms_input *input, size_t up_to)
{
	const uint8_t *all = input->context;
	uint8_t *copy = malloc(up_to);

	if (!copy)
		abort();
	memcpy(copy, all, up_to);
	free((void *)input->bytes);
	input->bytes = copy;
	input->present_bytes = up_to;
	return true;
}

static void decode(const struct kallsyms *kallsyms)
{
	struct kallsyms_wanted wanted[] = { { .name = "modules" }, { .name = "current_task" } };
	struct symtab *tab;
	struct xtop_error *error;

	fuzz_must(kallsyms_text(kallsyms) != 0, "_text is somewhere");
	fuzz_succeed(symtab_create(&tab));
	error = kallsyms_decode(kallsyms, tab, wanted, 2);
	if (!error)
		error = symtab_seal(tab);
	if (!error)
		for (size_t i = 0; i < symtab_count(tab); i++)
			fuzz_must(symtab_at(tab, i).start < symtab_at(tab, i).end, "not empty");
	error_destroy(error);
	symtab_destroy(tab);
}

static void search(struct fuzz *fuzz, const struct made_kallsyms *tables, uint8_t flags)
{
	size_t first = tables->addresses && tables->addresses < tables->num ? tables->addresses
									    : tables->num;
	size_t start = (first > MARGIN ? first - MARGIN : 0) & ~(size_t)4095;
	size_t end = tables->end + MARGIN < tables->size_bytes ? tables->end + MARGIN
							       : tables->size_bytes;
	struct fuzz all = { tables->bytes + start, end - start };
	uint8_t *bytes = fuzz_copy(&all, end - start);
	struct kallsyms_input input = {
		.address = MADE_RODATA + start,
		.image_start = MADE_IMAGE_START,
		.size_bytes = end - start,
		.text_start = flags & 1 ? 0 : MADE_TEXT,
		.text_end = flags & 1 ? 0 : MADE_TEXT + MADE_TEXT_BYTES,
		.more = more,
		.context = bytes,
	};
	struct kallsyms *kallsyms = NULL;

	if (flags & 2)
		input.size_bytes -= fuzz_u16(fuzz) % input.size_bytes;
	fuzz_patch(fuzz, bytes, end - start);
	fuzz_succeed(kallsyms_find(&input, &kallsyms));
	free((void *)input.bytes);
	free(bytes);
	if (kallsyms)
		decode(kallsyms);
	kallsyms_destroy(kallsyms);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
	struct fuzz fuzz = fuzz_begin(bytes, size_bytes);
	const struct made_kallsyms *tables = made_of(fuzz_u8(&fuzz));

	search(&fuzz, tables, fuzz_u8(&fuzz));
	return 0;
}
