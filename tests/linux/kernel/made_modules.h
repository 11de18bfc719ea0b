/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A list of modules, in both forms of struct module, for the tests of linux/kernel/modules.c. */
#ifndef TESTS_MADE_MODULES_H
#define TESTS_MADE_MODULES_H

#include "linux/kernel/modules.h"
#include "tests/support/made_lists.h"
#include "tests/support/tap.h"

#define HEAD       0xffffffff82a00000ULL
#define HEAP       0xffff888001000000ULL /* struct module number i is at HEAP + i * 0x10000 */
#define CODE       0xffffffffc0100000ULL /* its code at CODE + i * 0x10000 */
#define TEXT_BYTES 0x2000
#define ATTRIBUTE_BYTES 72 /* size of struct bin_attribute */

/* Offsets of members; no kernel has these. */
enum {
	OFF_STATE = 4,
	OFF_LIST = 8,
	OFF_NAME = 24,
	OFF_MEMORY = 0x140,
	OFF_KALLSYMS = 0x200,
	OFF_NOTES = 0x208,
	OFF_ATTRIBUTES = 24,
	OFF_NOTE_SIZE = 16,
	OFF_NOTE_PRIVATE = 32,
	OFF_SYMTAB = 8,
	OFF_COUNT = 16,
	OFF_STRTAB = 24,
};

struct fixture {
	struct made_linux guest;
	struct space *space;
	struct modules *modules;
	unsigned n_new; /* images that were reported with build-id and symbols */
};

static void begin(struct fixture *fixture, bool old)
{
	made_linux_init(&fixture->guest);
	fixture->guest.guest.symbols[LINUX_MODULES] = HEAD;
	made_linux_set(&fixture->guest, MODULE_STATE, OFF_STATE);
	made_linux_set(&fixture->guest, MODULE_LIST, OFF_LIST);
	made_linux_set(&fixture->guest, MODULE_NAME, OFF_NAME);
	made_linux_set(&fixture->guest, MODULE_KALLSYMS, OFF_KALLSYMS);
	made_linux_set(&fixture->guest, MOD_KALLSYMS_SYMTAB, OFF_SYMTAB);
	made_linux_set(&fixture->guest, MOD_KALLSYMS_SYMTAB_COUNT, OFF_COUNT);
	made_linux_set(&fixture->guest, MOD_KALLSYMS_STRTAB, OFF_STRTAB);
	if (old) {
		made_linux_set(&fixture->guest, MODULE_CORE_BASE, OFF_MEMORY);
		made_linux_set(&fixture->guest, MODULE_CORE_TEXT_SIZE, OFF_MEMORY + 12);
	} else {
		made_linux_set(&fixture->guest, MODULE_MEM, OFF_MEMORY);
		made_linux_set(&fixture->guest, MODULE_MEM_BASE, 0);
		made_linux_set(&fixture->guest, MODULE_MEM_SIZE, 8);
	}
	made_linux_set(&fixture->guest, MODULE_NOTES, OFF_NOTES);
	made_linux_set(&fixture->guest, MODULE_NOTES_ATTRIBUTES, OFF_ATTRIBUTES);
	made_linux_set(&fixture->guest, BIN_ATTRIBUTE_SIZE, OFF_NOTE_SIZE);
	made_linux_set(&fixture->guest, BIN_ATTRIBUTE_PRIVATE, OFF_NOTE_PRIVATE);
	made_linux_set(&fixture->guest, BIN_ATTRIBUTE_SIZEOF, ATTRIBUTE_BYTES);
	made_linux_u64(&fixture->guest, HEAD, HEAD);
	error_destroy(space_create(&fixture->space));
	error_destroy(modules_create(&fixture->guest.guest, fixture->space, &fixture->modules));
}

static void end(struct fixture *fixture)
{
	modules_destroy(fixture->modules);
	space_destroy(fixture->space);
	made_linux_deinit(&fixture->guest);
}

static uint64_t place(unsigned i)
{
	return HEAP + i * 0x10000ULL;
}

static uint64_t code(unsigned i)
{
	return CODE + i * 0x10000ULL;
}

static void put_symbol(struct fixture *fixture, uint64_t address, uint32_t name, uint64_t value,
		       uint64_t size_bytes)
{
	made_linux_u32(&fixture->guest, address, name);
	made_linux_u32(&fixture->guest, address + 4,
		       1 << 16 | 0x12); /* section 1, a global function */
	made_linux_u64(&fixture->guest, address + 8, value);
	made_linux_u64(&fixture->guest, address + 16, size_bytes);
}

/* Module I: two functions, "NAME_a" of 0x40 bytes at its start and "NAME_b" after it. */
static void put_module(struct fixture *fixture, unsigned i, const char *name)
{
	uint64_t module = place(i), kallsyms = module + 0x1000, symtab = module + 0x2000,
		 strtab = module + 0x3000;
	bool old = layout_has(&fixture->guest.guest.layout, MODULE_CORE_BASE);
	char symbol[64];

	made_linux_u32(&fixture->guest, module + OFF_STATE, 0);
	made_linux_string(&fixture->guest, module + OFF_NAME, name);
	made_linux_u64(&fixture->guest, module + OFF_MEMORY, code(i));
	made_linux_u32(&fixture->guest, module + OFF_MEMORY + 8, old ? 4 * TEXT_BYTES : TEXT_BYTES);
	made_linux_u32(&fixture->guest, module + OFF_MEMORY + 12, old ? TEXT_BYTES : 0);
	made_linux_u64(&fixture->guest, module + OFF_KALLSYMS, kallsyms);
	made_linux_u64(&fixture->guest, kallsyms + OFF_SYMTAB, symtab);
	made_linux_u32(&fixture->guest, kallsyms + OFF_COUNT, 4);
	made_linux_u64(&fixture->guest, kallsyms + OFF_STRTAB, strtab);
	put_symbol(fixture, symtab, 0, 0, 0);
	put_symbol(fixture, symtab + 24, 1, code(i), 0x40);
	put_symbol(fixture, symtab + 48, 33, code(i) + 0x40, 0x100);
	put_symbol(fixture, symtab + 72, 1, 0x28, 8); /* a per-cpu value */
	snprintf(symbol, sizeof(symbol), "%s_a", name);
	made_linux_string(&fixture->guest, strtab + 1, symbol);
	snprintf(symbol, sizeof(symbol), "%s_b", name);
	made_linux_string(&fixture->guest, strtab + 33, symbol);
}

/* Puts these modules on the list, in this order. */
static void put_list(struct fixture *fixture, const unsigned *list, size_t n)
{
	uint64_t at = HEAD;

	for (size_t i = 0; i < n; i++) {
		made_linux_u64(&fixture->guest, at, place(list[i]) + OFF_LIST);
		at = place(list[i]) + OFF_LIST;
	}
	made_linux_u64(&fixture->guest, at, HEAD);
	memory_refresh(fixture->guest.guest.memory);
}

static bool is_named(struct fixture *fixture, uint64_t address, const char *name,
		     const char *module)
{
	const struct mapping *mapping;
	struct symtab_entry entry;

	return space_find_symbol(fixture->space, address, &entry, &mapping) &&
	       strcmp(entry.name, name) == 0 && strcmp(mapping->image->name, module) == 0;
}

#endif
