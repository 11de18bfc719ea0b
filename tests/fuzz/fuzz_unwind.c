/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whole call chains, in each way of unwinding: any registers and stacks, kernel code with ORC
 * tables and user code with CFI from the input, and unknown code.
 */
#include "config.h"

#include "tests/unwind/orc_rows.h"
#include "unwind/dwarf.h"
#include "vcpu.h"
#include "xtop/symbol/image.h"
#include "xtop/unwind/unwind.h"

#define TEXT_BYTES 0x10000

static void add_symbols(struct image *image)
{
	fuzz_succeed(symtab_create(&image->symtab));
	for (unsigned i = 0; i < 4; i++)
		fuzz_succeed(symtab_add(image->symtab,
					&(struct symbol_definition){ .start = i * 0x800,
								     .size_bytes = 0x400,
								     .rank = SYMBOL_GLOBAL,
								     .name = "function",
								     .name_bytes = 8 }));
	fuzz_succeed(symtab_seal(image->symtab));
}

static void add_orc(struct fuzz *fuzz, struct image *image)
{
	struct orc_entry entries[16];
	size_t n = fuzz_u8(fuzz) % 16;
	uint64_t address = 0;

	for (size_t i = 0; i < n; i++) {
		address += 1 + 16 * fuzz_u8(fuzz);
		entries[i] = (struct orc_entry){ .address = address };
		entries[i].row.sp_reg = fuzz_u8(fuzz) % N_ORC_REGISTERS;
		entries[i].row.bp_reg = fuzz_u8(fuzz) % N_ORC_REGISTERS;
		entries[i].row.type = fuzz_u8(fuzz) % N_ORC_TYPES;
		entries[i].row.signal = fuzz_u8(fuzz) & 1;
		entries[i].row.sp_offset = (int16_t)fuzz_u16(fuzz);
		entries[i].row.bp_offset = (int8_t)fuzz_u8(fuzz);
	}
	error_destroy(orc_create_rows(entries, n, 0, TEXT_BYTES, &image->tables.orc));
}

static void add_cfi(struct fuzz *fuzz, struct image *image)
{
	size_t n = fuzz_u8(fuzz);
	struct cfi_sections sections = {
		.eh_frame = { .bytes = fuzz_copy(fuzz, n), .size_bytes = n, .address = 0x9000 },
	};

	fuzz_succeed(cfi_compile(&sections, &image->tables.cfi));
	fuzz_succeed(dwarf_create(&sections, image->tables.cfi, &image->tables.dwarf));
	free((void *)sections.eh_frame.bytes);
}

static struct space *make_space(struct fuzz *fuzz, uint64_t code,
				void (*add)(struct fuzz *fuzz, struct image *image))
{
	struct mapping mapping = { .start = code, .end = code + TEXT_BYTES, .bias = code };
	struct space *space;

	fuzz_succeed(space_create(&space));
	fuzz_succeed(image_create("file", &mapping.image));
	add_symbols(mapping.image);
	add(fuzz, mapping.image);
	fuzz_succeed(space_add(space, &mapping));
	image_unref(mapping.image);
	return space;
}

static void check_stack(const struct fuzz_vcpu *vcpu, const struct unwind_stack *stack)
{
	fuzz_must(stack->n_frames >= 1 && stack->n_frames <= UNWIND_MAX_FRAMES,
		  "frames are limited");
	fuzz_must((unsigned)stack->stop < N_UNWIND_STOPS, "there is a reason to stop");
	for (unsigned part = 0; part < N_UNWIND_PARTS; part++)
		fuzz_must(!stack->parts[part].walked ||
				  stack->parts[part].last_piece < (int)vcpu->vcpu.n_stacks,
			  "a piece it has");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
	static struct unwind_stack stack;
	static struct fuzz_vcpu vcpu;
	struct fuzz fuzz = fuzz_begin(bytes, size_bytes);
	uint8_t flags = fuzz_u8(&fuzz);
	struct space *kernel = make_space(&fuzz, VCPU_KERNEL_CODE, add_orc);
	struct space *user = make_space(&fuzz, VCPU_USER_CODE, add_cfi);
	struct unwind_spaces spaces = { .kernel = flags & 1 ? NULL : space_for_unwind(kernel),
					.user = flags & 2 ? NULL : space_for_unwind(user),
					.user_whole = flags & 4 };

	fuzz_vcpu(&fuzz, &vcpu);
	for (enum unwind_how how = UNWIND_AUTO; how <= UNWIND_DWARF; how++) {
		unwind_stack(&vcpu.vcpu, &spaces, how, &stack);
		check_stack(&vcpu, &stack);
	}
	space_destroy(kernel);
	space_destroy(user);
	return 0;
}
