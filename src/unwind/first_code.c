/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions of a kernel of i386 that run first; see first_code.h. Resolver's thread. */
#include "config.h"

#include "unwind/first_code.h"

#include <stdlib.h>

#define FIRST_MAX_FUNCTIONS 2 /* one by the ELF header, one by Xen's note for PVH */

struct first_code {
	unsigned n;
	struct {
		uint64_t start, end;
	} functions[FIRST_MAX_FUNCTIONS];
};

static void first_code_add(struct first_code *code, const struct code_source *source,
			   uint64_t entry)
{
	uint64_t start, end;

	if (!entry || !source->find_function(source->context, entry, &start, &end))
		return;
	code->functions[code->n].start = start;
	code->functions[code->n++].end = end;
}

struct first_code *first_code_create(const struct code_source *source)
{
	struct first_code *code = calloc(1, sizeof(*code));

	if (!code)
		return NULL;
	first_code_add(code, source, source->entries.elf);
	first_code_add(code, source, source->entries.pvh);
	if (code->n)
		return code;
	free(code);
	return NULL;
}

void first_code_destroy(struct first_code *code)
{
	free(code);
}

size_t first_code_memory_bytes(const struct first_code *code)
{
	return sizeof(*code);
}

enum unwind_step first_code_step(const struct first_code *code, uint64_t bias,
				 struct cursor *cursor)
{
	uint64_t address = cursor_pc(cursor) - bias;

	for (unsigned i = 0; i < code->n; i++)
		if (address - code->functions[i].start <
		    code->functions[i].end - code->functions[i].start)
			return STEP_OUTERMOST;
	return STEP_NOT_COVERED;
}
