/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Go's table of functions, made up in all four layouts: functions, depths, steps through made-up
 * stacks, and damage. test_go_program looks at what Go's own tools build.
 */
#include "config.h"

#include <stdlib.h>

#include "tests/support/make_go.h"
#include "tests/support/tap.h"
#include "unwind/cursor_arm64.h"
#include "unwind/go.h"

#define TEXT  0x401000ULL
#define BIAS  0x10000ULL
#define STACK 0xc000100000ULL

enum { WORK, MAIN, GOEXIT, ENTRY, CALLC, NANOTIME, SYSTEMSTACK, N_FUNCTIONS };

static const struct make_go_function functions[N_FUNCTIONS] = {
	[WORK] = { "main.(*worker).loop[...]", 0x40, 0, { { 0, 4 }, { 40, 0x38 }, { 0, 4 } } },
	[MAIN] = { "main.main", 0x100, 0, { { 0, 8 }, { 8, 1 }, { 600, 0xf7 } } },
	[GOEXIT] = { "runtime.goexit", 0x20, GO_TOP | GO_ASSEMBLY, { { 0, 0x20 } } },
	[ENTRY] = { "_rt0_amd64_linux", 0x20, GO_ASSEMBLY, { { 0, 0x20 } } },
	[CALLC] = { "crosscall2", 0x80, GO_ASSEMBLY, { { 0, 0x10 }, { 88, 0x60 }, { 0, 0x10 } } },
	[NANOTIME] = { "runtime.nanotime1", 0x60, GO_ASSEMBLY | GO_SP_WRITE,
		       { { 0, 8 }, { 24, 0x50 }, { 0, 8 } } },
	[SYSTEMSTACK] = { "runtime.systemstack", 0x60, GO_ASSEMBLY | GO_SP_WRITE, { { 0, 0x60 } } },
};

static const char *const layouts[] = { "1.2", "1.16", "1.18", "1.20" };

static uint8_t bytes[8192];

static uint64_t start_of(unsigned index)
{
	uint64_t start = TEXT;

	for (unsigned i = 0; i < index; i++)
		start += functions[i].size_bytes;
	return start;
}

static struct go_table made(enum make_go_layout layout, bool tell_text)
{
	memset(bytes, 0, sizeof(bytes));
	return (struct go_table){
		.bytes = bytes,
		.size_bytes = make_go(&(struct make_go_program){ layout, TEXT, tell_text, functions,
								 N_FUNCTIONS },
				      bytes, sizeof(bytes)),
		.entry = start_of(ENTRY),
	};
}

/* --- functions -------------------------------------------------------------------------------- */

static void test_functions(enum make_go_layout layout, bool tell_text)
{
	struct go_table table = made(layout, tell_text);

	if (!check(go_table_init(&table), "the table of Go %s is read", layouts[layout]))
		return;
	check_u64(table.n_functions, N_FUNCTIONS, "functions in the table");
	for (unsigned i = 0; i < N_FUNCTIONS; i++) {
		struct go_function function = { 0 };

		if (!check(go_table_read(&table, i, &function), "function %u of the table is read",
			   i))
			continue;
		check(function.name_bytes == strlen(functions[i].name) &&
			      memcmp(function.name, functions[i].name, function.name_bytes) == 0,
		      "the function has its name: %.*s", (int)function.name_bytes, function.name);
		check(function.start == start_of(i) && function.end == start_of(i + 1),
		      "%" PRIx64 " to %" PRIx64, function.start, function.end);
		check_u64(function.flags, layout < MAKE_GO_1_18 ? GO_UNMARKED : functions[i].flags,
			  "flags of a function");
	}
}

static void test_depths(enum make_go_layout layout)
{
	struct go_table table = made(layout, true);
	struct go_function function = { 0 };
	struct go_depths depths;
	unsigned i = 0;
	uint64_t at;

	if (!check(go_table_init(&table) && go_table_read(&table, WORK, &function), "Go %s",
		   layouts[layout]))
		return;
	at = function.start;
	for (go_depths_start(&depths, &table, &function); go_depths_next(&depths); i++) {
		const struct make_go_row *row = &functions[WORK].rows[i];

		check(depths.depth == row->depth && depths.row_start == at &&
			      depths.row_end == at + row->size_bytes,
		      "row %u has its depth and range: depth %d from %" PRIx64 " to %" PRIx64, i,
		      (int)depths.depth, depths.row_start, depths.row_end);
		at = depths.row_end;
	}
	check_u64(i, 3, "rows of a function");
}

/* --- steps ------------------------------------------------------------------------------------ */

static struct {
	struct sample_vcpu vcpu;
	struct sample_stack stack;
	uint64_t words[512];
} stopped;

static struct cursor cursor_at(uint64_t address, uint64_t sp)
{
	struct cursor cursor;

	stopped.vcpu = (struct sample_vcpu){ .size_bytes = sizeof(stopped),
					     .state = VCPU_RUNNING,
					     .user = 1,
					     .n_stacks = 1 };
	stopped.stack = (struct sample_stack){ .address = STACK,
					       .size_bytes = sizeof(stopped.words) };
	cursor_init(&cursor, &stopped.vcpu);
	cursor.regs[REG_RIP] = address + BIAS;
	cursor.regs[REG_RSP] = sp;
	cursor.regs[REG_RBP] = 0x1234;
	cursor.regs[REG_R12] = STACK + 1600;
	return cursor;
}

static void test_steps(struct go *go, const char *layout)
{
	struct cursor cursor = cursor_at(start_of(WORK) + 0x10, STACK);

	stopped.words[5] = start_of(MAIN) + 0x50 + BIAS; /* 40 above rsp */
	stopped.words[4] = STACK + 640;			 /* rbp of main.main */
	stopped.words[6 + 75] = start_of(GOEXIT) + 1 + BIAS;
	stopped.words[5 + 75] = 0;
	check(go_step(go, BIAS, &cursor) == STEP_CALLER &&
		      cursor.regs[REG_RIP] == start_of(MAIN) + 0x50 + BIAS &&
		      cursor.regs[REG_RSP] == STACK + 48 && cursor.regs[REG_RBP] == STACK + 640 &&
		      !cursor.interrupted,
	      "Go %s: a step leads from the loop to main.main", layout);
	check_u64(cursor.known, 1U << REG_RIP | 1U << REG_RSP | 1U << REG_RBP,
		  "no other register survives a call");
	check(go_step(go, BIAS, &cursor) == STEP_CALLER &&
		      cursor.regs[REG_RIP] == start_of(GOEXIT) + 1 + BIAS &&
		      cursor.regs[REG_RSP] == STACK + 48 + 608,
	      "a step leads to goexit");
	check(go_step(go, BIAS, &cursor) == STEP_OUTERMOST,
	      "a chain ends where the goroutine ends");
}

static void test_prologue(struct go *go)
{
	struct cursor cursor = cursor_at(start_of(WORK) + 3, STACK + 40);

	check(go_step(go, BIAS, &cursor) == STEP_CALLER &&
		      cursor.regs[REG_RIP] == start_of(MAIN) + 0x50 + BIAS &&
		      cursor.regs[REG_RBP] == 0x1234,
	      "before its frame exists, a function's caller is found");
}

static void test_assembly(struct go *go)
{
	struct cursor cursor = cursor_at(start_of(CALLC) + 0x20, STACK);

	stopped.words[11] = start_of(MAIN) + 0x50 + BIAS;
	check(go_step(go, BIAS, &cursor) == STEP_CALLER &&
		      cursor.regs[REG_RIP] == start_of(MAIN) + 0x50 + BIAS &&
		      !(cursor.known >> REG_RBP & 1),
	      "in assembly rbp is unknown in the caller");
	cursor = cursor_at(start_of(SYSTEMSTACK) + 0x20, STACK);
	check(go_step(go, BIAS, &cursor) == STEP_CUT, "systemstack() changes stacks");
	cursor = cursor_at(start_of(NANOTIME) + 0x40, STACK + 64);
	stopped.words[200 + 3] = start_of(MAIN) + 0x60 + BIAS;
	stopped.words[200 + 2] = STACK + 640;
	check(go_step(go, BIAS, &cursor) == STEP_CALLER &&
		      cursor.regs[REG_RIP] == start_of(MAIN) + 0x60 + BIAS &&
		      cursor.regs[REG_RSP] == STACK + 1600 + 32,
	      "nanotime1() on the thread's stack: r12 leads back");
}

static void test_compiled(enum make_go_layout layout)
{
	struct go_table table = made(layout, true);
	struct go *go = NULL;
	struct cursor cursor;

	if (!check(go_table_init(&table) && !go_compile(&table, &go) && go,
		   "the table of Go %s is compiled", layouts[layout]))
		return;
	test_steps(go, layouts[layout]);
	test_prologue(go);
	test_assembly(go);
	cursor = cursor_at(TEXT - 1, STACK);
	check(go_step(go, BIAS, &cursor) == STEP_NOT_COVERED,
	      "code before the first function is not covered");
	cursor = cursor_at(start_of(N_FUNCTIONS) + 1, STACK);
	check(go_step(go, BIAS, &cursor) == STEP_NOT_COVERED,
	      "code after the last function is not covered");
	go_destroy(go);
}

/* --- arm64 ------------------------------------------------------------------------------------ */

#define IN_X30 (STACK + 0x123400)

/* Rows count instructions of 4 bytes. */
static const struct make_go_function arm64_functions[] = {
	{ "main.(*worker).loop", 0x40, 0, { { 0, 1 }, { 48, 14 }, { 0, 1 } } },
	{ "main.main", 0x100, 0, { { 0, 2 }, { 4096, 0x3e } } },
	{ "runtime.goexit", 0x20, GO_TOP | GO_ASSEMBLY, { { 0, 8 } } },
	{ "_rt0_arm64_linux", 0x20, GO_ASSEMBLY, { { 0, 8 } } },
	{ "runtime.jmpdefer", 0x60, GO_ASSEMBLY | GO_SP_WRITE, { { 0, 0x18 } } },
	{ "main.wrong", 0x10, 0, { { 20, 4 } } },
};
#define N_ARM64_FUNCTIONS (sizeof(arm64_functions) / sizeof(arm64_functions[0]))

static uint64_t arm64_start(unsigned index)
{
	uint64_t start = TEXT;

	for (unsigned i = 0; i < index; i++)
		start += arm64_functions[i].size_bytes;
	return start;
}

static struct cursor arm64_cursor(uint64_t address, uint64_t sp)
{
	struct cursor cursor;

	stopped.vcpu = (struct sample_vcpu){ .size_bytes = sizeof(stopped),
					     .state = VCPU_RUNNING,
					     .user = 1,
					     .n_stacks = 1,
					     .regs = { .arch = ARCH_ARM64 } };
	cursor_init(&cursor, &stopped.vcpu);
	cursor.regs[REG_PC] = address + BIAS;
	cursor.regs[REG_SP] = sp;
	cursor.regs[REG_ARM64_LR] = IN_X30;
	return cursor;
}

/* MARKED: the table tells which functions set the stack pointer. */
static void test_arm64_steps(struct go *go, bool marked)
{
	struct cursor cursor = arm64_cursor(arm64_start(0) + 4, STACK);

	memset(stopped.words, 0, sizeof(stopped.words));
	stopped.words[0] = arm64_start(1) + 0x50 + BIAS;
	stopped.words[6] = arm64_start(2) + 4 + BIAS;
	check(go_step(go, BIAS, &cursor) == STEP_CALLER &&
		      cursor.regs[REG_PC] == arm64_start(1) + 0x50 + BIAS &&
		      cursor.regs[REG_SP] == STACK + 48,
	      "arm64: the return address lies at the stack pointer");
	check_u64(cursor.known, 1U << REG_PC | 1U << REG_SP, "no other register survives a call");
	check(go_step(go, BIAS, &cursor) == STEP_CALLER &&
		      cursor.regs[REG_PC] == arm64_start(2) + 4 + BIAS &&
		      cursor.regs[REG_SP] == STACK + 48 + 4096,
	      "arm64: the return address of a large frame is found");
	check(go_step(go, BIAS, &cursor) == STEP_OUTERMOST,
	      "a chain ends where the goroutine ends");
	cursor = arm64_cursor(arm64_start(0) + 0x3c, STACK);
	check(go_step(go, BIAS, &cursor) == STEP_CALLER && cursor.regs[REG_PC] == IN_X30 &&
		      cursor.regs[REG_SP] == STACK && cursor.known >> REG_ARM64_FP & 1,
	      "arm64: without a frame the return address is in x30");
	cursor = arm64_cursor(arm64_start(0) + 4, STACK);
	cursor.interrupted = false;
	cursor.known = 1U << REG_PC | 1U << REG_SP;
	check(go_step(go, BIAS, &cursor) == STEP_BAD,
	      "arm64: a caller without a frame has no known caller");
	cursor = arm64_cursor(arm64_start(4) + 8, STACK);
	check(!marked || go_step(go, BIAS, &cursor) == STEP_NOT_COVERED,
	      "who sets the stack pointer");
	cursor = arm64_cursor(arm64_start(5) + 8, STACK);
	check(go_step(go, BIAS, &cursor) == STEP_NOT_COVERED,
	      "arm64: a depth that is no multiple of a word is bad");
}

static void test_arm64(enum make_go_layout layout, bool tell_text)
{
	struct go_table table = { .bytes = bytes, .entry = arm64_start(3) };
	struct go *go = NULL;

	memset(bytes, 0, sizeof(bytes));
	table.size_bytes = make_go(&(struct make_go_program){ layout, TEXT, tell_text,
							      arm64_functions, N_ARM64_FUNCTIONS },
				   bytes, sizeof(bytes));
	bytes[6] = 4;
	if (!check(go_table_init(&table) && table.is_arm64 && !go_compile(&table, &go) && go,
		   "the table of Go %s on arm64 is compiled", layouts[layout]))
		return;
	test_arm64_steps(go, layout > MAKE_GO_1_16);
	go_destroy(go);
	bytes[6] = 2;
	check(!go_table_init(&table), "a table of another architecture");
}

/* --- damage ----------------------------------------------------------------------------------- */

/* A byte is changed, or the end is missing: nothing outside the table is read, and it compiles. */
static void use(struct go_table table)
{
	struct go *go = NULL;

	if (!go_table_init(&table))
		return;
	error_destroy(go_compile(&table, &go));
	for (uint64_t address = TEXT; go && address < start_of(N_FUNCTIONS); address += 3) {
		struct cursor cursor = cursor_at(address, STACK + 128);

		go_step(go, BIAS, &cursor);
	}
	go_destroy(go);
}

static void test_damage(enum make_go_layout layout)
{
	struct go_table table = made(layout, true);
	size_t size_bytes = table.size_bytes;

	for (size_t n = 0; n < size_bytes; n++) {
		uint8_t *copy = malloc(n + 1); /* the sanitizers watch its end */

		memcpy(copy, bytes, n);
		table.bytes = copy;
		table.size_bytes = n;
		use(table);
		free(copy);
	}
	for (size_t i = 0; i < size_bytes; i++)
		for (unsigned bit = 0; bit < 8; bit++) {
			table = made(layout, true);
			bytes[i] ^= 1U << bit;
			use(table);
		}
	check(true, "Go %s: %zu damaged tables do no harm", layouts[layout], 9 * size_bytes);
}

static void test_gap(void)
{
	struct go_table table = made(MAKE_GO_1_20, true);
	struct go_function function;
	struct bytes_gap gap;

	go_table_init(&table);
	go_table_read(&table, MAIN, &function);
	gap.start = (const uint8_t *)function.name - bytes;
	gap.end = gap.start + 1;
	table.gaps = &gap;
	table.n_gaps = 1;
	check(!go_table_read(&table, MAIN, &function),
	      "a function whose name is missing is not read");
	check(go_table_read(&table, WORK, &function), "functions whose name is there are read");
}

static void test_no_text(void)
{
	struct go_table table = made(MAKE_GO_1_20, false);

	table.entry += 0x1000;
	check(go_table_init(&table) && table.text == TEXT + 0x1000,
	      "the entry point tells where the code is");
	bytes[table.names] ^= 1;
	memset(bytes + table.names, 'x', table.depths - table.names - 8);
	check(go_table_init(&table) && go_table_lacks_text(&table),
	      "no entry point: the place of the code is unknown");
}

/* The only function sets the stack pointer, so its depths say nothing. */
static void test_no_rows(void)
{
	static const struct make_go_function rt = { "_rt0_amd64_lib", 0x20,
						    GO_ASSEMBLY | GO_SP_WRITE, { { 0, 0x20 } } };
	struct go_table table = { .bytes = bytes };
	struct xtop_error *error;
	struct go *go;

	memset(bytes, 0, sizeof(bytes));
	table.size_bytes = make_go(&(struct make_go_program){ MAKE_GO_1_20, TEXT, true, &rt, 1 },
				   bytes, sizeof(bytes));
	check(go_table_init(&table) && table.n_functions == 1, "a table of one function is read");
	error = go_compile(&table, &go);
	check(!error && !go, "a table without depths gives no rows and no error: %s",
	      error ? error_message(error) : "");
	error_destroy(error);
}

int main(void)
{
	for (unsigned layout = 0; layout < N_MAKE_GO; layout++) {
		test_functions((enum make_go_layout)layout, true);
		test_depths((enum make_go_layout)layout);
		test_compiled((enum make_go_layout)layout);
		test_arm64((enum make_go_layout)layout, true);
		test_damage((enum make_go_layout)layout);
	}
	test_arm64(MAKE_GO_1_20, false);
	test_functions(MAKE_GO_1_18, false);
	test_functions(MAKE_GO_1_20, false);
	test_no_text();
	test_no_rows();
	test_gap();
	return tap_done();
}
