/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to tests/unwind/step: the program that runs, and the real chain, a shadow of each of its
 * stacks. See step.c.
 */
#ifndef TESTS_UNWIND_STEP_SHADOW_H
#define TESTS_UNWIND_STEP_SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "tests/support/live_stack.h"
#include "xtop/sample/go_stacks.h"

#define STEP_WINDOW  1000
#define STEP_DEPTH   4096
#define STEP_STACKS  64
#define STEP_CHANGES 3          /* the most changes of stacks in one chain */
#define STEP_GOAL    16         /* instructions from a change of stacks to the jump */
#define STEP_NEAR    65536      /* frames that are made by mov are smaller */
#define STEP_SEEN    (1U << 20) /* places, by hash */
#define STEP_REPORTS 5

struct step_frame {
	uint64_t slot;  /* the return address's place on the stack */
	uint64_t value; /* the return address, or the place that a signal has interrupted */
	/*
	 * What a signal has interrupted. SLOT is where its ucontext begins. Handlers may change the
	 * place that they return to.
	 */
	bool is_place;
	uint64_t before; /* VALUE before a handler was found; 0: none was */
};

struct step_stack {
	struct step_frame *frames; /* outermost first; STEP_DEPTH of them */
	unsigned n;
	unsigned base;           /* how many frames it had when the program changed to it */
	uint64_t sp;             /* the stack pointer that was left */
	uint64_t top;            /* the highest stack pointer on it */
	bool is_strange;         /* frames are not known */
	bool is_handler;         /* a signal has changed to it */
	struct step_stack *from; /* the stack that was left; NULL: none */
};

struct step {
	pid_t pid;
	struct live_process process; /* .pid alone */
	struct space *space;
	struct step_stack stacks[STEP_STACKS]; /* the thread's own first */
	unsigned n_stacks;
	struct step_stack *stack;  /* the program is on it */
	struct step_frame *frames; /* the stack's */
	unsigned n;
	unsigned left; /* instructions that may still push where code that has changed stacks goes */
	uint64_t landing; /* longjmp() has loaded rsp, and jumps there; 0: nowhere */
	uint64_t goal; /* place to which such code has pushed it; 0: nowhere */
	uint64_t lost; /* place of an overwritten return address; 0: none */
	uint64_t seen[STEP_SEEN];
	uint64_t window;
	struct user_regs_struct regs;
	struct go_stacks go; /* .g 0: no function of Go was met yet */
	uint8_t code[16];    /* code that regs.rip points to */
	uint64_t reports;    /* how many chains that end early are printed */
	const char *asked;   /* the function whose chain is printed; NULL: none */
	uint64_t n_compared, n_right, n_early, n_wrong, n_steps;
};

extern struct step step;

bool step_read(uint64_t address, void *buffer, size_t n);
/* A stack that was not met before: it begins with a return address that no call has put there. */
struct step_stack *step_add_stack(void);
/* After one step: REGS and CODE are those before it. */
void step_follow(const struct user_regs_struct *regs, const uint8_t *code);
/* The program is at a handler's first instruction; REGS are the interrupted ones. */
void step_enter_handler(const struct user_regs_struct *regs);
/* Whether ADDRESS is where FRAME is, or was before its exception had a handler. */
bool step_is_frame(const struct step_frame *frame, uint64_t address);

#endif
