/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * BPF programs and ftrace's trampolines: they have the kernel's names, come and go; and lists that
 * a hostile guest might make.
 */
#include "config.h"

#include "linux/kernel/generated_code.h"
#include "tests/support/made_lists.h"
#include "tests/support/tap.h"

#define HEAD   0xffffffff82a00000ULL
#define FTRACE 0xffffffff82a00100ULL
#define HEAP   0xffff888001000000ULL /* entry number i is at HEAP + i * 64 */
#define CODE   0xffffffffc0000000ULL /* its code of 32 bytes at CODE + i * 64 */
#define MANY   4096

static struct made_linux guest;
static struct space *space;
static struct generated_code *code;

static void begin(void)
{
	made_linux_init(&guest);
	guest.guest.symbols[LINUX_BPF_KALLSYMS] = HEAD;
	guest.guest.symbols[LINUX_FTRACE_OPS] = FTRACE;
	made_linux_set(&guest, BPF_KSYM_LIST, 0);
	made_linux_set(&guest, BPF_KSYM_START, 16);
	made_linux_set(&guest, BPF_KSYM_END, 24);
	made_linux_set(&guest, BPF_KSYM_NAME, 32);
	made_linux_set(&guest, FTRACE_OPS_LIST, 0);
	made_linux_set(&guest, FTRACE_OPS_TRAMPOLINE, 16);
	made_linux_set(&guest, FTRACE_OPS_TRAMPOLINE_SIZE, 24);
	made_linux_u64(&guest, HEAD, HEAD);
	made_linux_u64(&guest, FTRACE, FTRACE);
	error_destroy(space_create(&space));
	error_destroy(generated_code_create(&guest.guest, space, &code));
}

static void end(void)
{
	generated_code_destroy(code);
	space_destroy(space);
	made_linux_deinit(&guest);
}

static uint64_t place(unsigned i)
{
	return HEAP + i * 64;
}

static uint64_t code_of(unsigned i)
{
	return CODE + i * 64;
}

/* Puts programs FIRST to LAST on the list, in that order. */
static void put_list(unsigned first, unsigned last)
{
	char name[24];

	made_linux_u64(&guest, HEAD, place(first));
	for (unsigned i = first; i <= last; i++) {
		made_linux_u64(&guest, place(i), i < last ? place(i + 1) : HEAD);
		made_linux_u64(&guest, place(i) + 16, code_of(i));
		made_linux_u64(&guest, place(i) + 24, code_of(i) + 32);
		snprintf(name, sizeof(name), "bpf_prog_%u", i);
		made_linux_string(&guest, place(i) + 32, name);
	}
	memory_refresh(guest.guest.memory);
	generated_code_poll(code);
}

static bool is_named(uint64_t address, const char *name, const char *image)
{
	const struct mapping *mapping;
	struct symtab_entry entry;

	return space_find_symbol(space, address, &entry, &mapping) &&
	       strcmp(entry.name, name) == 0 && strcmp(mapping->image->name, image) == 0;
}

static void test_lists(void)
{
	begin();
	put_list(0, 2);
	check(is_named(code_of(1) + 31, "bpf_prog_1", "[bpf]"),
	      "the last byte of a BPF program has its name");
	check(space_find(space, code_of(1) + 32) == NULL,
	      "the byte after a BPF program has no name");
	put_list(1, 3);
	check(space_find(space, code_of(0)) == NULL, "a BPF program that was removed has no name");
	check(is_named(code_of(3), "bpf_prog_3", "[bpf]"),
	      "a BPF program that was added has its name");

	made_linux_string(&guest, place(2) + 32, "bpf_prog_7");
	memory_refresh(guest.guest.memory);
	generated_code_poll(code);
	check(is_named(code_of(2), "bpf_prog_7", "[bpf]"),
	      "a BPF program in the place of a removed one has its name");
	made_linux_u64(&guest, place(2) + 16, code_of(7));
	made_linux_u64(&guest, place(2) + 24, code_of(7) + 32);
	memory_refresh(guest.guest.memory);
	generated_code_poll(code);
	check(is_named(code_of(7), "bpf_prog_7", "[bpf]") && !space_find(space, code_of(2)),
	      "a BPF program of the same name elsewhere has its name");
	made_linux_string(&guest, place(1) + 32, "bpf_prog_8_F");
	made_linux_u64(&guest, place(2) + 16, code_of(1));
	made_linux_u64(&guest, place(2) + 24, code_of(1) + 32);
	memory_refresh(guest.guest.memory);
	generated_code_poll(code);
	check(is_named(code_of(1), "bpf_prog_7", "[bpf]"),
	      "an address with two names has the whole program's name");
	put_list(1, 3);

	made_linux_u64(&guest, FTRACE, place(9));
	made_linux_u64(&guest, place(9), FTRACE);
	made_linux_u64(&guest, place(9) + 16, code_of(9));
	made_linux_u64(&guest, place(9) + 24, 48);
	memory_refresh(guest.guest.memory);
	generated_code_poll(code);
	check(is_named(code_of(9) + 47, "ftrace_trampoline", "[ftrace]"),
	      "an ftrace trampoline has its name");
	check(is_named(code_of(2), "bpf_prog_2", "[bpf]"),
	      "BPF programs keep their names when trampolines change");
	end();
}

/* This took minutes once: programs were removed one by one. */
static void test_many(void)
{
	begin();
	for (unsigned i = 0; i < 4; i++)
		put_list(i, MANY);
	check(is_named(code_of(MANY), "bpf_prog_4096", "[bpf]"),
	      "thousands of BPF programs, replaced four times, have their names");
	check(space_find(space, code_of(2)) == NULL,
	      "a BPF program that is off the list has no name");
	put_list(MANY, MANY);
	check(space_find(space, code_of(4)) == NULL,
	      "thousands of BPF programs are removed at once");
	end();
}

static void test_hostile(void)
{
	begin();
	put_list(0, 1);
	made_linux_u64(&guest, place(1), place(0)); /* a list without an end */
	memory_refresh(guest.guest.memory);
	generated_code_poll(code);
	check(is_named(code_of(0), "bpf_prog_0", "[bpf]"), "a list that never ends is cut");
	made_linux_u64(&guest, place(0) + 24, UINT64_MAX);
	made_linux_u64(&guest, place(1), 0x1000);
	memory_refresh(guest.guest.memory);
	generated_code_poll(code);
	check(space_find(space, code_of(0)) == NULL,
	      "a BPF program as large as memory is left out");
	check(is_named(code_of(1), "bpf_prog_1", "[bpf]"),
	      "the other BPF program of the list has its name");
	end();
}

int main(void)
{
	test_lists();
	test_many();
	test_hostile();
	return tap_done();
}
