/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From one stack of a Go thread to the other, with made-up stacks (made_go_thread.h):
 * systemstack(), mcall(), calls of C and of the vDSO, callbacks, signals. test_go_threads does that
 * with a program that runs.
 */
#include "config.h"

#include <stdlib.h>

#include "tests/support/made_go_thread.h"
#include "tests/support/tap.h"

static struct go *go;
static struct made_go_thread stopped;

static void compile(int32_t depth)
{
	go_destroy(go);
	go = made_go_compile(MAKE_GO_1_20, depth);
	if (!check(go, "Go's table with frames of %d bytes is compiled", depth))
		exit(1);
}

/* --- a walk ----------------------------------------------------------------------------------- */

static const char *name_of(const struct cursor *cursor)
{
	enum made_go_function function = made_go_find(cursor_pc(cursor));

	if (function < N_MADE_GO_FUNCTIONS)
		return made_go_name(function);
	return cursor_pc(cursor) - MADE_GO_C < MADE_GO_C_BYTES ? "C" : "?";
}

/* Checks the names, innermost first, with ";" between them, and how the walk ended. */
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
			 name_of(&cursor));
		end = made_go_step(go, &cursor);
	} while (end == STEP_CALLER && ++n < 30);
	check(strcmp(got, wanted) == 0 && end == wanted_end,
	      "%s: the chain is %s, and ends by step %d", what, got, end);
}

/* Checks that CHAIN leads to its outermost function. */
static void check_chain(enum made_go_chain chain, unsigned depth, const char *wanted,
			const char *what)
{
	compile((int32_t)depth);
	made_go_chain(&stopped, chain, depth);
	check_stopped(wanted, STEP_OUTERMOST, what);
}

/* --- the tests -------------------------------------------------------------------------------- */

static void test_systemstack(unsigned depth)
{
	check_chain(CHAIN_SYSTEMSTACK, depth,
		    "runtime.gcDrain;runtime.systemstack;main.main;runtime.goexit",
		    "through systemstack()");
	made_go_keep(&stopped, 1);
	check_stopped("runtime.gcDrain;runtime.systemstack", STEP_CUT,
		      "the goroutine's stack was not copied");
}

/* systemstack() runs, and has not changed stacks: rbp is still the caller's. */
static void test_not_yet(void)
{
	check_chain(CHAIN_NOT_YET, 0, "runtime.systemstack;main.main;runtime.goexit",
		    "systemstack() called on g0's stack");
	made_go_keep(&stopped, 1);
	check_stopped("runtime.systemstack;main.main;runtime.goexit", STEP_OUTERMOST,
		      "systemstack() on the goroutine's stack");
}

static void test_mcall(void)
{
	uint64_t slot = MADE_GO_GOROUTINE - 8;

	check_chain(CHAIN_MCALL, 0, "runtime.gcDrain;runtime.mcall;main.main;runtime.goexit",
		    "through mcall()");
	made_go_put(&stopped, slot, made_go_inside(MADE_GO_SYSTEMSTACK));
	check_stopped("runtime.gcDrain;runtime.mcall", STEP_OUTERMOST,
		      "a goroutine that another thread runs");
	made_go_put(&stopped, slot, 0);
	check_stopped("runtime.gcDrain;runtime.mcall", STEP_OUTERMOST, "a goroutine that ran on");
	made_go_keep(&stopped, 1);
	check_stopped("runtime.gcDrain;runtime.mcall", STEP_OUTERMOST, "mcall(): no goroutine");
}

static void test_c(void)
{
	static const char wanted[] = "C;runtime.asmcgocall;main.main;runtime.goexit";
	static const char on_g0[] = "C;runtime.asmcgocall;runtime.gcDrain;runtime.systemstack;"
				    "main.main;runtime.goexit";

	check_chain(CHAIN_C, 0, wanted, "Go calls C");
	check_chain(CHAIN_C, 8, wanted, "Go calls C");
	check_chain(CHAIN_C_ON_G0, 0, on_g0, "the runtime calls C");
	check_chain(CHAIN_C_ON_G0_1_21, 8, on_g0, "the runtime calls C");
}

#define CALLED_BACK                                                                                \
	"main.work;runtime.cgocallbackg;runtime.cgocallback;crosscall2;C;runtime.asmcgocall;"      \
	"main.main;runtime.goexit"

static void test_callback(void)
{
	check_chain(CHAIN_CALLBACK, 0, CALLED_BACK, "C calls Go");
	check_chain(CHAIN_CALLBACK_ALONE, 0,
		    "main.work;runtime.cgocallbackg;runtime.cgocallback;main.main;runtime.goexit",
		    "g0's stack was not copied");
}

static void test_twice(void)
{
	check_chain(CHAIN_TWICE, 0, "C;runtime.asmcgocall;" CALLED_BACK,
		    "C calls Go, which calls C");
	made_go_put(&stopped, MADE_GO_G0 + 8 + 72 + 32, 0);
	check_stopped("C;runtime.asmcgocall;main.work;runtime.cgocallbackg;runtime.cgocallback;"
		      "main.main;runtime.goexit",
		      STEP_OUTERMOST, "the frames of C are not found: as Go sees it");
}

/* crosscall2() saves what C keeps: a C function that finds its frame by rbp goes on. */
static void test_crosscall(void)
{
	struct cursor cursor;

	compile(0);
	made_go_chain(&stopped, CHAIN_CROSSCALL, 0);
	cursor_init(&cursor, &stopped.vcpu);
	check(made_go_step(go, &cursor) == STEP_CALLER && cursor.regs[REG_RBP] == 0xb1 &&
		      cursor.regs[REG_RBX] == 0xb2 && cursor.regs[REG_R15] == 0xb3 &&
		      cursor.known >> REG_RBP & 1 && cursor.known >> REG_R15 & 1,
	      "crosscall2() restores C's registers");
}

/* A signal arrived while main.work ran, and while C ran that Go had called. */
static void test_signal(void)
{
	check_chain(CHAIN_SIGNAL, 0,
		    "runtime.sigtrampgo;runtime.sigtramp;runtime.sigreturn;main.work;"
		    "runtime.goexit",
		    "a signal");
	made_go_keep(&stopped, 1);
	check_stopped("runtime.sigtrampgo;runtime.sigtramp;runtime.sigreturn;main.work", STEP_CUT,
		      "a signal: what it interrupted was not copied");
	check_chain(CHAIN_SIGNAL_IN_C, 0,
		    "runtime.sigtrampgo;runtime.sigtramp;runtime.sigreturn;C;runtime.asmcgocall;"
		    "main.main;runtime.goexit",
		    "a signal while C ran");
}

/* Where main.main has no frame yet, it has called morestack(), which steps as mcall() does. */
static void test_no_frame(void)
{
	compile(0);
	made_go_begin(&stopped, made_go_start(MADE_GO_MCALL) + 8, MADE_GO_GOROUTINE);
	made_go_put(&stopped, MADE_GO_GOROUTINE, made_go_start(MADE_GO_MAIN) + 2);
	made_go_put(&stopped, MADE_GO_GOROUTINE + 8, made_go_inside(MADE_GO_GOEXIT));
	check_stopped("runtime.mcall;main.main;runtime.goexit", STEP_OUTERMOST,
		      "called by a function that has no frame yet");
}

/* r12 leads to a frame of an earlier call. */
static void test_vdso_not_yet(void)
{
	compile(0);
	made_go_begin(&stopped, made_go_inside(MADE_GO_NANOTIME), MADE_GO_GOROUTINE);
	made_go_put(&stopped, MADE_GO_GOROUTINE + 24, made_go_inside(MADE_GO_MAIN));
	made_go_put(&stopped, MADE_GO_GOROUTINE + 32 + 24, made_go_inside(MADE_GO_GOEXIT));
	made_go_put(&stopped, MADE_GO_GOROUTINE + 0x40 + 24, made_go_inside(MADE_GO_WORK));
	stopped.vcpu.regs.rbp = MADE_GO_GOROUTINE + 16;
	stopped.vcpu.regs.r12 = MADE_GO_GOROUTINE + 0x40;
	check_stopped("runtime.nanotime1;main.main;runtime.goexit", STEP_OUTERMOST,
		      "nanotime1() on the stack that it was called on");
}

static void test_vdso(void)
{
	static const char wanted[] = "C;runtime.nanotime1;main.main;runtime.goexit";

	check_chain(CHAIN_VDSO, 0, wanted, "Go calls the vDSO");
	check_chain(CHAIN_VDSO_1_16, 0, wanted, "Go up to 1.16 calls the vDSO");
}

/* --- where the stacks are --------------------------------------------------------------------- */

#define CODE_FIXED                                                                                \
	"\x48\x8b\x7c\x24\x08\x64\x48\x8b\x04\x25\xf8\xff\xff\xff\x48\x8b\x58\x30\x48\x3b\x43"    \
	"\x50\x74\x5b\x48\x8b\x13\x48\x39\xd0\x74\x53\x48\x3b\x83\xc0\x00\x00\x00\x75\x52\xe8"    \
	"\xd2\xf1\xff\xff\x64\x48\x89\x14\x25\xf8\xff\xff\xff\x49\x89\xd6\x48\x8b\x5a\x38"
#define CODE_PIE                                                                                  \
	"\x55\x48\x89\xe5\x48\xc7\xc1\xf0\xff\xff\xff\x64\x48\x8b\x01\x48\x8b\x58\x30\x48\x3b"    \
	"\x43\x48\x74\x53\x48\x8b\x13\x48\x39\xd0\x74\x4b\x48\x3b\x83\xb8\x00\x00\x00\x75\x4a"    \
	"\xe8\xd0\xf1\xff\xff\x64\x48\x89\x11\x49\x89\xd6\x48\x8b\x62\x38"

static void test_decode(void)
{
	struct go_stacks stacks = { 0 };
	unsigned n = 0;

	check(go_stacks_decode((const uint8_t *)CODE_FIXED, sizeof(CODE_FIXED) - 1, &stacks) &&
		      stacks.g == -8 && stacks.gsignal == 0x50 && stacks.curg == 0xc0,
	      "Go 1.19 at a fixed address");
	check(go_stacks_decode((const uint8_t *)CODE_PIE, sizeof(CODE_PIE) - 1, &stacks) &&
		      stacks.g == -16 && stacks.gsignal == 0x48 && stacks.curg == 0xb8,
	      "Go 1.27, position-independent");
	for (size_t i = 0; i < sizeof(CODE_FIXED) - 1; i++) {
		uint8_t *copy = malloc(i + 1); /* the sanitizers watch its end */

		memcpy(copy, CODE_FIXED, i);
		n += go_stacks_decode(copy, i, &stacks);
		free(copy);
	}
	check_u64(n, 0, "stacks that are found in a part of systemstack()");
}

int main(void)
{
	test_systemstack(0);
	test_systemstack(8);
	test_not_yet();
	test_mcall();
	test_c();
	test_callback();
	test_twice();
	test_crosscall();
	test_signal();
	test_vdso();
	test_vdso_not_yet();
	test_no_frame();
	test_decode();
	go_destroy(go);
	return tap_done();
}
