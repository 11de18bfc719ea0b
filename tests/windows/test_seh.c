/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unwinding by the unwind tables of Windows: made by hand, and broken. */
#include "config.h"

#include "seh_cursor.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "unwind/seh.h"

#define STACK 0xfffff80000100000ULL
#define BIAS  0xfffff80000400000ULL

/*
 * N_FUNCTIONS functions: [0x100, 0x200) has this UNWIND_INFO, at 0x1000, and [0x300, 0x400) the next
 * one, at 0x1020. One function may have both. CODE: NULL, or the code of all.
 */
static struct seh *make_functions(size_t n_functions, const void *info, size_t n, const void *next,
				  size_t n_next, struct code_bytes *code)
{
	struct seh_tables tables = { .n = n_functions, .infos_start = 0x1000, .infos_bytes = 0x40 };
	struct seh *made;

	if (code)
		tables.source = (struct code_source){ .read = read_code, .context = code };
	tables.functions = calloc(2, sizeof(*tables.functions));
	tables.infos = calloc(1, tables.infos_bytes);
	tables.functions[0] = (struct seh_function){ 0x100, 0x200, 0x1000 };
	tables.functions[1] = (struct seh_function){ 0x300, 0x400, 0x1020 };
	memcpy(tables.infos, info, n);
	memcpy(tables.infos + 0x20, next, n_next);
	must(seh_create(&tables, &made));
	return made;
}

static struct seh *make(const void *info, size_t n, const void *next, size_t n_next)
{
	return make_functions(1, info, n, next, n_next, NULL);
}

/* From the middle of that function; word i of the stack is 0x1000 + i. */
static enum unwind_step step_in(struct seh *made, uint64_t distance, bool interrupted,
				struct cursor *cursor)
{
	const struct registers regs = { .rip = BIAS + 0x100 + distance, .rsp = STACK,
					.rbp = STACK + 0x40, .rbx = 7 };
	uint64_t words[32];
	enum unwind_step step;

	for (unsigned i = 0; i < 32; i++)
		words[i] = 0x1000 + i;
	begin(cursor, &regs, words, sizeof(words));
	cursor->interrupted = interrupted;
	step = seh_step(made, BIAS, cursor);
	seh_destroy(made);
	return step;
}

static void test_by_hand(void)
{
	static const uint8_t machine[] = { 1, 0, 1, 0, 0, 0x1a }; /* and an error code */
	static const uint8_t chained[] = { 0x21, 4, 1, 0, 4, 0x02, 0, 0,
					   0, 1, 0, 0, 0, 2, 0, 0, 0x20, 0x10, 0, 0 };
	static const uint8_t parent[] = { 1, 4, 2, 0, 4, 0x12, 2, 0x30 };
	static const uint8_t epilog[] = { 2, 4, 2, 0, 9, 0x16, 4, 0x30 };
	static const uint8_t frame[] = { 1, 4, 2, 0x25, 4, 0x03, 2, 0x50 };
	struct cursor cursor;

	check(step_in(make(machine, sizeof(machine), "", 0), 16, true, &cursor) == STEP_CALLER &&
		      cursor.regs[REG_RIP] == 0x1001 && cursor.regs[REG_RSP] == 0x1004 &&
		      cursor.interrupted,
	      "an interrupted instruction is unwound by what the processor has saved");
	check(step_in(make(chained, sizeof(chained), parent, sizeof(parent)), 16, true, &cursor) ==
			      STEP_CALLER &&
		      cursor.regs[REG_RIP] == 0x1004 && cursor.regs[REG_RBX] == 0x1003,
	      "a function that continues another one is unwound");
	check(step_in(make(epilog, sizeof(epilog), "", 0), 16, true, &cursor) == STEP_CALLER &&
		      cursor.regs[REG_RIP] == 0x1001 && cursor.regs[REG_RBX] == 0x1000,
	      "version 2, which describes epilogs, is unwound");
	check(step_in(make(frame, sizeof(frame), "", 0), 16, true, &cursor) == STEP_CALLER &&
		      cursor.regs[REG_RBP] == 0x1004 && cursor.regs[REG_RIP] == 0x1005,
	      "a frame register 32 bytes above the stack pointer is unwound");
	check(step_in(make(frame, sizeof(frame), "", 0), 2, true, &cursor) == STEP_CALLER &&
		      cursor.regs[REG_RBP] == 0x1000 && cursor.regs[REG_RIP] == 0x1001,
	      "a function is unwound before its frame register is set");
}

/*
 * Stands at CODE, in the body of a function that has pushed rbx and made room for four words: its
 * return address is word 5, or word 0 at the end of an epilog. It has a second part at 0x300.
 */
static uint64_t step_at(const void *code, size_t n)
{
	static const uint8_t info[] = { 1, 5, 2, 0, 5, 0x32, 1, 0x30 };
	static const uint8_t part[] = { 0x21, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0x10, 0, 0 };
	uint8_t page[0x1000];
	struct code_bytes bytes = { page, sizeof(page) };
	struct cursor cursor;
	struct seh *made = make_functions(2, info, sizeof(info), part, sizeof(part), &bytes);

	memset(page, 0x90, sizeof(page));
	memcpy(page + 0x140, code, n);
	return step_in(made, 0x40, true, &cursor) == STEP_CALLER ? cursor.regs[REG_RIP] : 0;
}

static void test_jumps(void)
{
	check_u64(step_at("\x90", 1), 0x1005, "the body of a function is unwound");
	check_u64(step_at("\xeb\xf0", 2), 0x1005, "a short jump within the function ends nothing");
	check_u64(step_at("\xe9\xe0\xff\xff\xff", 5), 0x1005,
		  "a near jump within the function ends nothing");
	check_u64(step_at("\xe9\xdb\x01\x00\x00", 5), 0x1005,
		  "a jump to the function's second part ends nothing");
	check_u64(step_at("\xeb\x80", 2), 0x1000, "a short jump out of the function ends it");
	check_u64(step_at("\xe9\x00\x04\x00\x00", 5), 0x1000,
		  "a near jump out of the function ends it");
	check_u64(step_at("\xc3", 1), 0x1000, "a ret ends the function");
}

static void test_broken(void)
{
	static const uint8_t version[] = { 3, 0, 0, 0 };
	static const uint8_t operation[] = { 1, 4, 1, 0, 4, 0x0b };
	static const uint8_t cut[] = { 1, 4, 1, 0, 4, 0x11 };
	static const uint8_t many[] = { 1, 4, 200, 0 };
	static const uint8_t far[] = { 1, 4, 3, 0, 4, 0x11, 0, 0, 0, 0x10 };
	static const uint8_t itself[] = { 0x21, 4, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0x10, 0, 0 };
	struct cursor cursor;

	check(step_in(make(version, 4, "", 0), 16, true, &cursor) == STEP_NOT_COVERED,
	      "another version is refused");
	check(step_in(make(operation, 6, "", 0), 16, true, &cursor) == STEP_BAD,
	      "an unknown operation is refused");
	check(step_in(make(cut, 6, "", 0), 16, true, &cursor) == STEP_BAD,
	      "an operation without its operand is refused");
	check(step_in(make(many, 4, "", 0), 16, true, &cursor) == STEP_NOT_COVERED,
	      "more codes than bytes are refused");
	check(step_in(make(far, 10, "", 0), 16, true, &cursor) == STEP_CUT &&
		      cursor.regs[REG_RBX] == 7,
	      "a stack that is too short stops, and the cursor stays as it was");
	check(step_in(make(itself, 16, "", 0), 16, true, &cursor) == STEP_BAD,
	      "a function that continues itself is refused");
	check(step_in(make(version, 4, "", 0), 0x1000, false, &cursor) == STEP_NOT_COVERED,
	      "a caller without an entry ends the chain");
	check(step_in(make(version, 4, "", 0), 0x1000, true, &cursor) == STEP_CALLER &&
		      cursor.regs[REG_RIP] == 0x1000 && cursor.regs[REG_RSP] == STACK + 8,
	      "a leaf function has its return address on top");
}

int main(void)
{
	test_by_hand();
	test_jumps();
	test_broken();
	return tap_done();
}
