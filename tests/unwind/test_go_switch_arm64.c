/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From one stack of a Go thread to the other on arm64, with made-up stacks: systemstack(), mcall(),
 * calls of C and of the vDSO, callbacks. Depths are those of Go 1.19's code.
 * tests/lab/arm64-go.test does that with a program that runs.
 */
#include "config.h"

#include <stdlib.h>

#include "tests/support/make_go.h"
#include "tests/support/tap.h"
#include "unwind/cursor.h"
#include "unwind/cursor_arm64.h"
#include "unwind/go.h"

#define TEXT      0x401000ULL
#define C_CODE    0x7f0000001000ULL
#define GOROUTINE 0x4000100000ULL /* the stacks */
#define G0        0x7ffe0000ULL
#define WORDS     256

enum function {
	WORK, MAIN, GOEXIT, RUNTIME, SYSTEMSTACK, MCALL, MORESTACK, ASMCGOCALL, CALLBACK, CALLBACKG,
	CROSSCALL, MARK, NANOTIME, PREEMPT, N_FUNCTIONS
};

static const struct make_go_function functions[N_FUNCTIONS] = {
	[WORK] = { "main.work", 0x40, 0, { { 0, 1 }, { 48, 15 } } },
	[MAIN] = { "main.main", 0x40, 0, { { 0, 1 }, { 32, 15 } } },
	[GOEXIT] = { "runtime.goexit", 0x40, GO_TOP | GO_ASSEMBLY, { { 0, 16 } } },
	[RUNTIME] = { "runtime.gcDrain", 0x40, 0, { { 0, 1 }, { 32, 15 } } },
	[SYSTEMSTACK] = { "runtime.systemstack", 0x60, GO_ASSEMBLY | GO_SP_WRITE,
			  { { 0, 1 }, { 16, 23 } } },
	[MCALL] = { "runtime.mcall", 0x40, GO_ASSEMBLY | GO_SP_WRITE, { { 0, 8 }, { 16, 8 } } },
	[MORESTACK] = { "runtime.morestack", 0x40, GO_ASSEMBLY | GO_SP_WRITE,
			{ { 0, 8 }, { 16, 8 } } },
	[ASMCGOCALL] = { "runtime.asmcgocall", 0x60, GO_ASSEMBLY | GO_SP_WRITE,
			 { { 0, 1 }, { 16, 23 } } },
	[CALLBACK] = { "runtime.cgocallback", 0x80, GO_ASSEMBLY | GO_SP_WRITE,
		       { { 0, 1 }, { 48, 31 } } },
	[CALLBACKG] = { "runtime.cgocallbackg", 0x40, 0, { { 0, 1 }, { 32, 15 } } },
	[CROSSCALL] = { "crosscall2", 0x40, GO_ASSEMBLY, { { 0, 1 }, { 192, 15 } } },
	[MARK] = { "runtime.systemstack_switch", 0x20, GO_ASSEMBLY, { { 0, 1 }, { 16, 7 } } },
	[NANOTIME] = { "runtime.nanotime1", 0x40, GO_ASSEMBLY | GO_SP_WRITE,
		       { { 0, 1 }, { 48, 15 } } },
	[PREEMPT] = { "runtime.asyncPreempt", 0x40, GO_ASSEMBLY, { { 0, 1 }, { 496, 15 } } },
};

static struct go *go;
static struct {
	struct sample sample;
	struct sample_vcpu vcpu;
	struct {
		struct sample_stack head;
		uint64_t words[WORDS];
	} pieces[2];
} stopped;

/* --- the program and a thread ----------------------------------------------------------------- */

static uint64_t start_of(enum function function)
{
	uint64_t start = TEXT;

	for (unsigned i = 0; i < (unsigned)function; i++)
		start += functions[i].size_bytes;
	return start;
}

/* An address in FUNCTION after a call, where the function has its frame. */
static uint64_t inside(enum function function)
{
	return start_of(function) + 0x30;
}

static const char *name_at(uint64_t address)
{
	if (address - C_CODE < 0x1000)
		return "C";
	for (unsigned i = 0; i < N_FUNCTIONS; i++)
		if (address - start_of((enum function)i) < functions[i].size_bytes)
			return functions[i].name;
	return "?";
}

static void compile(void)
{
	static uint8_t bytes[8192];
	struct go_table table = { .bytes = bytes };

	table.size_bytes = make_go(
		&(struct make_go_program){ MAKE_GO_1_20, TEXT, true, functions, N_FUNCTIONS },
		bytes, sizeof(bytes));
	bytes[6] = 4; /* instructions of 4 bytes: arm64 */
	if (!check(go_table_init(&table) && table.is_arm64 && !go_compile(&table, &go) && go,
		   "Go's table is compiled"))
		exit(1);
}

static void keep(unsigned n)
{
	stopped.vcpu.n_stacks = (uint8_t)n;
	stopped.vcpu.size_bytes = (uint32_t)(sizeof(stopped.vcpu) + n * sizeof(*stopped.pieces));
	stopped.sample.size_bytes = (uint32_t)sizeof(stopped.sample) + stopped.vcpu.size_bytes;
}

static void add(enum sample_stack_kind kind, uint64_t stack)
{
	unsigned n = stopped.vcpu.n_stacks;

	memset(&stopped.pieces[n], 0, sizeof(stopped.pieces[n]));
	stopped.pieces[n].head = (struct sample_stack){
		.address = stack, .size_bytes = sizeof(stopped.pieces[n].words), .kind = kind
	};
	keep(n + 1);
}

static void begin(uint64_t pc, uint64_t sp)
{
	stopped.sample = (struct sample){ .n_vcpus = 1, .weight = SAMPLE_WEIGHT_TICK };
	stopped.vcpu = (struct sample_vcpu){ .state = VCPU_RUNNING,
					     .user = 1,
					     .stack_cut = CUT_LIMIT,
					     .regs = { .arch = ARCH_ARM64 } };
	stopped.vcpu.regs.arm64.pc = pc;
	stopped.vcpu.regs.arm64.sp_el0 = sp;
	add(STACK_FIRST, sp);
}

static void put(uint64_t address, uint64_t word)
{
	for (unsigned i = 0; i < stopped.vcpu.n_stacks; i++) {
		uint64_t offset = address - stopped.pieces[i].head.address;

		if (offset < sizeof(stopped.pieces[i].words)) {
			stopped.pieces[i].words[offset / 8] = word;
			return;
		}
	}
	exit(1);
}

/* A step out of C as if its frame were the two words at the stack pointer: x29, x30. */
static enum unwind_step step(struct cursor *cursor)
{
	uint64_t words[2];

	if (cursor_pc(cursor) - C_CODE >= 0x1000)
		return go_step(go, 0, cursor);
	if (!cursor_read(cursor, cursor->regs[REG_SP], words, 2))
		return STEP_CUT;
	cursor->regs[REG_PC] = words[1];
	cursor->regs[REG_SP] += sizeof(words);
	cursor->interrupted = false;
	return STEP_CALLER;
}

static void check_stopped(const char *wanted, enum unwind_step wanted_end, const char *what)
{
	struct cursor cursor;
	enum unwind_step end;
	char got[1024] = "";
	unsigned n = 0;

	check(sample_check(&stopped, stopped.sample.size_bytes), "%s: the sample is valid", what);
	cursor_init(&cursor, &stopped.vcpu);
	do {
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s", n ? ";" : "",
			 name_at(cursor_pc(&cursor)));
		end = step(&cursor);
	} while (end == STEP_CALLER && ++n < 30);
	check(strcmp(got, wanted) == 0 && end == wanted_end,
	      "%s: the chain is %s, and ends by step %d", what, got, end);
}

/* main.main, called by goexit: the frame of what main.main has called is at SP, and has DEPTH. */
static void put_main(uint64_t sp, uint64_t depth)
{
	put(sp, inside(MAIN));
	put(sp + depth, inside(GOEXIT));
}

/* --- the tests -------------------------------------------------------------------------------- */

static void test_systemstack(void)
{
	begin(inside(RUNTIME), G0);
	put(G0, inside(SYSTEMSTACK));
	put(G0 + 32, 0x1234); /* g0's own: not to be followed */
	add(STACK_GOROUTINE, GOROUTINE - 8);
	put_main(GOROUTINE, 16);
	check_stopped("runtime.gcDrain;runtime.systemstack;main.main;runtime.goexit",
		      STEP_OUTERMOST, "through systemstack()");
	keep(1);
	check_stopped("runtime.gcDrain;runtime.systemstack", STEP_CUT,
		      "the goroutine's stack was not copied");
	begin(inside(SYSTEMSTACK), GOROUTINE);
	stopped.vcpu.regs.arm64.x[29] = GOROUTINE - 8;
	put_main(GOROUTINE, 16);
	check_stopped("runtime.systemstack;main.main;runtime.goexit", STEP_OUTERMOST,
		      "systemstack() has not changed stacks yet");
}

static void test_mcall(void)
{
	begin(inside(RUNTIME), G0);
	put(G0, inside(MCALL));
	add(STACK_GOROUTINE, GOROUTINE - 8);
	put(GOROUTINE - 8, inside(WORK));
	put_main(GOROUTINE, 48);
	put(GOROUTINE, inside(MAIN));
	put(GOROUTINE + 48, inside(GOEXIT));
	check_stopped("runtime.gcDrain;runtime.mcall;main.work;main.main;runtime.goexit",
		      STEP_OUTERMOST, "through mcall()");
	put(GOROUTINE - 8, inside(MARK));
	check_stopped("runtime.gcDrain;runtime.mcall", STEP_OUTERMOST,
		      "a goroutine that another thread runs");
	keep(1);
	check_stopped("runtime.gcDrain;runtime.mcall", STEP_OUTERMOST, "mcall(): no goroutine");
	begin(inside(RUNTIME), G0);
	put(G0, inside(MORESTACK));
	check_stopped("runtime.gcDrain;runtime.morestack", STEP_OUTERMOST, "through morestack()");
}

/* C on g0's stack, with asmcgocall()'s two words after its frame. */
static void begin_c(uint64_t kept_g, uint64_t kept_sp)
{
	begin(C_CODE + 0x10, G0);
	put(G0 + 8, inside(ASMCGOCALL));
	put(G0 + 16, kept_g);
	put(G0 + 24, kept_sp);
}

static void test_c(void)
{
	begin_c(0x4000000800, 0x2000);
	add(STACK_GOROUTINE, GOROUTINE - 8);
	put_main(GOROUTINE, 16);
	check_stopped("C;runtime.asmcgocall;main.main;runtime.goexit", STEP_OUTERMOST,
		      "Go calls C");
	begin_c(0, G0 + 32);
	put(G0 + 32, inside(RUNTIME));
	put(G0 + 48, inside(SYSTEMSTACK));
	add(STACK_GOROUTINE, GOROUTINE - 8);
	put_main(GOROUTINE, 16);
	check_stopped("C;runtime.asmcgocall;runtime.gcDrain;runtime.systemstack;main.main;"
		      "runtime.goexit",
		      STEP_OUTERMOST, "the runtime calls C");
}

/*
 * main.main called C, which called main.work, whose frame is at SP. C_SP: the callback's stack
 * pointer on g0's stack.
 */
static void put_callback(uint64_t sp, uint64_t c_sp)
{
	put(sp, inside(CALLBACKG));
	put(sp + 48, inside(CALLBACK));
	put(sp + 80, start_of(MARK) + 8);
	put_main(sp + 128, 16); /* asmcgocall()'s frame */
	put(c_sp, inside(CROSSCALL));
	put(c_sp + 48 + 176, 0x5555); /* x29, x30 */
	put(c_sp + 48 + 184, C_CODE + 0x20);
	put(c_sp + 240 + 8, inside(ASMCGOCALL));
}

static void test_callback(void)
{
	begin(inside(WORK), GOROUTINE);
	add(STACK_G0, G0 - 8);
	put_callback(GOROUTINE, G0);
	check_stopped("main.work;runtime.cgocallbackg;runtime.cgocallback;crosscall2;C;"
		      "runtime.asmcgocall;main.main;runtime.goexit",
		      STEP_OUTERMOST, "C calls Go");
	put(G0, 0);
	check_stopped("main.work;runtime.cgocallbackg;runtime.cgocallback;main.main;"
		      "runtime.goexit",
		      STEP_OUTERMOST, "C's frames are not found");
	begin_c(0x4000000800, 0x2000);
	add(STACK_GOROUTINE, GOROUTINE - 8);
	put(GOROUTINE, inside(WORK));
	put_callback(GOROUTINE + 16, G0 + 32);
	check_stopped("C;runtime.asmcgocall;main.work;runtime.cgocallbackg;runtime.cgocallback;"
		      "crosscall2;C;runtime.asmcgocall;main.main;runtime.goexit",
		      STEP_OUTERMOST, "C calls Go, which calls C");
}

/* crosscall2() saves what C keeps. */
static void test_crosscall(void)
{
	struct cursor cursor;

	begin(inside(CROSSCALL), G0);
	for (unsigned i = 0; i < 10; i++)
		put(G0 + 32 + 8 * i, 0xa13 + i);
	put(G0 + 176, 0xa1d);
	put(G0 + 184, C_CODE + 0x20);
	cursor_init(&cursor, &stopped.vcpu);
	check(go_step(go, 0, &cursor) == STEP_CALLER && cursor.regs[REG_SP] == G0 + 192 &&
		      cursor.regs[REG_PC] == C_CODE + 0x20,
	      "crosscall2() returns to C");
	for (unsigned i = 19; i <= 29; i++)
		check(cursor.regs[cursor_arm64_registers[i]] == 0xa00 + i &&
			      cursor.known >> cursor_arm64_registers[i] & 1,
		      "after crosscall2(), x%u has C's value", i);
}

static void test_vdso(void)
{
	begin(inside(NANOTIME), G0);
	stopped.vcpu.regs.arm64.x[29] = GOROUTINE - 8;
	add(STACK_GO_OUTER, GOROUTINE - 72);
	put_main(GOROUTINE, 48);
	check_stopped("runtime.nanotime1;main.main;runtime.goexit", STEP_OUTERMOST,
		      "nanotime1() on g0's stack");
	begin(inside(NANOTIME), GOROUTINE);
	stopped.vcpu.regs.arm64.x[29] = GOROUTINE - 8;
	put_main(GOROUTINE, 48);
	check_stopped("runtime.nanotime1;main.main;runtime.goexit", STEP_OUTERMOST,
		      "nanotime1() has not changed stacks yet");
}

/* The first instructions of systemstack() of Go 1.19, and what breaks them. */
static void test_decode(void)
{
	static const uint32_t code[] = {
		0xf81f0ffe, 0xf81f83fd, 0xd10023fd, 0xf9400fe3, 0xaa0303fa, 0xf9401b84, 0xf9402885,
		0xeb1c00bf, 0x540003c0, 0xf9400085, 0xeb1c00bf, 0x54000360, 0xf9406086,
	};
	struct go_stacks stacks = { 0 };
	uint32_t wrong[sizeof(code) / sizeof(*code)];

	check(go_stacks_arm64_decode((const uint8_t *)code, sizeof(code), &stacks) &&
		      stacks.g == GO_G_IN_REGISTER && stacks.gsignal == 80 && stacks.curg == 192,
	      "g %d, gsignal %u, curg %u", stacks.g, stacks.gsignal, stacks.curg);
	for (size_t n = 0; n < sizeof(code); n++)
		if (go_stacks_arm64_decode((const uint8_t *)code, n, &stacks))
			check(false, "%zu bytes are not enough", n);
	memcpy(wrong, code, sizeof(code));
	wrong[9] = 0xf9400485; /* g0 at 8 */
	check(!go_stacks_arm64_decode((const uint8_t *)wrong, sizeof(wrong), &stacks),
	      "code with another place of g0 is refused");
}

/* A signal has made main.work call it, 16 bytes below its stack pointer. */
static void test_injected(void)
{
	static const char wanted[] = "runtime.asyncPreempt;main.work;main.main;runtime.goexit";

	begin(start_of(PREEMPT), GOROUTINE);
	stopped.vcpu.regs.arm64.x[30] = inside(WORK);
	put_main(GOROUTINE + 16, 48);
	check_stopped(wanted, STEP_OUTERMOST, "a call that a signal has made");
	begin(inside(PREEMPT), GOROUTINE);
	put(GOROUTINE, inside(WORK));
	put_main(GOROUTINE + 512, 48);
	check_stopped(wanted, STEP_OUTERMOST, "a call that a signal has made, with a frame");
}

int main(void)
{
	compile();
	test_systemstack();
	test_mcall();
	test_c();
	test_callback();
	test_crosscall();
	test_vdso();
	test_injected();
	test_decode();
	go_destroy(go);
	return tap_done();
}
