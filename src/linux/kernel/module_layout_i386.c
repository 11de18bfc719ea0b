/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the members of struct module in a kernel of i386 without BTF; see module_layout_i386.h. The
 * front of the struct has not changed since 2.6: state, list, name. The other members are
 * recognised by their contents in a loaded module:
 *
 *   core_layout    base size text_size ro_size ro_after_init_size: whole pages. `size` is the
 *                  size of everything; the other sizes ascend and are at most `size`. The struct
 *                  module lies in this memory, too
 *   mem[7]         from 6.4 instead: base size mtn { mod node }, one for each enum mod_mem_type.
 *                  mod is the module itself; base and size are whole pages, or both 0. [0] is the
 *                  text, and [1], data, has the struct module
 *   kallsyms       points to core_kallsyms, which is the next member: symtab num_symtab strtab. The
 *                  names follow the symbols (kernel/module/kallsyms.c, layout_symtab()); the first
 *                  symbol and the first name are empty
 *
 * (Linux 5.10, 6.1 and 6.5 include/linux/module.h.) Resolver's thread.
 */
#include "config.h"

#include "linux/kernel/module_layout_i386.h"

#include <ctype.h>
#include <elf.h>
#include <string.h>

#define WORD              4
#define MODULE_LIST_AT    WORD
#define MODULE_NAME_AT    (3 * WORD)
#define MODULE_NAME_BYTES 60 /* MODULE_NAME_LEN: 64 minus the size of a long */
#define MODULE_BYTES      1024 /* bytes of a struct module that are searched: 6.1's has 576 */
#define MODULE_MEM_TYPES  7 /* MOD_TEXT, MOD_DATA .. MOD_INIT_RODATA */
#define MODULE_MEM_BYTES  (9 * WORD) /* node: two struct rb_node (CONFIG_MODULES_TREE_LOOKUP) */
#define MODULE_MAX_TRIES  8

/* A module whose contents reveal the layout. */
struct module_trial {
	const struct linux_guest *guest;
	uint64_t address;
	uint64_t start, size_bytes; /* all memory of the module; from 6.4 on its data */
	bool has_mem;               /* the struct module has mem[7] instead of core_layout */
	unsigned memory, kallsyms;  /* offsets of core_layout or mem, and of kallsyms */
};

static bool module_is_loaded(const struct module_trial *trial)
{
	const struct linux_guest *guest = trial->guest;
	char name[MODULE_NAME_BYTES];
	size_t n;
	uint64_t state;

	if (!linux_read_word(guest, trial->address, &state) || state || /* MODULE_STATE_LIVE */
	    memory_read(guest->memory, guest->root, trial->address + MODULE_NAME_AT, name,
			sizeof(name)) != sizeof(name))
		return false;
	n = strnlen(name, sizeof(name));
	for (size_t i = 0; i < n; i++)
		if (!isgraph((unsigned char)name[i]))
			return false;
	return n > 0 && n < sizeof(name);
}

static bool module_is_inside(const struct module_trial *trial, uint64_t address)
{
	return address >= trial->start && address - trial->start < trial->size_bytes;
}

/* Returns true and stores core_layout in TRIAL if core_layout is at OFFSET. */
static bool module_try_core(struct module_trial *trial, unsigned offset)
{
	uint64_t words[5];

	for (unsigned i = 0; i < 5; i++) {
		words[i] = linux_word(trial->guest, trial->address + offset + i * WORD);
		if (!words[i] || words[i] % GUEST_PAGE_SIZE)
			return false;
	}
	if (words[2] > words[3] || words[3] > words[4] || words[4] > words[1] ||
	    words[0] + words[1] > KERNEL_32_END || !linux_is_kernel_of(trial->guest, words[0]))
		return false;
	trial->start = words[0];
	trial->size_bytes = words[1];
	trial->memory = offset;
	trial->has_mem = false;
	return module_is_inside(trial, trial->address);
}

/* Reads an element of mem[] at ADDRESS. Returns false if no element can be there. */
static bool module_read_mem(const struct module_trial *trial, uint64_t address, uint64_t *base,
			    uint64_t *size_bytes)
{
	*base = linux_word(trial->guest, address);
	*size_bytes = linux_word(trial->guest, address + WORD);
	return linux_word(trial->guest, address + 2 * WORD) == trial->address &&
	       *base % GUEST_PAGE_SIZE == 0 && *size_bytes % GUEST_PAGE_SIZE == 0 &&
	       !*base == !*size_bytes && *base + *size_bytes <= KERNEL_32_END;
}

/* Returns true and stores mem[] in TRIAL if mem[] is at OFFSET. */
static bool module_try_mem(struct module_trial *trial, unsigned offset)
{
	uint64_t base[MODULE_MEM_TYPES], size_bytes[MODULE_MEM_TYPES];

	for (unsigned i = 0; i < MODULE_MEM_TYPES; i++)
		if (!module_read_mem(trial, trial->address + offset + i * MODULE_MEM_BYTES,
				     &base[i], &size_bytes[i]))
			return false;
	trial->start = base[1];
	trial->size_bytes = size_bytes[1];
	trial->memory = offset;
	trial->has_mem = true;
	return module_is_inside(trial, trial->address);
}

static bool module_try_kallsyms(struct module_trial *trial, unsigned offset)
{
	uint64_t at = trial->address + offset, symbols, n, names;
	char first_name;

	if (linux_word(trial->guest, at) != at + WORD)
		return false;
	symbols = linux_word(trial->guest, at + WORD);
	n = linux_word(trial->guest, at + 2 * WORD);
	names = linux_word(trial->guest, at + 3 * WORD);
	trial->kallsyms = offset;
	return module_is_inside(trial, symbols) && module_is_inside(trial, names) && n &&
	       names == symbols + n * sizeof(Elf32_Sym) && !linux_word(trial->guest, symbols) &&
	       memory_read(trial->guest->memory, trial->guest->root, names, &first_name, 1) == 1 &&
	       !first_name;
}

static bool module_find(struct module_trial *trial,
			bool (*is)(struct module_trial *trial, unsigned offset))
{
	for (unsigned offset = MODULE_NAME_AT + MODULE_NAME_BYTES; offset < MODULE_BYTES;
	     offset += WORD)
		if (is(trial, offset))
			return true;
	return false;
}

static void module_set(const struct module_trial *trial, struct layout *layout)
{
	layout->values[MODULE_STATE] = 0;
	layout->values[MODULE_LIST] = MODULE_LIST_AT;
	layout->values[MODULE_NAME] = MODULE_NAME_AT;
	if (trial->has_mem) {
		layout->values[MODULE_MEM] = (int32_t)trial->memory;
		layout->values[MODULE_MEM_BASE] = 0;
		layout->values[MODULE_MEM_SIZE] = WORD;
	} else {
		layout->values[MODULE_CORE_BASE] = (int32_t)trial->memory;
		layout->values[MODULE_CORE_TEXT_SIZE] = (int32_t)trial->memory + 2 * WORD;
	}
	layout->values[MODULE_KALLSYMS] = (int32_t)trial->kallsyms;
	layout->values[MOD_KALLSYMS_SYMTAB] = 0;
	layout->values[MOD_KALLSYMS_SYMTAB_COUNT] = WORD;
	layout->values[MOD_KALLSYMS_STRTAB] = 2 * WORD;
}

bool module_layout_i386_find(struct linux_guest *guest)
{
	struct module_trial trial = { .guest = guest };
	uint64_t head = guest->symbols[LINUX_MODULES], at = head;

	for (unsigned i = 0; head && i < MODULE_MAX_TRIES; i++) {
		if (!linux_read_word(guest, at, &at) || at == head ||
		    !linux_is_kernel_of(guest, at) || at % WORD)
			return false;
		trial.address = at - MODULE_LIST_AT;
		if (module_is_loaded(&trial) &&
		    (module_find(&trial, module_try_core) || module_find(&trial, module_try_mem)) &&
		    module_find(&trial, module_try_kallsyms)) {
			module_set(&trial, &guest->layout);
			return true;
		}
	}
	return false;
}
