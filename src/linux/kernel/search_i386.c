/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds data without symbols in a kernel of i386; see search.c. Debian's kernel has neither names
 * of data nor BTF, so only its code tells where its tasks are.
 *
 *   page tables    swapper_pg_dir: a page of the image. It maps the kernel's text and itself as the
 *                  vCPU's tables do, and the user's part is empty
 *   current        what getpid() first reads from its CPU's area
 *   per-cpu areas  the table from which idle_cpu() adds the entry for a CPU
 *   lists          modules, BPF programs: the first list that print_modules() or
 *                  bpf_get_kallsym() reads
 *
 * layout_32.c finds the members of a task.
 *
 * Resolver's thread.
 */
#include "config.h"

#include "linux/kernel/search_arch.h"

#include "linux/kernel/code_i386.h"

#define SEARCH_PRESENT      1U  /* bit of a page-table entry */
#define SEARCH_USER_ENTRIES 768 /* top-level entries for user code without PAE: 3 of 4 GiB */

/* --- page tables ------------------------------------------------------------------------------ */

/*
 * Whether the table at AT has four entries of 8 bytes (PAE), of which only the last one, for the
 * kernel's GiB, is used.
 */
static bool search_has_pae_entries(const struct search *search, size_t at)
{
	for (size_t i = 0; i < 6; i++)
		if (search_u32(search, at + 4 * i))
			return false;
	return search_u32(search, at + 24) & SEARCH_PRESENT;
}

static bool search_has_entries(const struct search *search, size_t at)
{
	for (size_t i = 0; i < SEARCH_USER_ENTRIES; i++)
		if (search_u32(search, at + 4 * i))
			return false;
	return true;
}

/* Whether the page at AT can be the top table. */
static bool search_is_root(const struct search *search, size_t at)
{
	bool has_entries = search->guest->root.width == WIDTH_32_PAE
				   ? search_has_pae_entries(search, at)
				   : search_has_entries(search, at);

	return has_entries && search_maps_kernel(search, at);
}

void search_i386_data(struct search *search)
{
	search_page_tables(search, search_is_root);
}

/* --- functions -------------------------------------------------------------------------------- */

/*
 *   64 a1           s32   mov  %fs:ADDRESS, %eax
 *   64 8b 05+8*reg  s32   mov  %fs:ADDRESS, %reg
 *   a1 s32, 8b 05+8*reg s32   mov  ADDRESS, %eax and %reg
 *   03 04+8*reg 85+8*index s32   add  ADDRESS(,%index,4), %reg; 8b: mov
 *
 * (Intel SDM vol. 2A §2.1.5: ModRM and SIB.)
 */
#define SEARCH_CODE_BYTES 96 /* bytes of a function that are read */

static uint64_t search_current(const uint8_t code[SEARCH_CODE_BYTES])
{
	for (size_t i = 0; i + 7 <= SEARCH_CODE_BYTES; i++) {
		if (code[i] != 0x64)
			continue;
		if (code[i + 1] == 0xa1)
			return code_i386_u32(code + i + 2);
		if (code[i + 1] == 0x8b && (code[i + 2] & 0xc7) == 0x05)
			return code_i386_u32(code + i + 3);
	}
	return 0;
}

static uint64_t search_per_cpu_table(const uint8_t code[SEARCH_CODE_BYTES])
{
	for (size_t i = 0; i + 7 <= SEARCH_CODE_BYTES; i++)
		if ((code[i] == 0x03 || code[i] == 0x8b) && (code[i + 1] & 0xc7) == 0x04 &&
		    (code[i + 2] & 0xc7) == 0x85)
			return code_i386_u32(code + i + 3);
	return 0;
}

static uint64_t search_list(const struct search *search, const uint8_t code[SEARCH_CODE_BYTES])
{
	for (size_t i = 0; i + 6 <= SEARCH_CODE_BYTES; i++) {
		uint64_t list = code_i386_u32(code + i + (code[i] == 0xa1 ? 1 : 2));

		if ((code[i] == 0xa1 || (code[i] == 0x8b && (code[i + 1] & 0xc7) == 0x05)) &&
		    search_is_list(search->guest, list))
			return list;
	}
	return 0;
}

void search_i386_functions(struct search *search)
{
	const struct linux_guest *guest = search->guest;
	uint8_t code[SEARCH_CODE_BYTES];

	if (linux_read_function(guest, LINUX_GETPID, code, sizeof(code)))
		search_set(search, LINUX_CURRENT_TASK, search_current(code));
	if (linux_read_function(guest, LINUX_IDLE_CPU, code, sizeof(code)))
		search_set(search, LINUX_PER_CPU_OFFSET, search_per_cpu_table(code));
	for (size_t i = 0; i < N_SEARCH_LISTS; i++)
		if (linux_read_function(guest, search_lists[i].function, code, sizeof(code)))
			search_set(search, search_lists[i].list, search_list(search, code));
}
