/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tests of kernel symbols share: a search in a range that is copied piece by piece. */
#ifndef TESTS_LINUX_KALLSYMS_READER_H
#define TESTS_LINUX_KALLSYMS_READER_H

#include <stdlib.h>

#include "linux/kernel/kallsyms.h"
#include "tests/support/make_kallsyms.h"
#include "tests/support/tap.h"

struct reader {
	const uint8_t *all;
	uint8_t *copy;
};

/* Copies to another place each time, so that the sanitizer sees an old pointer. */
static inline bool reader_more(struct kallsyms_input *input, size_t up_to)
{
	struct reader *reader = input->context;
	uint8_t *copy;

	if (up_to > input->size_bytes || !(copy = malloc(up_to)))
		return false;
	memcpy(copy, reader->all, up_to);
	free(reader->copy);
	reader->copy = copy;
	input->bytes = copy;
	input->present_bytes = up_to;
	return true;
}

/* Searches the first SIZE_BYTES, which are copied piece by piece. READ_BYTESP may be NULL. */
static inline struct kallsyms *find_in(const uint8_t *bytes, size_t size_bytes, uint64_t text_start,
				       size_t *read_bytesp)
{
	struct reader reader = { .all = bytes };
	struct kallsyms_input input = {
		.address = MADE_RODATA,
		.image_start = MADE_IMAGE_START,
		.size_bytes = size_bytes,
		.more = reader_more,
		.context = &reader,
		.text_start = text_start,
		.text_end = text_start ? text_start + MADE_TEXT_BYTES : 0,
	};
	struct kallsyms *kallsyms = NULL;

	if (kallsyms_find(&input, &kallsyms))
		exit(99);
	free(reader.copy);
	if (read_bytesp)
		*read_bytesp = input.present_bytes;
	return kallsyms;
}

static inline struct symtab *decode(const struct kallsyms *kallsyms, struct kallsyms_wanted *wanted,
				    size_t n_wanted)
{
	struct symtab *tab = NULL;

	if (symtab_create(&tab) || kallsyms_decode(kallsyms, tab, wanted, n_wanted) ||
	    symtab_seal(tab))
		exit(99);
	return tab;
}

#endif
