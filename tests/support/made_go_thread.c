/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "made_go_thread.h"

#include <assert.h>
#include <string.h>

/* --- the program ------------------------------------------------------------------------------ */

static const struct make_go_function made_go_functions[N_MADE_GO_FUNCTIONS] = {
	[MADE_GO_WORK] = { "main.work", 0x40, 0, { { 0, 4 }, { 40, 0x3c } } },
	[MADE_GO_MAIN] = { "main.main", 0x40, 0, { { 0, 4 }, { 24, 0x3c } } },
	[MADE_GO_GOEXIT] = { "runtime.goexit", 0x40, GO_TOP | GO_ASSEMBLY, { { 0, 0x40 } } },
	[MADE_GO_RUNTIME] = { "runtime.gcDrain", 0x40, 0, { { 0, 4 }, { 16, 0x3c } } },
	[MADE_GO_SYSTEMSTACK] = { "runtime.systemstack", 0x60, GO_ASSEMBLY | GO_SP_WRITE,
				  { { 0, 0x60 } } },
	[MADE_GO_MCALL] = { "runtime.mcall", 0x40, GO_ASSEMBLY | GO_SP_WRITE,
			    { { 0, 0x20 }, { 8, 0x20 } } },
	[MADE_GO_ASMCGOCALL] = { "runtime.asmcgocall", 0x60, GO_ASSEMBLY | GO_SP_WRITE,
				 { { 0, 0x60 } } },
	[MADE_GO_CALLBACK] = { "runtime.cgocallback", 0x80, GO_ASSEMBLY | GO_SP_WRITE,
			       { { 0, 4 }, { 32, 0x7c } } },
	[MADE_GO_CALLBACKG] = { "runtime.cgocallbackg", 0x40, 0, { { 0, 4 }, { 24, 0x3c } } },
	[MADE_GO_CROSSCALL] = { "crosscall2", 0x40, GO_ASSEMBLY,
				{ { 0, 4 }, { MADE_GO_CROSSCALL_BYTES, 0x3c } } },
	[MADE_GO_SIGTRAMP] = { "runtime.sigtramp", 0x40, GO_TOP | GO_ASSEMBLY,
			       { { 0, 4 }, { 48, 0x3c } } },
	[MADE_GO_SIGTRAMPGO] = { "runtime.sigtrampgo", 0x40, 0, { { 0, 4 }, { 16, 0x3c } } },
	[MADE_GO_FILLER] = { "runtime.sigfwd", 0x20, GO_ASSEMBLY, { { 0, 0x20 } } },
	[MADE_GO_FILLER2] = { "runtime.gosave", 0x20, GO_ASSEMBLY, { { 0, 0x20 } } },
	[MADE_GO_MARK] = { "runtime.systemstack_switch", 0x20, GO_ASSEMBLY, { { 0, 0x20 } } },
	[MADE_GO_SIGRETURN] = { "runtime.sigreturn", 0x20, GO_ASSEMBLY, { { 0, 0x20 } } },
	[MADE_GO_NANOTIME] = { "runtime.nanotime1", 0x40, GO_ASSEMBLY | GO_SP_WRITE,
			       { { 0, 4 }, { MADE_GO_NANOTIME_BYTES, 0x3c } } },
};

const char *made_go_name(enum made_go_function function)
{
	return made_go_functions[function].name;
}

uint64_t made_go_start(enum made_go_function function)
{
	uint64_t start = MADE_GO_TEXT;

	for (unsigned i = 0; i < (unsigned)function; i++)
		start += made_go_functions[i].size_bytes;
	return start;
}

uint64_t made_go_inside(enum made_go_function function)
{
	return made_go_start(function) + 0x28;
}

enum made_go_function made_go_find(uint64_t address)
{
	unsigned i = 0;

	while (i < N_MADE_GO_FUNCTIONS && address - made_go_start((enum made_go_function)i) >=
						  made_go_functions[i].size_bytes)
		i++;
	return (enum made_go_function)i;
}

static struct go *compile(enum make_go_layout layout, const struct make_go_function *functions,
			  uint8_t instruction_bytes)
{
	uint8_t bytes[8192] = { 0 };
	struct go_table table = { .bytes = bytes };
	struct xtop_error *error = NULL;
	struct go *go = NULL;

	table.size_bytes = make_go(&(struct make_go_program){ layout, MADE_GO_TEXT, true, functions,
							      N_MADE_GO_FUNCTIONS },
				   bytes, sizeof(bytes));
	bytes[6] = instruction_bytes;
	if (go_table_init(&table))
		error = go_compile(&table, &go);
	error_destroy(error);
	return go;
}

struct go *made_go_compile(enum make_go_layout layout, int32_t depth)
{
	struct make_go_function functions[N_MADE_GO_FUNCTIONS];

	memcpy(functions, made_go_functions, sizeof(functions));
	functions[MADE_GO_SYSTEMSTACK].rows[0].depth = depth;
	functions[MADE_GO_ASMCGOCALL].rows[0].depth = depth;
	return compile(layout, functions, 1);
}

/* Rows count instructions. */
struct go *made_go_compile_arm64(enum make_go_layout layout)
{
	struct make_go_function functions[N_MADE_GO_FUNCTIONS];

	memcpy(functions, made_go_functions, sizeof(functions));
	for (unsigned i = 0; i < N_MADE_GO_FUNCTIONS; i++)
		for (unsigned j = 0; functions[i].rows[j].size_bytes; j++)
			functions[i].rows[j].size_bytes /= 4;
	functions[MADE_GO_SYSTEMSTACK].rows[0].depth = 16;
	functions[MADE_GO_ASMCGOCALL].rows[0].depth = 16;
	functions[MADE_GO_CROSSCALL].rows[1].depth = 192;
	functions[MADE_GO_FILLER].name = "runtime.morestack";
	functions[MADE_GO_FILLER2].name = "runtime.asyncPreempt";
	return compile(layout, functions, 4);
}

/* --- a thread --------------------------------------------------------------------------------- */

void made_go_keep(struct made_go_thread *thread, unsigned n)
{
	assert(n <= MADE_GO_PIECES);
	thread->vcpu.n_stacks = (uint8_t)n;
	thread->vcpu.size_bytes = (uint32_t)(sizeof(thread->vcpu) + n * sizeof(*thread->pieces));
	thread->sample.size_bytes = (uint32_t)sizeof(thread->sample) + thread->vcpu.size_bytes;
}

void made_go_add(struct made_go_thread *thread, enum sample_stack_kind kind, uint64_t stack)
{
	unsigned n = thread->vcpu.n_stacks;

	made_go_keep(thread, n + 1);
	memset(&thread->pieces[n], 0, sizeof(thread->pieces[n]));
	thread->pieces[n].head = (struct sample_stack){
		.address = stack, .size_bytes = sizeof(thread->pieces[n].words), .kind = kind
	};
}

void made_go_begin(struct made_go_thread *thread, uint64_t rip, uint64_t stack)
{
	thread->sample = (struct sample){ .n_vcpus = 1, .weight = SAMPLE_WEIGHT_TICK };
	thread->vcpu = (struct sample_vcpu){ .state = VCPU_RUNNING,
					     .user = 1,
					     .stack_cut = CUT_LIMIT,
					     .regs = { .rip = rip, .rsp = stack } };
	made_go_add(thread, STACK_FIRST, stack);
}

void made_go_put(struct made_go_thread *thread, uint64_t address, uint64_t word)
{
	for (unsigned i = 0; i < thread->vcpu.n_stacks; i++) {
		uint64_t offset = address - thread->pieces[i].head.address;

		if (offset < sizeof(thread->pieces[i].words)) {
			thread->pieces[i].words[offset / 8] = word;
			return;
		}
	}
	assert(!"a piece has the address");
}

enum unwind_step made_go_step(struct go *go, struct cursor *cursor)
{
	uint64_t sp = cursor->regs[REG_RSP];

	if (cursor_pc(cursor) - MADE_GO_C >= MADE_GO_C_BYTES)
		return go_step(go, 0, cursor);
	if (!cursor_read(cursor, sp, &cursor->regs[REG_RIP], 1))
		return STEP_CUT;
	cursor->regs[REG_RSP] = sp + 8;
	cursor->interrupted = false;
	return STEP_CALLER;
}

/* --- chains ----------------------------------------------------------------------------------- */

/* Puts main.main, called by goexit, on the stack, from the return address at SLOT on. */
static void put_main(struct made_go_thread *thread, uint64_t slot)
{
	made_go_put(thread, slot, made_go_inside(MADE_GO_MAIN));
	made_go_put(thread, slot + 8 + 24, made_go_inside(MADE_GO_GOEXIT));
}

/* gcDrain runs on g0's stack, called by the function BY on the goroutine's stack. */
static void make_on_g0(struct made_go_thread *thread, enum made_go_function by, uint64_t slot)
{
	made_go_begin(thread, made_go_inside(MADE_GO_RUNTIME), MADE_GO_G0);
	made_go_put(thread, MADE_GO_G0 + 16, made_go_inside(by));
	made_go_put(thread, MADE_GO_G0 + 24, 0x1234); /* a frame of g0's own: not to be followed */
	made_go_add(thread, STACK_GOROUTINE, MADE_GO_GOROUTINE - 8);
	put_main(thread, slot);
}

static void make_not_yet(struct made_go_thread *thread)
{
	made_go_begin(thread, made_go_start(MADE_GO_SYSTEMSTACK) + 8, MADE_GO_GOROUTINE);
	put_main(thread, MADE_GO_GOROUTINE);
	thread->vcpu.regs.rbp = MADE_GO_GOROUTINE + 24; /* rbp is still the caller's */
	made_go_add(thread, STACK_GOROUTINE, MADE_GO_G0 - 8);
}

static void make_c(struct made_go_thread *thread, uint64_t depth)
{
	made_go_begin(thread, MADE_GO_C + 0x10, MADE_GO_G0);
	made_go_put(thread, MADE_GO_G0, made_go_inside(MADE_GO_ASMCGOCALL));
	made_go_add(thread, STACK_GOROUTINE, MADE_GO_GOROUTINE - 8);
	put_main(thread, MADE_GO_GOROUTINE + depth);
}

/* asmcgocall(), called on g0's stack, stays there. KEPT: the place where it keeps rsp. */
static void make_c_on_g0(struct made_go_thread *thread, uint64_t depth, unsigned kept)
{
	uint64_t sp = MADE_GO_G0 + 8 + kept + 24;

	make_c(thread, depth);
	made_go_put(thread, MADE_GO_G0 + 8 + kept, sp);
	made_go_put(thread, sp + depth, made_go_inside(MADE_GO_RUNTIME));
	made_go_put(thread, sp + depth + 8 + 16, made_go_inside(MADE_GO_SYSTEMSTACK));
}

/*
 * main.main called C, which called main.work, whose frame is at SP. G0_SP: the callback's stack
 * pointer on g0's stack.
 */
static void put_callback(struct made_go_thread *thread, uint64_t sp, uint64_t g0_sp)
{
	uint64_t called = sp + 48 + 32 + 40; /* the stack pointer that asmcgocall() left */
	uint64_t in_c = g0_sp + 40 + MADE_GO_CROSSCALL_BYTES;

	made_go_put(thread, sp + 40, made_go_inside(MADE_GO_CALLBACKG));
	made_go_put(thread, sp + 48 + 24, made_go_inside(MADE_GO_CALLBACK));
	made_go_put(thread, called - 8, made_go_start(MADE_GO_MARK)); /* what Go's own walks see */
	put_main(thread, called);
	made_go_put(thread, g0_sp + 32, made_go_inside(MADE_GO_CROSSCALL));
	made_go_put(thread, in_c, MADE_GO_C + 0x20);
	made_go_put(thread, in_c + 8, made_go_inside(MADE_GO_ASMCGOCALL));
}

static void make_callback(struct made_go_thread *thread)
{
	made_go_begin(thread, made_go_inside(MADE_GO_WORK), MADE_GO_GOROUTINE);
	made_go_add(thread, STACK_G0, MADE_GO_G0 - 8);
	put_callback(thread, MADE_GO_GOROUTINE, MADE_GO_G0);
}

/* Go calls C, which calls Go, which calls C: the chain goes to and fro between two stacks. */
static void make_twice(struct made_go_thread *thread)
{
	made_go_begin(thread, MADE_GO_C + 0x10, MADE_GO_G0);
	made_go_add(thread, STACK_GOROUTINE, MADE_GO_GOROUTINE - 8);
	made_go_put(thread, MADE_GO_G0, made_go_inside(MADE_GO_ASMCGOCALL));
	made_go_put(thread, MADE_GO_GOROUTINE, made_go_inside(MADE_GO_WORK));
	put_callback(thread, MADE_GO_GOROUTINE + 8, MADE_GO_G0 + 8 + 72);
}

static void make_callback_alone(struct made_go_thread *thread)
{
	made_go_begin(thread, made_go_inside(MADE_GO_WORK), MADE_GO_GOROUTINE);
	put_callback(thread, MADE_GO_GOROUTINE, MADE_GO_GOROUTINE + 0x200);
}

static void make_crosscall(struct made_go_thread *thread)
{
	made_go_begin(thread, made_go_inside(MADE_GO_CROSSCALL), MADE_GO_G0);
	made_go_put(thread, MADE_GO_G0 + MADE_GO_CROSSCALL_BYTES, MADE_GO_C + 0x20);
	made_go_put(thread, MADE_GO_G0 + 24 + 16, 0xb1); /* rbp, rbx, r15 */
	made_go_put(thread, MADE_GO_G0 + 24 + 24, 0xb2);
	made_go_put(thread, MADE_GO_G0 + 24 + 56, 0xb3);
}

static void make_signal(struct made_go_thread *thread, uint64_t rip)
{
	uint64_t ucontext = MADE_GO_SIGNAL + 24 + 48 + 8;

	made_go_begin(thread, made_go_inside(MADE_GO_SIGTRAMPGO), MADE_GO_SIGNAL);
	made_go_put(thread, MADE_GO_SIGNAL + 16, made_go_inside(MADE_GO_SIGTRAMP));
	made_go_put(thread, MADE_GO_SIGNAL + 24 + 48, made_go_start(MADE_GO_SIGRETURN));
	made_go_put(thread, ucontext + 120, 0xbb); /* rbp, rsp, rip */
	made_go_put(thread, ucontext + 160, MADE_GO_GOROUTINE);
	made_go_put(thread, ucontext + 168, rip);
	made_go_add(thread, STACK_GO_OUTER, MADE_GO_GOROUTINE);
	made_go_put(thread, MADE_GO_GOROUTINE + 40, made_go_inside(MADE_GO_GOEXIT));
}

static void make_signal_in_c(struct made_go_thread *thread, uint64_t depth)
{
	make_signal(thread, MADE_GO_C + 4);
	made_go_put(thread, MADE_GO_GOROUTINE, made_go_inside(MADE_GO_ASMCGOCALL));
	made_go_add(thread, STACK_GOROUTINE, MADE_GO_GOROUTINE + 0x10000 - 8);
	put_main(thread, MADE_GO_GOROUTINE + 0x10000 + depth);
}

static void make_vdso(struct made_go_thread *thread, uint64_t *kept)
{
	made_go_begin(thread, MADE_GO_C + 0x10, MADE_GO_G0);
	made_go_put(thread, MADE_GO_G0, made_go_inside(MADE_GO_NANOTIME));
	made_go_add(thread, STACK_GO_OUTER, MADE_GO_GOROUTINE);
	put_main(thread, MADE_GO_GOROUTINE + MADE_GO_NANOTIME_BYTES);
	*kept = MADE_GO_GOROUTINE;
}

void made_go_chain(struct made_go_thread *thread, enum made_go_chain chain, uint64_t depth)
{
	switch (chain) {
	case CHAIN_SYSTEMSTACK:
		make_on_g0(thread, MADE_GO_SYSTEMSTACK, MADE_GO_GOROUTINE + depth);
		break;
	case CHAIN_NOT_YET:
		make_not_yet(thread);
		break;
	case CHAIN_MCALL:
		make_on_g0(thread, MADE_GO_MCALL, MADE_GO_GOROUTINE - 8);
		break;
	case CHAIN_C:
		make_c(thread, depth);
		break;
	case CHAIN_C_ON_G0:
		make_c_on_g0(thread, depth, 40);
		break;
	case CHAIN_C_ON_G0_1_21:
		make_c_on_g0(thread, depth, 0);
		break;
	case CHAIN_CALLBACK:
		make_callback(thread);
		break;
	case CHAIN_TWICE:
		make_twice(thread);
		break;
	case CHAIN_CALLBACK_ALONE:
		make_callback_alone(thread);
		break;
	case CHAIN_CROSSCALL:
		make_crosscall(thread);
		break;
	case CHAIN_SIGNAL:
		make_signal(thread, made_go_inside(MADE_GO_WORK));
		break;
	case CHAIN_SIGNAL_IN_C:
		make_signal_in_c(thread, depth);
		break;
	case CHAIN_VDSO:
		make_vdso(thread, &thread->vcpu.regs.r12);
		break;
	case CHAIN_VDSO_1_16:
		make_vdso(thread, &thread->vcpu.regs.rbp);
		break;
	}
}
