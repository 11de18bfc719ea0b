/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A vCPU's record made by hand: registers, and pieces of stack. Words are put into the pieces by
 * their addresses in the guest. And rows of ORC tables.
 */
#ifndef TESTS_UNWIND_STACK_H
#define TESTS_UNWIND_STACK_H

#include <stdlib.h>

#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "unwind/orc_table.h"
#include "xtop/symbol/image.h"
#include "xtop/unwind/unwind.h"

static union {
	struct sample_vcpu vcpu;
	char bytes[sizeof(struct sample_vcpu) + SAMPLE_STACK_LIMIT_BYTES + 1024];
	uint64_t align;
} record;

static inline void record_begin(uint64_t rip, uint64_t rsp)
{
	memset(&record, 0, sizeof(record));
	record.vcpu = (struct sample_vcpu){
		.size_bytes = sizeof(record.vcpu),
		.state = VCPU_RUNNING,
		.stack_cut = CUT_LIMIT,
		.regs = { .rip = rip, .rsp = rsp },
	};
}

/* Adds a piece of N_WORDS zeros at ADDRESS. */
static inline void record_piece(uint64_t address, size_t n_words)
{
	struct sample_stack *piece = (struct sample_stack *)(record.bytes + record.vcpu.size_bytes);

	*piece = (struct sample_stack){ .address = address, .size_bytes = (uint32_t)(8 * n_words) };
	if (record.vcpu.n_stacks)
		piece->kind = address >> 63 ? STACK_LINKED : STACK_USER;
	record.vcpu.n_stacks++;
	record.vcpu.size_bytes += (uint32_t)(sizeof(*piece) + 8 * n_words);
	if (record.vcpu.size_bytes > sizeof(record)) {
		printf("Bail out! no room for a piece\n");
		exit(99);
	}
}

/* Puts WORD at ADDRESS, which lies in one of the pieces. */
static inline void put(uint64_t address, uint64_t word)
{
	struct sample_stack *piece = (struct sample_stack *)(&record.vcpu + 1);

	for (unsigned i = 0; i < record.vcpu.n_stacks; i++) {
		uint64_t offset = address - piece->address;

		if (offset < piece->size_bytes) {
			memcpy((char *)(piece + 1) + offset, &word, sizeof(word));
			return;
		}
		piece = (struct sample_stack *)((char *)(piece + 1) + piece->size_bytes);
	}
	printf("Bail out! no stack at %#" PRIx64 "\n", address);
	exit(99);
}

#define KERNEL_CS 0x10
#define PV_CS     0xe030 /* a PV kernel's, as Xen puts it on the stack */
#define USER_CS   0x33
#define USER_SS   0x2b

/* Puts the words of iret: rip cs rflags rsp ss. */
static inline void put_iret(uint64_t address, uint64_t rip, uint64_t cs, uint64_t rsp)
{
	const uint64_t words[] = { rip, cs, 0x246, rsp, cs == USER_CS ? USER_SS : 0x18 };

	for (size_t i = 0; i < 5; i++)
		put(address + 8 * i, words[i]);
}

/*
 * Puts a struct pt_regs. Register i of enum unwind_register is 100 + i (rax 100, r15 115), rbp RBP.
 */
static inline void put_regs(uint64_t address, uint64_t rip, uint64_t cs, uint64_t rsp, uint64_t rbp)
{
	static const uint8_t order[] = { 15, 14, 13, 12, 6, 1, 11, 10, 9, 8, 0, 2, 3, 4, 5 };

	for (size_t i = 0; i < sizeof(order); i++)
		put(address + 8 * i, order[i] == 6 ? rbp : 100U + order[i]);
	put(address + 8 * 15, UINT64_MAX); /* orig_ax */
	put_iret(address + 8 * 16, rip, cs, rsp);
}
#define REGS_BYTES (21 * 8)

#define CALL(offset)            { .sp_offset = (offset), .sp_reg = ORC_SP, .type = ORC_CALL }
#define CALL_BP(offset, bp)     { .sp_offset = (offset), .sp_reg = ORC_SP, .type = ORC_CALL, \
				  .bp_reg = ORC_PREV_SP, .bp_offset = (bp) }
#define ROW(kind, reg, offset)  { .sp_offset = (offset), .sp_reg = (reg), .type = (kind), \
				  .signal = (kind) != ORC_CALL }

#endif
