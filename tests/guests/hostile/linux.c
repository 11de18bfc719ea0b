// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The hostile guest as a Linux kernel. Its constant data contains tables of symbols that are valid
 * enough to be found (src/linux/kernel/kallsyms_find.c describes the format; this is the layout of
 * 6.4 and later). Names and numbers in them are hostile:
 *
 *   linux-names    function names with ; " ' \ and , and a release that clears the screen
 *   linux-million  1,048,575 functions at one address, about 11 MiB of tables
 *   linux-symbols  the kernel's own lists and tables begin and end anywhere, or in themselves
 *   linux-change   linux-symbols, while 64 words change every 10 microseconds
 *
 *   HOSTILE_TEXT            2 MiB   read, execute: memory from TINY_VIRT_BASE on
 *   HOSTILE_TEXT + 2 MiB   16 MiB   read only: memory 8 MiB after, written at its other address
 *                                   in the window at TINY_VIRT_BASE
 */
#include "../tiny/tiny.h"
#include "hostile.h"

#define TEXT        HOSTILE_TEXT
#define RODATA      (HOSTILE_TEXT + 0x200000)
#define RODATA_AT   0x800000
#define RODATA_2M   8 /* large pages */
#define TABLES_AT   0x1000 /* in RODATA, after the banner */
#define N_MILLION   0xfffffU
#define N_FUNCTIONS 4096U

/* Arrays of these are sorted by address. */
struct symbol {
	const char *name; /* its first character is the type */
	uint64_t address;
};

static enum { NAMES, MILLION, SYMBOLS, CHANGE } kind;
static uint8_t *const rodata = (uint8_t *)(TINY_VIRT_BASE + RODATA_AT);
static uint64_t used; /* bytes of rodata */

static const char *const kinds[] = {
	[NAMES] = "linux-names",
	[MILLION] = "linux-million",
	[SYMBOLS] = "linux-symbols",
	[CHANGE] = "linux-change",
};

static void put(uint64_t value, unsigned int bytes)
{
	for (unsigned int i = 0; i < bytes; i++)
		rodata[used++] = value >> 8 * i;
}

static void align(void)
{
	while (used % 8)
		rodata[used++] = 0;
}

static void put_name(const char *name)
{
	uint64_t length_at = used++;

	while (*name)
		rodata[used++] = *name++;
	rodata[length_at] = used - length_at - 1;
}

static uint64_t text_of(const void *at)
{
	return (uint64_t)at - TINY_VIRT_BASE + TEXT;
}

/* Fills in the symbols that come after the functions. */
static unsigned int make_symbols(struct symbol *symbols)
{
	static const char *const lists[] = {
		"Dmodules", "Dbpf_kallsyms", "Dftrace_ops_trampoline_list", "R__start_BTF",
		"R__start_orc_unwind", "R__start_orc_unwind_ip", "R__start_notes", "Dpcpu_hot",
		"Dpage_offset_base", "Dvmemmap_base", "D__per_cpu_offset", "Dinit_task",
		"Dhardirq_stack_ptr", "R__start_orc_header", "Dcurrent_task", "Dnr_cpu_ids",
	};
	static const char *const ends[] = { "R__stop_BTF", "R__stop_orc_unwind",
					    "R__stop_orc_unwind_ip", "R__stop_notes" };
	unsigned int n = 0;

	symbols[n++] = (struct symbol){ "Dinit_top_pgt", text_of(root_table) };
	symbols[n++] = (struct symbol){ "T_etext", TEXT + 0x1fff00 };
	symbols[n++] = (struct symbol){ "Rlinux_banner", RODATA };
	if (kind == SYMBOLS || kind == CHANGE)
		for (unsigned int i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
			symbols[n++] = (struct symbol){ lists[i], RODATA + 0x200 + 8 * i };
	symbols[n++] = (struct symbol){ "D_end", RODATA + RODATA_2M * 0x200000 };
	if (kind == SYMBOLS || kind == CHANGE)
		for (unsigned int i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
			symbols[n++] = (struct symbol){ ends[i], 0xfffffffffffffff0 + i };
	return n;
}

/*
 * The table of tokens. A printable character stands for itself. Every other byte stands for two
 * characters that have a meaning in files.
 */
static void put_tokens(void)
{
	uint16_t index[256];
	uint64_t table;

	align();
	table = used;
	for (unsigned int i = 0; i < 256; i++) {
		index[i] = used - table;
		if (i > ' ' && i < 0x7f)
			put(i, 2);
		else
			put("\";,'\\(){}"[i % 9] | '\\' << 8, 3);
	}
	align();
	for (unsigned int i = 0; i < 256; i++)
		put(index[i], 2);
}

/* Writes the tables: _text, then the functions, all at the place where this guest spins, then the
   other symbols. */
static void put_tables(unsigned int n_functions, const char *const *names, unsigned int n_names)
{
	static uint32_t markers[(N_MILLION + 64) / 256 + 1];
	struct symbol symbols[40];
	unsigned int n_symbols = make_symbols(symbols), n = 1 + n_functions + n_symbols;
	uint64_t start;

	align();
	put(n, 8);
	start = used;
	for (unsigned int i = 0; i < n; i++) {
		if (i % 256 == 0)
			markers[i / 256] = used - start;
		put_name(i == 0		   ? "T_text"
			 : i <= n_functions ? names[i % n_names]
					    : symbols[i - 1 - n_functions].name);
	}
	align();
	for (unsigned int i = 0; i <= (n - 1) / 256; i++)
		put(markers[i], 4);
	put_tokens();
	for (unsigned int i = 0; i < n; i++)
		put(i == 0	       ? 0
		    : i <= n_functions ? text_of(hostile_spin) - TEXT
				       : symbols[i - 1 - n_functions].address - TEXT,
		    4);
	align();
	put(TEXT, 8);
}

static void put_text(uint64_t at, const char *text)
{
	for (used = at; *text;)
		put(*text++, 1);
	put(0, 1);
}

/* Writes the heads of lists to which lists[] points. They point to themselves or nowhere. */
static void put_lists(void)
{
	for (unsigned int i = 0; i < 64; i++)
		((uint64_t *)(rodata + 0x200))[i] = i % 3 == 0 ? RODATA + 0x200 + 8 * i
						    : i % 3 == 1 ? 0xfffffffffffffff8
								 : i * 0x100000001ULL;
}

static void map(void)
{
	hostile_map(TEXT, HOSTILE_RAM, true);
	for (unsigned int i = 0; i < RODATA_2M; i++)
		hostile_map(RODATA + i * 0x200000, HOSTILE_RAM + RODATA_AT + i * 0x200000, false);
}

bool hostile_linux(const char *scenario)
{
	static const char *const names[] = { "Ta;b 1", "Ta\"b',\\", "Tplain", "T_ZN1aE;1",
					     "t</x>&%s%n" };
	static const char *const short_names[] = { "Tf" };

	for (kind = 0; kind <= CHANGE; kind++) {
		const char *at = kinds[kind], *word = scenario;

		while (*at && *at == *word)
			at++, word++;
		if (!*at && (!*word || *word == ' '))
			break;
	}
	if (kind > CHANGE)
		return false;
	put_text(0, "Linux version 6.6.6\x1b[2J\x1b]0;mine\a\xc2\x9b"
		    "31m;\"\n (hostile@guest) #1");
	put_lists();
	used = TABLES_AT;
	if (kind == MILLION)
		put_tables(N_MILLION - 64, short_names, 1);
	else
		put_tables(N_FUNCTIONS, names, sizeof(names) / sizeof(names[0]));
	map();
	return true;
}

void hostile_linux_turn(uint64_t *random)
{
	uint64_t *words = (uint64_t *)rodata;

	if (kind == CHANGE)
		for (unsigned int i = 0; i < 64; i++)
			words[hostile_random(random) % (used / 8)] ^=
				1ULL << hostile_random(random) % 64;
	hostile_park((uint64_t)xen_stack_top(0) - 64, (uint64_t)xen_stack_top(0) - 64, HOSTILE_SPIN_ROUNDS,
		     text_of(hostile_spin));
}
