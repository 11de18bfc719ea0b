/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Steps by instructions alone, without any bounds of functions, on a stack in which each word tells
 * its place.
 */
#ifndef TESTS_UNWIND_MADE_STEPS_H
#define TESTS_UNWIND_MADE_STEPS_H

#include "elf_tables.h"
#include "tests/support/tap.h"
#include "unwind/computed.h"

#define STACK       0x7ffe00000000ULL
#define STACK_WORDS 8000

static struct {
	struct sample_vcpu vcpu;
	struct sample_stack stack;
	uint64_t words[STACK_WORDS];
} made;

static inline bool find_no_function(void *context, uint64_t address, uint64_t *start, uint64_t *end)
{
	(void)context;
	(void)address;
	(void)start;
	(void)end;
	return false;
}

static inline void make_stack(void)
{
	made.vcpu = (struct sample_vcpu){ .size_bytes = sizeof(made),
					  .user = true,
					  .n_stacks = 1 };
	made.stack = (struct sample_stack){ .kind = STACK_USER,
					    .address = STACK,
					    .size_bytes = sizeof(made.words) };
	for (unsigned i = 0; i < STACK_WORDS; i++)
		made.words[i] = 0x10000 + i; /* each word tells its place */
}

static inline struct cursor cursor_at(uint64_t address)
{
	struct cursor cursor;

	cursor_init(&cursor, &made.vcpu);
	for (unsigned i = 0; i < REG_PC; i++)
		cursor.regs[i] = 0x100 + i;
	cursor.regs[REG_PC] = address;
	cursor.regs[REG_SP] = STACK + 0x1000;
	cursor.regs[REG_RBP] = STACK + 0x7000;
	return cursor;
}

#endif
