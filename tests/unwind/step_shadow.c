/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The real chain of a program that runs by single steps. It is known without any table:
 *
 *	a call            puts a return address on the stack: a frame begins
 *	a signal          puts one on the stack, and the interrupted place: two frames begin
 *	rsp above a slot  the frame whose return address was there has ended, however it did
 *	another value     the return address was overwritten, as retpolines do: it is no frame
 *	a push            swapcontext() has loaded rsp, and goes on where it pushes
 *	another place of  the exception has a handler: the frame goes on there (libgcc)
 *	that function
 *	another frame's   the frames up to that one have ended: libgcc goes to its function
 *	jmp *register     longjmp() has loaded rsp, and goes on there: this frame may be in the chain
 *	rsp is loaded     the program goes on on another stack, which has a shadow of its own
 */
#include "config.h"

#ifdef __x86_64__
#include "step_shadow.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <ucontext.h>

struct step step;

bool step_read(uint64_t address, void *buffer, size_t n)
{
	struct iovec to = { buffer, n }, from = { (void *)(uintptr_t)address, n };

	return process_vm_readv(step.pid, &to, 1, &from, 1, 0) == (ssize_t)n;
}

/* Whether CODE is a call: e8, or ff /2, after any prefixes. */
static bool step_is_call(const uint8_t *code)
{
	unsigned i = 0;

	while (i < 4 && ((code[i] & 0xf0) == 0x40 || code[i] == 0xf2 || code[i] == 0x66 ||
			 code[i] == 0x2e || code[i] == 0x3e || code[i] == 0x67))
		i++;
	return code[i] == 0xe8 || (code[i] == 0xff && (code[i + 1] >> 3 & 7) == 2);
}

static void step_push(uint64_t slot, uint64_t value, bool is_place)
{
	if (step.n < STEP_DEPTH)
		step.frames[step.n++] =
			(struct step_frame){ .slot = slot, .value = value, .is_place = is_place };
}

/* Whether A and B lie in one function. Its rarely run part (".cold") belongs to it. */
static bool step_is_one_function(uint64_t a, uint64_t b)
{
	struct symtab_entry entry[2] = { { .name = "" }, { .name = "" } };
	const struct mapping *mapping[2];
	size_t n[2];

	if (!step.space || !space_find_symbol(step.space, a, &entry[0], &mapping[0]) ||
	    !space_find_symbol(step.space, b, &entry[1], &mapping[1]))
		return false;
	for (unsigned i = 0; i < 2; i++) {
		const char *cold = strstr(entry[i].name, ".cold");

		n[i] = cold ? (size_t)(cold - entry[i].name) : strlen(entry[i].name);
	}
	return mapping[0] == mapping[1] && n[0] == n[1] &&
	       !memcmp(entry[0].name, entry[1].name, n[0]);
}

/* Whether the frame is as its call has left it. */
static bool step_is_whole(const struct step_frame *frame)
{
	uint64_t value;

	return frame->is_place ||
	       (step_read(frame->slot, &value, sizeof(value)) && value == frame->value);
}

/*
 * A function has lost its caller: libgcc looks for a handler, or a retpoline jumps. A handler's
 * address is written over the return address into the function that has the handler. All frames
 * further in have ended then.
 */
static void step_find_handler(void)
{
	for (unsigned i = step.n; i--;) {
		struct step_frame *frame = &step.frames[i];
		uint64_t value;

		if (step_is_whole(frame) || !step_read(frame->slot, &value, sizeof(value)) ||
		    !step_is_one_function(value, frame->value - 1))
			continue;
		frame->before = frame->value;
		frame->value = value;
		step.n = i + 1;
		step.lost = 0;
		return;
	}
}

/*
 * Removes frame I if its return address was overwritten with that of a frame further out, and all
 * frames between the two. The innermost frame with that return address counts.
 */
static void step_find_goal(unsigned i)
{
	uint64_t value;

	if (i >= step.n || step_is_whole(&step.frames[i]) ||
	    !step_read(step.frames[i].slot, &value, sizeof(value)))
		return;
	for (unsigned j = i; j--;) {
		if (step.frames[j].value != value || step.frames[j].is_place)
			continue;
		memmove(&step.frames[j + 1], &step.frames[i + 1],
			(step.n - i - 1) * sizeof(step.frames[0]));
		step.n -= i - j;
		return;
	}
}

static void step_pop(void)
{
	while (step.n && step.frames[step.n - 1].slot < step.regs.rsp)
		step.n--;
	if (step.lost < step.regs.rsp)
		step.lost = 0;
	step_find_goal(step.n - 1);
	step_find_goal(step.n - 2); /* the function that overwrites has been called */
	if (step.lost || (step.n && !step_is_whole(&step.frames[step.n - 1])))
		step_find_handler();
	while (step.n && !step_is_whole(&step.frames[step.n - 1])) {
		step.lost = step.frames[--step.n].slot;
	}
}

/* --- stacks ----------------------------------------------------------------------------------- */

/* Whether CODE loads rsp out of memory, or out of a register. */
static bool step_loads_rsp(const uint8_t *code, bool *is_register)
{
	if ((code[0] & 0xf8) != 0x48)
		return false;
	*is_register = code[2] >= 0xc0;
	if (code[1] == 0x8b)
		return (code[2] >> 3 & 7) == 4 && !(code[0] & 4);
	return code[1] == 0x89 && (code[2] & 0xc7) == 0xc4 && !(code[0] & 1);
}

/* Whether the N outermost frames of STACK are as before, but DISTANCE bytes further up. */
static bool step_lies_at(const struct step_stack *stack, uint64_t distance, unsigned n)
{
	uint64_t value;

	for (unsigned i = 0; i < n; i++)
		if (!stack->frames[i].is_place &&
		    (!step_read(stack->frames[i].slot + distance, &value, sizeof(value)) ||
		     value != stack->frames[i].value))
			return false;
	return n;
}

/* Go copies stacks to larger ones: the frames move, and the innermost ones have ended. */
static bool step_has_moved(struct step_stack *stack)
{
	for (unsigned n = stack->n; n && n + 4 > stack->n; n--) {
		uint64_t distance = step.regs.rsp - stack->frames[n - 1].slot;

		if (!step_lies_at(stack, distance, n))
			continue;
		for (unsigned i = 0; i < n; i++)
			stack->frames[i].slot += distance;
		stack->top += distance;
		stack->n = n;
		return true;
	}
	return false;
}

static struct step_stack *step_find_stack(void)
{
	for (unsigned i = 0; i < step.n_stacks; i++) {
		struct step_stack *stack = &step.stacks[i];

		if (stack == step.stack || step.regs.rsp < stack->sp - 256 ||
		    step.regs.rsp > stack->top)
			continue;
		stack->is_strange |= step.regs.rsp < stack->sp || !step_lies_at(stack, 0, stack->n);
		return stack;
	}
	for (unsigned i = 1; step.go.g && i < step.n_stacks; i++)
		if (&step.stacks[i] != step.stack && step_has_moved(&step.stacks[i]))
			return &step.stacks[i];
	return NULL;
}

struct step_stack *step_add_stack(void)
{
	struct step_stack *stack =
		&step.stacks[step.n_stacks < STEP_STACKS ? step.n_stacks++ : STEP_STACKS - 1];
	uint64_t value;

	if (!stack->frames)
		stack->frames = calloc(STEP_DEPTH, sizeof(*stack->frames));
	stack->n = 0;
	stack->top = step.regs.rsp;
	stack->is_strange = false;
	if (step_read(step.regs.rsp, &value, sizeof(value)) && step.space &&
	    space_find(step.space, value))
		stack->frames[stack->n++] = (struct step_frame){ step.regs.rsp, value, false, 0 };
	return stack;
}

/* Follows the program from the stack of REGS to the stack that it runs on now. */
static void step_change_stack(const struct user_regs_struct *regs)
{
	struct step_stack *stack = step_find_stack();

	step.stack->n = step.n;
	step.stack->sp = regs->rsp;
	if (!stack)
		stack = step_add_stack();
	while (stack->n && stack->frames[stack->n - 1].slot < step.regs.rsp)
		stack->n--;
	if (!step.stack->is_handler || stack != step.stack->from) { /* no return from a handler */
		stack->from = step.stack;
		stack->is_handler = false;
		stack->base = stack->n;
	}
	step.stack = stack;
	step.frames = stack->frames;
	step.n = stack->n;
	step.lost = 0;
	step.left = STEP_GOAL;
}

/* Whether the program has gone to another stack by one step; REGS and CODE are those before it. */
static bool step_has_changed(const struct user_regs_struct *regs, const uint8_t *code)
{
	uint64_t low = regs->rsp;
	bool is_register = false;

	if (!(code[0] == 0x0f && code[1] == 0x05) && /* sigreturn() */
	    !step_loads_rsp(code, &is_register))
		return false;
	if (is_register)
		low -= STEP_NEAR;
	return step.regs.rsp < low || step.regs.rsp > step.stack->top;
}

/*
 * swapcontext() pushes the address that it goes on at, and returns there: a chain may have this
 * address as its first caller.
 */
static void step_find_pushed(const struct user_regs_struct *regs, const uint8_t *code)
{
	if (step.goal < step.regs.rsp)
		step.goal = 0;
	if (step.left && step.left-- && (code[0] & 0xf8) == 0x50 && step.regs.rsp == regs->rsp - 8) {
		step.goal = step.regs.rsp;
		step.left = 0;
	}
}

/*
 * longjmp() has loaded rsp out of a register by CODE, and jumps to where setjmp() has returned: a
 * chain may have this address as its first caller, though it is in a register only.
 */
static void step_find_landing(const uint8_t *code)
{
	const unsigned long long values[] = { step.regs.rax, step.regs.rcx, step.regs.rdx,
					      step.regs.rbx, step.regs.rsp, step.regs.rbp,
					      step.regs.rsi, step.regs.rdi };
	bool is_register = false;

	if (code[0] == 0xff || step.regs.rip == step.landing)
		step.landing = 0;
	if (!step_loads_rsp(code, &is_register) || !is_register)
		return;
	for (unsigned i = 0; i + 1 < sizeof(step.code); i++)
		if (step.code[i] == 0xff && (step.code[i + 1] & 0xf8) == 0xe0 &&
		    (!i || step.code[i - 1] != 0x41)) { /* not jmp *%r8 to *%r15 */
			step.landing = values[step.code[i + 1] & 7];
			return;
		}
}

void step_follow(const struct user_regs_struct *regs, const uint8_t *code)
{
	uint64_t value;

	if (step_has_changed(regs, code))
		step_change_stack(regs);
	step_pop();
	step_find_pushed(regs, code);
	step_find_landing(code);
	if (step.regs.rsp == regs->rsp - 8 && step_is_call(code) &&
	    step_read(step.regs.rsp, &value, sizeof(value)) && value - regs->rip - 2 < 8)
		step_push(step.regs.rsp, value, false);
}

void step_enter_handler(const struct user_regs_struct *regs)
{
	uint64_t trampoline;

	if (!step_read(step.regs.rsp, &trampoline, sizeof(trampoline)))
		return;
	if (regs->rsp - step.regs.rsp > STEP_NEAR) {
		step_change_stack(regs);
		step.n = step.stack->base = 0; /* a handler's stack is empty */
		step.stack->is_handler = true;
	}
	step_push(step.regs.rsp + 8, regs->rip, true);
	step_push(step.regs.rsp, trampoline, false);
}

/* The address at which FRAME goes on. */
static uint64_t step_get_place(const struct step_frame *frame)
{
	uint64_t value = 0;

	if (!frame->is_place)
		return frame->value;
	step_read(frame->slot + offsetof(ucontext_t, uc_mcontext.gregs[REG_RIP]), &value,
		  sizeof(value));
	return value;
}

bool step_is_frame(const struct step_frame *frame, uint64_t address)
{
	return address == step_get_place(frame) || (frame->before && address == frame->before);
}
#endif
