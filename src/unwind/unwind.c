/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwinding: a vCPU's registers and copied stack bytes become its call chain. For each frame, the
 * first mechanism that covers the frame's address makes the step to the caller:
 *
 *   unwind_choose()   the mechanisms of mechanisms.h in their order, then frame pointers
 *   unwind_check()    is the caller further out, and does it follow a call in code?
 *   unwind_push()     adds the caller as a frame
 *
 *      kernel part  ──── STEP_USER: the user code's registers were found ───►  user part
 *                   ─ ─  ends early, but the registers are at the kernel's usual place  ─ ─►
 *
 * A chain goes outwards: the stack pointer grows with each frame. Linux has several stacks, so the
 * stack pointer may also move to another piece of the sample a few times: for example, an interrupt
 * arrived on the task's stack, and a machine check arrived during the interrupt. Resolver's thread.
 * Reads only the input, and the tables of a -k file when they are first needed.
 */
#include "config.h"

#include "xtop/unwind/unwind.h"

#include <string.h>

#include "unwind/eh_return.h"
#include "unwind/entry.h"
#include "unwind/fp.h"
#include "unwind/mechanisms.h"

/*
 * How often a part may change stacks. The longest chain in a kernel: an NMI interrupts a machine
 * check, which interrupted an exception, which interrupted an interrupt, which interrupted a task.
 * User code changes to signal stacks.
 */
#define UNWIND_MAX_SWITCHES 4

struct walk {
	const struct unwind_spaces *spaces;
	enum unwind_how how;
	struct unwind_stack *stack;
	struct cursor cursor;
	const struct unwind_space *space;     /* space of the current part; NULL: unknown */
	const struct unwind_program *program; /* finds callers in code of the process; or NULL */
	fp_step_fn *fp_step;                  /* step by frame pointers for the current part */
	struct unwind_code code; /* the code at cursor_pc(); an empty range: not looked up yet */
	bool has_tables;         /* some mechanism has a table for `code` */
	bool is_guess;   /* frame pointers are only a guess in `code` */
	unsigned n_switches; /* how often the current part has changed stacks */
	enum unwind_by by; /* how the last step was made; UNWIND_BY_REGISTERS: no step yet */
};

/* --- the code at the cursor ------------------------------------------------------------------- */

/* Whether an address at which nothing is mapped surely has no code. */
static bool unwind_is_whole(const struct walk *walk)
{
	if (walk->cursor.user)
		return walk->space && walk->spaces->user_whole;
	return walk->space && !walk->code.possible;
}

/*
 * Whether the image has tables of its own. `computed` does not count, because a file without tables
 * may have been compiled with frame pointers.
 */
static bool unwind_has_own_tables(const struct unwind_tables *tables)
{
	return tables->orc || tables->go || tables->seh || tables->cfi || tables->dwarf;
}

/* Whether any mechanism has a table in TABLES, which may be NULL. */
static bool unwind_has_tables(const struct unwind_tables *tables)
{
	return tables && (unwind_has_own_tables(tables) || tables->stubs || tables->exidx ||
			  tables->computed);
}

/* Whether frame pointers are only a guess: the code has tables, or belongs to a process. */
static bool unwind_is_guess(const struct walk *walk)
{
	const struct unwind_code *code = &walk->code;

	if (walk->how != UNWIND_AUTO)
		return false;
	if (!code->mapped)
		return unwind_is_whole(walk);
	return !code->tables || unwind_has_own_tables(code->tables) ||
	       (walk->cursor.user && walk->spaces->user_whole);
}

/*
 * Looks up the code at the cursor, unless the last result holds there, too: most frames lie in the
 * same range as the frame before.
 */
static inline void unwind_find(struct walk *walk)
{
	uint64_t address = cursor_pc(&walk->cursor);

	if (address - walk->code.start < walk->code.end - walk->code.start || !walk->space)
		return;
	walk->space->find(walk->space, address, walk->how != UNWIND_FP, &walk->code);
	walk->has_tables = unwind_has_tables(walk->code.tables);
	walk->is_guess = unwind_is_guess(walk);
}

static bool unwind_is_canonical(uint64_t address)
{
	/* addresses have 57 bits with page tables of 5 levels; fewer levels are included */
	return (uint64_t)((int64_t)(address << 7) >> 7) == address;
}

/* Whether there can be code at the cursor, after a step. */
static bool unwind_is_code(const struct walk *walk)
{
	if (!unwind_is_canonical(walk->cursor.regs[REG_PC]))
		return false;
	return walk->code.mapped || !unwind_is_whole(walk);
}

/* --- one step --------------------------------------------------------------------------------- */

/* Makes a step by the tables at the cursor, in the order of mechanisms.h. */
static enum unwind_step unwind_by_tables(struct walk *walk)
{
	const struct unwind_tables *tables = walk->code.tables;
	bool is_arm64 = walk->cursor.arch == ARCH_ARM64;
	enum unwind_step step = STEP_NOT_COVERED;

#define TRY(name, x86, arm64, ways, trust)                                                        \
	if (step == STEP_NOT_COVERED && tables->name && (ways) >> walk->how & 1) {                \
		walk->by = trust;                                                                 \
		step = is_arm64 ? arm64(tables->name, walk->code.bias, &walk->cursor)             \
				: x86(tables->name, walk->code.bias, &walk->cursor);              \
	}
	UNWIND_MECHANISMS(TRY)
#undef TRY
	return step;
}

#define ENTRY_ALIGNMENT 32 /* multiple at which V8's functions begin */

/*
 * Whether the caller's address is a function's first byte, in a process whose runtime runs
 * functions on the threads' own stacks. When V8 makes frames of its interpreter from a frame of
 * compiled code (Deoptimizer), these return to the beginning of
 * Builtins_InterpreterEnterAtNextBytecode.
 */
static bool unwind_is_entry(const struct walk *walk, const struct computed *computed)
{
	static const char padding[8] = "\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc"; /* int3 */
	uint64_t pc = walk->cursor.regs[REG_PC];
	uint8_t before[sizeof(padding)];

	return walk->program && pc % ENTRY_ALIGNMENT == 0 &&
	       computed_read_code(computed, walk->code.bias, pc - sizeof(before), before,
				  sizeof(before)) == sizeof(before) &&
	       memcmp(before, padding, sizeof(padding)) == 0;
}

/*
 * Whether a call stands in front of the caller's address. True without a look if a table of the
 * file gave the caller, or if no code can be read.
 */
static bool unwind_fits(const struct walk *walk)
{
	struct computed *computed = walk->has_tables ? walk->code.tables->computed : NULL;

	if (!computed || walk->by < UNWIND_BY_COMPUTED || walk->how != UNWIND_AUTO ||
	    walk->cursor.interrupted)
		return true;
	return computed_is_return(computed, walk->code.bias, walk->cursor.regs[REG_PC]) ||
	       unwind_is_entry(walk, computed);
}

/*
 * Makes a step by frame pointers, where no table covers the address. A guess may find a frame. A
 * guess may find the end of the chain only if the last frame was a guess, too: the walk has then
 * followed the chain of frame pointers to its end. A frame pointer of zero ends the chain only if
 * frame pointers led to this frame (FOLLOWED). Otherwise the function may use the register for any
 * number, such as zero. arm64 code is an exception, but not 32-bit Arm code: x29 always has a frame
 * record's address or 0 (Arm, AAPCS64, "The Frame Pointer").
 */
static inline enum unwind_step unwind_by_fp(struct walk *walk, bool followed)
{
	const struct unwind_frame *last = &walk->stack->frames[walk->stack->n_frames - 1];
	enum unwind_step step;

	walk->by = walk->is_guess ? UNWIND_BY_GUESS : UNWIND_BY_FP;
	step = walk->fp_step(walk->space, &walk->cursor);
	if (step == STEP_OUTERMOST && !followed && walk->how == UNWIND_AUTO &&
	    (walk->cursor.arch != ARCH_ARM64 || cursor_is_arm32(&walk->cursor)))
		return STEP_NOT_COVERED;
	if (walk->by == UNWIND_BY_FP || step == STEP_CALLER || step == STEP_CUT ||
	    (step == STEP_OUTERMOST && last->by == UNWIND_BY_GUESS))
		return step;
	return STEP_NOT_COVERED;
}

/* Makes a step from code that its process has compiled. */
static enum unwind_step unwind_by_program(struct walk *walk)
{
	const struct unwind_program *program = walk->program;
	struct cursor *cursor = &walk->cursor;
	const struct runtime_native native = { .vcpu = cursor->vcpu,
					       .address = cursor->regs[REG_PC],
					       .stack_pointer = cursor->regs[REG_SP],
					       .frame_pointer = cursor_frame_pointer(cursor),
					       .interrupted = cursor->interrupted,
					       .compiled = true };
	struct runtime_caller caller;

	if (!program->find_caller(program, &native, &caller))
		return STEP_NOT_COVERED;
	walk->by = UNWIND_BY_CFI;
	return cursor_step_to(cursor, &caller);
}

static enum unwind_step unwind_choose(struct walk *walk)
{
	enum unwind_step step = STEP_NOT_COVERED;
	bool followed = walk->by >= UNWIND_BY_FP;

	walk->by = UNWIND_BY_REGISTERS;
	if (followed && (walk->has_tables || walk->program) && walk->fp_step == fp_x86_step)
		fp_x86_correct_stack(&walk->cursor); /* frame pointers do not need it */
	if (walk->has_tables)
		step = unwind_by_tables(walk);
	else if (walk->program)
		step = unwind_by_program(walk);
	if (step == STEP_NOT_COVERED && (walk->how == UNWIND_AUTO || walk->how == UNWIND_FP))
		step = unwind_by_fp(walk, followed);
	return step;
}

/* --- the chain -------------------------------------------------------------------------------- */

static inline void unwind_push(struct walk *walk, uint32_t flags)
{
	struct unwind_stack *stack = walk->stack;

	if (!walk->cursor.interrupted)
		flags |= FRAME_RETURN;
	if (walk->cursor.user)
		flags |= FRAME_USER;
	stack->frames[stack->n_frames++] =
		(struct unwind_frame){ .address = walk->cursor.regs[REG_PC],
				       .frame_pointer = cursor_frame_pointer(&walk->cursor),
				       .flags = flags,
				       .by = walk->by };
}

/*
 * Whether the step from stack pointer SP to the cursor's stack pointer leads outwards. Both may be
 * equal only in the innermost frame, if the function has its return address in a register: vfork(),
 * and leaf functions on arm64.
 */
static bool unwind_goes_out(struct walk *walk, uint64_t sp)
{
	const struct cursor *cursor = &walk->cursor;

	if (cursor->regs[REG_SP] > sp)
		return true;
	if (cursor->regs[REG_SP] == sp && !cursor->interrupted &&
	    !(walk->stack->frames[walk->stack->n_frames - 1].flags & FRAME_RETURN))
		return true;
	return cursor_piece(cursor, cursor->regs[REG_SP]) != cursor_piece(cursor, sp) &&
	       ++walk->n_switches <= UNWIND_MAX_SWITCHES + cursor->go.n_switches;
}

static enum unwind_stop unwind_stop_of(enum unwind_step step)
{
	static const enum unwind_stop stops[] = {
		[STEP_CALLER] = UNWIND_BAD,
		[STEP_USER] = UNWIND_COMPLETE,
		[STEP_OUTERMOST] = UNWIND_COMPLETE,
		[STEP_NOT_COVERED] = UNWIND_NO_TABLES,
		[STEP_CUT] = UNWIND_CUT,
		[STEP_BAD] = UNWIND_BAD,
		[STEP_LOOP] = UNWIND_LOOP,
		[STEP_REPLACED] = UNWIND_REPLACED,
	};

	return stops[step];
}

/*
 * After STEP_EH_RETURN from a frame that begins at SP: moves on to the function that catches, or
 * forgets registers. Returns STEP_CALLER, or STEP_BAD if the caller is lost.
 */
static enum unwind_step unwind_leave_eh_return(struct walk *walk, uint64_t sp)
{
	const struct unwind_frame *frame = &walk->stack->frames[walk->stack->n_frames - 1];
	struct computed *computed = walk->code.tables->computed;
	uint8_t code[EH_RETURN_CODE_BYTES];
	size_t n = 0;

	if (computed)
		n = computed_read_code(computed, walk->code.bias, frame->address, code,
				       sizeof(code));
	if (!eh_return_is_near(code, n, frame->address) ||
	    eh_return_find_caller(&walk->cursor, sp) || frame->flags & FRAME_RETURN ||
	    eh_return_has_call(code, n, frame->address))
		return STEP_CALLER;
	return STEP_BAD;
}

/* Why the walk must stop before the frame that the step led to; UNWIND_COMPLETE: it may go on. */
static enum unwind_stop unwind_check(struct walk *walk, uint64_t sp)
{
	if (!unwind_goes_out(walk, sp))
		return walk->by == UNWIND_BY_GUESS ? UNWIND_NO_TABLES : UNWIND_LOOP;
	unwind_find(walk);
	if (!unwind_is_code(walk) || !unwind_fits(walk))
		return walk->by == UNWIND_BY_GUESS ? UNWIND_NO_TABLES : UNWIND_BAD;
	return walk->stack->n_frames == UNWIND_MAX_FRAMES ? UNWIND_TOO_DEEP : UNWIND_COMPLETE;
}

/*
 * Notes that no call precedes the last frame's address if the last step left a signal handler's
 * trampoline: the kernel gave the handler the trampoline's first byte as its return address. Go's
 * and Windows' tables do not count: there a function that has made a call leads to that code.
 */
static void unwind_mark_trampoline(struct walk *walk)
{
	const struct cursor *cursor = &walk->cursor;

	if (cursor->interrupted && cursor->user && walk->by >= UNWIND_BY_CFI)
		walk->stack->frames[walk->stack->n_frames - 1].flags &= ~(uint32_t)FRAME_RETURN;
}

/*
 * A step by computed rows led to no caller. If frame pointers led to the last frame, its stack
 * pointer SP is not sure: functions of V8 take their arguments off the stack before they return.
 * Then its frame pointer leads on: makes *STEP by it, and N_SWITCHES is the number of switches
 * before. Returns whether *STEP is to be checked.
 */
static bool unwind_retry(struct walk *walk, uint64_t sp, unsigned n_switches, enum unwind_stop stop,
			 enum unwind_step *step)
{
	const struct unwind_frame *last = &walk->stack->frames[walk->stack->n_frames - 1];
	struct cursor *cursor = &walk->cursor;

	if (stop == UNWIND_TOO_DEEP || walk->by != UNWIND_BY_COMPUTED || !cursor->user ||
	    last->by < UNWIND_BY_FP)
		return false;
	cursor->regs[REG_PC] = last->address;
	cursor->regs[REG_SP] = sp;
	cursor->regs[REG_RBP] = last->frame_pointer;
	cursor->known = 1U << REG_PC | 1U << REG_SP | 1U << REG_RBP;
	walk->n_switches = n_switches;
	unwind_find(walk);
	*step = unwind_by_fp(walk, true);
	return *step == STEP_CALLER || *step == STEP_CUT;
}

/* Walks on from the last frame. Returns the last step, and in *STOP why the walk ended. */
static enum unwind_step unwind_frames(struct walk *walk, enum unwind_stop *stop)
{
	for (;;) {
		uint64_t sp = walk->cursor.regs[REG_SP];
		unsigned n_switches = walk->n_switches;
		enum unwind_step step = unwind_choose(walk);

		if (step == STEP_EH_RETURN)
			step = unwind_leave_eh_return(walk, sp);
		do
			*stop = step == STEP_CALLER ? unwind_check(walk, sp) : unwind_stop_of(step);
		while (step == STEP_CALLER && *stop != UNWIND_COMPLETE &&
		       unwind_retry(walk, sp, n_switches, *stop, &step));
		if (step != STEP_CALLER || *stop != UNWIND_COMPLETE)
			return step;
		unwind_mark_trampoline(walk);
		unwind_push(walk, 0);
	}
}

/*
 * Walks the part that the cursor is in. The part's first frame gets FLAGS. Returns the last step.
 */
static enum unwind_step unwind_part(struct walk *walk, uint32_t flags)
{
	enum unwind_part part = walk->cursor.user ? UNWIND_USER : UNWIND_KERNEL;
	struct unwind_part_end *end = &walk->stack->parts[part];
	uint64_t before[SAMPLE_MAX_STACKS];
	enum unwind_step step;

	memcpy(before, walk->cursor.reached, sizeof(before));
	walk->space = part == UNWIND_USER ? walk->spaces->user : walk->spaces->kernel;
	walk->program =
		part == UNWIND_USER && walk->how == UNWIND_AUTO ? walk->spaces->program : NULL;
	walk->fp_step = fp_step_of(&walk->cursor);
	walk->code = (struct unwind_code){ 0 };
	walk->has_tables = walk->is_guess = false;
	walk->n_switches = 0;
	walk->by = UNWIND_BY_REGISTERS;
	end->walked = true;
	unwind_find(walk);
	unwind_push(walk, flags);
	step = unwind_frames(walk, &end->stop);
	for (unsigned i = 0; i < SAMPLE_MAX_STACKS; i++)
		if (walk->cursor.reached[i] != before[i])
			end->pieces |= 1U << i;
	end->last_piece = cursor_piece(&walk->cursor, walk->cursor.regs[REG_SP]);
	return step;
}

/*
 * Makes a kernel part of one frame: the vCPU enters or leaves the kernel, and the registers have
 * the user's values: not yet changed, or already restored.
 */
static void unwind_entering_part(struct walk *walk)
{
	walk->by = UNWIND_BY_REGISTERS;
	walk->stack->parts[UNWIND_KERNEL] = (struct unwind_part_end){ .walked = true,
								      .stop = UNWIND_COMPLETE,
								      .last_piece = -1 };
	unwind_push(walk, 0);
}

/* --- kernel and user parts -------------------------------------------------------------------- */

/* Walks the user part. The part is cut if the user stack was not copied. */
static void unwind_user_part(struct walk *walk, uint32_t flags)
{
	struct unwind_part_end *end = &walk->stack->parts[UNWIND_USER];

	if (walk->stack->n_frames == UNWIND_MAX_FRAMES)
		return;
	unwind_part(walk, flags);
	if (!end->pieces && end->last_piece < 0)
		end->stop = UNWIND_CUT;
}

static enum unwind_stop unwind_verdict(const struct sample_vcpu *vcpu, struct unwind_stack *stack)
{
	enum unwind_stop verdict = UNWIND_COMPLETE;

	for (unsigned i = 0; i < N_UNWIND_PARTS; i++) {
		struct unwind_part_end *end = &stack->parts[i];

		if (!end->walked)
			continue;
		end->cut = i == UNWIND_USER && !vcpu->user ? vcpu->user_cut : vcpu->stack_cut;
		/* bytes after a fault are zeros that the guest does not have */
		if (end->stop == UNWIND_COMPLETE && end->cut == CUT_FAULT)
			end->stop = UNWIND_CUT;
		if (verdict == UNWIND_COMPLETE)
			verdict = end->stop;
	}
	return verdict;
}

static bool unwind_find_user_arm64(struct walk *walk, uint32_t *flags)
{
	bool complete = walk->stack->parts[UNWIND_KERNEL].stop == UNWIND_COMPLETE, broken, found;

	found = entry_arm64_find_user(&walk->cursor, complete, &broken);
	*flags = broken ? FRAME_BROKEN : 0;
	return found;
}

/* A kernel part that was interrupted in the entry code itself is complete. */
static bool unwind_find_user_arm32(struct walk *walk, uint32_t *flags)
{
	enum unwind_stop *stop = &walk->stack->parts[UNWIND_KERNEL].stop;
	bool ends;

	if (!entry_arm32_find_user(&walk->cursor, &ends))
		return false;
	if (ends)
		*stop = UNWIND_COMPLETE;
	*flags = *stop == UNWIND_COMPLETE ? 0 : FRAME_BROKEN;
	return true;
}

/* In the kernel's first and last instructions, the kernel part counts as cut short. */
static bool unwind_find_user_i386(struct walk *walk, enum unwind_step step, uint32_t *flags)
{
	if (step == STEP_USER)
		return true;
	if (walk->stack->parts[UNWIND_KERNEL].stop == UNWIND_COMPLETE)
		return false;
	*flags = FRAME_BROKEN;
	return entry_i386_search_user(&walk->cursor);
}

/*
 * Moves the cursor to the user code after the kernel's part has ended with STEP. *FLAGS are for the
 * user part's first frame. Returns false if no user part follows.
 */
static bool unwind_find_user(struct walk *walk, enum unwind_step step, uint32_t *flags)
{
	*flags = 0;
	/* Another thread or a signal may end a thread in any system call: its memory is gone. */
	if (walk->spaces->user_ended && walk->cursor.vcpu->user_cut == CUT_NOT_PRESENT)
		return false;
	if (cursor_is_arm32(&walk->cursor))
		return unwind_find_user_arm32(walk, flags);
	if (walk->cursor.arch == ARCH_ARM64)
		return unwind_find_user_arm64(walk, flags);
	if (cursor_is_i386(&walk->cursor))
		return unwind_find_user_i386(walk, step, flags);
	if (step == STEP_USER)
		return !entry_has_no_memory(&walk->cursor);
	if (walk->stack->parts[UNWIND_KERNEL].stop == UNWIND_COMPLETE)
		return walk->stack->n_frames == 1 && entry_leave(walk->spaces->user, &walk->cursor);
	*flags = FRAME_BROKEN;
	return entry_find_regs(&walk->cursor);
}

/* Whether an arm64 vCPU enters or leaves the kernel, with the user's values in its registers. */
static bool unwind_is_entering(const struct cursor *cursor)
{
	if (cursor->arch != ARCH_ARM64 || cursor->user)
		return false;
	return cursor_is_arm32(cursor) ? entry_arm32_is_entering(cursor)
				       : entry_arm64_is_entering(cursor);
}

void unwind_stack(const struct sample_vcpu *vcpu, const struct unwind_spaces *spaces,
		  enum unwind_how how, struct unwind_stack *stack)
{
	enum unwind_step step;
	struct walk walk; /* unwind_part() sets the rest */
	uint32_t flags;

	walk.spaces = spaces;
	walk.how = how;
	walk.stack = stack;
	stack->n_frames = 0;
	memset(stack->parts, 0, sizeof(stack->parts));
	cursor_init(&walk.cursor, vcpu);
	if (unwind_is_entering(&walk.cursor)) {
		unwind_entering_part(&walk);
		step = STEP_USER;
	} else {
		step = unwind_part(&walk, 0);
	}
	if (!vcpu->user && unwind_find_user(&walk, step, &flags))
		unwind_user_part(&walk, flags);
	memcpy(stack->reached, walk.cursor.reached, sizeof(stack->reached));
	stack->go_stacks = walk.cursor.go.stacks;
	stack->go_callback = walk.cursor.go.callback;
	stack->stop = unwind_verdict(vcpu, stack);
}
