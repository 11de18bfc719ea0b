/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Modules of a 32-bit kernel without names of data and without BTF: the list, where struct module has
 * what is read, and the names of their functions.
 */
#include "config.h"

#include "linux/kernel/module_layout_i386.h"
#include "linux/kernel/modules.h"
#include "tests/support/made_module_i386.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"

#define AT(offset) (MADE_BASE + (offset))

static struct made_i386 *made;
static struct space *space;
static struct modules *modules;

static void put(uint64_t offset, uint64_t word)
{
	made_i386_put(made, offset, word, 4);
}

typedef void make_modules(struct made_i386 *made, unsigned n);

static void begin(make_modules *make, unsigned n)
{
	made_i386_begin(made, true);
	make(made, n);
	made_i386_search(made);
	must(space_create(&space));
	must(modules_create(&made->guest, space, &modules));
}

static void end(void)
{
	modules_destroy(modules);
	space_destroy(space);
}

static bool is_named(uint64_t address, const char *name, const char *module)
{
	const struct mapping *mapping;
	struct symtab_entry entry;

	return space_find_symbol(space, address, &entry, &mapping) &&
	       strcmp(entry.name, name) == 0 && strcmp(mapping->image->name, module) == 0;
}

static void test_found(make_modules *make)
{
	begin(make, 2);
	check_u64(made->guest.symbols[LINUX_MODULES], AT(MADE_MODULES),
		  "the list of modules is found");
	check(module_layout_i386_find(&made->guest), "the members of struct module are found");
	modules_poll(modules);
	check_u64(modules_counts(modules).n, 2, "number of modules");
	check(is_named(AT(MADE_MODULE + 0x40), "function_0", "[first]"),
	      "a function of the first module has its name");
	check(is_named(AT(MADE_MODULE + MADE_MODULE_BYTES + 0xbf), "function_1", "[second]"),
	      "a function of the second module has its name");
	check(!space_find(space, AT(MADE_MODULE + MADE_MODULE_TEXT)),
	      "a module's code ends with its text");
	end();
}

static void test_still_loading(void)
{
	begin(made_module_i386, 2);
	put(MADE_MODULE + MADE_MODULE_STRUCT, 1); /* MODULE_STATE_COMING */
	put(MADE_MODULE + MADE_MODULE_STRUCT + MADE_MODULE_CORE + 8, 0);
	memory_refresh(made->guest.memory);
	check(module_layout_i386_find(&made->guest), "the layout is found by the second module");
	end();
}

struct damage {
	uint32_t offset, word;
	const char *what;
};

/* Each makes all that was found unbelievable. */
static void test_damages(make_modules *make, const struct damage *damages, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct layout before;

		begin(make, 1);
		put(MADE_MODULE + damages[i].offset, damages[i].word);
		memory_refresh(made->guest.memory);
		before = made->guest.layout;
		check(!module_layout_i386_find(&made->guest) &&
			      memcmp(&before, &made->guest.layout, sizeof(before)) == 0,
		      "no layout is found: %s", damages[i].what);
		end();
	}
}

/* What no module contains. */
static void test_refused(void)
{
	static const struct damage damages[] = {
		{ MADE_MODULE_STRUCT, 3, "a module that is not set up" },
		{ MADE_MODULE_STRUCT + MADE_MODULE_NAME, 0, "a module without a name" },
		{ MADE_MODULE_STRUCT + MADE_MODULE_CORE, MADE_BASE + MADE_MODULE - MADE_MODULE_BYTES, "memory of another" },
		{ MADE_MODULE_STRUCT + MADE_MODULE_CORE + 8, 0x1234, "code that is not of whole pages" },
		{ MADE_MODULE_STRUCT + MADE_MODULE_CORE + 8, 0x9000, "more code than memory" },
		{ MADE_MODULE_STRUCT + MADE_MODULE_KALLSYMS, MADE_BASE + MADE_MODULE, "symbols elsewhere" },
		{ MADE_MODULE_STRUCT + MADE_MODULE_KALLSYMS + 8, 4, "names within the symbols" },
		{ MADE_MODULE_SYMBOLS, 1, "a first symbol with a name" },
	};

	test_damages(made_module_i386, damages, sizeof(damages) / sizeof(damages[0]));
	begin(made_module_i386, 0);
	check(made->guest.symbols[LINUX_MODULES] && !module_layout_i386_find(&made->guest),
	      "no layout is found without a module");
	modules_poll(modules);
	check_u64(modules_counts(modules).n, 0, "number of modules without a layout");
	end();
}

/* From 6.4 on. Type 4 is the first that is empty. */
static void test_refused_mem(void)
{
	enum { MEM = MADE_MODULE_STRUCT + MADE_MODULE_MEM, EACH = 36 };
	static const struct damage damages[] = {
		{ MEM, 0, "a text without memory" },
		{ MEM, MADE_BASE + MADE_MODULE + 0x40, "memory that begins in a page" },
		{ MEM + 4, 0x1234, "a text that is not of whole pages" },
		{ MEM + 6 * EACH + 8, MADE_BASE + MADE_MODULE, "the last memory is of another module" },
		{ MEM + 4 * EACH + 4, 0x1000, "memory nowhere" },
		{ MEM + 2 * EACH + 4, 0xfffff000, "memory beyond 4 GiB" },
		{ MEM + EACH + 4, 0, "no data" },
		{ MEM + EACH, MADE_BASE + MADE_MODULE, "data elsewhere" },
	};

	test_damages(made_module_65_i386, damages, sizeof(damages) / sizeof(damages[0]));
}

int main(void)
{
	made = made_i386();
	test_found(made_module_i386);
	test_found(made_module_65_i386);
	test_still_loading();
	test_refused();
	test_refused_mem();
	made_i386_destroy();
	return tap_done();
}
