/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The search in a kernel without symbols of its data: memory comes from the input, or is a small
 * image in which everything is found and that the input changes. It is one of x86-64; the same is
 * looked at as one of arm64.
 */
#include "config.h"

#include "guest.h"
#include "linux/kernel/search.h"

/* Where things are in a valid image. */
#define TEXT      0x0000 /* the functions, one every FUNCTION_BYTES */
#define RODATA    0x1000
#define BANNER    0x1010
#define NOTE      0x1100
#define BTF       0x1200
#define DATA      0x3000
#define TABLES    0x3000 /* a page: the top of the page tables */
#define LIST      0x4000
#define MEMBER    0x4100
#define VARIABLES 0x4200
#define ORC       0x4800
#define N_ORC     80
#define END       0x5000

#define FUNCTION_BYTES 0x80
#define ADDRESS(at)    (FUZZ_GUEST_BASE + (at))

static void put(struct fuzz_guest *guest, size_t at, const void *bytes, size_t size_bytes)
{
	memcpy((char *)guest->pool + at, bytes, size_bytes);
}

static void put_u32(struct fuzz_guest *guest, size_t at, uint32_t value)
{
	put(guest, at, &value, sizeof(value));
}

static void put_u64(struct fuzz_guest *guest, size_t at, uint64_t value)
{
	put(guest, at, &value, sizeof(value));
}

static size_t function_at(enum linux_symbol function)
{
	return TEXT + (function - LINUX_FIRST_FUNCTION) * FUNCTION_BYTES;
}

/* An instruction of FUNCTION and, last in it, the distance to TARGET. */
static void put_code(struct fuzz_guest *guest, enum linux_symbol function, const char *bytes,
		     size_t n, size_t target)
{
	size_t at = function_at(function);

	put(guest, at, bytes, n);
	put_u32(guest, at + n, (uint32_t)(target - (at + n + 4)));
}

static void put_functions(struct fuzz_guest *guest)
{
	put_code(guest, LINUX_GETPID, "\x65\x48\x8b\x3d", 4, VARIABLES);
	put_code(guest, LINUX_ENTRY, "\x65\x48\x8b\x24\x25", 5, VARIABLES + 8);
	put_code(guest, LINUX_TIMER, "\x65\x4c\x8b\x1d", 4, VARIABLES + 16);
	put_code(guest, LINUX_GET_PAGES, "\x48\x2b\x05\0\0\0\0\x48\x03\x05", 10, VARIABLES + 24);
	put_code(guest, LINUX_PRINT_MODULES, "\x48\x8b\x0d", 3, LIST);
	put_code(guest, LINUX_GET_BPF, "\x48\x8b\x05", 3, LIST + 16);
	for (size_t at = LIST; at <= LIST + 16; at += 16) {
		put_u64(guest, at, ADDRESS(MEMBER + at - LIST));
		put_u64(guest, MEMBER + at - LIST + 8, ADDRESS(at));
	}
}

static void put_image(struct fuzz_guest *guest)
{
	static const uint32_t note[] = { 4, 20, 3, 0x00554e47, 1, 2, 3, 4, 5 };
	static const uint32_t btf[] = { 0x0001eb9f, 24, 0, 512, 512, 64 };
	static const char banner[] = "Linux version 6.1.0";

	put_functions(guest);
	put(guest, BANNER, banner, sizeof(banner));
	put(guest, NOTE, note, sizeof(note));
	put(guest, BTF, btf, sizeof(btf));
	for (uint32_t i = 0; i < N_ORC; i++)
		put_u32(guest, ORC + 4 * i, TEXT + 16 * i - (ORC + 4 * i));
	put_u64(guest, TABLES + 511 * 8, guest->tables[3][511]);
	put_u64(guest, TABLES + 273 * 8, guest->tables[3][273]); /* FUZZ_GUEST_BASE's */
}

static struct linux_guest search_all(const struct fuzz_guest *guest)
{
	static const struct memory_range image[] = {
		{ .start = ADDRESS(TEXT), .end = ADDRESS(RODATA), .executable = true },
		{ .start = ADDRESS(RODATA), .end = ADDRESS(DATA) },
		{ .start = ADDRESS(DATA), .end = ADDRESS(END), .writable = true },
	};
	struct linux_guest found = guest->linux_guest;

	memset(found.symbols, 0, sizeof(found.symbols));
	found.symbols[LINUX_TEXT] = ADDRESS(TEXT);
	for (int i = LINUX_FIRST_FUNCTION; i < N_LINUX_SYMBOLS; i++)
		found.symbols[i] = ADDRESS(function_at(i));
	search_symbols(&found, image, sizeof(image) / sizeof(image[0]));
	return found;
}

static bool is_within(uint64_t start, uint64_t stop, size_t from, size_t to)
{
	return (!start && !stop) || (start >= ADDRESS(from) && start < stop && stop <= ADDRESS(to));
}

static void check_found(const uint64_t *symbols)
{
	uint64_t n = (symbols[LINUX_ORC_IP_STOP] - symbols[LINUX_ORC_IP_START]) / 4;

	fuzz_must(is_within(symbols[LINUX_BTF_START], symbols[LINUX_BTF_STOP], RODATA, DATA),
		  "BTF is constant data");
	fuzz_must(is_within(symbols[LINUX_NOTES_START], symbols[LINUX_NOTES_STOP], RODATA, DATA),
		  "a note is constant data");
	fuzz_must(is_within(symbols[LINUX_ORC_IP_START], symbols[LINUX_ORC_STOP], DATA, END),
		  "ORC is in the image");
	fuzz_must(symbols[LINUX_ORC_START] == symbols[LINUX_ORC_IP_STOP] &&
			  symbols[LINUX_ORC_STOP] == symbols[LINUX_ORC_START] + n * ORC_ENTRY_BYTES,
		  "ORC has as many entries as addresses");
}

/* Without this check nobody would see that nothing can be found in the image. */
static void check_right(struct fuzz_guest *guest)
{
	static const enum linux_symbol all[] = {
		LINUX_END,           LINUX_BANNER,       LINUX_NOTES_START,  LINUX_BTF_START,
		LINUX_PAGE_TABLES,   LINUX_ORC_IP_START, LINUX_CURRENT_TASK, LINUX_TOP_OF_STACK,
		LINUX_HARDIRQ_STACK, LINUX_VMEMMAP,      LINUX_PAGE_OFFSET,  LINUX_MODULES,
		LINUX_BPF_KALLSYMS,
	};
	struct linux_guest found = search_all(guest);

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		fuzz_must(found.symbols[all[i]] != 0, "everything in a valid image is found");
}

/* Changes words of the image. The input tells which, how, and to what. */
static void spoil(struct fuzz_guest *guest, struct fuzz *fuzz)
{
	while (fuzz->left_bytes) {
		uint64_t *word = &guest->pool[fuzz_u16(fuzz) % (END / 8)];
		uint8_t how = fuzz_u8(fuzz);

		*word = how & 1   ? ADDRESS(fuzz_u16(fuzz))
			: how & 2 ? fuzz_u64(fuzz)
				  : *word ^ 1ULL << how / 4;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
	static bool is_checked;
	struct fuzz fuzz = fuzz_begin(bytes, size_bytes), nothing = { 0 };
	struct fuzz_guest *guest = fuzz_guest();
	uint8_t how = fuzz_u8(&fuzz);
	bool is_right = how & 1 || !is_checked;

	guest->arm64 = how & 2 && is_checked;
	fuzz_guest_fill(guest, is_right ? &nothing : &fuzz);
	if (is_right)
		put_image(guest);
	if (!is_checked)
		check_right(guest);
	is_checked = true;
	if (is_right)
		spoil(guest, &fuzz);
	memory_refresh(guest->memory);
	check_found(search_all(guest).symbols);
	return 0;
}
