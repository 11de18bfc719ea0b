/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A cursor of unwind/ at made registers, and made code, for the tests of unwind/seh.h. */
#ifndef TESTS_WINDOWS_SEH_CURSOR_H
#define TESTS_WINDOWS_SEH_CURSOR_H

#include <string.h>

#include "unwind/cursor.h"

#define STACK_BYTES (1 << 20)

static struct {
	struct sample_vcpu vcpu;
	struct sample_stack head;
	uint8_t bytes[STACK_BYTES];
} record;

/* A vCPU with these registers, and SIZE_BYTES of its stack, STACK_BYTES at most. */
static void begin(struct cursor *cursor, const struct registers *regs, const void *stack,
		  size_t size_bytes)
{
	record.vcpu = (struct sample_vcpu){ .n_stacks = 1, .regs = *regs };
	record.head = (struct sample_stack){ .address = regs->rsp,
					     .size_bytes = (uint32_t)size_bytes };
	memcpy(record.bytes, stack, size_bytes);
	cursor_init(cursor, &record.vcpu);
}

/* Bytes that code_source.read gives, from address 0 on. */
struct code_bytes {
	const uint8_t *bytes;
	size_t size_bytes;
};

/* CONTEXT: a struct code_bytes. */
static size_t read_code(void *context, uint64_t address, void *buffer, size_t size_bytes)
{
	const struct code_bytes *code = context;

	if (address >= code->size_bytes)
		return 0;
	if (size_bytes > code->size_bytes - address)
		size_bytes = code->size_bytes - address;
	memcpy(buffer, code->bytes + address, size_bytes);
	return size_bytes;
}

#endif
