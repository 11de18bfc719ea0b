/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whole call chains, in each way of unwinding: any registers and stacks, kernel code with ORC
 * tables and user code with CFI from the input, and unknown code. If the first byte says so, the
 * kernel has a hypercall page and functions that run first, and the code is read: it is the input.
 */
#include "config.h"

#include "tests/unwind/orc_rows.h"
#include "unwind/dwarf.h"
#include "vcpu.h"
#include "xtop/symbol/image.h"
#include "xtop/unwind/code.h"
#include "xtop/unwind/unwind.h"

#define TEXT_BYTES 0x10000

/* The first byte. */
enum {
	FLAG_NO_KERNEL = 1,
	FLAG_NO_USER = 2,
	FLAG_USER_WHOLE = 4,
	FLAG_STUBS = 8,
	FLAG_FIRST_CODE = 16,
	FLAG_CODE = 32,
	FLAG_PV = 64,
};

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

	fuzz_succeed(unwind_tables_build_cfi(&image->tables, &sections));
	free((void *)sections.eh_frame.bytes);
}

static bool find_function(void *context, uint64_t address, uint64_t *start, uint64_t *end)
{
	(void)context;
	*start = address & ~UINT64_C(0x7ff);
	*end = *start + 0x400;
	return address < *end;
}

static size_t read_code(void *context, uint64_t address, void *buffer, size_t size_bytes)
{
	const struct fuzz *whole = context;

	return fuzz_read_part(whole->at, whole->left_bytes, address, buffer, size_bytes);
}

/* What the image has by FLAGS; the code is in WHOLE. */
static void add_by_flags(struct image *image, struct fuzz *whole, uint8_t flags)
{
	const struct code_source source = { .read = read_code,
					    .find_function = find_function,
					    .context = whole,
					    .entries = { .elf = 0x10, .pvh = 0x810 } };

	if (flags & FLAG_STUBS)
		fuzz_succeed(unwind_tables_build_stubs(&image->tables, 0x1000));
	if (flags & FLAG_FIRST_CODE)
		unwind_tables_build_first_code(&image->tables, &source);
	if (flags & FLAG_CODE)
		fuzz_succeed(unwind_tables_build_computed(&image->tables, &source, 0, TEXT_BYTES));
}

/* Bounds of functions, as for a frame without a symbol. */
static void find_functions(const struct unwind_tables *tables)
{
	for (uint64_t address = 0; address < 0x2000; address += 0x1f0) {
		uint64_t start = 0, end = 1;

		if (unwind_tables_guess_function(tables, address, &start, &end))
			fuzz_must(start < end, "a function has code");
		if (unwind_tables_find_stub(tables, address, &start, &end))
			fuzz_must(start <= address && address < end, "a stub has the address");
		if (unwind_tables_find_gap(tables, 0x10, address, &start, &end))
			fuzz_must(start <= address && address < end, "a gap has the address");
	}
	fuzz_must(unwind_tables_memory_bytes(tables) < 16 << 20, "memory is limited");
}

static struct space *make_space(struct fuzz *fuzz, struct fuzz *whole, uint64_t code, uint8_t flags)
{
	struct mapping mapping = { .start = code, .end = code + TEXT_BYTES, .bias = code };
	struct space *space;

	fuzz_succeed(space_create(&space));
	fuzz_succeed(image_create("file", &mapping.image));
	add_symbols(mapping.image);
	if (code == VCPU_KERNEL_CODE)
		add_orc(fuzz, mapping.image);
	else
		add_cfi(fuzz, mapping.image);
	add_by_flags(mapping.image, whole, flags);
	find_functions(&mapping.image->tables);
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
	struct fuzz fuzz = fuzz_begin(bytes, size_bytes), whole = fuzz;
	uint8_t flags = fuzz_u8(&fuzz);
	struct space *kernel = make_space(&fuzz, &whole, VCPU_KERNEL_CODE, flags);
	struct space *user = make_space(&fuzz, &whole, VCPU_USER_CODE, flags & FLAG_CODE);
	struct unwind_spaces spaces = {
		.kernel = flags & FLAG_NO_KERNEL ? NULL : space_for_unwind(kernel),
		.user = flags & FLAG_NO_USER ? NULL : space_for_unwind(user),
		.user_whole = flags & FLAG_USER_WHOLE,
	};

	fuzz_vcpu(&fuzz, &vcpu);
	if (flags & FLAG_PV && vcpu.vcpu.regs.arch == ARCH_X86)
		vcpu.vcpu.regs.cs = 0xe033;
	for (enum unwind_how how = UNWIND_AUTO; how <= UNWIND_DWARF; how++) {
		unwind_stack(&vcpu.vcpu, &spaces, how, &stack);
		check_stack(&vcpu, &stack);
	}
	space_destroy(kernel);
	space_destroy(user);
	return 0;
}
