/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * .ARM.exidx and .ARM.extab of 32-bit Arm, and steps by them. The input: the size of the index, the
 * index, .ARM.extab. Instructions alone are run, too.
 */
#include "config.h"

#include <stdlib.h>

#include "fuzz.h"
#include "unwind/cursor_arm32.h"
#include "unwind/exidx.h"

#define CODE  0xc0010000U
#define STACK 0xc0800000U

static struct {
	struct sample_vcpu vcpu;
	struct sample_stack stack;
	uint32_t words[32];
} made;

static void step(struct exidx *exidx, uint32_t pc)
{
	struct cursor cursor;

	made.vcpu = (struct sample_vcpu){ .size_bytes = sizeof(made),
					  .state = VCPU_RUNNING,
					  .n_stacks = 1,
					  .cut = CUT_LIMIT,
					  .regs = { .arch = ARCH_ARM64 } };
	made.stack = (struct sample_stack){ .address = STACK, .size_bytes = sizeof(made.words) };
	for (unsigned i = 0; i < 32; i++)
		made.words[i] = CODE + 4 * i;
	made.vcpu.regs.arm64.pc = pc;
	made.vcpu.regs.arm64.pstate = PSTATE_ARM64_AARCH32 | ARM32_MODE_SVC;
	for (unsigned i = 0; i < 31; i++)
		made.vcpu.regs.arm64.x[i] = STACK + 4 * i;
	cursor_init(&cursor, &made.vcpu);
	for (unsigned i = 0; i < 8 && exidx_step(exidx, 0, &cursor) == STEP_CALLER; i++)
		fuzz_must(cursor.regs[REG_PC] <= UINT32_MAX, "an address of 32 bits");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
	struct fuzz fuzz = fuzz_begin(bytes, size_bytes);
	size_t index_bytes = fuzz_u16(&fuzz);
	uint8_t *index, *table;
	struct exidx_sections sections = { .is_linux = index_bytes & 1 };
	struct exidx *exidx;

	exidx_rule(fuzz.at, fuzz.left_bytes);
	if (index_bytes > fuzz.left_bytes)
		index_bytes = fuzz.left_bytes;
	index = fuzz_copy(&fuzz, index_bytes);
	sections.index = (struct exidx_section){ index, index_bytes, CODE + 0x1000 };
	sections.table = (struct exidx_section){ .size_bytes = fuzz.left_bytes,
						 .address = CODE + 0x2000 };
	sections.table.bytes = table = fuzz_copy(&fuzz, fuzz.left_bytes);
	fuzz_succeed(exidx_compile(&sections, &exidx));
	for (uint32_t pc = CODE; exidx && pc < CODE + 0x1000; pc += 62)
		step(exidx, pc);
	exidx_destroy(exidx);
	free(index);
	free(table);
	return 0;
}
