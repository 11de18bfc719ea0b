/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A cursor of unwind/ at made registers, for the tests of unwind/seh.h. */
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

#endif
