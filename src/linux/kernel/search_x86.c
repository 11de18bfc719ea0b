/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds data without symbols in a kernel of x86-64; see search.c.
 *
 *   page tables    swapper_pg_dir: a page of the image. It maps the kernel's text and itself as the
 *                  vCPU's tables do, and the user's half is empty
 *   ORC            the longest run of words whose targets ascend through the image. A word's target
 *                  is the sum of the word and its own address. The entries follow the words
 *                  (arch/x86/include/asm/orc_types.h)
 *   current        what getpid() first reads from its CPU's area
 *   top of stack   what the entry of a system call loads into RSP
 *   irq stack      what the timer's entry loads to switch stacks
 *   direct map     __get_free_pages() subtracts vmemmap_base from a page's address, and then adds
 *                  page_offset_base
 *   lists          modules, BPF programs: the first list that print_modules() or
 *                  bpf_get_kallsym() reads
 *
 * Resolver's thread.
 */
#include "config.h"

#include "linux/kernel/search_arch.h"

#include "xtop/base/limit.h"
#include "xtop/unwind/orc.h"

#define SEARCH_PRESENT    1  /* bit of a page-table entry */
#define SEARCH_CODE_BYTES 96 /* bytes of a function that are read */
#define SEARCH_MIN_ORC    LIMIT(4096, 64) /* entries: kernels have 350,000 and more */

/* --- page tables ------------------------------------------------------------------------------ */

/*
 * Whether the page at AT can be the top table. The first two checks are cheap, and nearly every
 * page fails one of them.
 */
static bool search_is_root(const struct search *search, size_t at)
{
	uint64_t last;

	memcpy(&last, search->bytes + at + GUEST_PAGE_SIZE - sizeof(last), sizeof(last));
	if (!(last & SEARCH_PRESENT))
		return false;
	for (size_t i = 0; i < GUEST_PAGE_SIZE / 2; i++)
		if (search->bytes[at + i])
			return false;
	return search_maps_kernel(search, at);
}

/* --- ORC -------------------------------------------------------------------------------------- */

/*
 * Number of words from AT on that may belong to an ORC table, at least 1. A word that points into
 * the table, or into the entries if the table ends here, is no address of code.
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
	uint64_t *symbols = search->guest->symbols;
	size_t n;

	for (size_t at = 0; at + 4 <= search->size_bytes; at += 4 * n) {
		n = search_orc_run(search, at);
		if (n < SEARCH_MIN_ORC || n <= search->n_orc ||
		    n * ORC_ENTRY_BYTES > search->size_bytes - at - 4 * n)
			continue;
		search->n_orc = n;
		symbols[LINUX_ORC_IP_START] = search->address + at;
		symbols[LINUX_ORC_IP_STOP] = search->address + at + 4 * n;
		symbols[LINUX_ORC_START] = symbols[LINUX_ORC_IP_STOP];
		symbols[LINUX_ORC_STOP] = symbols[LINUX_ORC_START] + n * ORC_ENTRY_BYTES;
	}
}

void search_x86_data(struct search *search)
{
	const uint64_t *symbols = search->guest->symbols;

	search_page_tables(search, search_is_root);
	if (search->n_orc || !symbols[LINUX_ORC_IP_START])
		search_orc(search);
}

/* --- functions -------------------------------------------------------------------------------- */

/*
 * The code of a function, in which the first instruction of a kind is searched for its operand.
 * Intel SDM vol. 2A §2.1.5 describes ModRM.
 *
 *   65 48 8b  04+8*reg 25  s32    mov  %gs:ADDRESS, %reg; 4c for r8 to r15
 *   65 48 8b  05+8*reg     s32    mov  %gs:DISTANCE(%rip), %reg
 *      48 8b  05+8*reg     s32    mov  DISTANCE(%rip), %reg
 *      48 03  05           s32    add  DISTANCE(%rip), %rax
 *      48 2b  05           s32    sub  DISTANCE(%rip), %rax
 *
 * The distance is relative to the next instruction.
 */
struct search_code {
	const struct linux_guest *guest;
	uint64_t address;
	uint8_t bytes[SEARCH_CODE_BYTES];
};

enum search_reg { SEARCH_RSP = 4, SEARCH_RDI = 7, SEARCH_R11 = 11 };
enum search_opcode { SEARCH_ADD = 0x03, SEARCH_SUB = 0x2b };

static bool code_read(struct search_code *code, const struct linux_guest *guest,
		      enum linux_symbol function)
{
	code->guest = guest;
	code->address = guest->symbols[function];
	return linux_read_function(guest, function, code->bytes, sizeof(code->bytes));
}

static uint64_t code_s32(const struct search_code *code, size_t at)
{
	int32_t value;

	memcpy(&value, code->bytes + at, sizeof(value));
	return (uint64_t)(int64_t)value;
}

/* The target of the distance at AT. The distance ends its instruction. */
static uint64_t code_target(const struct search_code *code, size_t at)
{
	return code->address + at + sizeof(int32_t) + code_s32(code, at);
}

/* The per-cpu address that is first read into REG; 0 if the code has no such read. */
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

/* The variable that OPCODE first adds to, or subtracts from, RAX; 0 if no OPCODE is found. */
static uint64_t code_variable(const struct search_code *code, enum search_opcode opcode)
{
	const uint8_t *bytes = code->bytes;

	for (size_t i = 0; i + 7 <= sizeof(code->bytes); i++)
		if (bytes[i] == 0x48 && bytes[i + 1] == opcode && bytes[i + 2] == 0x05)
			return code_target(code, i + 3);
	return 0;
}

static uint64_t code_list(const struct search_code *code)
{
	const uint8_t *bytes = code->bytes;

	for (size_t i = 0; i + 7 <= sizeof(code->bytes); i++)
		if (bytes[i] == 0x48 && bytes[i + 1] == 0x8b && (bytes[i + 2] & 0xc7) == 0x05 &&
		    search_is_list(code->guest, code_target(code, i + 3)))
			return code_target(code, i + 3);
	return 0;
}

static void search_find_lists(struct search *search)
{
	struct search_code code;

	for (size_t i = 0; i < N_SEARCH_LISTS; i++)
		if (code_read(&code, search->guest, search_lists[i].function))
			search_set(search, search_lists[i].list, code_list(&code));
}

void search_x86_functions(struct search *search)
{
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
		search_set(search, LINUX_VMEMMAP, code_variable(&code, SEARCH_SUB));
		search_set(search, LINUX_PAGE_OFFSET, code_variable(&code, SEARCH_ADD));
	}
	search_find_lists(search);
}
