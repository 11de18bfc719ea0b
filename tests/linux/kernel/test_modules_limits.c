/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of what is kept of modules: symbols, the bytes of their names, code with unwind tables. */
#include "config.h"

#include "linux/kernel/orc_tables.h"
#include "tests/linux/kernel/made_modules.h"

/* Each module could have so many symbols; all modules together may not. */
static void test_many_symbols(struct fixture *fixture)
{
	begin(fixture, false);
	for (unsigned i = 0; i < 3; i++) {
		put_module(fixture, i, "huge");
		made_linux_u32(&fixture->guest, place(i) + 0x1000 + OFF_COUNT, 0x60000);
	}
	put_module(fixture, 3, "small");
	put_list(fixture, (unsigned[]){ 0, 1, 2, 3 }, 4);
	modules_poll(fixture->modules);
	check_u64(modules_counts(fixture->modules).n, 4,
		  "number of modules with 393,216 symbols each");
	check(is_named(fixture, code(0), "huge_a", "[huge]") &&
		      is_named(fixture, code(1), "huge_a", "[huge]"),
	      "the first two large modules have their symbols");
	check(!is_named(fixture, code(2), "huge_a", "[huge]"),
	      "there is no room for the symbols of the third large module");
	check(is_named(fixture, code(3), "small_a", "[small]"),
	      "a small module after the large ones has its symbols");
	check_u64(modules_counts(fixture->modules).cut, 1,
		  "modules without symbols are counted as cut");
	end(fixture);
}

static void check_kept(struct fixture *fixture)
{
	size_t kept_bytes = modules_counts(fixture->modules).kept_bytes;

	check(kept_bytes <= MODULES_MAX_KEPT_BYTES + (1 << 20), "symbols of %zu KiB are kept",
	      kept_bytes >> 10);
}

/*
 * Symbols that all have the same long name. Each symbol keeps a copy, but all modules together have
 * room for 32 MiB. A module that goes away makes room again.
 */
static void test_shared_names(struct fixture *fixture)
{
	static char name[4000];
	const uint32_t n = 12000;

	begin(fixture, false);
	memset(name, 'n', sizeof(name) - 1);
	for (unsigned i = 0; i < 2; i++) {
		uint64_t kallsyms = place(i) + 0x1000,
			 symtab = 0xffff888004000000ULL + i * 0x100000;

		put_module(fixture, i, i ? "late" : "long");
		made_linux_u32(&fixture->guest, place(i) + OFF_MEMORY + 8, 0x8000);
		made_linux_u64(&fixture->guest, kallsyms + OFF_SYMTAB, symtab);
		made_linux_u32(&fixture->guest, kallsyms + OFF_COUNT, n);
		made_linux_string(&fixture->guest, place(i) + 0x3000 + 1, name);
		put_symbol(fixture, symtab, 0, 0, 0);
		for (uint32_t j = 1; j < n; j++)
			put_symbol(fixture, symtab + 24 * j, 1, code(i) + j, 1);
	}
	put_list(fixture, (unsigned[]){ 0 }, 1);
	modules_poll(fixture->modules);
	check(is_named(fixture, code(0) + 1, name, "[long]"),
	      "of 48 MB of names the first ones are kept");
	check_kept(fixture);
	check_u64(modules_counts(fixture->modules).cut, 1,
		  "a module with too many names is counted as cut");
	put_list(fixture, (unsigned[]){ 0, 1 }, 2);
	modules_poll(fixture->modules);
	check(!is_named(fixture, code(1) + 1, name, "[late]"),
	      "there is no room for the names of another one");
	check_u64(modules_counts(fixture->modules).cut, 2,
		  "another module with too many names is counted as cut");
	check(space_find(fixture->space, code(1)) &&
		      !is_named(fixture, code(1) + 1, name, "[late]"),
	      "a module whose names have no room keeps its code");
	check_kept(fixture);
	put_list(fixture, (unsigned[]){ 1 }, 1);
	modules_poll(fixture->modules);
	made_linux_u32(&fixture->guest, place(1) + 0x1000 + OFF_COUNT,
		       n - 1); /* the module is read again */
	memory_refresh(fixture->guest.guest.memory);
	modules_poll(fixture->modules);
	check(is_named(fixture, code(1) + 1, name, "[late]"),
	      "when a module has gone, its room is free");
	end(fixture);
}

/*
 * An unwind table costs at least 1/32 of its code, however few entries it has. So all modules with
 * tables may have 512 MiB of code together; Linux has 1.5 GiB for all modules.
 */
static void test_much_code(struct fixture *fixture)
{
	begin(fixture, false);
	made_linux_set(&fixture->guest, MODULE_ORC_COUNT, 0x300);
	made_linux_set(&fixture->guest, MODULE_ORC_IP, 0x308);
	made_linux_set(&fixture->guest, MODULE_ORC, 0x310);
	fixture->guest.guest.orc_layout = orc_layout_of(ORC_V3);
	for (unsigned i = 0; i < 4; i++) {
		uint64_t tables = place(i) + 0x4000, start = 0xffffffffc0000000ULL + (i << 28);

		put_module(fixture, i, "large");
		made_linux_u64(&fixture->guest, place(i) + OFF_MEMORY, start);
		made_linux_u32(&fixture->guest, place(i) + OFF_MEMORY + 8,
			       i == 3 ? 0x1000 : 200 << 20);
		made_linux_u32(&fixture->guest, place(i) + 0x300, 1);
		made_linux_u64(&fixture->guest, place(i) + 0x310, tables + 0x100);
		/* sp + 8, a call */
		made_linux_u32(&fixture->guest, tables + 0x100, 8);
		made_linux_u32(&fixture->guest, tables + 0x104, 0x0205);
		made_linux_u64(&fixture->guest, place(i) + 0x308, start + 0x100);
		made_linux_u32(&fixture->guest, start + 0x100, 0x100);
	}
	put_list(fixture, (unsigned[]){ 0, 1, 2, 3 }, 4);
	modules_poll(fixture->modules);
	for (unsigned i = 0; i < 4; i++) {
		const struct mapping *mapping =
			space_find(fixture->space, 0xffffffffc0000000ULL + (i << 28));

		if (mapping)
			image_build_tables(mapping->image);
		check(mapping && !mapping->image->tables.orc == (i == 2), "module %u has %s table",
		      i, i == 2 ? "no" : "a function of the remaining module has its name");
	}
	end(fixture);
}

int main(void)
{
	static struct fixture fixture;

	test_much_code(&fixture);
	test_shared_names(&fixture);
	test_many_symbols(&fixture);
	return tap_done();
}
