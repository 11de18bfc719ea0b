/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call-frame information: it is compiled, given to libunwind as far as it is safe, and used for
 * steps. The input: sizes of .eh_frame and .debug_frame, a gap in both, their bytes, a vCPU, then
 * size and bytes of .eh_frame_hdr, which leads over a gap. The code is that of the vCPU's
 * architecture.
 */
#include "config.h"

#include "unwind/dwarf.h"
#include "vcpu.h"

#define MAX_SECTION_BYTES 4096

static struct cfi_section take_section(struct fuzz *fuzz, size_t size_bytes, uint64_t address,
				       const struct bytes_gap *gap)
{
	return (struct cfi_section){ .bytes = fuzz_copy(fuzz, size_bytes),
				     .size_bytes = size_bytes,
				     .address = address,
				     .gaps = gap,
				     .n_gaps = gap->start < gap->end };
}

static void walk(struct fuzz *fuzz, struct cfi *cfi, struct dwarf *dwarf,
		 const struct fuzz_vcpu *vcpu)
{
	struct cursor cursor;

	cursor_init(&cursor, &vcpu->vcpu);
	for (unsigned i = 0; i < 32; i++) {
		enum unwind_step step = STEP_NOT_COVERED;

		if (cfi)
			step = cursor.arch == ARCH_ARM64 ? cfi_arm64_step(cfi, 0, &cursor)
							 : cfi_step(cfi, 0, &cursor);
		if (step == STEP_NOT_COVERED && dwarf && cursor.arch == ARCH_X86)
			step = dwarf_step(dwarf, 0, &cursor);
		if (step != STEP_CALLER)
			cursor.regs[REG_RIP] = VCPU_USER_CODE + fuzz_u16(fuzz);
	}
}

static void use(struct fuzz *fuzz, const struct cfi_sections *sections,
		const struct fuzz_vcpu *vcpu)
{
	struct dwarf *all = NULL, *unusual = NULL;
	struct cfi *cfi = NULL;

	fuzz_succeed(cfi_compile(sections, &cfi));
	fuzz_succeed(dwarf_create(sections, NULL, &all));
	if (cfi) {
		fuzz_must(cfi->n_rows <= CFI_MAX_ROWS, "rows are limited");
		fuzz_succeed(dwarf_create(sections, cfi, &unusual));
		cfi_asks(cfi, VCPU_USER_CODE, VCPU_USER_CODE + 0x1000);
	}
	walk(fuzz, cfi, unusual, vcpu);
	walk(fuzz, NULL, all, vcpu);
	cfi_destroy(cfi);
	dwarf_destroy(all);
	dwarf_destroy(unusual);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
	static struct fuzz_vcpu vcpu;
	struct fuzz fuzz = fuzz_begin(bytes, size_bytes);
	size_t eh_bytes = fuzz_u16(&fuzz) % MAX_SECTION_BYTES,
	       debug_bytes = fuzz_u16(&fuzz) % MAX_SECTION_BYTES;
	struct bytes_gap gap = { .start = fuzz_u16(&fuzz), .end = fuzz_u16(&fuzz) };
	struct bytes_gap none = { 0 };
	struct cfi_sections sections = { 0 };

	sections.eh_frame = take_section(&fuzz, eh_bytes, VCPU_USER_CODE + 0x8000, &gap);
	sections.debug_frame = take_section(&fuzz, debug_bytes, 0, &gap);
	fuzz_vcpu(&fuzz, &vcpu);
	sections.eh_frame.is_arm64 = sections.debug_frame.is_arm64 =
		vcpu.vcpu.regs.arch == ARCH_ARM64;
	sections.eh_frame.is_short = sections.debug_frame.is_short =
		registers_is_arm32(&vcpu.vcpu.regs);
	sections.eh_frame_hdr = take_section(&fuzz, fuzz_u16(&fuzz) % MAX_SECTION_BYTES,
					     VCPU_USER_CODE + 0x7000, &none);
	use(&fuzz, &sections, &vcpu);
	free((void *)sections.eh_frame.bytes);
	free((void *)sections.debug_frame.bytes);
	free((void *)sections.eh_frame_hdr.bytes);
	return 0;
}
