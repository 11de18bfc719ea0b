/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A Go program made by hand: its table of functions, and one of its threads that was stopped while
 * a chain of calls went over several stacks. Every word of the stacks that no chain needs is 0.
 */
#ifndef TESTS_SUPPORT_MADE_GO_THREAD_H
#define TESTS_SUPPORT_MADE_GO_THREAD_H

#include "tests/support/make_go.h"
#include "unwind/cursor.h"
#include "unwind/go.h"

#define MADE_GO_TEXT      0x401000ULL
#define MADE_GO_C         0x7f0000001000ULL /* code of C: a return address lies at rsp */
#define MADE_GO_C_BYTES   0x1000
#define MADE_GO_GOROUTINE 0xc000100000ULL   /* the goroutine's stack */
#define MADE_GO_G0        0x7ffe0000ULL     /* the stack of g0 */
#define MADE_GO_SIGNAL    0xc000300000ULL   /* the stack of signal handlers */
#define MADE_GO_WORDS     256 /* words of a piece of stack */
#define MADE_GO_PIECES    4

enum made_go_function {
	MADE_GO_WORK, MADE_GO_MAIN, MADE_GO_GOEXIT, MADE_GO_RUNTIME, MADE_GO_SYSTEMSTACK,
	MADE_GO_MCALL, MADE_GO_ASMCGOCALL, MADE_GO_CALLBACK, MADE_GO_CALLBACKG, MADE_GO_CROSSCALL,
	MADE_GO_SIGTRAMP, MADE_GO_SIGTRAMPGO, MADE_GO_FILLER, MADE_GO_SIGRETURN, MADE_GO_FILLER2,
	MADE_GO_MARK, MADE_GO_NANOTIME, N_MADE_GO_FUNCTIONS
};

/* sizes of frames once a function has made its frame */
#define MADE_GO_CROSSCALL_BYTES 256
#define MADE_GO_NANOTIME_BYTES  24

/* --- the program ------------------------------------------------------------------------------ */

const char *made_go_name(enum made_go_function function);
uint64_t made_go_start(enum made_go_function function);
/* An address after a call in FUNCTION, which has made its frame by then. */
uint64_t made_go_inside(enum made_go_function function);
/* The function that has ADDRESS; N_MADE_GO_FUNCTIONS: none. */
enum made_go_function made_go_find(uint64_t address);

/*
 * Compiles the table. DEPTH is the size of the frames of systemstack() and asmcgocall(): 0 up to Go
 * 1.20, then 8. NULL: xtop refuses the table.
 */
struct go *made_go_compile(enum make_go_layout layout, int32_t depth);
/* Compiles these functions for arm64. Frames lie otherwise there: no chain below fits. */
struct go *made_go_compile_arm64(enum make_go_layout layout);

/* --- a thread --------------------------------------------------------------------------------- */

/* sample.size_bytes bytes are the record. */
struct made_go_thread {
	struct sample sample;
	struct sample_vcpu vcpu;
	struct made_go_piece {
		struct sample_stack head;
		uint64_t words[MADE_GO_WORDS];
	} pieces[MADE_GO_PIECES];
};

/* The first piece begins at the stack pointer, STACK. */
void made_go_begin(struct made_go_thread *thread, uint64_t rip, uint64_t stack);
void made_go_add(struct made_go_thread *thread, enum sample_stack_kind kind, uint64_t stack);
/* Only the first N pieces were copied. */
void made_go_keep(struct made_go_thread *thread, unsigned n);
void made_go_put(struct made_go_thread *thread, uint64_t address, uint64_t word);

/* A step as unwind.c makes it, with the frames of C, too. */
enum unwind_step made_go_step(struct go *go, struct cursor *cursor);

/* --- chains ----------------------------------------------------------------------------------- */

enum made_go_chain {
	CHAIN_SYSTEMSTACK,    /* gcDrain, called by systemstack() */
	CHAIN_NOT_YET,        /* systemstack() runs, and has not changed stacks */
	CHAIN_MCALL,          /* gcDrain, called by mcall() */
	CHAIN_C,              /* C, called by Go */
	CHAIN_C_ON_G0,        /* C, called by gcDrain: asmcgocall() keeps the stack pointer at 40 */
	CHAIN_C_ON_G0_1_21,   /* CHAIN_C_ON_G0 since Go 1.21: at 0 */
	CHAIN_CALLBACK,       /* work, called by C */
	CHAIN_TWICE,          /* C, called by work, called by C */
	CHAIN_CALLBACK_ALONE, /* CHAIN_CALLBACK, of which g0's stack was not copied */
	CHAIN_CROSSCALL,      /* crosscall2(), which has kept C's registers */
	CHAIN_SIGNAL,         /* sigtrampgo, which interrupted work */
	CHAIN_SIGNAL_IN_C,    /* sigtrampgo, which interrupted C, called by Go */
	CHAIN_VDSO,      /* C on g0's stack, called by nanotime1(), which keeps its own in r12 */
	CHAIN_VDSO_1_16, /* CHAIN_VDSO up to Go 1.16: in rbp */
};
#define N_MADE_GO_CHAINS 14

void made_go_chain(struct made_go_thread *thread, enum made_go_chain chain, uint64_t depth);

#endif
