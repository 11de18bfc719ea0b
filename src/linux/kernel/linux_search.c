/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A kernel without CONFIG_KALLSYMS_ALL names its functions and no data. What is needed of that is
 * found by what it looks like, and by functions that use it:
 *
 *   banner        the text "Linux version " and a digit
 *   BTF           its header, and sections of the sizes that says
 *   notes         the build-id's, the last before BTF, where the linker has them
 *                 (include/asm-generic/vmlinux.lds.h)
 *   page tables   swapper_pg_dir: a page of the image by which its text, and itself, are found where
 *                 they are by the vCPU's, and nothing in the user's half
 *   ORC           the longest run of words that, each added to its own place, ascend through the
 *                 image; behind it the entries (arch/x86/include/asm/orc_types.h)
 *   current       what getpid() reads first of its CPU's area; the top of its stack what a system
 *                 call's entry loads into RSP; the interrupt stack what the timer's loads to switch
 *   direct map    what __get_free_pages() takes from a page's address, and adds to it: vmemmap_base,
 *                 page_offset_base
 *   lists         of modules and BPF programs: what their readers read that is a list
 *
 * All are guesses that who uses them checks as he checks what a symbol says. Resolver's thread.
 */
#include "config.h"

#include "linux/kernel/linux_search.h"

#include <stdlib.h>
#include <string.h>

#include "xtop/cleanup.h"
#include "xtop/limit.h"
#include "xtop/orc.h"

#define SEARCH_MAX_BYTES     (64U << 20) /* of the image, as kernel_image.c has it for one range */
#define SEARCH_CODE_BYTES    96          /* of a function, in which it reads of its CPU's area */
#define SEARCH_PAGE_WORDS    (GUEST_PAGE_SIZE / sizeof(uint64_t))
#define SEARCH_PRESENT       1 /* bit of a page-table entry */
#define SEARCH_NOTE_WORDS    9 /* of a build-id of 20 bytes: sizes, type, "GNU", the id */
#define SEARCH_MIN_BTF_BYTES LIMIT(64U << 10, 256) /* of types: Debian's kernels have 2 to 3 MiB */
#define SEARCH_MIN_ORC       LIMIT(4096, 64)       /* entries: they have 350,000 and more */

struct search {
	struct linux_guest *guest;
	uint64_t image_start, image_end;
	const uint8_t *bytes; /* of the range that is looked at */
	uint64_t address;
	size_t size_bytes;
	size_t n_orc; /* of the longest run so far */
};

static uint32_t search_u32(const struct search *search, size_t at)
{
	uint32_t value;

	memcpy(&value, search->bytes + at, sizeof(value));
	return value;
}

static void search_set(struct search *search, enum linux_symbol symbol, uint64_t address)
{
	if (!search->guest->symbols[symbol])
		search->guest->symbols[symbol] = address;
}

/* --- constant data ---------------------------------------------------------------------------- */

static void search_banner(struct search *search)
{
	static const char head[] = "Linux version ";
	const uint8_t *at = search->bytes, *end = at + search->size_bytes;

	for (; (at = memmem(at, (size_t)(end - at), head, sizeof(head) - 1)); at++) {
		const uint8_t *digit = at + sizeof(head) - 1;

		if (digit < end && *digit >= '0' && *digit <= '9') {
			search_set(search, LINUX_BANNER,
				   search->address + (uint64_t)(at - search->bytes));
			return;
		}
	}
}

/* Bytes of a BTF blob that may begin at AT; 0: none. btf.c has the header and checks all of it. */
static size_t search_btf_bytes(const struct search *search, size_t at)
{
	uint64_t header_bytes, types_bytes, strings, strings_bytes, all;

	if (search_u32(search, at) != 0x0001eb9f || search_u32(search, at + 8) != 0)
		return 0;
	header_bytes = search_u32(search, at + 4);
	types_bytes = search_u32(search, at + 12);
	strings = search_u32(search, at + 16);
	strings_bytes = search_u32(search, at + 20);
	all = header_bytes + strings + strings_bytes;
	return header_bytes >= 24 && header_bytes <= 64 && strings >= types_bytes &&
			       types_bytes >= SEARCH_MIN_BTF_BYTES && all <= search->size_bytes - at
		       ? all
		       : 0;
}

/* The kernel's own BTF, and the build-id before it; that of the vDSO may be elsewhere. */
static void search_btf(struct search *search)
{
	static const uint32_t note[] = { 4, 20, 3, 0x00554e47 }; /* NT_GNU_BUILD_ID of "GNU" */
	size_t last_note = SIZE_MAX, all;

	for (size_t at = 0; at + 4 * SEARCH_NOTE_WORDS <= search->size_bytes; at += 4) {
		if (search_u32(search, at) == note[0] &&
		    memcmp(search->bytes + at, note, sizeof(note)) == 0)
			last_note = at;
		all = search_btf_bytes(search, at);
		if (!all)
			continue;
		search_set(search, LINUX_BTF_START, search->address + at);
		search_set(search, LINUX_BTF_STOP, search->address + at + all);
		break;
	}
	if (last_note == SIZE_MAX)
		return;
	search_set(search, LINUX_NOTES_START, search->address + last_note);
	search_set(search, LINUX_NOTES_STOP, search->address + last_note + 4 * SEARCH_NOTE_WORDS);
}

/* --- data ------------------------------------------------------------------------------------- */

static bool search_same_frame(const struct search *search, struct memory_root root,
			      uint64_t address)
{
	frame_t there, here;

	return memory_translate(search->guest->memory, root, address, &there) &&
	       memory_translate(search->guest->memory, search->guest->root, address, &here) &&
	       there.value == here.value;
}

/* By the page at AT as the top of the tables; the filter is cheap, and all but a few fail it. */
static bool search_is_root(const struct search *search, size_t at)
{
	struct memory_root root = search->guest->root;
	uint64_t address = search->address + at, last;
	frame_t frame;

	memcpy(&last, search->bytes + at + GUEST_PAGE_SIZE - sizeof(last), sizeof(last));
	if (!(last & SEARCH_PRESENT))
		return false;
	for (size_t i = 0; i < GUEST_PAGE_SIZE / 2; i++)
		if (search->bytes[at + i])
			return false;
	if (!memory_translate(search->guest->memory, root, address, &frame))
		return false;
	root.cr3 = frame.value << GUEST_PAGE_SHIFT;
	return search_same_frame(search, root, search->image_start) &&
	       search_same_frame(search, root, search->image_start + (1 << 20)) &&
	       search_same_frame(search, root, address);
}

static void search_page_tables(struct search *search)
{
	for (size_t at = 0; at + GUEST_PAGE_SIZE <= search->size_bytes; at += GUEST_PAGE_SIZE)
		if (search_is_root(search, at)) {
			search_set(search, LINUX_PAGE_TABLES, search->address + at);
			return;
		}
}

/*
 * Words from AT on that are an ORC table's, at least 1. One that points into the table, or to where
 * the entries are if it ends here, is no address of code: an entry's offsets, or nothing.
 */
static size_t search_orc_run(const struct search *search, size_t at)
{
	uint64_t last = search->image_start, start = search->address + at;
	size_t n = 0;

	for (; at + 4 <= search->size_bytes; at += 4, n++) {
		uint64_t place = search->address + at;
		uint64_t address = place + (uint64_t)(int64_t)(int32_t)search_u32(search, at);

		if (address < last || address >= search->image_end ||
		    (address >= start && address <= place + n * ORC_ENTRY_BYTES))
			break;
		last = address;
	}
	return n ? n : 1;
}

static void search_orc(struct search *search)
{
	size_t n;

	for (size_t at = 0; at + 4 <= search->size_bytes; at += 4 * n) {
		n = search_orc_run(search, at);
		if (n < SEARCH_MIN_ORC || n <= search->n_orc ||
		    n * ORC_ENTRY_BYTES > search->size_bytes - at - 4 * n)
			continue;
		search->n_orc = n;
		search->guest->symbols[LINUX_ORC_IP_START] = search->address + at;
		search->guest->symbols[LINUX_ORC_IP_STOP] = search->address + at + 4 * n;
		search->guest->symbols[LINUX_ORC_START] = search->address + at + 4 * n;
		search->guest->symbols[LINUX_ORC_STOP] =
			search->address + at + 4 * n + n * ORC_ENTRY_BYTES;
	}
}

/* --- code ------------------------------------------------------------------------------------- */

/*
 * Operands of the first instruction of a kind in a function; Intel SDM vol. 2A §2.1.5 has ModRM.
 *
 *   65 48 8b  04+8*reg 25  s32    mov  %gs:ADDRESS, %reg; 4c for r8 to r15
 *   65 48 8b  05+8*reg     s32    mov  %gs:DISTANCE(%rip), %reg
 *      48 8b  05+8*reg     s32    mov  DISTANCE(%rip), %reg
 *      48 03  05           s32    add  DISTANCE(%rip), %rax
 *      48 2b  05           s32    sub  DISTANCE(%rip), %rax
 *
 * The distance is from the next instruction.
 */
struct search_code {
	const struct linux_guest *guest;
	uint64_t address;
	uint8_t bytes[SEARCH_CODE_BYTES];
};

enum search_reg { SEARCH_RSP = 4, SEARCH_RDI = 7, SEARCH_R11 = 11 };

static bool code_read(struct search_code *code, const struct linux_guest *guest,
		      enum linux_symbol function)
{
	code->guest = guest;
	code->address = guest->symbols[function];
	return code->address && memory_read(guest->memory, guest->root, code->address, code->bytes,
					    sizeof(code->bytes)) == sizeof(code->bytes);
}

static uint64_t code_s32(const struct search_code *code, size_t at)
{
	int32_t value;

	memcpy(&value, code->bytes + at, sizeof(value));
	return (uint64_t)(int64_t)value;
}

/* The word at AT is a distance, and ends its instruction. */
static uint64_t code_target(const struct search_code *code, size_t at)
{
	return code->address + at + sizeof(int32_t) + code_s32(code, at);
}

static uint64_t code_per_cpu(const struct search_code *code, enum search_reg reg)
{
	const uint8_t *bytes = code->bytes, rex = reg & 8 ? 0x4c : 0x48, modrm = (reg & 7) << 3;

	for (size_t i = 0; i + 9 <= sizeof(code->bytes); i++) {
		if (bytes[i] != 0x65 || bytes[i + 1] != rex || bytes[i + 2] != 0x8b)
			continue;
		if (bytes[i + 3] == (modrm | 4) && bytes[i + 4] == 0x25)
			return code_s32(code, i + 5);
		if (bytes[i + 3] == (modrm | 5))
			return code_target(code, i + 4);
	}
	return 0;
}

/* Of a sum or difference with RAX. */
static uint64_t code_variable(const struct search_code *code, uint8_t opcode)
{
	const uint8_t *bytes = code->bytes;

	for (size_t i = 0; i + 7 <= sizeof(code->bytes); i++)
		if (bytes[i] == 0x48 && bytes[i + 1] == opcode && bytes[i + 2] == 0x05)
			return code_target(code, i + 3);
	return 0;
}

/* A list's head: what its first member has before it. */
static bool code_is_list(const struct search_code *code, uint64_t head)
{
	uint64_t next, before;

	return linux_is_kernel(head) && linux_read_u64(code->guest, head, &next) &&
	       linux_is_kernel(next) && linux_read_u64(code->guest, next + 8, &before) &&
	       before == head;
}

static uint64_t code_list(const struct search_code *code)
{
	const uint8_t *bytes = code->bytes;

	for (size_t i = 0; i + 7 <= sizeof(code->bytes); i++)
		if (bytes[i] == 0x48 && bytes[i + 1] == 0x8b && (bytes[i + 2] & 0xc7) == 0x05 &&
		    code_is_list(code, code_target(code, i + 3)))
			return code_target(code, i + 3);
	return 0;
}

static void search_code(struct search *search)
{
	static const struct {
		enum linux_symbol function, list;
	} lists[] = {
		{ LINUX_PRINT_MODULES, LINUX_MODULES },
		{ LINUX_GET_BPF, LINUX_BPF_KALLSYMS },
	};
	struct search_code code;

	if (code_read(&code, search->guest, LINUX_GETPID))
		search_set(search, LINUX_CURRENT_TASK, code_per_cpu(&code, SEARCH_RDI));
	if (code_read(&code, search->guest, LINUX_ENTRY))
		search_set(search, LINUX_TOP_OF_STACK, code_per_cpu(&code, SEARCH_RSP));
	if (code_read(&code, search->guest, LINUX_TIMER)) {
		search_set(search, LINUX_HARDIRQ_STACK, code_per_cpu(&code, SEARCH_R11));
		search_set(search, LINUX_HARDIRQ_STACK, code_per_cpu(&code, SEARCH_RDI)); /* 5.8 */
	}
	if (code_read(&code, search->guest, LINUX_GET_PAGES)) {
		search_set(search, LINUX_VMEMMAP, code_variable(&code, 0x2b));
		search_set(search, LINUX_PAGE_OFFSET, code_variable(&code, 0x03));
	}
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		if (code_read(&code, search->guest, lists[i].function))
			search_set(search, lists[i].list, code_list(&code));
}

/* --- the image -------------------------------------------------------------------------------- */

static void search_range(struct search *search, bool constant, bool data)
{
	const uint64_t *symbols = search->guest->symbols;

	if (constant && !symbols[LINUX_BANNER])
		search_banner(search);
	if (constant && !symbols[LINUX_BTF_START])
		search_btf(search);
	if (data && !symbols[LINUX_PAGE_TABLES])
		search_page_tables(search);
	if (data && (search->n_orc || !symbols[LINUX_ORC_IP_START]))
		search_orc(search);
}

/* A range that is writable and executable is an image that is not sealed: all of it. */
static void search_image(struct search *search, const struct memory_range *ranges, size_t n)
{
	size_t left = SEARCH_MAX_BYTES;

	for (size_t i = 0; i < n; i++) {
		const struct memory_range *range = &ranges[i];
		_cleanup_free_ uint8_t *bytes = NULL;

		search->size_bytes = range->end - range->start;
		if ((range->executable && !range->writable) || search->size_bytes > left)
			continue;
		bytes = malloc(search->size_bytes);
		if (!bytes)
			return;
		left -= search->size_bytes;
		memory_read_bulk(search->guest->memory, search->guest->root, range->start, bytes,
				 search->size_bytes);
		search->bytes = bytes;
		search->address = range->start;
		search_range(search, !range->writable || range->executable, range->writable);
	}
}

void linux_search(struct linux_guest *guest, const struct memory_range *ranges, size_t n)
{
	struct search search = {
		.guest = guest,
		.image_start = guest->symbols[LINUX_TEXT],
		.image_end = n ? ranges[n - 1].end : 0,
	};

	search_set(&search, LINUX_END, search.image_end);
	search_image(&search, ranges, n);
	search_code(&search);
}
