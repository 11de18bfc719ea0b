/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading the list of modules: both forms of struct module; modules that come, go and are replaced;
 * lists that a hostile guest might make.
 */
#include "config.h"

#include "linux/kernel/orc_tables.h"
#include "tests/linux/kernel/made_modules.h"

static void test_list(struct fixture *fixture, bool old)
{
	begin(fixture, old);
	put_module(fixture, 0, "ext4");
	put_module(fixture, 1, "jbd2");
	put_list(fixture, (unsigned[]){ 0, 1 }, 2);
	modules_poll(fixture->modules);
	check_u64(modules_counts(fixture->modules).n, 2, "number of modules");
	check(image_awaits_symbols(space_find(fixture->space, code(0))->image),
	      "the symbols of a module that no sample has seen are not read");
	check(is_named(fixture, code(0) + 0x10, "ext4_a", "[ext4]"),
	      "the first function of the first module has its name");
	check(is_named(fixture, code(0) + 0x50, "ext4_b", "[ext4]"),
	      "the second function of the first module has its name");
	check(is_named(fixture, code(1) + 0x3f, "jbd2_a", "[jbd2]"),
	      "a function of the second module has its name");
	check(!is_named(fixture, code(1) + 0x1000, "jbd2_b", "[jbd2]"),
	      "a function with a known size ends there");
	check(space_find(fixture->space, code(1) + TEXT_BYTES) == NULL,
	      "a module's code ends with its text");
	end(fixture);
}

/* Somebody still has the image of a module that went away before its symbols were read. */
static void test_unread(struct fixture *fixture)
{
	struct image *image;

	begin(fixture, false);
	put_module(fixture, 0, "ext4");
	put_list(fixture, (unsigned[]){ 0 }, 1);
	modules_poll(fixture->modules);
	image = image_ref(space_find(fixture->space, code(0))->image);
	put_list(fixture, NULL, 0);
	memory_refresh(fixture->guest.guest.memory);
	modules_poll(fixture->modules);
	image_build_tables(image);
	check(!image_symtab(image) && !image->tables.orc,
	      "nothing is read of a module that has gone");
	image_unref(image);
	end(fixture);
}

static void ignore_use(void *context, frame_t frame, const void *page, size_t offset,
		       size_t size_bytes)
{
	(void)context;
	(void)frame;
	(void)page;
	(void)offset;
	(void)size_bytes;
}

/* A recording is written: its reader may ask for any address. */
static void test_watched(struct fixture *fixture)
{
	begin(fixture, false);
	memory_set_watcher(fixture->guest.guest.memory,
			   &(struct memory_watcher){ .use = ignore_use });
	put_module(fixture, 0, "ext4");
	put_list(fixture, (unsigned[]){ 0 }, 1);
	modules_poll(fixture->modules);
	check(space_find(fixture->space, code(0))->image->symtab,
	      "symbols are read at once while a recording is written");
	end(fixture);
}

/* --- data ------------------------------------------------------------------------------------- */

#define DATA_BYTES 0x40

/* Module I gets a variable of DATA_BYTES, "NAME_data", after its code. Returns the address. */
static uint64_t put_data(struct fixture *fixture, unsigned i, const char *name)
{
	uint64_t address = code(i) + 0x8000, symtab = place(i) + 0x2000, strtab = place(i) + 0x3000;
	char symbol[64];

	put_symbol(fixture, symtab + 96, 65, address, DATA_BYTES);
	made_linux_u32(&fixture->guest, place(i) + 0x1000 + OFF_COUNT, 5);
	snprintf(symbol, sizeof(symbol), "%s_data", name);
	made_linux_string(&fixture->guest, strtab + 65, symbol);
	return address;
}

static bool is_data(struct fixture *fixture, uint64_t address, const char *name)
{
	struct symtab_entry entry;

	return modules_find_data(fixture->modules, address, &entry) && !strcmp(entry.name, name);
}

static void test_data(struct fixture *fixture, bool old)
{
	uint64_t first, second;
	struct symtab_entry entry;

	begin(fixture, old);
	put_module(fixture, 0, "ext4");
	put_module(fixture, 1, "jbd2");
	first = put_data(fixture, 0, "ext4");
	second = put_data(fixture, 1, "jbd2");
	put_list(fixture, (unsigned[]){ 0 }, 1);
	modules_poll(fixture->modules);
	check(is_data(fixture, first, "ext4_data") &&
		      is_data(fixture, first + DATA_BYTES - 1, "ext4_data"),
	      "a variable of a module has its name");
	check(!modules_find_data(fixture->modules, first + DATA_BYTES, &entry),
	      "the byte after a module's variable has no name");
	check(!modules_find_data(fixture->modules, code(0), &entry),
	      "a module's code is no variable");
	check(!modules_find_data(fixture->modules, 0x28, &entry),
	      "an offset of per-CPU data is no variable");
	check(!modules_find_data(fixture->modules, HEAP, &entry),
	      "an address far from all modules is no variable");
	check(!modules_find_data(fixture->modules, second, &entry),
	      "a module that is not loaded has no names");
	put_list(fixture, (unsigned[]){ 0, 1 }, 2);
	modules_poll(fixture->modules);
	check(is_data(fixture, first, "ext4_data") && is_data(fixture, second, "jbd2_data"),
	      "a module that was loaded has its names");
	put_list(fixture, (unsigned[]){ 1 }, 1);
	modules_poll(fixture->modules);
	check(!modules_find_data(fixture->modules, first, &entry) &&
		      is_data(fixture, second, "jbd2_data"),
	      "a module that was unloaded has no names");
	put_module(fixture, 1, "nfs"); /* nfs takes its place, between two polls */
	put_data(fixture, 1, "nfs");
	memory_refresh(fixture->guest.guest.memory);
	modules_poll(fixture->modules);
	check(is_data(fixture, second, "nfs_data"),
	      "a module that replaced another one has the new name");
	end(fixture);
}

/* --- build-ids -------------------------------------------------------------------------------- */

#define NOTES 0xffffffffc0800000ULL /* the notes of module i are at NOTES + i * 0x1000 */

/* A note as ld writes it for --build-id: four words, and an id of 20 bytes that are all ID. */
static void put_note(struct fixture *fixture, uint64_t address, uint32_t type, uint32_t desc_bytes,
		     uint8_t id)
{
	made_linux_u32(&fixture->guest, address, 4);
	made_linux_u32(&fixture->guest, address + 4, desc_bytes);
	made_linux_u32(&fixture->guest, address + 8, type);
	made_linux_u32(&fixture->guest, address + 12, 0x00554e47); /* "GNU" */
	for (unsigned i = 0; i < 20; i += 4)
		made_linux_u32(&fixture->guest, address + 16 + i, id * 0x01010101U);
}

/* A section of module I with notes, number N. */
static uint64_t put_section(struct fixture *fixture, unsigned i, unsigned n, uint64_t size_bytes)
{
	uint64_t notes = place(i) + 0x4000, address = NOTES + i * 0x1000 + n * 0x100,
		 attribute = notes + OFF_ATTRIBUTES + n * ATTRIBUTE_BYTES;

	made_linux_u64(&fixture->guest, place(i) + OFF_NOTES, notes);
	made_linux_u64(&fixture->guest, attribute + OFF_NOTE_SIZE, size_bytes);
	made_linux_u64(&fixture->guest, attribute + OFF_NOTE_PRIVATE, address);
	return address;
}

/* The first byte of the module's build-id; -1: it has none. */
static int build_id_of(struct fixture *fixture, unsigned i)
{
	const struct mapping *mapping = space_find(fixture->space, code(i));

	return mapping && mapping->image->build_id.size_bytes == 20
		       ? mapping->image->build_id.bytes[19]
		       : -1;
}

static void is_new(void *context, struct image *image)
{
	struct fixture *fixture = context;

	fixture->n_new += image->build_id.size_bytes && image_symtab(image);
}

static void test_build_ids(struct fixture *fixture, bool old)
{
	begin(fixture, old);
	modules_set_new(fixture->modules, is_new, fixture);
	fixture->n_new = 0;
	for (unsigned i = 0; i < 5; i++)
		put_module(fixture, i, "noted");
	put_note(fixture, put_section(fixture, 0, 0, 36), 3, 20, 0xc0);
	put_note(fixture, put_section(fixture, 1, 0, 32), 5, 16, 0); /* NT_GNU_PROPERTY_TYPE_0 */
	put_note(fixture, put_section(fixture, 1, 1, 36), 3, 20, 0x1d);
	put_note(fixture, put_section(fixture, 2, 0, UINT64_MAX), 3, 0xfffffff0,
		 0xbb); /* is longer than memory */
	put_note(fixture, put_section(fixture, 3, 0, 68), 5, 16, 0);
	put_note(fixture, NOTES + 3 * 0x1000 + 32, 3, 20, 0x2e);
	put_list(fixture, (unsigned[]){ 0, 1, 2, 3, 4 }, 5);
	modules_poll(fixture->modules);
	check_u64(modules_counts(fixture->modules).n, 5, "number of modules with notes");
	check_u64(build_id_of(fixture, 0), 0xc0, "a module has its build-id");
	check_u64(build_id_of(fixture, 1), 0x1d, "a build-id in another section is found");
	check(build_id_of(fixture, 2) == -1, "a note that has no end is left out");
	check_u64(build_id_of(fixture, 3), 0x2e, "a build-id after another note is found");
	check(build_id_of(fixture, 4) == -1, "a module without notes has no build-id");
	check_u64(fixture->n_new, 3, "a new image is reported with build-id and symbols");
	memory_refresh(fixture->guest.guest.memory);
	modules_poll(fixture->modules);
	check_u64(fixture->n_new, 3, "a new image is reported once");
	end(fixture);
}

static void test_changes(struct fixture *fixture)
{
	uint64_t generation;

	begin(fixture, false);
	put_module(fixture, 0, "one");
	put_module(fixture, 1, "two");
	put_list(fixture, (unsigned[]){ 0, 1 }, 2);
	modules_poll(fixture->modules);
	generation = space_generation(fixture->space);
	memory_refresh(fixture->guest.guest.memory);
	modules_poll(fixture->modules);
	check(space_generation(fixture->space) == generation,
	      "unchanged modules are not read again");

	put_list(fixture, (unsigned[]){ 1 }, 1);
	modules_poll(fixture->modules);
	check(space_find(fixture->space, code(0)) == NULL, "an unloaded module's names are gone");
	check(is_named(fixture, code(1), "two_a", "[two]"), "the other module keeps its names");

	put_module(fixture, 0, "three");
	put_list(fixture, (unsigned[]){ 0, 1 }, 2);
	modules_poll(fixture->modules);
	check(is_named(fixture, code(0), "three_a", "[three]"),
	      "a module in the place of another one is read");

	put_module(fixture, 0, "four"); /* replaced between two polls */
	memory_refresh(fixture->guest.guest.memory);
	modules_poll(fixture->modules);
	check(is_named(fixture, code(0), "four_a", "[four]"),
	      "a replaced module has the new names");

	made_linux_u32(&fixture->guest, place(1) + OFF_STATE, 3); /* MODULE_STATE_UNFORMED */
	memory_refresh(fixture->guest.guest.memory);
	modules_poll(fixture->modules);
	check_u64(modules_counts(fixture->modules).n, 1,
		  "a module that is not set up yet is left out");
	end(fixture);
}

/* The walk must end each time, and leave the known modules as they are. */
static void test_hostile(struct fixture *fixture)
{
	begin(fixture, false);
	put_module(fixture, 0, "good");
	put_list(fixture, (unsigned[]){ 0 }, 1);
	modules_poll(fixture->modules);

	made_linux_u64(&fixture->guest, place(0) + OFF_LIST, place(0) + OFF_LIST);
	memory_refresh(fixture->guest.guest.memory);
	modules_poll(fixture->modules);
	check(is_named(fixture, code(0), "good_a", "[good]"),
	      "a list that never ends changes nothing");

	made_linux_u64(&fixture->guest, place(0) + OFF_LIST, 0x1000);
	memory_refresh(fixture->guest.guest.memory);
	modules_poll(fixture->modules);
	check(is_named(fixture, code(0), "good_a", "[good]"),
	      "a list with a pointer into user space changes nothing");

	made_linux_u64(&fixture->guest, place(0) + OFF_LIST, 0xffffffffdead0000);
	memory_refresh(fixture->guest.guest.memory);
	modules_poll(fixture->modules);
	check(is_named(fixture, code(0), "good_a", "[good]"),
	      "a list with a pointer to nothing changes nothing");

	put_module(fixture, 1, "count");
	made_linux_u32(&fixture->guest, place(1) + 0x1000 + OFF_COUNT, UINT32_MAX);
	put_module(fixture, 2, "size");
	made_linux_u32(&fixture->guest, place(2) + OFF_MEMORY + 8, UINT32_MAX);
	put_module(fixture, 3, "below");
	made_linux_u64(&fixture->guest, place(3) + OFF_MEMORY, 0x400000);
	put_module(fixture, 4, "top");
	made_linux_u64(&fixture->guest, place(4) + OFF_MEMORY, UINT64_MAX - 10);
	put_module(fixture, 5, "names");
	made_linux_u32(&fixture->guest, place(5) + 0x2000 + 24, UINT32_MAX);
	put_list(fixture, (unsigned[]){ 0, 1, 2, 3, 4, 5 }, 6);
	modules_poll(fixture->modules);
	check_u64(modules_counts(fixture->modules).n, 3, "impossible modules are left out");
	check(space_find(fixture->space, code(1)) != NULL &&
		      !is_named(fixture, code(1), "count_a", "[count]"),
	      "a module with 4 G symbols has no names");
	check(is_named(fixture, code(5) + 0x41, "names_b", "[names]") &&
		      !is_named(fixture, code(5), "names_a", "[names]"),
	      "a symbol with a name far outside is left out, the others stay");
	end(fixture);
}

/* Modules of a kernel are not seen without one of these members, or without BTF. */
static void test_missing_members(struct fixture *fixture)
{
	static const enum layout_member members[] = {
		MODULE_LIST,         MODULE_STATE,
		MODULE_NAME,         MODULE_KALLSYMS,
		MODULE_MEM_BASE,     MODULE_MEM_SIZE,
		MOD_KALLSYMS_SYMTAB, MOD_KALLSYMS_SYMTAB_COUNT,
		MOD_KALLSYMS_STRTAB,
	};

	for (size_t i = 0; i <= sizeof(members) / sizeof(members[0]); i++) {
		begin(fixture, false);
		put_module(fixture, 0, "one");
		put_list(fixture, (unsigned[]){ 0 }, 1);
		if (i < sizeof(members) / sizeof(members[0]))
			made_linux_set(&fixture->guest, members[i], -1);
		else
			layout_init(&fixture->guest.guest.layout);
		modules_poll(fixture->modules);
		check_u64(modules_counts(fixture->modules).n, 0,
			  "no modules are read if a member is missing");
		check(!space_find(fixture->space, code(0)),
		      "a table on a missing page gives no symbols");
		end(fixture);
	}
}

/* Sizes of unwind tables that the kernel's symbols tell: none is allocated that cannot be right. */
static void test_endless_kernel_table(struct fixture *fixture)
{
	const uint64_t table = 0xffffffff82b00000ULL;
	uint64_t *symbols;

	begin(fixture, false);
	symbols = fixture->guest.guest.symbols;
	symbols[LINUX_ORC_IP_START] = table;
	symbols[LINUX_ORC_START] = table + 0x1000;
	symbols[LINUX_ORC_IP_STOP] = table + 0x50000000;
	check(!orc_read_kernel(&fixture->guest.guest, NULL),
	      "a table of a gigabyte gives no symbols");
	symbols[LINUX_ORC_IP_START] = 0x1000;
	check(!orc_read_kernel(&fixture->guest.guest, NULL),
	      "a table as large as the address space gives no symbols");
	symbols[LINUX_ORC_IP_STOP] = 0;
	check(!orc_read_kernel(&fixture->guest.guest, NULL),
	      "a table that ends before it begins gives no symbols");
	end(fixture);
}

int main(void)
{
	static struct fixture fixture;

	test_missing_members(&fixture);
	test_list(&fixture, true);
	test_list(&fixture, false);
	test_watched(&fixture);
	test_unread(&fixture);
	test_data(&fixture, true);
	test_data(&fixture, false);
	test_build_ids(&fixture, true);
	test_build_ids(&fixture, false);
	test_build_ids(&fixture, true);
	test_build_ids(&fixture, false);
	test_changes(&fixture);
	test_hostile(&fixture);
	test_endless_kernel_table(&fixture);
	return tap_done();
}
