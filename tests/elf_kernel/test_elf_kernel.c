/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A kernel whose loader has kept its symbols, in made-up memory: which ELF file after the code is
 * taken for its symbols, and a chain by its instructions.
 */
#include "config.h"

#include "tests/support/elf_image.h"
#include "tests/support/made_memory.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/os/os_ops.h"
#include "xtop/sample/sample.h"
#include "xtop/supervise/host_files.h"
#include "xtop/symbol/image.h"
#include "xtop/symbol/symbol.h"
#include "xtop/unwind/unwind.h"

#define CODE   UINT64_C(0xffffffff80100000)
#define FILE_AT (CODE + 0x5344) /* Xen's loader has it so: a multiple of 8, and 4 bytes more */
#define STACK  UINT64_C(0xffffffff80200000)
#define INNER  (CODE + 0x40)
#define OUTER  (CODE + 0x80)

struct fixture {
	struct made_memory *made;
	struct memory_root root;
	struct symbols *symbols; /* names that -k gives */
	struct os_guest guest;
};

/* inner() keeps rbx, and has 32 bytes more; outer() calls it, and is called by nobody. */
static const uint8_t inner_code[] = { 0x53, 0x48, 0x83, 0xec, 0x20, 0x90, 0x48, 0x83,
				      0xc4, 0x20, 0x5b, 0xc3 };
static const uint8_t outer_code[] = { 0x48, 0x83, 0xec, 0x08, 0xe8, 0xb7, 0xff, 0xff,
				      0xff, 0x48, 0x83, 0xc4, 0x08, 0xc3 };

/* Puts a file with the functions at AT; BENT changes its header. */
static void put_file(struct fixture *fixture, uint64_t at, void (*bend)(Elf64_Ehdr *header))
{
	static const char names[] = "\0inner\0outer";
	const Elf64_Sym functions[] = {
		{ .st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 9,
		  .st_value = INNER, .st_size = sizeof(inner_code) },
		{ .st_name = 7, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 9,
		  .st_value = OUTER, .st_size = sizeof(outer_code) },
	};
	unsigned char bytes[16384];
	struct elf_image image;
	size_t size;

	elf_image_init(&image);
	elf_image_symbols(&image, SHT_SYMTAB, functions, 2, names, sizeof(names));
	image.header.e_entry = 0x100000; /* physical */
	image.header.e_shstrndx = 17;    /* a section that the loader has left out */
	if (bend)
		bend(&image.header);
	size = elf_image_bytes(&image, bytes, sizeof(bytes));
	made_put(fixture->made, fixture->root, at, bytes, size);
	memory_refresh(made_memory(fixture->made));
}

static struct registers registers_at(struct fixture *fixture, uint64_t rip)
{
	return (struct registers){ .rip = rip, .rsp = STACK, .cr3 = fixture->root.cr3 };
}

static void *find(struct fixture *fixture, uint64_t rip)
{
	const struct registers regs = registers_at(fixture, rip);
	struct linux_stacks stacks = { .current_per_cpu = 0 };

	return elf_kernel_os.find(&fixture->guest, &regs, &stacks);
}

static bool is_found(struct fixture *fixture, uint64_t rip)
{
	void *kernel = find(fixture, rip);

	if (kernel)
		elf_kernel_os.destroy(kernel);
	return kernel;
}

static void set_mips(Elf64_Ehdr *header)
{
	header->e_machine = EM_MIPS;
}

static void test_none(struct fixture *fixture)
{
	check(!is_found(fixture, INNER), "no kernel is found in an empty memory");
	made_map(fixture->made, fixture->root, CODE, 6 << 20, MADE_WRITE);
	made_put(fixture->made, fixture->root, INNER, inner_code, sizeof(inner_code));
	made_put(fixture->made, fixture->root, OUTER, outer_code, sizeof(outer_code));
	check(!is_found(fixture, INNER), "no kernel is found by code alone");
	put_file(fixture, FILE_AT, set_mips);
	check(!is_found(fixture, INNER), "no kernel is found by symbols of another machine");
	put_file(fixture, FILE_AT - 2, NULL);
	check(!is_found(fixture, INNER), "no kernel is found by a file where no loader puts one");
	made_unmap(fixture->made, fixture->root, FILE_AT - 2, 16384);
	made_map(fixture->made, fixture->root, CODE, 6 << 20, MADE_WRITE);
}

static void test_find(struct fixture *fixture)
{
	struct os_description description = { .system = "" };
	void *kernel;

	made_put(fixture->made, fixture->root, FILE_AT - 0x1000, ELFMAG "no file", SELFMAG + 7);
	put_file(fixture, FILE_AT, NULL);
	check(!is_found(fixture, CODE + 0x70), "no kernel is found while no function runs");
	check(!is_found(fixture, UINT64_C(0x401000)),
	      "no kernel is found for code far from its symbols");
	kernel = find(fixture, INNER + 5);
	if (!check(kernel,
		   "a kernel is found by a running function, after a header without a file"))
		exit(1);
	elf_kernel_os.describe(kernel, &description);
	check(strstr(description.system, "symbols in memory"), "the kernel is described as %s",
	      description.system);
	check(elf_kernel_os.is_there(kernel), "the kernel that was found is there");
	elf_kernel_os.destroy(kernel);
	check(!space_find(fixture->guest.kernel, INNER),
	      "an empty address space maps nothing of the kernel");
}

static unsigned pages_seen;

static void see_read(void *context, const frame_t *frames, size_t n, const void *pages,
		     const bool *ok)
{
	(void)context, (void)frames, (void)pages, (void)ok;
	pages_seen += n;
}

static void see_copy(void *context, frame_t frame, const void *page, bool ok)
{
	(void)context, (void)frame, (void)page, (void)ok;
	pages_seen++;
}

/* Symbols far after the code are found by one late look, of which a recording keeps little. */
static void test_far(struct fixture *fixture)
{
	const struct memory_watcher watcher = { .read = see_read, .copy = see_copy };

	put_file(fixture, FILE_AT, set_mips);
	put_file(fixture, FILE_AT + (5 << 20), NULL);
	memory_set_watcher(made_memory(fixture->made), &watcher);
	check(!is_found(fixture, INNER), "the first look ends before the symbols");
	fixture->guest.looks = 3;
	check(is_found(fixture, INNER), "the fourth look reaches the symbols");
	check(pages_seen > 0 && pages_seen < 40, "a recording sees %u pages", pages_seen);
	memory_set_watcher(made_memory(fixture->made), &(struct memory_watcher){ .read = NULL });
	made_unmap(fixture->made, fixture->root, CODE + (2 << 20), GUEST_PAGE_SIZE);
	memory_refresh(made_memory(fixture->made));
	check(!is_found(fixture, INNER), "no kernel is found after a hole");
	fixture->guest.looks = 0;
	put_file(fixture, FILE_AT, NULL);
}

/* Names are looked for in vain only for a while, and not beside those of -k. */
static void test_looks(struct fixture *fixture)
{
	fixture->guest.looks = 1;
	check(is_found(fixture, INNER), "the second look finds the kernel");
	fixture->guest.looks = 2;
	check(!is_found(fixture, INNER), "the third look does not search");
	fixture->guest.looks = 4;
	check(!is_found(fixture, INNER), "the fifth look does not search");
	fixture->guest.looks = 0;
	must(symbols_add_file(fixture->symbols, &(struct host_files){ 0 }, "/proc/self/exe"));
	check(!is_found(fixture, INNER), "no kernel is searched if -k gives names");
	symbols_destroy(fixture->symbols);
	must(symbols_create(&fixture->symbols));
	fixture->guest.symbols = fixture->symbols;
}

static void test_chain(struct fixture *fixture)
{
	static struct {
		struct sample_vcpu vcpu;
		struct sample_stack head;
		uint64_t words[64];
	} record;
	static struct unwind_stack stack;
	const struct unwind_spaces spaces = { .kernel = space_for_unwind(fixture->guest.kernel) };
	void *kernel = find(fixture, INNER + 5);
	const struct mapping *mapping;
	struct symtab_entry entry;

	record.vcpu =
		(struct sample_vcpu){ .n_stacks = 1, .regs = registers_at(fixture, INNER + 5) };
	record.head = (struct sample_stack){ .address = STACK, .size_bytes = sizeof(record.words) };
	record.words[5] = OUTER + 9; /* after 32 bytes and rbx */
	unwind_stack(&record.vcpu, &spaces, UNWIND_AUTO, &stack);
	check(stack.n_frames >= 2 && stack.frames[1].address == OUTER + 9 &&
		      stack.frames[1].by == UNWIND_BY_COMPUTED,
	      "the kernel is unwound by its instructions: %u frames", stack.n_frames);
	check(space_find_symbol(fixture->guest.kernel, OUTER + 9, &entry, &mapping) &&
		      strcmp(entry.name, "outer") == 0 &&
		      strcmp(mapping->image->name, "[kernel]") == 0,
	      "the second frame has the caller's name");
	elf_kernel_os.destroy(kernel);
}

/* Another kernel's page tables, and a program's, do not have the header. */
static void test_runs_on(struct fixture *fixture)
{
	struct sample_vcpu vcpu = { .regs = registers_at(fixture, INNER) };
	void *kernel = find(fixture, INNER);

	check(elf_kernel_os.runs_on(kernel, &vcpu) == OS_RUNS,
	      "a vCPU with the kernel's page tables runs it");
	vcpu.regs.cr3 = made_root(fixture->made).cr3;
	check(elf_kernel_os.runs_on(kernel, &vcpu) == OS_RUNS_NOT,
	      "a vCPU in another kernel does not run it");
	vcpu.user = true;
	check(elf_kernel_os.runs_on(kernel, &vcpu) == OS_RUNS_UNKNOWN,
	      "a vCPU in a program may run it or not");
	made_put_u64(fixture->made, fixture->root, FILE_AT, 0);
	memory_refresh(made_memory(fixture->made));
	check(!elf_kernel_os.is_there(kernel), "a kernel whose symbols are gone is not there");
	elf_kernel_os.destroy(kernel);
}

int main(void)
{
	static struct fixture fixture;

	fixture.made = made_create();
	fixture.root = made_root(fixture.made);
	must(symbols_create(&fixture.symbols));
	fixture.guest = (struct os_guest){ .memory = made_memory(fixture.made),
					   .type = GUEST_PVH,
					   .symbols = fixture.symbols,
					   .debug.root_fd = -1 };
	must(space_create(&fixture.guest.kernel));
	test_none(&fixture);
	test_find(&fixture);
	test_looks(&fixture);
	test_far(&fixture);
	test_chain(&fixture);
	test_runs_on(&fixture);
	space_destroy(fixture.guest.kernel);
	symbols_destroy(fixture.symbols);
	made_destroy(fixture.made);
	return tap_done();
}
