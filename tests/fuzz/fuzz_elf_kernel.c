/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A kernel's symbols in its memory, and a chain through its code: a right file, whose words the
 * input changes, or memory out of the input alone.
 */
#include "config.h"

#include "guest.h"
#include "tests/fuzz/change.h"
#include "tests/support/elf_image.h"
#include "xtop/os/os_ops.h"
#include "xtop/sample/sample.h"
#include "xtop/symbol/image.h"
#include "xtop/symbol/symbol.h"
#include "xtop/unwind/unwind.h"

#define CODE    FUZZ_GUEST_BASE
#define FILE_AT 0x1004 /* place in the pool */
#define N_FUNCTIONS 8
#define FUNCTION_BYTES 0x40
#define MAX_CHANGES 32

static unsigned char file_bytes[16384];
static size_t file_size;

static void make_file(void)
{
	static const char names[] = "\0a\0b\0c\0d\0e\0f\0g\0h";
	Elf64_Sym functions[N_FUNCTIONS];
	struct elf_image image;

	for (unsigned i = 0; i < N_FUNCTIONS; i++)
		functions[i] = (Elf64_Sym){ .st_name = 1 + 2 * i,
					    .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
					    .st_shndx = 1,
					    .st_value = CODE + FUNCTION_BYTES * i,
					    .st_size = FUNCTION_BYTES };
	elf_image_init(&image);
	elf_image_symbols(&image, SHT_SYMTAB, functions, N_FUNCTIONS, names, sizeof(names));
	file_size = elf_image_bytes(&image, file_bytes, sizeof(file_bytes));
}

static void spoil(struct fuzz_guest *guest, struct fuzz *input)
{
	unsigned n = fuzz_u8(input) % MAX_CHANGES;

	memcpy((char *)guest->pool + FILE_AT, file_bytes, file_size);
	for (unsigned i = 0; i < n; i++) {
		char *at = (char *)guest->pool + FILE_AT + fuzz_u16(input) % file_size / 4 * 4;
		uint64_t word;

		memcpy(&word, at, sizeof(word));
		word = fuzz_change(input, fuzz_change_kind(input), word);
		memcpy(at, &word, sizeof(word));
	}
}

static void walk(const struct registers *regs, struct fuzz *input, const struct space *kernel)
{
	static struct {
		struct sample_vcpu vcpu;
		struct sample_stack head;
		uint64_t words[64];
	} record;
	static struct unwind_stack stack;
	const struct unwind_spaces spaces = { .kernel = space_for_unwind(kernel) };

	record.vcpu = (struct sample_vcpu){ .n_stacks = 1, .regs = *regs };
	record.head = (struct sample_stack){ .address = regs->rsp,
					     .size_bytes = sizeof(record.words) };
	for (size_t i = 0; i < 64; i++)
		record.words[i] = CODE + fuzz_u16(input) % (N_FUNCTIONS * FUNCTION_BYTES);
	unwind_stack(&record.vcpu, &spaces, UNWIND_AUTO, &stack);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
	static struct symbols *none;
	static struct space *space;
	struct fuzz input = fuzz_begin(bytes, size_bytes), nothing = { 0 };
	struct fuzz_guest *guest = fuzz_guest();
	struct os_guest os_guest = { .memory = guest->memory,
				     .type = GUEST_PVH,
				     .debug.root_fd = -1 };
	struct registers regs = { .rsp = 0 };
	struct linux_stacks stacks = { 0 };
	static bool is_checked;
	bool is_right = fuzz_u8(&input) & 1 || !is_checked;
	void *kernel;

	if (!none) {
		fuzz_succeed(symbols_create(&none));
		fuzz_succeed(space_create(&space));
		make_file();
	}
	regs.rip = CODE + fuzz_u16(&input) % (N_FUNCTIONS * FUNCTION_BYTES);
	regs.rsp = CODE + 0x8000 + fuzz_u16(&input) % 0x1000 / 8 * 8;
	os_guest.symbols = none;
	os_guest.kernel = space;
	fuzz_guest_fill(guest, is_right ? &nothing : &input);
	if (is_right && is_checked)
		spoil(guest, &input);
	else if (is_right)
		memcpy((char *)guest->pool + FILE_AT, file_bytes, file_size);
	memory_refresh(guest->memory);
	regs.cr3 = guest->linux_guest.root.cr3;
	kernel = elf_kernel_os.find(&os_guest, &regs, &stacks);
	fuzz_must(kernel || is_checked, "a right file is found");
	is_checked = true;
	if (!kernel)
		return 0;
	walk(&regs, &input, space);
	elf_kernel_os.is_there(kernel);
	elf_kernel_os.destroy(kernel);
	return 0;
}
