/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Modules of a made 32-bit kernel; see made_module_i386.h. */
#include "config.h"

#include "made_module_i386.h"

#include <stdio.h>
#include <string.h>

#define AT(offset) (MADE_BASE + (offset))

static void put(struct made_i386 *made, uint64_t offset, uint64_t word)
{
	made_i386_put(made, offset, word, 4);
}

static uint64_t place(unsigned i)
{
	return MADE_MODULE + i * MADE_MODULE_BYTES + MADE_MODULE_STRUCT;
}

static void put_symbol(struct made_i386 *made, uint64_t at, uint32_t name, uint64_t address,
		       uint32_t size_bytes)
{
	put(made, at, name);
	put(made, at + 4, address);
	put(made, at + 8, size_bytes);
	put(made, at + 12, 1 << 16 | 0x12); /* section 1, a global function */
}

/* KALLSYMS_AT is in struct module. */
static void put_kallsyms(struct made_i386 *made, unsigned i, unsigned kallsyms_at)
{
	uint64_t memory = MADE_MODULE + i * MADE_MODULE_BYTES, at = memory + MADE_MODULE_SYMBOLS;
	uint64_t names = memory + MADE_MODULE_NAMES, kallsyms = place(i) + kallsyms_at;

	put(made, kallsyms, AT(kallsyms + 4));
	put(made, kallsyms + 4, AT(at));
	put(made, kallsyms + 8, (names - at) / 16);
	put(made, kallsyms + 12, AT(names));
	put_symbol(made, at + 16, 1, AT(memory + 0x40), 0x80);
	put_symbol(made, at + 32, 1, 0x28, 8); /* a variable of each CPU */
	snprintf((char *)made->bytes + names + 1, 32, "function_%u", i);
}

static void put_core_layout(struct made_i386 *made, unsigned i)
{
	uint64_t at = place(i) + MADE_MODULE_CORE;

	put(made, at, AT(MADE_MODULE + i * MADE_MODULE_BYTES));
	put(made, at + 4, MADE_MODULE_BYTES);
	put(made, at + 8, MADE_MODULE_TEXT);
	put(made, at + 12, 0x4000);
	put(made, at + 16, 0x5000);
}

/* Writes the module's parts. The memory of its init code was already given back. */
static void put_mem(struct made_i386 *made, unsigned i)
{
	static const struct {
		uint32_t start, size_bytes;
	} memory[7] = { { 0, MADE_MODULE_TEXT }, { 0x6000, 0x2000 }, { 0x2000, 0x3000 }, { 0x5000, 0x1000 } };

	for (unsigned type = 0; type < 7; type++) {
		uint64_t at = place(i) + MADE_MODULE_MEM + type * 36;
		uint64_t start = MADE_MODULE + i * MADE_MODULE_BYTES + memory[type].start;

		put(made, at, memory[type].size_bytes ? AT(start) : 0);
		put(made, at + 4, memory[type].size_bytes);
		put(made, at + 8, AT(place(i)));
	}
}

static void put_module(struct made_i386 *made, unsigned i, bool has_mem)
{
	uint64_t at = place(i);

	put(made, at, 0);
	snprintf((char *)made->bytes + at + MADE_MODULE_NAME, 16, "%s", i ? "second" : "first");
	(has_mem ? put_mem : put_core_layout)(made, i);
	put_kallsyms(made, i, has_mem ? MADE_MODULE_65_KALLSYMS : MADE_MODULE_KALLSYMS);
}

static void put_modules(struct made_i386 *made, unsigned n, bool has_mem)
{
	/* incl %fs:0xc1e807fc; mov MADE_MODULES, %ebx; pop %edx */
	static const uint8_t code[] = { 0x64, 0xff, 0x05, 0xfc, 0x07, 0xe8, 0xc1,
					0x8b, 0x1d, 0x00, 0x01, 0x02, 0xc0, 0x5a };
	uint64_t before = MADE_MODULES;

	memcpy(made->bytes + MADE_PRINT_MODULES, code, sizeof(code));
	made->guest.symbols[LINUX_PRINT_MODULES] = AT(MADE_PRINT_MODULES);
	for (unsigned i = 0; i < n; i++) {
		put_module(made, i, has_mem);
		put(made, before, AT(place(i) + MADE_MODULE_LIST));
		put(made, place(i) + MADE_MODULE_LIST + 4, AT(before));
		before = place(i) + MADE_MODULE_LIST;
	}
	put(made, before, AT(MADE_MODULES));
	put(made, MADE_MODULES + 4, AT(before));
	memory_refresh(made->guest.memory);
}

void made_module_i386(struct made_i386 *made, unsigned n)
{
	put_modules(made, n, false);
}

void made_module_65_i386(struct made_i386 *made, unsigned n)
{
	put_modules(made, n, true);
}
