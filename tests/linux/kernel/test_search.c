/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The search for what a kernel has no symbols for, among things that look nearly right; and what is
 * not there is not found.
 */
#include "config.h"

#include "linux/kernel/kernel_image.h"
#include "linux/kernel/search.h"

#include <string.h>

#include "tests/support/made_memory.h"
#include "tests/support/tap.h"
#include "xtop/sample/sample.h"

#define TEXT   0xffffffff9ac00000ULL
#define RODATA 0xffffffff9ae00000ULL
#define DATA   0xffffffff9b200000ULL
#define END    0xffffffff9b400000ULL

#define GETPID  (TEXT + 0x100)
#define ENTRY   (TEXT + 0x200)
#define PAGES   (TEXT + 0x300)
#define PRINT   (TEXT + 0x400)
#define BPF     (TEXT + 0x500)
#define TIMER   (TEXT + 0x600)
#define BANNER  (RODATA + 0x5008)
#define VDSO    (RODATA + 0x6000)
#define NOTE    (RODATA + 0x9f00)
#define BTF     (RODATA + 0xa000)
#define BTF_MIN (64 << 10)
#define TABLES  (DATA + 0x3000)
#define MODULES (DATA + 0x30010)
#define NO_LIST (DATA + 0x30100)
#define OFFSET  (DATA + 0x30200) /* page_offset_base, vmemmap_base after it */
#define MODULE  0xffffffffc0001008ULL
#define ORC     (DATA + 0x40a4)
#define ORC_N   4100
#define ORC_2   (DATA + 0x40000) /* shorter */
#define ORC_2_N 4096

static struct made_memory *made;
static struct memory_root root;
static struct linux_guest guest;

static void put_code(uint64_t address, const char *code, size_t size_bytes)
{
	made_put(made, root, address, code, size_bytes);
}

/* Puts the distance to TARGET at AT, where it ends its instruction. */
static void put_distance(uint64_t at, uint64_t target)
{
	made_put_u32(made, root, at, (uint32_t)(target - at - 4));
}

static void put_btf(uint64_t address, uint32_t types_bytes)
{
	const uint32_t header[] = { 0x0001eb9f, 24, 0, types_bytes, types_bytes, 100 };

	made_put(made, root, address, header, sizeof(header));
}

static void put_note(uint64_t address)
{
	const uint32_t note[] = { 4, 20, 3, 0x00554e47, 1, 2, 3, 4, 5 };

	made_put(made, root, address, note, sizeof(note));
}

static void put_orc(uint64_t address, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		made_put_u32(made, root, address + 4 * i,
			     (uint32_t)(TEXT + 16 * i - (address + 4 * i)));
	made_put_u32(made, root, address + 4 * n, 8); /* the first entry: not in the text */
}

/* Puts a page at ADDRESS that leads to where the root's table leads. */
static void put_tables(uint64_t address)
{
	made_put_u64(made, root, address + 511 * 8, *made_entry(made, root, TEXT, 4));
}

static void put_all(void)
{
	static const char nearly_getpid[] = "\xf3\x0f\x1e\xfa\x65\x48\x8b\x04\x25\x34\x12\x00\x00",
			  getpid[] = "\x31\xd2\x65\x48\x8b\x3c\x25\xc0\xfb\x01\x00",
			  entry[] = "\x0f\x01\xf8\x65\x48\x8b\x25",
			  pages[] = "\x48\x85\xc0\x74\x10\x48\x2b\x05\0\0\0\0\x48\x03\x05",
			  timer[] = "\x65\x4c\x8b\x1d",
			  print[] = "\x48\x8b\x0d\0\0\0\0\x48\x8b\x1d", bpf[] = "\x48\x8b\x05";

	made_put_string(made, root, RODATA + 0x1001, "Linux version %s (%s)");
	made_put_string(made, root, BANNER, "Linux version 6.1.0-9-amd64 (x)");
	put_note(VDSO);
	put_note(NOTE);
	put_btf(RODATA + 0x8000, BTF_MIN - 4);
	put_btf(BTF, BTF_MIN);
	put_code(GETPID, nearly_getpid, sizeof(nearly_getpid) - 1);
	put_code(GETPID + sizeof(nearly_getpid) - 1, getpid, sizeof(getpid) - 1);
	put_code(ENTRY, entry, sizeof(entry) - 1);
	put_distance(ENTRY + 7, 0x6004);
	put_code(PAGES, pages, sizeof(pages) - 1);
	put_distance(PAGES + 8, OFFSET + 8);
	put_distance(PAGES + 15, OFFSET);
	put_code(PRINT, print, sizeof(print) - 1);
	put_distance(PRINT + 3, NO_LIST);
	put_distance(PRINT + 10, MODULES);
	put_code(TIMER, timer, sizeof(timer) - 1);
	put_distance(TIMER + 4, 0x6010);
	put_code(BPF, bpf, sizeof(bpf) - 1);
	put_distance(BPF + 3, NO_LIST);
	made_put_u64(made, root, MODULES, MODULE);
	made_put_u64(made, root, MODULE, MODULES);
	made_put_u64(made, root, MODULE + 8, MODULES);
	made_put_u64(made, root, NO_LIST, MODULE);
	put_tables(DATA + 0x1000);
	made_put_u64(made, root, DATA + 0x1000, 1);                /* has a user's half */
	made_put_u64(made, root, DATA + 0x2000 + 511 * 8, 0x1001); /* leads elsewhere */
	put_tables(TABLES);
	put_orc(ORC, ORC_N);
	put_orc(ORC_2, ORC_2_N);
}

static void begin(unsigned text, unsigned rodata)
{
	made = made_create();
	root = made_root(made);
	made_map(made, root, TEXT, RODATA - TEXT, text);
	made_map(made, root, RODATA, DATA - RODATA, rodata);
	made_map(made, root, DATA, END - DATA, MADE_WRITE | (rodata & MADE_EXECUTE));
	guest = (struct linux_guest){ .memory = made_memory(made), .root = root };
	guest.symbols[LINUX_TEXT] = TEXT;
	guest.symbols[LINUX_GETPID] = GETPID;
	guest.symbols[LINUX_ENTRY] = ENTRY;
	guest.symbols[LINUX_GET_PAGES] = PAGES;
	guest.symbols[LINUX_PRINT_MODULES] = PRINT;
	guest.symbols[LINUX_GET_BPF] = BPF;
	guest.symbols[LINUX_TIMER] = TIMER;
}

static void search(void)
{
	struct registers regs = { .cr3 = root.cr3, .cr4 = 0x20 };
	struct kernel_image *image = kernel_image_find(guest.memory, &regs);
	const struct memory_range *ranges;
	size_t n;

	if (check(image, "there is an image")) {
		ranges = kernel_image_ranges(image, &n);
		search_symbols(&guest, ranges, n);
	}
	kernel_image_destroy(image);
}

static void check_all(void)
{
	const uint64_t *symbols = guest.symbols;

	check_u64(symbols[LINUX_END], END, "the end of the image is the last range's end");
	check_u64(symbols[LINUX_BANNER], BANNER, "the banner is found, not the format of one");
	check_u64(symbols[LINUX_NOTES_START], NOTE, "the note before BTF is found, not the vDSO's");
	check_u64(symbols[LINUX_NOTES_STOP], NOTE + 36, "the note before BTF has its end");
	check_u64(symbols[LINUX_BTF_START], BTF, "the kernel's BTF is found, not a small one");
	check_u64(symbols[LINUX_BTF_STOP], BTF + 24 + BTF_MIN + 100,
		  "the kernel's BTF has its end");
	check_u64(symbols[LINUX_PAGE_TABLES], TABLES,
		  "page tables with the vCPU's mappings are found");
	check_u64(symbols[LINUX_ORC_IP_START], ORC, "the longest table of code addresses is found");
	check_u64(symbols[LINUX_ORC_IP_STOP], ORC + 4 * ORC_N,
		  "the table of code addresses has its end");
	check_u64(symbols[LINUX_ORC_START], ORC + 4 * ORC_N,
		  "the ORC entries follow the addresses");
	check_u64(symbols[LINUX_ORC_STOP], ORC + 10 * ORC_N, "the ORC entries have their end");
	check_u64(symbols[LINUX_CURRENT_TASK], 0x1fbc0, "current_task is found");
	check_u64(symbols[LINUX_TOP_OF_STACK], 0x6004, "the top of the task's stack is found");
	check_u64(symbols[LINUX_HARDIRQ_STACK], 0x6010, "the interrupt stack is found");
	check_u64(symbols[LINUX_PAGE_OFFSET], OFFSET, "page_offset_base is found");
	check_u64(symbols[LINUX_VMEMMAP], OFFSET + 8, "vmemmap_base is found");
	check_u64(symbols[LINUX_MODULES], MODULES, "the list of modules is found");
	check_u64(symbols[LINUX_BPF_KALLSYMS], 0, "a variable that is no list is left out");
}

static void test_found(void)
{
	begin(MADE_EXECUTE, MADE_READ);
	put_all();
	search();
	check_all();
	made_destroy(made);

	printf("# not sealed\n");
	begin(MADE_EXECUTE | MADE_WRITE, MADE_EXECUTE | MADE_WRITE);
	put_all();
	search();
	check_all();
	made_destroy(made);
}

/* A symbol that the kernel has stays. */
static void test_known(void)
{
	begin(MADE_EXECUTE, MADE_READ);
	put_all();
	guest.symbols[LINUX_BANNER] = 1;
	guest.symbols[LINUX_ORC_IP_START] = 2;
	guest.symbols[LINUX_CURRENT_TASK] = 3;
	search();
	check(guest.symbols[LINUX_BANNER] == 1 && guest.symbols[LINUX_ORC_IP_START] == 2 &&
		      guest.symbols[LINUX_CURRENT_TASK] == 3,
	      "known symbols keep their addresses");
	made_destroy(made);
}

static void test_none(void)
{
	unsigned found = 0;

	begin(MADE_EXECUTE, MADE_READ);
	search();
	for (int i = LINUX_BANNER; i < LINUX_FIRST_FUNCTION; i++)
		found += guest.symbols[i] != 0;
	check_u64(found, 0, "nothing is found in an empty image");
	made_destroy(made);

	begin(MADE_EXECUTE, MADE_READ);
	put_btf(DATA - 24, 0xffffffff);
	put_btf(DATA - 0x1000, BTF_MIN);
	made_put_string(made, root, DATA - 15, "Linux version ");
	put_orc(END - 4 * ORC_2_N - 4, ORC_2_N); /* no room for entries */
	guest.symbols[LINUX_GETPID] = END - 8;
	guest.symbols[LINUX_PRINT_MODULES] = 0x1000;
	search();
	check(!guest.symbols[LINUX_BTF_START] && !guest.symbols[LINUX_BANNER] &&
		      !guest.symbols[LINUX_ORC_START] && !guest.symbols[LINUX_CURRENT_TASK] &&
		      !guest.symbols[LINUX_MODULES],
	      "nothing that reaches beyond the image is found");
	made_destroy(made);
}

/* Things that begin where a range ends, or the part of a function that is read. */
static void test_ends(void)
{
	begin(MADE_EXECUTE, MADE_READ);
	made_put_string(made, root, DATA - 14, "Linux version ");
	for (unsigned i = 0; i < ORC_N; i++)
		made_put_u32(made, root, END - 4 * (ORC_N - i),
			     (uint32_t)(TEXT + 16 * i - (END - 4 * (ORC_N - i))));
	made_put(made, root, GETPID + 93, "\x65\x48\x8b", 3);
	search();
	check(!guest.symbols[LINUX_BANNER] && !guest.symbols[LINUX_ORC_START] &&
		      !guest.symbols[LINUX_CURRENT_TASK],
	      "a banner, a table and an instruction at the image's end are found");
	made_destroy(made);

	begin(MADE_EXECUTE, MADE_READ);
	put_note(DATA - 36);
	made_put_u32(made, root, DATA - 4, 0x0001eb9f);
	search();
	check(guest.symbols[LINUX_NOTES_START] == DATA - 36 && !guest.symbols[LINUX_BTF_START],
	      "a note at the image's end is found, and no BTF that begins there");
	made_destroy(made);
}

/* Such a range is left out, and the others are searched. */
static void test_endless_range(void)
{
	const struct memory_range ranges[] = { { .start = 0x1000, .end = 1ULL << 50 },
					       { .start = RODATA, .end = DATA } };

	begin(MADE_EXECUTE, MADE_READ);
	made_put_string(made, root, BANNER, "Linux version 6.1.0-9-amd64 (x)");
	search_symbols(&guest, ranges, 2);
	check_u64(guest.symbols[LINUX_BANNER], BANNER,
		  "symbols are found after a range of a petabyte");
	made_destroy(made);
}

int main(void)
{
	test_found();
	test_known();
	test_none();
	test_ends();
	test_endless_range();
	return tap_done();
}
