/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwinding by frame pointers, over the copied bytes. Code built with -fno-omit-frame-pointer keeps
 *
 *        rbp ──►  caller's rbp ──► its caller's ...  0 in the outermost function
 *        rbp + 8  return address
 *
 * (System V ABI AMD64 §3.2.2). A frame is further out than the one before, so rbp only grows: that
 * alone bounds the walk and catches loops. Resolver's thread; a pure function of its input.
 */
#include "config.h"

#include <string.h>

#include "xtop/symbol.h"
#include "xtop/unwind.h"

/* A frame pointer further from the stack pointer than any stack is long is not one. */
#define FP_STACK_MAX_BYTES (1 << 20)

struct fp_walk {
	const struct sample_vcpu *vcpu;
	const struct symbols *symbols;
	struct unwind_stack *stack;
};

/* N words at ADDRESS out of the pieces of stack that were copied. */
static bool fp_read(const struct sample_vcpu *vcpu, uint64_t address, uint64_t *words, size_t n)
{
	const struct sample_stack *piece = sample_first_stack(vcpu);
	size_t size_bytes = n * sizeof(uint64_t);

	for (unsigned i = 0; i < vcpu->n_stacks; i++, piece = sample_next_stack(piece)) {
		uint64_t offset = address - piece->address;

		if (offset < piece->size_bytes && piece->size_bytes - offset >= size_bytes) {
			memcpy(words, (const char *)(piece + 1) + offset, size_bytes);
			return true;
		}
	}
	return false;
}

static bool fp_is_canonical(uint64_t address)
{
	return (uint64_t)((int64_t)(address << 7) >> 7) ==
	       address; /* 57 bits: right for 4 and 5 levels */
}

static void fp_push(struct fp_walk *walk, uint64_t address, uint32_t flags)
{
	struct unwind_stack *stack = walk->stack;

	if (walk->vcpu->user)
		flags |= FRAME_USER;
	stack->frames[stack->n_frames++] =
		(struct unwind_frame){ .address = address, .flags = flags };
}

/*
 * A function that has just been entered has not linked its frame in yet, and rbp is still the
 * caller's:
 *
 *   endbr64           only with CET, 4 bytes
 *   push %rbp         before it the return address is on top of the stack
 *   mov %rsp, %rbp    before it the word on top is the caller's rbp, the return address is behind it
 *
 * Which of the two is told by the distance from the function's start and by the word itself.
 */
#define FP_ENDBR_BYTES 4
#define FP_PUSH_BYTES  1

/* Where on the stack the return address is; false: the frame is linked in. */
static bool fp_entry_return(const struct fp_walk *walk, uint64_t offset, uint64_t *place)
{
	const struct registers *regs = &walk->vcpu->regs;
	uint64_t top;

	if (offset == 0 || offset == FP_ENDBR_BYTES) {
		*place = regs->rsp;
		return true;
	}
	if (offset != FP_PUSH_BYTES && offset != FP_ENDBR_BYTES + FP_PUSH_BYTES)
		return false;
	*place = regs->rsp + sizeof(top);
	return fp_read(walk->vcpu, regs->rsp, &top, 1) && top == regs->rbp;
}

static void fp_push_entry_caller(struct fp_walk *walk)
{
	uint64_t rip = walk->vcpu->regs.rip, place, address;
	struct symbol symbol;

	if (!walk->symbols || !symbols_lookup(walk->symbols, rip, &symbol) ||
	    !fp_entry_return(walk, rip - symbol.start, &place))
		return;
	if (!fp_read(walk->vcpu, place, &address, 1) ||
	    !symbols_lookup(walk->symbols, address - 1, &symbol))
		return;
	fp_push(walk, address, FRAME_RETURN);
	walk->stack->reached = place + sizeof(address);
}

/* Of user code no more is known than that an address must be one. */
static bool fp_may_return_to(const struct fp_walk *walk, uint64_t address)
{
	if (!fp_is_canonical(address))
		return false;
	return walk->vcpu->user || !walk->symbols ||
	       symbols_may_be_code(walk->symbols, address - 1);
}

/* From the frame at RBP, innermost first. */
static enum unwind_stop fp_walk_frames(struct fp_walk *walk, uint64_t rbp)
{
	struct unwind_stack *stack = walk->stack;
	uint64_t above = walk->vcpu->regs.rsp;

	while (rbp) {
		uint64_t words[2];

		if (stack->n_frames == UNWIND_MAX_FRAMES)
			return UNWIND_TOO_DEEP;
		if (rbp % sizeof(uint64_t))
			return UNWIND_BAD;
		if (rbp < above)
			return UNWIND_LOOP;
		if (!fp_read(walk->vcpu, rbp, words, 2))
			return rbp - walk->vcpu->regs.rsp < FP_STACK_MAX_BYTES ? UNWIND_CUT
									       : UNWIND_BAD;
		stack->reached = rbp + sizeof(words);
		if (!words[1]) /* the outermost frame: start-up code pushed nothing but zeros */
			return UNWIND_COMPLETE;
		if (!fp_may_return_to(walk, words[1]))
			return UNWIND_BAD;
		fp_push(walk, words[1], FRAME_RETURN);
		above = rbp + sizeof(words);
		rbp = words[0];
	}
	return UNWIND_COMPLETE;
}

void unwind_fp(const struct sample_vcpu *vcpu, const struct symbols *symbols,
	       struct unwind_stack *stack)
{
	struct fp_walk walk = { .vcpu = vcpu, .symbols = symbols, .stack = stack };

	stack->n_frames = 0;
	stack->reached = 0;
	fp_push(&walk, vcpu->regs.rip, 0);
	fp_push_entry_caller(&walk);
	stack->stop = fp_walk_frames(&walk, vcpu->regs.rbp);
	if (stack->stop == UNWIND_COMPLETE &&
	    vcpu->cut == CUT_FAULT) /* its zeros are not the guest's */
		stack->stop = UNWIND_CUT;
}
