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

#include "unwind/cursor_x86.h"
#include "xtop/sample/go_stacks.h"
#include "xtop/sample/sample.h"

#define CURSOR_REGISTERS 32 /* `known` has a bit for each */
#define CURSOR_KNOWS_ALL ((1U << N_UNWIND_REGISTERS) - 1)

/* Which of a Go thread's stacks the walk is on, and where the other one goes on. */
enum go_side { GO_SIDE_UNKNOWN, GO_SIDE_G0, GO_SIDE_GOROUTINE };
struct go_cursor {
	const struct go_stacks *stacks; /* of the last program of Go that was met; NULL: none was */
	bool looked;                    /* at the kinds of the pieces */
	bool callback; /* C has called Go, and where the stack of C goes on was not copied */
	enum go_side side;
	unsigned n_switches;
	uint64_t other_sp; /* where the other stack goes on: there, or a few words above */
};

struct cursor {
	uint64_t regs[CURSOR_REGISTERS]; /* numbered by cursor_x86.h, _arm64.h or _arm32.h */
	uint32_t arch;       /* enum guest_arch, of the vCPU */
	uint32_t word_bytes; /* of a word on the stack of this frame's code: 8, or 4 */
	uint32_t known;   /* bit i: regs[i] is this frame's; REG_PC and REG_SP always are */
	bool thumb;       /* cursor_arm32.h: the code is Thumb's */
	bool interrupted; /* REG_PC is the next instruction to run; else a return address */
	bool user;        /* user code */
	/* for each piece: the address just past the outermost byte that was read; 0: none was */
	uint64_t reached[SAMPLE_MAX_STACKS];
	const struct sample_vcpu *vcpu;   /* passed sample_check() */
	const struct sample_stack *piece; /* of vcpu, read last; NULL: it has none */
	unsigned piece_index;
	struct go_cursor go;
};

enum unwind_step {
	STEP_CALLER,      /* the cursor is the caller's now */
	STEP_USER,        /* the cursor is the user code's that entered the kernel; all is known */
	STEP_OUTERMOST,   /* there is no caller */
	STEP_NOT_COVERED, /* this mechanism has nothing for the address: try the next */
	STEP_CUT,         /* the stack bytes that the step needs were not copied */
	STEP_BAD,         /* a table or a register that cannot be right */
	STEP_LOOP,        /* the caller's frame would lie further in */
	STEP_REPLACED,    /* a tracer put its own return address in the place of the caller's */
};

/* --- cursor.c --------------------------------------------------------------------------------- */

/* From a vCPU's registers: all are known, and REG_PC is the next instruction. cursor_x86.c */
void cursor_init(struct cursor *cursor, const struct sample_vcpu *vcpu);
/* Makes the first copied piece that has all of these bytes cursor->piece. False: no piece has. */
bool cursor_find_piece(struct cursor *cursor, uint64_t address, size_t size_bytes);
/* The index of the piece that ADDRESS lies in or just behind; -1: none. */
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
 * The bytes in place, not aligned; raises cursor->reached. NULL: not all were copied. Inline: a
 * frame makes two or three of these calls, nearly always in the piece of the call before.
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

/* Reads N words at ADDRESS. False: not all were copied. */
static inline bool cursor_read(struct cursor *cursor, uint64_t address, uint64_t *words, size_t n)
{
	const void *bytes = cursor_bytes(cursor, address, n * sizeof(*words));

	if (bytes)
		memcpy(words, bytes, n * sizeof(*words));
	return bytes;
}

/* The same with words of 4 bytes. */
bool cursor_read_short(struct cursor *cursor, uint64_t address, uint64_t *words, size_t n);
/* Both again, but cursor->reached stays as it was. */
bool cursor_peek(struct cursor *cursor, uint64_t address, uint64_t *words, size_t n);
bool cursor_peek_short(struct cursor *cursor, uint64_t address, uint64_t *words, size_t n);

/* The same with words of cursor->word_bytes. */
static inline bool cursor_read_words(struct cursor *cursor, uint64_t address, uint64_t *words,
				     size_t n)
{
	return cursor->word_bytes == sizeof(*words) ? cursor_read(cursor, address, words, n)
						    : cursor_read_short(cursor, address, words, n);
}

/*
 * A step function that does not return STEP_CALLER or STEP_USER leaves registers, known,
 * interrupted and user as they are, since another mechanism may be tried.
 */

/* Whether the vCPU has a 32-bit kernel. */
static inline bool cursor_is_i386(const struct cursor *cursor)
{
	return cursor->arch == ARCH_X86 && cursor->vcpu->regs.width != WIDTH_64;
}

/* From code of x86 whose return address lies SKIP words above the stack pointer. */
enum unwind_step cursor_step_leaf(struct cursor *cursor, unsigned skip); /* cursor_x86.c */

/* The address to look up in a table. */
static inline uint64_t cursor_pc(const struct cursor *cursor)
{
	return cursor->regs[REG_PC] - !cursor->interrupted;
}

#endif
