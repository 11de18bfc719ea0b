/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwinding: registers and copied stack bytes of one vCPU -> the addresses of its call chain,
 * innermost first. Pure functions of their input; the resolver's thread.
 */
#ifndef XTOP_UNWIND_H
#define XTOP_UNWIND_H

#include <stdbool.h>

#include "xtop/base/error.h"
#include "xtop/sample/sample.h"

#define UNWIND_MAX_FRAMES 512

/* --- tables.c: what is known of one image ----------------------------------------------------- */

struct orc;
struct cfi;
struct dwarf;
struct go;
struct cfi_sections; /* cfi.h */
struct go_table;     /* go.h */
struct go_stacks;    /* go_stacks.h */
struct seh;
struct seh_tables;   /* seh.h */
struct exidx;
struct exidx_sections; /* exidx.h */
struct computed;
struct stubs;
struct code_source;  /* code.h */

/* One table for each mechanism that needs one; NULL: there is none. Addresses are the image's. */
struct unwind_tables {
	struct stubs *stubs; /* the hypercall page, into which Xen writes code */
	struct orc *orc;     /* orc.h: a Linux kernel's own format */
	struct cfi *cfi;     /* compiled call-frame information */
	struct dwarf *dwarf; /* the functions with rows that only libunwind can evaluate */
	struct go *go;       /* Go's own table */
	struct seh *seh;     /* seh.h: a PE image's */
	struct exidx *exidx; /* exidx.h: 32-bit Arm's own format */
	struct computed *computed; /* what instructions tell where no table does */
	struct links *links; /* 32-bit Arm code: which functions have a frame, for frame pointers */
};

void unwind_tables_deinit(struct unwind_tables *tables); /* leaves it without tables */
size_t unwind_tables_memory_bytes(const struct unwind_tables *tables);
/*
 * Where the function that has ADDRESS begins and ends, by the tables: for code without symbols.
 * False: no table tells. All three are addresses in the image.
 */
bool unwind_tables_find_function(const struct unwind_tables *tables, uint64_t address,
				 uint64_t *start, uint64_t *end);
/* The same for a stub of the hypercall page. */
bool unwind_tables_find_stub(const struct unwind_tables *tables, uint64_t address,
			     uint64_t *start, uint64_t *end);
/*
 * The gap between two FDEs in which ADDRESS lies: one or more functions in assembly. The one before
 * the first FDE begins at INIT; 0: that is not known. False: there is no FDE on one of the sides,
 * or the gap is too long for that.
 */
bool unwind_tables_find_gap(const struct unwind_tables *tables, uint64_t init, uint64_t address,
			    uint64_t *start, uint64_t *end);
/*
 * Replaces `cfi` and `dwarf` by what SECTIONS say; NULL where they say nothing. Error: out of
 * memory; TABLES are as they were.
 */
struct xtop_error *unwind_tables_build_cfi(struct unwind_tables *tables,
					   const struct cfi_sections *sections);
/* The same for `go` and TABLE. */
struct xtop_error *unwind_tables_build_go(struct unwind_tables *tables,
					  const struct go_table *table);

/* The same for `exidx`. */
struct xtop_error *unwind_tables_build_exidx(struct unwind_tables *tables,
					     const struct exidx_sections *sections);

/* The same for `seh`; takes over TABLES as seh_create() does. */
struct xtop_error *unwind_tables_build_seh(struct unwind_tables *tables,
					   const struct seh_tables *seh);

/* The same for `stubs`: the hypercall page begins at PAGE, a multiple of the page size. */
struct xtop_error *unwind_tables_build_stubs(struct unwind_tables *tables, uint64_t page);

/*
 * The same for `computed` and the code of SOURCE in [START, END). SOURCE is closed with the tables,
 * and also after an error.
 */
struct xtop_error *unwind_tables_build_computed(struct unwind_tables *tables,
						const struct code_source *source, uint64_t start,
						uint64_t end);

/* The same for `links`, of 32-bit Arm code. */
struct xtop_error *unwind_tables_build_links(struct unwind_tables *tables,
					     const struct code_source *source);

/* --- an address space, as unwinding sees it --------------------------------------------------- */

/* What lies at an address. */
struct unwind_code {
	uint64_t start, end; /* the same answer holds for all of [start, end) */
	uint64_t bias;       /* address in the guest - address in the image */
	const struct unwind_tables *tables; /* of the image there; NULL: no image */
	bool mapped;         /* something is known to lie there */
	bool possible;       /* code may lie there: mapped, or nothing of the space is known */
};

/*
 * Implemented by symbol/space.c. unwind_stack() keeps the last struct unwind_code of a walk, so it
 * calls these functions once for each image that a stack passes, not once for each frame.
 */
struct unwind_space {
	/* TABLES_NEEDED: when the image's tables have not been built yet, they are built now. */
	void (*find)(const struct unwind_space *space, uint64_t address, bool tables_needed,
		     struct unwind_code *code);
	/* The first address of the function that ADDRESS lies in. False: not known. */
	bool (*find_function)(const struct unwind_space *space, uint64_t address, uint64_t *start);
};

struct unwind_spaces {
	const struct unwind_space *kernel, *user; /* NULL: nothing is known of it */
	bool user_whole; /* `user` has all code that there is: elsewhere there is no code */
	bool user_ended; /* the task has given up its memory since: what was not there was gone */
};

/* --- unwind.c: one stack ---------------------------------------------------------------------- */

enum unwind_how { UNWIND_AUTO, UNWIND_FP, UNWIND_ORC, UNWIND_DWARF };

/* Why the walk ended. Only UNWIND_COMPLETE says that the outermost function was reached. */
enum unwind_stop {
	UNWIND_COMPLETE,
	UNWIND_CUT,       /* the stack bytes end before the stack does: the sample's cut says why */
	UNWIND_LOOP,      /* the next frame is not further out: a loop, or not a frame */
	UNWIND_BAD,       /* a frame pointer, return address or table that cannot be right */
	UNWIND_TOO_DEEP,  /* UNWIND_MAX_FRAMES */
	UNWIND_NO_TABLES, /* nothing says how to unwind there */
	UNWIND_REPLACED,  /* a tracer replaced the return address (fgraph, kretprobes) */
};
#define N_UNWIND_STOPS 7

enum unwind_frame_flag {
	FRAME_RETURN = 1 << 0, /* a return address: the call is at address - 1 */
	FRAME_USER = 1 << 1,   /* user code */
	FRAME_BROKEN = 1 << 2, /* frames between this one and the one before were not found */
};

/* What told where a frame is, the most trusted first. */
enum unwind_by {
	UNWIND_BY_REGISTERS, /* the vCPU's, or those that an interrupt or a system call has saved */
	UNWIND_BY_ORC,
	UNWIND_BY_GO,
	UNWIND_BY_SEH,
	UNWIND_BY_CFI,
	UNWIND_BY_COMPUTED, /* instructions */
	UNWIND_BY_FP,       /* frame pointers, in code that is known to keep them */
	UNWIND_BY_GUESS,    /* frame pointers, in other code */
};
#define N_UNWIND_BYS 8

struct unwind_frame {
	uint64_t address;
	uint32_t flags; /* enum unwind_frame_flag */
	enum unwind_by by;
};

/* A stack has two parts: the kernel's, and that of the user code it serves. Each may be missing. */
enum unwind_part { UNWIND_KERNEL, UNWIND_USER };
#define N_UNWIND_PARTS 2

struct unwind_part_end {
	bool walked;           /* the part has frames */
	enum unwind_stop stop; /* the kernel's is complete when it reached the user's registers */
	enum sample_cut cut;   /* why the copy of its stack ends where it does */
	uint32_t pieces;       /* bit i: piece i of the sample was used */
	int last_piece;        /* where the part ended; -1: nowhere that was copied */
};

struct unwind_stack {
	unsigned n_frames;
	enum unwind_stop stop; /* of the innermost part that is not complete */
	struct unwind_part_end parts[N_UNWIND_PARTS];
	/* for each piece: the address just past the outermost byte that was used; 0: none was */
	uint64_t reached[SAMPLE_MAX_STACKS];
	/* of the Go program that has user frames; NULL: none. Lives as long as its tables. */
	const struct go_stacks *go_stacks;
	bool go_callback; /* C has called Go, and the frames of C were not found */
	struct unwind_frame frames[UNWIND_MAX_FRAMES];
};

/*
 * UNWIND_AUTO takes for each frame the first mechanism that covers its address: the hypercall page,
 * ORC, Go's table, compiled CFI, libunwind, what its instructions tell, and frame pointers where
 * none does. Any other way uses its own mechanism only. VCPU must have passed sample_check().
 *
 * When the kernel's part ends early but the user registers are known, the user part goes on from
 * those registers, and its first frame is FRAME_BROKEN. In the first and last instructions of the
 * kernel there is at most one kernel frame, and the user part follows that frame.
 */
void unwind_stack(const struct sample_vcpu *vcpu, const struct unwind_spaces *spaces,
		  enum unwind_how how, struct unwind_stack *stack);

/* Whether the walk reached the outermost function, whatever is missing further in. */
static inline bool unwind_is_rooted(const struct unwind_stack *stack)
{
	enum unwind_part outer = stack->parts[UNWIND_USER].walked ? UNWIND_USER : UNWIND_KERNEL;

	return stack->parts[outer].stop == UNWIND_COMPLETE;
}

/*
 * The address by which to look up the function of FRAME. For a caller this is the last byte of its
 * call instruction: when the called function never returns, the return address may belong to the
 * next function.
 */
static inline uint64_t unwind_frame_code(const struct unwind_frame *frame)
{
	return frame->address - !!(frame->flags & FRAME_RETURN);
}

#endif
