/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Symbols of the kernel and of modules as the guest has them, and those that xtop names otherwise;
 * see inside.c.
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"
#include "linux/kernel/kallsyms.h"
#include "linux/kernel/member.h"

/* --- kernel symbols --------------------------------------------------------------------------- */

static bool is_text(char type)
{
	return strchr("tTwW", type);
}

void inside_add_kernel(struct inside *inside, bool text_only)
{
	struct kallsyms_cursor *at = malloc(sizeof(*at));

	kallsyms_first(at);
	while (kallsyms_next(inside->kallsyms, at))
		if (!text_only || is_text(at->type))
			inside_add(inside, "%016" PRIx64 " %.*s", at->address, (int)at->name_bytes,
				   at->name);
	free(at);
}

/* --- symbols of modules, read in another way than modules.c does ------------------------------ */

/* Elf64_Sym (System V gABI, chapter 4). */
struct symbol_words {
	uint32_t name;
	uint8_t info, other;
	uint16_t section;
	uint64_t value, size_bytes;
};

typedef void module_symbol_fn(struct inside *inside, const char *module, uint64_t address,
			      char type, const char *name);

static void each_symbol_of(struct inside *inside, uint64_t module, module_symbol_fn *found)
{
	const struct linux_guest *guest = &inside->kernel.guest;
	uint64_t kallsyms, symtab, strtab, typetab = 0;
	struct symbol_words symbol;
	char name[KALLSYMS_MAX_NAME_BYTES], of[64], type = 't';
	uint32_t n;

	if (!member_read_pointer(guest, module, MODULE_KALLSYMS, &kallsyms) ||
	    !member_read_pointer(guest, kallsyms, MOD_KALLSYMS_SYMTAB, &symtab) ||
	    !member_read_u32(guest, kallsyms, MOD_KALLSYMS_SYMTAB_COUNT, &n) ||
	    !member_read_pointer(guest, kallsyms, MOD_KALLSYMS_STRTAB, &strtab))
		inside_die("inside: module %" PRIx64 " has no symbols", module);
	if (inside->has_typetab)
		linux_read_u64(guest, kallsyms + inside->offsets[OWN_TYPETAB], &typetab);
	memory_read_string(guest->memory, guest->root,
			   module + layout_offset(&guest->layout, MODULE_NAME), of, sizeof(of));
	for (uint32_t i = 0; i < n; i++) {
		if (memory_read(guest->memory, guest->root, symtab + i * sizeof(symbol), &symbol,
				sizeof(symbol)) != sizeof(symbol) ||
		    !memory_read_string(guest->memory, guest->root, strtab + symbol.name, name,
					sizeof(name)))
			inside_die("inside: symbol %u of %s cannot be read", i, of);
		if (typetab)
			memory_read(guest->memory, guest->root, typetab + i, &type, 1);
		if (name[0])
			found(inside, of, symbol.value, type, name);
	}
}

static void each_module_symbol(struct inside *inside, module_symbol_fn *found)
{
	const struct linux_guest *guest = &inside->kernel.guest;
	uint64_t head = guest->symbols[LINUX_MODULES], at = head;

	for (unsigned i = 0; i < MODULES_MAX; i++) {
		if (!linux_read_u64(guest, at, &at))
			inside_die("inside: the list of modules cannot be read");
		if (at == head)
			return;
		each_symbol_of(inside, at - layout_offset(&guest->layout, MODULE_LIST), found);
	}
}

static void add_module_symbol(struct inside *inside, const char *module, uint64_t address,
			      char type, const char *name)
{
	(void)type;
	inside_add(inside, "%016" PRIx64 " %s [%s]", address, name, module);
}

void inside_add_module_symbols(struct inside *inside)
{
	each_module_symbol(inside, add_module_symbol);
}

/* --- the names that xtop gives ---------------------------------------------------------------- */

/* Symbols of kernel and modules, as "ADDRESS NAME", sorted. */
static struct lines known;
static size_t n_functions;

static bool is_known(uint64_t address, const char *name)
{
	char line[KALLSYMS_MAX_NAME_BYTES + 32], *key = line;

	snprintf(line, sizeof(line), "%016" PRIx64 " %s", address, name);
	return bsearch(&key, known.line, known.n, sizeof(*known.line), inside_compare_lines);
}

/* xtop may give the symbol's name, or another name that the guest has for the same address. */
static void try_name(struct inside *inside, uint64_t address, const char *name)
{
	const struct mapping *mapping;
	struct symtab_entry entry = { 0 };

	n_functions++;
	if (space_find_symbol(inside->space, address, &entry, &mapping) &&
	    entry.start + mapping->bias == address &&
	    (strcmp(entry.name, name) == 0 || is_known(address, entry.name)))
		return;
	inside_add(inside, "%016" PRIx64 " %s %s", address, name, entry.name ? entry.name : "-");
}

static void try_module_symbol(struct inside *inside, const char *module, uint64_t address,
			      char type, const char *name)
{
	const struct mapping *mapping = space_find(inside->space, address);
	char image[72];

	snprintf(image, sizeof(image), "[%s]", module);
	if (is_text(type) && mapping && strcmp(mapping->image->name, image) == 0)
		try_name(inside, address, name);
}

static void learn_module_symbol(struct inside *inside, const char *module, uint64_t address,
				char type, const char *name)
{
	(void)module, (void)type;
	inside_add(inside, "%016" PRIx64 " %s", address, name);
}

/* From _text to _etext, or in the code of init. */
static bool is_kernel_text(const struct inside *inside, uint64_t address)
{
	const uint64_t *marks = inside->kallsyms->marks;

	return (address >= inside->kernel.guest.symbols[LINUX_TEXT] &&
		address < marks[KALLSYMS_ETEXT]) ||
	       (address >= marks[KALLSYMS_SINITTEXT] && address < marks[KALLSYMS_EINITTEXT]);
}

/* Functions of the kernel's and of modules' text. */
void inside_add_misnamed(struct inside *inside)
{
	struct kallsyms_cursor *at = malloc(sizeof(*at));
	char name[KALLSYMS_MAX_NAME_BYTES + 1];

	inside_add_kernel(inside, true);
	each_module_symbol(inside, learn_module_symbol);
	known = inside->lines;
	inside->lines = (struct lines){ 0 };
	qsort(known.line, known.n, sizeof(*known.line), inside_compare_lines);
	kallsyms_first(at);
	while (kallsyms_next(inside->kallsyms, at)) {
		if (!is_text(at->type) || !is_kernel_text(inside, at->address))
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)at->name_bytes, at->name);
		try_name(inside, at->address, name);
	}
	each_module_symbol(inside, try_module_symbol);
	free(at);
}

void inside_add_functions(struct inside *inside)
{
	inside_add(inside, "%zu", n_functions);
}
