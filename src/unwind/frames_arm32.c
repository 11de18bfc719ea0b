/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the frame that a function of ARM code has made before an instruction; see frames_arm32.h. A
 * pass over the function follows the stack pointer (Arm ARM DDI 0487J.a §F5.1):
 *
 *   push {..}; stmdb sp!, {..}; str r, [sp, #-n]!; strd r, r, [sp, #-n]!; vpush; sub sp, sp, #n
 *   pop {..}; ldmia sp!, {..}; ldr r, [sp], #n; vpop; add sp, sp, #n
 *
 * The pass does not follow branches, but the state at a branch also holds at the branch's target,
 * if the target lies further on. The state after a branch that is always taken is unknown, unless
 * an earlier branch leads there.
 *
 * A part of a function that the compiler has put elsewhere has the whole frame at its first
 * instruction. Such a part makes calls but does not save lr: the instructions do not tell the frame
 * then.
 */
#include "config.h"

#include "unwind/frames_arm32.h"

#include <string.h>

#define MAX_TARGETS     32 /* pending targets of branches */
#define MAX_DEPTH_BYTES (1U << 20)
#define WORD            4
#define SP_BIT          (1U << 13)
#define LR_BIT          (1U << 14)
#define PC_BIT          (1U << 15)

struct pass_state {
	bool known;
	bool in_link;         /* lr has the return address */
	uint32_t saved_bytes; /* depth_bytes when lr was saved in the frame; 0: lr is not saved */
	uint32_t depth_bytes; /* the caller's stack pointer - the stack pointer */
	uint32_t fp_bytes;    /* the caller's stack pointer - r11; 0: unknown */
};

struct frames_pass {
	struct pass_state state;
	struct {
		size_t at; /* offset of the target; 0: the entry is free */
		struct pass_state state;
	} targets[MAX_TARGETS];
	bool ever_saved, calls;
};

#define IS(code, mask, value) (((code) & (mask)) == (value))

static bool is_always(uint32_t code)
{
	return code >> 28 == 14;
}

/* --- the stack pointer ------------------------------------------------------------------------ */

static void pass_move(struct frames_pass *pass, int64_t bytes)
{
	int64_t depth = pass->state.depth_bytes + bytes;

	if (depth < 0 || depth > MAX_DEPTH_BYTES)
		pass->state.known = false;
	else
		pass->state.depth_bytes = (uint32_t)depth;
}

/* An immediate operand: 8 bits, rotated (§F1.7.7). */
static uint32_t immediate(uint32_t code)
{
	uint32_t value = code & 0xff, by = 2 * (code >> 8 & 15);

	return by ? value >> by | value << (32 - by) : value;
}

/*
 * Notes that lr is saved. Only the first save counts: for a tracer, lr is saved and dropped again.
 */
static void pass_save_link(struct frames_pass *pass)
{
	if (!pass->state.saved_bytes)
		pass->state.saved_bytes = pass->state.depth_bytes;
	pass->ever_saved = true;
}

/* Applies CODE if it makes the frame larger, or saves lr. Returns false for other instructions. */
static bool pass_grow(struct frames_pass *pass, uint32_t code)
{
	bool saves = false;

	if (IS(code, 0x0fff0000, 0x092d0000)) {
		pass_move(pass, WORD * __builtin_popcount(code & 0xffff));
		saves = code & LR_BIT;
	} else if (IS(code, 0x0fff0000, 0x052d0000)) {
		pass_move(pass, code & 0xfff);
		saves = IS(code, 0xf000, 0xe000);
	} else if (IS(code, 0x0fff00f0, 0x016d00f0)) {
		pass_move(pass, (code >> 4 & 0xf0) | (code & 15));
	} else if (IS(code, 0x0fbf0e00, 0x0d2d0a00)) {
		pass_move(pass, WORD * (code & 0xff));
	} else if (IS(code, 0x0ffff000, 0x024dd000)) {
		pass_move(pass, immediate(code));
	} else if (IS(code, 0x0ffff000, 0x058de000)) { /* str lr, [sp, #n] */
		saves = true;
	} else {
		return false;
	}
	pass->state.known &= is_always(code);
	if (saves)
		pass_save_link(pass);
	return true;
}

/* Applies CODE if it sets r11 from sp, or sp from r11. Returns false for other instructions. */
static bool pass_frame_pointer(struct frames_pass *pass, uint32_t code)
{
	struct pass_state *state = &pass->state;

	if (IS(code, 0xfffff000, 0xe28db000)) /* add r11, sp, #n */
		state->fp_bytes = state->depth_bytes - immediate(code);
	else if (code == 0xe1a0b00d) /* mov r11, sp */
		state->fp_bytes = state->depth_bytes;
	else if (state->fp_bytes && IS(code, 0xfffff000, 0xe24bd000)) /* sub sp, r11, #n */
		state->depth_bytes = state->fp_bytes + immediate(code);
	else if (state->fp_bytes && code == 0xe1a0d00b) /* mov sp, r11 */
		state->depth_bytes = state->fp_bytes;
	else
		return false;
	return true;
}

/*
 * Applies CODE if it makes the frame smaller. Returns false for other instructions. A
 * conditional return changes nothing: code after it runs only if the function has not returned.
 */
static bool pass_shrink(struct frames_pass *pass, uint32_t code)
{
	uint32_t registers = 0;
	int64_t bytes;

	if (IS(code, 0x0fff0000, 0x08bd0000)) {
		registers = code & 0xffff;
		bytes = WORD * __builtin_popcount(registers);
	} else if (IS(code, 0x0fff0000, 0x049d0000)) {
		registers = 1U << (code >> 12 & 15);
		bytes = code & 0xfff;
	} else if (IS(code, 0x0fff00f0, 0x00cd00d0)) { /* ldrd r, r, [sp], #n */
		bytes = (code >> 4 & 0xf0) | (code & 15);
	} else if (IS(code, 0x0fbf0e00, 0x0cbd0a00)) {
		bytes = WORD * (code & 0xff);
	} else if (IS(code, 0x0ffff000, 0x028dd000)) {
		bytes = immediate(code);
	} else {
		return false;
	}
	if (registers & PC_BIT) {
		if (is_always(code))
			pass->state.known = false;
		return true;
	}
	pass_move(pass, -bytes);
	pass->state.known &= is_always(code);
	pass->state.in_link |= !!(registers & LR_BIT);
	if (pass->state.depth_bytes < pass->state.saved_bytes)
		pass->state.saved_bytes = 0;
	pass->state.known &= pass->state.in_link || pass->state.saved_bytes;
	return true;
}

/* The registers that CODE writes; bit i: r[i]. Only the bits of sp, lr and pc are reliable. */
static uint32_t written(uint32_t code)
{
	uint32_t destination = 1U << (code >> 12 & 15);

	if (IS(code, 0x0e000090, 0x00000090)) /* products, and other loads and stores */
		return destination & LR_BIT;
	if (IS(code, 0x0db0f000, 0x0120f000)) /* msr, nop */
		return 0;
	if (IS(code, 0x0c000000, 0) && !IS(code, 0x01900000, 0x01100000)) /* no comparison */
		return destination;
	if (IS(code, 0x0c100000, 0x04100000))
		return destination;
	if (IS(code, 0x0f100010, 0x0e100010)) /* mrc; with pc it sets flags */
		return destination & ~PC_BIT;
	return IS(code, 0x0e100000, 0x08100000) ? code & 0xffff : 0;
}

/* --- branches --------------------------------------------------------------------------------- */

static void pass_add_target(struct frames_pass *pass, size_t at)
{
	for (size_t i = 0; i < MAX_TARGETS; i++) {
		if (pass->targets[i].at == at)
			return;
		if (pass->targets[i].at)
			continue;
		pass->targets[i].at = at;
		pass->targets[i].state = pass->state;
		return;
	}
}

/* Takes over the state of a branch to AT, unless the instruction before AT has set the state. */
static void pass_arrive(struct frames_pass *pass, size_t at)
{
	for (size_t i = 0; i < MAX_TARGETS; i++) {
		if (pass->targets[i].at != at || !at)
			continue;
		if (!pass->state.known)
			pass->state = pass->targets[i].state;
		pass->targets[i].at = 0;
	}
}

static void pass_branch(struct frames_pass *pass, uint32_t code, size_t at)
{
	int64_t target = (int64_t)at + 8 + ((int32_t)(code << 8) >> 6);

	if (target > (int64_t)at && pass->state.known)
		pass_add_target(pass, (size_t)target);
	if (is_always(code))
		pass->state.known = false;
}

/* Notes that lr no longer has the return address. */
static void pass_lose_link(struct frames_pass *pass)
{
	pass->state.in_link = false;
	pass->state.known &= pass->state.saved_bytes > 0;
}

static void pass_add(struct frames_pass *pass, uint32_t code, size_t at)
{
	uint32_t registers;

	if (code >> 28 == 15) /* unconditional instructions do not matter */
		return;
	if (pass_grow(pass, code) || pass_shrink(pass, code) || pass_frame_pointer(pass, code))
		return;
	if (IS(code, 0x0f000000, 0x0a000000)) {
		pass_branch(pass, code, at);
	} else if (IS(code, 0x0f000000, 0x0b000000) || IS(code, 0x0ffffff0, 0x012fff30)) {
		pass->calls = true;
		pass_lose_link(pass);
	} else if (IS(code, 0x0ffffff0, 0x012fff10)) { /* bx */
		pass->state.known &= !is_always(code);
	} else {
		registers = written(code);
		if (registers & LR_BIT)
			pass_lose_link(pass);
		if (registers & SP_BIT || (registers & PC_BIT && is_always(code)))
			pass->state.known = false;
	}
}

bool frame_arm32_find(const uint8_t *code, size_t size_bytes, size_t at, struct frame_arm32 *frame)
{
	struct frames_pass pass = { .state = { .known = true, .in_link = true } };
	struct pass_state found = { .known = false };
	uint32_t word;

	for (size_t i = 0; i + sizeof(word) <= size_bytes; i += sizeof(word)) {
		pass_arrive(&pass, i);
		if (i == at)
			found = pass.state;
		memcpy(&word, code + i, sizeof(word));
		pass_add(&pass, word, i);
	}
	if (!found.known || (pass.calls && !pass.ever_saved))
		return false;
	frame->depth_bytes = found.depth_bytes;
	frame->in_link = found.in_link && !found.saved_bytes;
	return true;
}
