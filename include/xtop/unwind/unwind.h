/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwinding: registers and copied stack bytes of one vCPU -> the addresses of its call chain,
 * innermost first. Pure functions of their input; the resolver's thread.
 */
#ifndef XTOP_UNWIND_H
#define XTOP_UNWIND_H

#include <stdbool.h>

#include "xtop/base/error.h"
#include "xtop/language/language.h"
#include "xtop/sample/sample.h"

/* As many frames as a sample's stack holds, if each has a return address and another word. */
#define UNWIND_MAX_FRAMES (SAMPLE_STACK_LIMIT_BYTES / 16)

/* --- tables.c: the tables of one image -------------------------------------------------------- */

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
struct first_code;
struct code_source;  /* code.h */

/* One table for each mechanism; NULL: the image has none. Addresses are the image's. */
struct unwind_tables {
	struct stubs *stubs; /* the hypercall page, into which Xen writes code */
	struct orc *orc;     /* orc.h: a Linux kernel's own format */
	struct cfi *cfi;     /* compiled call-frame information */
	struct dwarf *dwarf; /* functions with rows that only libunwind can evaluate */
	struct go *go;       /* go.h: Go's own table */
	struct seh *seh;     /* seh.h: the tables of a PE image */
	struct exidx *exidx; /* exidx.h: 32-bit Arm's own format */
	struct computed *computed; /* rows from reading instructions, for code without tables */
	struct first_code *first_code; /* functions of a kernel of i386 that run first */
	struct links *links; /* 32-bit Arm code: which functions have a frame, for frame pointers */
};

/* Destroys all tables. All members become NULL. */
void unwind_tables_deinit(struct unwind_tables *tables);
size_t unwind_tables_memory_bytes(const struct unwind_tables *tables);
/*
 * Finds the bounds of the function at ADDRESS in the tables, for code without symbols. All
 * addresses are the image's. Returns false if no table has the function.
 */
bool unwind_tables_find_function(const struct unwind_tables *tables, uint64_t address,
				 uint64_t *start, uint64_t *end);
/*
 * Finds the function's bounds as unwind_tables_find_function() does. If no table has the function,
 * calls in the code tell the bounds; for that, much of the code may be read.
 */
bool unwind_tables_guess_function(const struct unwind_tables *tables, uint64_t address,
				  uint64_t *start, uint64_t *end);
/* Finds the bounds of the hypercall page's stub at ADDRESS. Returns false if there is no stub. */
bool unwind_tables_find_stub(const struct unwind_tables *tables, uint64_t address,
			     uint64_t *start, uint64_t *end);
/*
 * Finds the gap between two FDEs in which ADDRESS lies. A gap has one or more assembly functions.
 * The gap before the first FDE begins at INIT; INIT is 0 if this is unknown. Returns false if an
 * FDE is missing on one side, or if the gap is too long for a function.
 */
bool unwind_tables_find_gap(const struct unwind_tables *tables, uint64_t init, uint64_t address,
			    uint64_t *start, uint64_t *end);

/*
 * Each of these functions builds a table and replaces the member of TABLES. The member becomes NULL
 * if the input says nothing. Error: out of memory; TABLES are unchanged then.
 */
/* Builds `cfi` and `dwarf`. */
struct xtop_error *unwind_tables_build_cfi(struct unwind_tables *tables,
					   const struct cfi_sections *sections);
/* Builds `go`. */
struct xtop_error *unwind_tables_build_go(struct unwind_tables *tables,
					  const struct go_table *table);
/* Builds `exidx`. */
struct xtop_error *unwind_tables_build_exidx(struct unwind_tables *tables,
					     const struct exidx_sections *sections);
/* Builds `seh`. Takes ownership of SEH as seh_create() does. */
struct xtop_error *unwind_tables_build_seh(struct unwind_tables *tables,
					   const struct seh_tables *seh);
/* Builds `stubs`. The hypercall page begins at PAGE, a multiple of the page size. */
struct xtop_error *unwind_tables_build_stubs(struct unwind_tables *tables, uint64_t page);
/*
 * Builds `computed` for the code of SOURCE in [START, END). TABLES own SOURCE: it is closed with
 * the tables, and at once after an error.
 */
struct xtop_error *unwind_tables_build_computed(struct unwind_tables *tables,
						const struct code_source *source, uint64_t start,
						uint64_t end);
/*
 * Builds `first_code` for code whose instructions are not read, from SOURCE's `entries` and
 * find_function(). TABLES keep nothing of SOURCE.
 */
void unwind_tables_build_first_code(struct unwind_tables *tables, const struct code_source *source);
/* Builds `links` for 32-bit Arm code. TABLES own SOURCE, as with `computed`. */
struct xtop_error *unwind_tables_build_links(struct unwind_tables *tables,
					     const struct code_source *source);

/* --- an address space, as unwinding sees it --------------------------------------------------- */

/* The code at an address. */
struct unwind_code {
	uint64_t start, end; /* addresses for which the members below hold: [start, end) */
	uint64_t bias;       /* address in the guest - address in the image */
	const struct unwind_tables *tables; /* tables of the image there; NULL: no image */
	bool mapped;         /* a mapping is known to lie there */
	bool possible;       /* code may lie there: mapped, or the whole space is unknown */
};

/*
 * Implemented by symbol/space.c. unwind_stack() keeps the last struct unwind_code of a walk, so it
 * calls these functions once for each image that a stack passes, not once for each frame.
 */
struct unwind_space {
	/*
	 * Describes the code at ADDRESS. TABLES_NEEDED: build the image's tables if it has none
	 * yet.
	 */
	void (*find)(const struct unwind_space *space, uint64_t address, bool tables_needed,
		     struct unwind_code *code);
	/* Finds the first address of the function at ADDRESS. Returns false if it is unknown. */
	bool (*find_function)(const struct unwind_space *space, uint64_t address, uint64_t *start);
};

/* Knows frames of code that a process has compiled. Implemented by profile/runtimes.c. */
struct unwind_program {
	bool (*find_caller)(const struct unwind_program *program,
			    const struct runtime_native *native, struct runtime_caller *caller);
};

struct unwind_spaces {
	const struct unwind_space *kernel, *user; /* NULL: the space is unknown */
	bool user_whole; /* `user` knows all user code: other addresses have no code */
	/* the task has since given up its memory, so bytes may be missing for good */
	bool user_ended;
	const struct unwind_program *program; /* NULL: nothing is known of code without tables */
};

/* --- unwind.c: one stack ---------------------------------------------------------------------- */

enum unwind_how { UNWIND_AUTO, UNWIND_FP, UNWIND_ORC, UNWIND_DWARF };

/* Why the walk ended. Only UNWIND_COMPLETE says that the outermost function was reached. */
enum unwind_stop {
	UNWIND_COMPLETE,
	UNWIND_CUT,       /* the stack bytes end before the stack does: the sample's cut says why */
	UNWIND_LOOP,      /* the next frame is not further out: a loop, or not a frame */
	UNWIND_BAD,       /* a frame pointer, return address or table that cannot be right */
	UNWIND_TOO_DEEP,  /* the stack has more than UNWIND_MAX_FRAMES frames */
	UNWIND_NO_TABLES, /* no mechanism knows the code there */
	UNWIND_REPLACED,  /* a tracer replaced the return address (fgraph, kretprobes) */
};
#define N_UNWIND_STOPS 7

enum unwind_frame_flag {
	FRAME_RETURN = 1 << 0, /* the frame has made a call, which is at address - 1 */
	FRAME_USER = 1 << 1,   /* the frame is user code's */
	FRAME_BROKEN = 1 << 2, /* frames between this one and the one before were not found */
};

/* How a frame was found; the most trusted way comes first. */
enum unwind_by {
	UNWIND_BY_REGISTERS, /* the vCPU's registers, or those an interrupt or system call saved */
	UNWIND_BY_ORC,
	UNWIND_BY_GO,
	UNWIND_BY_SEH,
	UNWIND_BY_CFI,      /* call-frame information, or what a runtime keeps of compiled code */
	UNWIND_BY_COMPUTED, /* rows computed from instructions */
	UNWIND_BY_FP,       /* frame pointers, in code that is known to keep them */
	UNWIND_BY_GUESS,    /* frame pointers, in code that may not keep them */
};
#define N_UNWIND_BYS 8

struct unwind_frame {
	uint64_t address;
	uint64_t frame_pointer; /* value of the frame pointer in this frame; 0: not known */
	uint32_t flags; /* enum unwind_frame_flag */
	enum unwind_by by;
};

/* A stack has a part in the kernel and a part in user code. Each part may be missing. */
enum unwind_part { UNWIND_KERNEL, UNWIND_USER };
#define N_UNWIND_PARTS 2

/* How the walk of one part ended. */
struct unwind_part_end {
	bool walked;           /* the part has frames */
	/* the kernel's part is complete when it reached the user registers */
	enum unwind_stop stop;
	enum sample_cut cut;   /* why the copied stack bytes end where they do */
	uint32_t pieces;       /* bit i: piece i of the sample was used */
	int last_piece;        /* the piece in which the part ended; -1: in no copied piece */
};

struct unwind_stack {
	unsigned n_frames;
	enum unwind_stop stop; /* the stop of the innermost part that is not complete */
	struct unwind_part_end parts[N_UNWIND_PARTS];
	/* each piece's address just past the outermost byte that was used; 0: none was */
	uint64_t reached[SAMPLE_MAX_STACKS];
	/* the Go program among the user frames; NULL: none. Borrowed from the program's tables. */
	const struct go_stacks *go_stacks;
	bool go_callback; /* C has called Go, and the frames of C were not found */
	struct unwind_frame frames[UNWIND_MAX_FRAMES];
};

/*
 * UNWIND_AUTO uses for each frame the first mechanism of mechanisms.h that covers the frame's
 * address, and frame pointers where no mechanism does. Any other HOW uses one mechanism only. VCPU
 * must have passed sample_check().
 *
 * When the kernel's part ends early but the user registers are known, the user part begins at those
 * registers, and its first frame is FRAME_BROKEN. In the first and last instructions of the kernel
 * there is at most one kernel frame, and the user part follows that frame.
 */
void unwind_stack(const struct sample_vcpu *vcpu, const struct unwind_spaces *spaces,
		  enum unwind_how how, struct unwind_stack *stack);

/* Whether the walk reached the outermost function. Inner frames may still be missing. */
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
