/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One step of unwinding: from the registers of a frame to those of its caller. Each mechanism
 * (mechanisms.h, fp.h) has a step function with this shape. unwind.c chooses one for each frame,
 * checks that the walk goes outwards, and records the frames.
 *
 * Step functions are pure functions of the cursor, the copied bytes and the tables: they read no
 * memory of the guest.
 */
#ifndef XTOP_UNWIND_CURSOR_H
#define XTOP_UNWIND_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "unwind/register_numbers.h"
#include "xtop/language/language.h"
#include "xtop/sample/go_stacks.h"
#include "xtop/sample/sample.h"

#define CURSOR_REGISTERS 32 /* `known` has a bit for each */
#define CURSOR_KNOWS_ALL ((1U << N_UNWIND_REGISTERS) - 1)

/* A Go thread has two stacks, g0's and its goroutine's, and changes between them. */
enum go_side { GO_SIDE_UNKNOWN, GO_SIDE_G0, GO_SIDE_GOROUTINE };
struct go_cursor {
	/* place of the stacks of the Go program of the last Go frame */
	const struct go_stacks *stacks;
	bool pieces_checked; /* go_switches_find_other() has run */
	bool callback;       /* C has called Go, and the rest of C's stack was not copied */
	enum go_side side;   /* the stack that the walk is on */
	unsigned n_switches; /* how often the walk has changed stacks */
	uint64_t other_sp;   /* top of the other stack, or a few words below the top */
};

struct cursor {
	/* numbered as in register_numbers.h, cursor_arm64.h or cursor_arm32.h */
	uint64_t regs[CURSOR_REGISTERS];
	uint32_t arch;       /* the vCPU's enum guest_arch */
	uint32_t word_bytes; /* size of a stack word in this frame's code: 8 or 4 */
	/*
	 * Bit i: regs[i] is known in this frame. REG_PC and REG_SP always are, but REG_SP is only a
	 * lower bound after code that is about to change stacks (computed_state_link_rule()).
	 */
	uint32_t known;
	bool thumb;       /* the frame's code is Thumb code (cursor_arm32.h) */
	bool interrupted; /* REG_PC is the next instruction to run; else a return address */
	bool user;        /* the frame's code is user code */
	/* each piece's address just past the outermost byte that was read; 0: none was */
	uint64_t reached[SAMPLE_MAX_STACKS];
	const struct sample_vcpu *vcpu;   /* passed sample_check() */
	const struct sample_stack *piece; /* vcpu's piece that was read last; NULL: vcpu has none */
	unsigned piece_index;             /* index of that piece */
	struct go_cursor go;
};

enum unwind_step {
	STEP_CALLER,      /* the cursor has moved to the caller */
	STEP_EH_RETURN,   /* the cursor has moved, but maybe not to the caller (eh_return.h) */
	STEP_USER,        /* the cursor has moved to the user code; all registers are known */
	STEP_OUTERMOST,   /* there is no caller */
	STEP_NOT_COVERED, /* this mechanism does not know the address: try the next mechanism */
	STEP_CUT,         /* the stack bytes that the step needs were not copied */
	STEP_BAD,         /* a table or a register cannot be right */
	STEP_LOOP,        /* the caller's frame would lie further in */
	STEP_REPLACED,    /* a tracer replaced the caller's return address */
};

/* --- cursor.c --------------------------------------------------------------------------------- */

/* Starts at a vCPU's registers: all are known, and REG_PC is the next instruction. */
void cursor_init(struct cursor *cursor, const struct sample_vcpu *vcpu); /* cursor_init.c */
/* Sets cursor->piece to the first piece that has all of these bytes. Returns false if none has. */
bool cursor_find_piece(struct cursor *cursor, uint64_t address, size_t size_bytes);
/* The index of the piece that ADDRESS lies in or just after; -1 if there is none. */
int cursor_piece(const struct cursor *cursor, uint64_t address);

/* Whether cursor->piece has all of these bytes. */
static inline bool cursor_piece_has(const struct cursor *cursor, uint64_t address,
				    size_t size_bytes)
{
	uint64_t offset = address - cursor->piece->address;

	return offset < cursor->piece->size_bytes &&
	       cursor->piece->size_bytes - offset >= size_bytes;
}

/*
 * Returns the copied bytes in place, not aligned, and raises cursor->reached. NULL: not all bytes
 * were copied. Inline because each frame calls this two or three times, nearly always for the piece
 * that was read last.
 */
static inline const void *cursor_bytes(struct cursor *cursor, uint64_t address, size_t size_bytes)
{
	uint64_t *reached;

	if ((!cursor->piece || !cursor_piece_has(cursor, address, size_bytes)) &&
	    !cursor_find_piece(cursor, address, size_bytes))
		return NULL;
	reached = &cursor->reached[cursor->piece_index];
	if (address + size_bytes > *reached)
		*reached = address + size_bytes;
	return (const char *)(cursor->piece + 1) + (address - cursor->piece->address);
}

/* Reads N words of 8 bytes at ADDRESS. Returns false if not all were copied. */
static inline bool cursor_read(struct cursor *cursor, uint64_t address, uint64_t *words, size_t n)
{
	const void *bytes = cursor_bytes(cursor, address, n * sizeof(*words));

	if (bytes)
		memcpy(words, bytes, n * sizeof(*words));
	return bytes;
}

/* Reads N words of 4 bytes at ADDRESS. Returns false if not all were copied. */
bool cursor_read_short(struct cursor *cursor, uint64_t address, uint64_t *words, size_t n);
/* Like cursor_read() and cursor_read_short(), but these leave cursor->reached unchanged. */
bool cursor_peek(struct cursor *cursor, uint64_t address, uint64_t *words, size_t n);
bool cursor_peek_short(struct cursor *cursor, uint64_t address, uint64_t *words, size_t n);

/* Reads N words of cursor->word_bytes at ADDRESS. Returns false if not all were copied. */
static inline bool cursor_read_words(struct cursor *cursor, uint64_t address, uint64_t *words,
				     size_t n)
{
	return cursor->word_bytes == sizeof(*words) ? cursor_read(cursor, address, words, n)
						    : cursor_read_short(cursor, address, words, n);
}

/*
 * A step function that returns neither STEP_CALLER nor STEP_USER leaves the cursor's regs, known,
 * interrupted and user unchanged, because another mechanism may be tried.
 */

/* Whether the vCPU has a 32-bit kernel. */
static inline bool cursor_is_i386(const struct cursor *cursor)
{
	return cursor->arch == ARCH_X86 && cursor->vcpu->regs.width != WIDTH_64;
}

/* A step from x86 code. The return address lies SKIP words above the stack pointer. */
enum unwind_step cursor_step_leaf(struct cursor *cursor, unsigned skip); /* cursor_x86.c */

/* The value of the frame pointer's register; 0: the value is not known. */
static inline uint64_t cursor_frame_pointer(const struct cursor *cursor)
{
	return cursor->known >> REG_RBP & 1 ? cursor->regs[REG_RBP] : 0;
}

/* A step from code of 64 bits to CALLER. */
enum unwind_step cursor_step_to(struct cursor *cursor, const struct runtime_caller *caller);

/* The address by which tables are asked: that of the call, if REG_PC is a return address. */
static inline uint64_t cursor_pc(const struct cursor *cursor)
{
	return cursor->regs[REG_PC] - !cursor->interrupted;
}

#endif
