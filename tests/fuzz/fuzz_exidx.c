/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * .ARM.exidx and .ARM.extab of 32-bit Arm, and steps by them. The input: the size of the index, the
 * index, .ARM.extab. Instructions alone are run, too. The input is also taken for the code that the
 * tables are of.
 */
#include "config.h"

#include <stdlib.h>

#include "fuzz.h"
#include "unwind/cursor_arm32.h"
#include "unwind/exidx.h"
#include "unwind/frames_arm32.h"
#include "unwind/links_arm32.h"

#define CODE  0xc0010000U
#define STACK 0xc0800000U

#define FUNCTION_BYTES 0x80U
#define WORDS          64 /* the stack: all registers of a frame, above where sp may be */

/* --- the code --------------------------------------------------------------------------------- */

struct code {
	const uint8_t *bytes;
	size_t size_bytes;
};

static size_t code_read(void *context, uint64_t address, void *buffer, size_t size_bytes)
{
	const struct code *code = context;

	return fuzz_read_part(code->bytes, code->size_bytes, address - CODE, buffer, size_bytes);
}

static bool code_find_function(void *context, uint64_t address, uint64_t *start, uint64_t *end)
{
	(void)context;
	*start = address & ~(uint64_t)(FUNCTION_BYTES - 1);
	*end = *start + FUNCTION_BYTES;
	return true;
}

/* --- steps ------------------------------------------------------------------------------------ */

static struct {
	struct sample_vcpu vcpu;
	struct sample_stack stack;
	uint32_t words[WORDS];
} made;

static void step(struct exidx *exidx, uint32_t pc)
{
	struct cursor cursor;

	made.vcpu = (struct sample_vcpu){ .size_bytes = sizeof(made),
					  .state = VCPU_RUNNING,
					  .n_stacks = 1,
					  .stack_cut = CUT_LIMIT,
					  .regs = { .arch = ARCH_ARM64 } };
	made.stack = (struct sample_stack){ .address = STACK, .size_bytes = sizeof(made.words) };
	for (unsigned i = 0; i < WORDS; i++)
		made.words[i] = CODE + 4 * i;
	made.vcpu.regs.arm64.pc = pc;
	made.vcpu.regs.arm64.pstate = PSTATE_ARM64_AARCH32 | ARM32_MODE_SVC;
	if (pc & 2)
		made.vcpu.regs.arm64.pstate |= PSTATE_ARM32_THUMB;
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
	struct code code = { bytes, size_bytes };
	const struct code_source source = { .read = code_read,
					    .find_function = code_find_function,
					    .context = &code };
	struct frame_arm32 frame;
	struct links *links;
	struct exidx *exidx;

	exidx_rule(fuzz.at, fuzz.left_bytes);
	for (size_t at = 0; at < fuzz.left_bytes; at += 28)
		frame_arm32_find(fuzz.at, fuzz.left_bytes, at, &frame);
	if (index_bytes > fuzz.left_bytes)
		index_bytes = fuzz.left_bytes;
	index = fuzz_copy(&fuzz, index_bytes);
	sections.index = (struct exidx_section){ index, index_bytes, CODE + 0x1000 };
	sections.table = (struct exidx_section){ .size_bytes = fuzz.left_bytes,
						 .address = CODE + 0x2000 };
	sections.table.bytes = table = fuzz_copy(&fuzz, fuzz.left_bytes);
	fuzz_succeed(exidx_compile(&sections, &exidx));
	fuzz_succeed(links_create(&source, &links));
	if (exidx)
		exidx_set_links(exidx, links);
	for (uint32_t pc = CODE; exidx && pc < CODE + 0x1000; pc += 62)
		step(exidx, pc);
	exidx_destroy(exidx);
	links_destroy(links);
	free(index);
	free(table);
	return 0;
}
