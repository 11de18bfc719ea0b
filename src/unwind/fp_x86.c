/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One step of unwinding by frame pointers. Code built with -fno-omit-frame-pointer keeps
 *
 *        rbp ──►  caller's rbp ──► its caller's ...  0 in the outermost function
 *        rbp + 8  return address
 *
 * (System V ABI AMD64 §3.2.2). Code of 32 bits has words of 4 bytes: the return address is at
 * ebp + 4. Each frame is further out than the one before, so rbp only grows. This bounds the walk
 * and catches loops. Resolver's thread; a pure function of its input.
 */
#include "config.h"

#include "unwind/fp.h"

/* No stack is longer: a word further away from the stack pointer is no frame pointer. */
#define FP_STACK_MAX_BYTES (1 << 20)

/*
 * A function that has just been entered has not linked its frame yet. rbp still has the caller's
 * value:
 *
 *   endbr64           only with CET, 4 bytes
 *   push %rbp         before this the return address is on top of the stack
 *   mov %rsp, %rbp    before this the caller's rbp is on top, and the return address after it
 *
 * The offset in the function and the word on top of the stack tell the cases apart.
 */
#define FP_ENDBR_BYTES 4
#define FP_PUSH_BYTES  1

#define FP_SAVED_WORDS   5  /* words below rbp that may have the caller's stack pointer */
#define FP_ALIGNED_BYTES 64 /* gcc's largest alignment of a frame, of AVX-512 */

/* Sets *PLACE to the return address's place on the stack. Returns false if the frame is linked. */
static bool fp_entry_return(struct cursor *cursor, uint64_t offset, uint64_t *place)
{
	uint64_t rsp = cursor->regs[REG_RSP], top;

	if (offset == 0 || offset == FP_ENDBR_BYTES) {
		*place = rsp;
		return true;
	}
	if (offset != FP_PUSH_BYTES && offset != FP_ENDBR_BYTES + FP_PUSH_BYTES)
		return false;
	*place = rsp + cursor->word_bytes;
	return cursor_read_words(cursor, rsp, &top, 1) && top == cursor->regs[REG_RBP];
}

static bool fp_step_entry(const struct unwind_space *space, struct cursor *cursor)
{
	uint64_t rip = cursor->regs[REG_RIP], start, place, address;

	if (!space || !space->find_function(space, rip, &start) ||
	    !fp_entry_return(cursor, rip - start, &place))
		return false;
	if (!cursor_read_words(cursor, place, &address, 1) ||
	    !space->find_function(space, address - 1, &start))
		return false;
	cursor->regs[REG_RIP] = address;
	cursor->regs[REG_RSP] = place + cursor->word_bytes;
	return true;
}

static enum unwind_step fp_step_frame(struct cursor *cursor)
{
	uint64_t rbp = cursor->regs[REG_RBP], rsp = cursor->regs[REG_RSP], words[2];

	if (!rbp)
		return STEP_OUTERMOST;
	if (rbp & (cursor->word_bytes - 1))
		return STEP_BAD;
	if (rbp < rsp)
		return STEP_LOOP;
	if (!cursor_read_words(cursor, rbp, words, 2))
		return rbp - rsp < FP_STACK_MAX_BYTES ? STEP_CUT : STEP_BAD;
	if (!words[1]) /* the outermost frame: start-up code pushed zeros */
		return STEP_OUTERMOST;
	cursor->regs[REG_RBP] = words[0];
	cursor->regs[REG_RIP] = words[1];
	cursor->regs[REG_RSP] = rbp + 2 * cursor->word_bytes;
	return STEP_CALLER;
}

enum unwind_step fp_x86_step(const struct unwind_space *space, struct cursor *cursor)
{
	enum unwind_step step = STEP_CALLER;

	if (!(cursor->known >> REG_RBP & 1))
		return STEP_NOT_COVERED;
	if (!cursor->interrupted || !fp_step_entry(space, cursor))
		step = fp_step_frame(cursor);
	if (step != STEP_CALLER)
		return step;
	cursor->interrupted = false;
	cursor->known = 1U << REG_RIP | 1U << REG_RSP | 1U << REG_RBP;
	return step;
}

void fp_x86_correct_stack(struct cursor *cursor)
{
	uint64_t above = cursor->regs[REG_RSP], rbp = above - 2 * sizeof(rbp), word, copy;

	for (unsigned i = 1; cursor->word_bytes == sizeof(word) && i <= FP_SAVED_WORDS; i++)
		if (cursor_peek(cursor, rbp - i * sizeof(word), &word, 1) &&
		    word - above - 1 < FP_ALIGNED_BYTES &&
		    cursor_peek(cursor, word - sizeof(word), &copy, 1) &&
		    copy == cursor->regs[REG_RIP]) {
			cursor->regs[REG_RSP] = word;
			return;
		}
}
