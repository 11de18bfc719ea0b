/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The hypercall page of a kernel's file, which is empty there: it has its name, by a label as in
 * Mini-OS, as data with names for some of the stubs as in XTF, or by Xen's note alone. A stack that
 * ends in a stub has the caller, whatever the stub has pushed, for PV and for PVH.
 */
#include "config.h"

#include <string.h>
#include <unistd.h>

#include "tests/support/elf_image.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/symbol/image.h"
#include "xtop/unwind/unwind.h"

#define TEXT   UINT64_C(0xffffffff80100000)
#define PAGE   (TEXT + 0x1000)
#define BSS    (TEXT + 0x10000)
#define CALLER (TEXT + 0x20)
#define STACK  UINT64_C(0xffffffffc0001000)
#define PV_CS  0xe033 /* Xen 4.17 public/arch-x86/xen-x86_64.h, FLAT_RING3_CS64 */
#define PVH_CS 8

enum page {
	NO_PAGE,
	LABEL,
	DATA,
	DATA_IN_BSS,
	NOTE,
	NOTE_OTHER_NAME,
	NOTE_UNALIGNED,
	NOTE_OUTSIDE
};

static const char names[] = "\0main\0hypercall_page\0HYPERCALL_sched_op\0after\0calls";
enum { MAIN = 1, HYPERCALL_PAGE = 6, SCHED_OP = 21, AFTER = 40, CALLS = 46 };

static void add_note(struct elf_image *image, uint64_t address)
{
	struct {
		Elf64_Nhdr header;
		char name[4];
		uint64_t address;
	} note = { { 4, 8, 2 }, "Xen", address };

	elf_image_section(
		image,
		(Elf64_Shdr){ .sh_type = SHT_NOTE, .sh_addralign = 4, .sh_size = sizeof(note) },
		&note);
}

static Elf64_Sym symbol(unsigned name, unsigned type, unsigned section, uint64_t address,
			uint64_t size)
{
	return (Elf64_Sym){ .st_name = name,
			    .st_info = ELF64_ST_INFO(STB_GLOBAL, type),
			    .st_shndx = (Elf64_Section)section,
			    .st_value = address,
			    .st_size = size };
}

static int make_file(enum page page)
{
	static const uint64_t notes[] = {
		[NOTE] = PAGE,
		[NOTE_OTHER_NAME] = PAGE,
		[NOTE_UNALIGNED] = PAGE + 0x10,
		[NOTE_OUTSIDE] = TEXT + 0x100000,
	};
	struct elf_image image;
	unsigned text, bss;
	Elf64_Sym symbols[4];
	size_t n = 0;

	elf_image_init(&image);
	image.header.e_phnum = 1;
	image.segments[0] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_vaddr = TEXT, .p_memsz = 0x20000 };
	text = elf_image_text(&image, TEXT, 0x4000);
	bss = elf_image_section(&image,
				(Elf64_Shdr){ .sh_type = SHT_NOBITS,
					      .sh_flags = SHF_ALLOC | SHF_WRITE,
					      .sh_addr = BSS,
					      .sh_size = 0x2000,
					      .sh_addralign = 4096 },
				NULL);
	symbols[n++] = symbol(MAIN, STT_FUNC, text, TEXT, 0x100);
	symbols[n++] = symbol(AFTER, STT_FUNC, text, PAGE + 0x1800, 0x100);
	if (page == LABEL)
		symbols[n++] = symbol(HYPERCALL_PAGE, STT_NOTYPE, text, PAGE, 0);
	if (page == DATA) {
		symbols[n++] = symbol(HYPERCALL_PAGE, STT_OBJECT, text, PAGE, 0x1000);
		symbols[n++] = symbol(SCHED_OP, STT_NOTYPE, text, PAGE + 29 * 32, 32);
	}
	if (page == DATA_IN_BSS)
		symbols[n++] = symbol(HYPERCALL_PAGE, STT_OBJECT, bss, BSS, 0x1000);
	if (page == NOTE_OTHER_NAME)
		symbols[n++] = symbol(CALLS, STT_FUNC, text, PAGE, 0x1000);
	elf_image_symbols(&image, SHT_SYMTAB, symbols, n, names, sizeof(names));
	if (page >= NOTE)
		add_note(&image, notes[page]);
	return elf_image_fd(&image);
}

static struct image *make_image(enum page page)
{
	struct build_id build_id;
	struct image *image;
	bool unread;
	int fd = make_file(page);

	must(image_create("kernel", &image));
	must(symtab_create(&image->symtab));
	must(symbol_read_elf(fd, "kernel", image->symtab, &build_id, &unread));
	must(symtab_seal(image->symtab));
	must(image_read_tables(image, fd));
	close(fd);
	return image;
}

/* --- names ------------------------------------------------------------------------------------ */

static const char *name_at(const struct image *image, uint64_t address)
{
	struct symtab_entry entry;

	return symtab_find(image->symtab, address, &entry) ? entry.name : "none";
}

static void check_names(enum page page, uint64_t start, const char *sched_op, const char *what)
{
	const char *name = page == NOTE_OTHER_NAME ? "calls" : "hypercall_page";
	struct image *image = make_image(page);
	uint64_t stub = 0, end = 0;

	check_string(name_at(image, start), name, what);
	check_string(name_at(image, start + 29 * 32 + 10), sched_op, what);
	check_string(name_at(image, start + 0xfff), name, what);
	check_string(name_at(image, start + 0x1000), "none", what);
	check(image_find_code(image, start + 29 * 32 + 10, &stub, &end), "%s: a stub is found",
	      what);
	check_u64(stub, start + 29 * 32, "start of a stub of the hypercall page");
	check_u64(end, start + 30 * 32, "end of a stub of the hypercall page");
	image_unref(image);
}

static void check_no_page(enum page page, const char *what)
{
	struct image *image = make_image(page);

	check(!image->tables.stubs, "%s", what);
	check_string(name_at(image, PAGE + 0x10), "none", what);
	image_unref(image);
}

/* --- stacks ----------------------------------------------------------------------------------- */

static struct {
	struct sample_vcpu vcpu;
	struct sample_stack stack;
	uint64_t words[8];
} made;

/*
 * Checks the caller at OFFSET in the stub of hypercall NUMBER, where the return address lies WORDS
 * words above the stack pointer.
 */
static void check_step(const struct unwind_spaces *spaces, uint64_t page, uint16_t cs,
		       unsigned number, unsigned offset, unsigned words)
{
	static struct unwind_stack stack;

	made.vcpu = (struct sample_vcpu){ .size_bytes = sizeof(made),
					  .state = VCPU_RUNNING,
					  .n_stacks = 1 };
	made.vcpu.regs.rip = page + number * 32 + offset;
	made.vcpu.regs.rsp = STACK;
	made.vcpu.regs.cs = cs;
	made.stack = (struct sample_stack){ .kind = STACK_FIRST,
					    .address = STACK,
					    .size_bytes = sizeof(made.words) };
	for (unsigned i = 0; i < 8; i++)
		made.words[i] = TEXT + 0x40 + i; /* rcx and r11 may look like anything */
	made.words[words] = CALLER;
	unwind_stack(&made.vcpu, spaces, UNWIND_AUTO, &stack);
	check(stack.n_frames >= 2 && stack.frames[1].address == CALLER &&
		      stack.frames[1].flags == FRAME_RETURN &&
		      stack.frames[1].by == UNWIND_BY_COMPUTED,
	      "%s, stub %u, %u bytes in it: the caller is found (%u frames)",
	      cs == PV_CS ? "PV" : "PVH", number, offset, stack.n_frames);
}

static void check_steps(enum page page, uint64_t start)
{
	struct image *image = make_image(page);
	const struct mapping mapping = { .start = TEXT, .end = TEXT + 0x20000, .image = image };
	static const struct {
		unsigned offset, words;
	} pv[] = { { 0, 0 }, { 1, 1 }, { 3, 2 }, { 8, 2 }, { 10, 2 }, { 12, 1 }, { 13, 0 } },
	  pvh[] = { { 0, 0 }, { 5, 0 }, { 8, 0 } };
	struct unwind_spaces spaces = { 0 };
	struct space *space;

	must(space_create(&space));
	must(space_add(space, &mapping));
	spaces.kernel = space_for_unwind(space);
	for (unsigned number = 0; number < 128; number += 29) {
		for (size_t i = 0; i < sizeof(pv) / sizeof(pv[0]); i++)
			check_step(&spaces, start, PV_CS, number, pv[i].offset, pv[i].words);
		for (size_t i = 0; i < sizeof(pvh) / sizeof(pvh[0]); i++)
			check_step(&spaces, start, PVH_CS, number, pvh[i].offset, pvh[i].words);
	}
	space_destroy(space);
	image_unref(image);
}

int main(void)
{
	check_names(LABEL, PAGE, "hypercall_page", "a label");
	check_names(DATA, PAGE, "HYPERCALL_sched_op", "data, with names of stubs");
	check_names(DATA_IN_BSS, BSS, "hypercall_page", "data without content");
	check_names(NOTE, PAGE, "hypercall_page", "Xen's note");
	check_names(NOTE_OTHER_NAME, PAGE, "calls", "Xen's note, and a function there");
	check_no_page(NO_PAGE, "no page");
	check_no_page(NOTE_UNALIGNED, "a note of no page");
	check_no_page(NOTE_OUTSIDE, "a note of a page outside of the file");
	check_steps(LABEL, PAGE);
	check_steps(DATA_IN_BSS, BSS);
	check_steps(NOTE, PAGE);
	check_steps(NOTE_OTHER_NAME, PAGE);
	return tap_done();
}
