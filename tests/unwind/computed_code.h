/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Made code at PLACE with functions whose bounds are known, for tests of computed.h. Each word of
 * the stack tells its place, so a step tells how many words the code has put on the stack.
 */
#ifndef XTOP_TESTS_UNWIND_COMPUTED_CODE_H
#define XTOP_TESTS_UNWIND_COMPUTED_CODE_H

#include <inttypes.h>
#include <string.h>

#include "elf_tables.h"
#include "tests/support/tap.h"
#include "unwind/computed.h"

#define STACK UINT64_C(0x7ffc00000000)
#define PLACE 0x1000

static struct {
	struct sample_vcpu vcpu;
	struct sample_stack stack;
	uint64_t words[16];
} made;

struct bounds {
	uint64_t start, end;
};

struct code {
	const uint8_t *bytes;
	size_t size_bytes;
	struct bounds functions[3]; /* end 0: none */
};

static unsigned n_reads; /* how often code was read */

static inline size_t read_code(void *context, uint64_t address, void *buffer, size_t size_bytes)
{
	const struct code *code = context;
	uint64_t at = address - PLACE, n = at < code->size_bytes ? code->size_bytes - at : 0;

	n_reads++;
	n = n < size_bytes ? n : size_bytes;
	memcpy(buffer, code->bytes + at, n);
	return n;
}

static inline bool find_function(void *context, uint64_t address, uint64_t *start, uint64_t *end)
{
	const struct code *code = context;

	for (unsigned i = 0; i < 3; i++)
		if (address - code->functions[i].start <
		    code->functions[i].end - code->functions[i].start) {
			*start = code->functions[i].start;
			*end = code->functions[i].end;
			return true;
		}
	return false;
}

/* Creates tables of SIZE_BYTES of code, which may be more than CODE has. */
static inline struct computed *create_of_size(struct code *code, uint64_t size_bytes)
{
	const struct code_source source = { .read = read_code,
					    .find_function = find_function,
					    .context = code };
	struct computed *computed;

	elf_tables_fatal(computed_create(&source, PLACE, PLACE + size_bytes, &computed));
	return computed;
}

static inline struct computed *create_computed(struct code *code)
{
	return create_of_size(code, code->size_bytes);
}

static inline enum unwind_step step_from(struct computed *computed, uint64_t address,
					 struct cursor *cursor)
{
	made.vcpu = (struct sample_vcpu){ .size_bytes = sizeof(made),
					  .state = VCPU_RUNNING,
					  .user = true,
					  .n_stacks = 1,
					  .regs.rip = address,
					  .regs.rsp = STACK };
	made.stack = (struct sample_stack){ .kind = STACK_USER,
					    .address = STACK,
					    .size_bytes = sizeof(made.words) };
	for (unsigned i = 0; i < 16; i++)
		made.words[i] = 0x10000 + i; /* each word tells its place */
	cursor_init(cursor, &made.vcpu);
	return computed_step(computed, 0, cursor);
}

static inline void check_step(struct computed *computed, const char *what, uint64_t address,
			      unsigned n_words)
{
	struct cursor cursor;
	enum unwind_step step = step_from(computed, address, &cursor);

	check(step == STEP_CALLER && cursor.regs[REG_PC] == made.words[n_words] &&
		      cursor.regs[REG_SP] == STACK + 8 * (n_words + 1),
	      "%s: %#" PRIx64 ": %u words lie below the caller's address", what, address, n_words);
}

#endif
