/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copies the stacks of a thread that runs Go; see go_stacks.h. Go knows where each of its
 * stacks ends, so exactly the live part of a goroutine's stack is copied. These stacks are copied,
 * by where the thread is:
 *
 *   on the goroutine's stack   that stack; and g0's if C may have called the goroutine
 *   on g0's or C's stack       that stack, and the goroutine's from where the thread left it
 *   in a signal handler        the handler's, then the stacks of the code that was interrupted
 *
 * Every pointer comes from the guest and may be anything. Sampler's thread.
 */
#include "config.h"

#include "sample/stacks_go.h"

#include <string.h>

#define WORD sizeof(uint64_t)

/* g0.stack ends in the frame of the function that starts a thread. The frames above are C's. */
#define GO_ABOVE_G0_BYTES 512

/* struct ucontext (Linux uapi/asm-generic/ucontext.h), from uc_stack.ss_sp to uc_link, in bytes. */
#define GO_UCONTEXT_LINK (-8)

#define GO_MAX_FRAMES_OF_VDSO 8

struct go_thread {
	struct copy *copy;
	const struct go_machine *machine;
	uint64_t g, g0, gsignal, curg;              /* addresses of these structures */
	struct stack_extent signal, goroutine, own; /* the stacks of gsignal, curg and g0 */
};

static const struct go_machine *go_machine_of(const struct copy *copy)
{
	return copy->regs->arch == ARCH_ARM64 ? &go_machine_arm64 : &go_machine_x86;
}

/* The word at ADDRESS; 0: it cannot be read. */
static uint64_t go_read(const struct go_thread *thread, uint64_t address)
{
	uint64_t word;

	return piece_writer_read(&thread->copy->writer, thread->copy->own, address, &word) ==
			       CUT_NONE
		       ? word
		       : 0;
}

static struct stack_extent go_read_extent(const struct go_thread *thread, uint64_t g)
{
	struct stack_extent extent = { 0 };

	if (g) {
		extent.start = go_read(thread, g + GO_G_STACK_LOW);
		extent.end = go_read(thread, g + GO_G_STACK_HIGH);
	}
	return extent;
}

/* Finds the thread's structures. Returns false if this thread runs no Go now. */
static bool go_find_thread(struct copy *copy, const struct go_stacks *at, struct go_thread *thread)
{
	uint64_t m;

	*thread = (struct go_thread){ .copy = copy, .machine = go_machine_of(copy) };
	thread->g = thread->machine->read_g(copy, at);
	m = thread->g ? go_read(thread, thread->g + GO_G_M) : 0;
	thread->g0 = m ? go_read(thread, m + GO_M_G0) : 0;
	if (!thread->g0 || go_read(thread, thread->g0 + GO_G_M) != m)
		return false;
	thread->gsignal = go_read(thread, m + at->gsignal);
	thread->curg = go_read(thread, m + at->curg);
	thread->signal = go_read_extent(thread, thread->gsignal);
	thread->goroutine = go_read_extent(thread, thread->curg);
	thread->own = go_read_extent(thread, thread->g0);
	return true;
}

/* How many bytes of the stack at SP are live. */
static uint64_t go_stack_bytes(const struct go_thread *thread, uint64_t sp)
{
	struct copy *copy = thread->copy;
	uint64_t learned, bytes;

	if (stack_extent_has(thread->goroutine, sp))
		return thread->goroutine.end - sp;
	if (stack_extent_has(thread->signal, sp))
		return thread->signal.end - sp;
	if (!stack_extent_has(thread->own, sp) ||
	    thread->own.end - sp > SAMPLE_STACK_LIMIT_BYTES)
		return stacks_user_bytes(copy, sp, thread->machine->thread_pointer(copy),
					 STACKS_COROUTINE_BYTES);
	/* The learned size is right for a thread of C, and too small if C called Go just now. */
	learned = stacks_learned_bytes(copy, sp);
	bytes = thread->own.end - sp + GO_ABOVE_G0_BYTES;
	return learned > bytes ? learned : bytes;
}

static enum sample_cut go_add(const struct go_thread *thread, enum sample_stack_kind kind,
			      uint64_t address)
{
	return piece_writer_add(&thread->copy->writer, kind, thread->copy->own, address,
				go_stack_bytes(thread, address));
}

/* --- signals ---------------------------------------------------------------------------------- */

/*
 * The stack pointer of the code that a signal interrupted; 0: not found. The live part of the
 * handler's stack is [START, END). There the kernel saved the pointer in a struct ucontext. This
 * struct can be found because it also has the start of the handlers' stack.
 */
static uint64_t go_find_interrupted(const struct go_thread *thread, uint64_t start, uint64_t end)
{
	uint64_t to_sp = thread->machine->ucontext_sp;

	for (uint64_t at = (start + 2 * WORD - 1) & ~(WORD - 1); at + to_sp + WORD <= end;
	     at += WORD)
		if (go_read(thread, at) == thread->signal.start &&
		    !go_read(thread, at + (uint64_t)GO_UCONTEXT_LINK))
			return go_read(thread, at + to_sp);
	return 0;
}

/* --- the other stack -------------------------------------------------------------------------- */

/*
 * Adds the stack of G from where the thread left it: a word below its saved stack pointer. That
 * word is the return address of mcall(). If the machine keeps the return address in G's structure
 * instead, this function writes the address in the word's place.
 */
static void go_add_left(const struct go_thread *thread, enum sample_stack_kind kind, uint64_t g)
{
	struct piece_writer *writer = &thread->copy->writer;
	uint64_t sp = go_read(thread, g + GO_G_SP), pc;
	size_t at = writer->size_bytes + sizeof(struct sample_stack);
	unsigned n = writer->n;

	if (sp <= WORD || sp % WORD)
		return;
	pc = thread->machine->keeps_pc ? go_read(thread, g + GO_G_PC) : 0;
	go_add(thread, kind, sp - WORD);
	if (thread->machine->keeps_pc && writer->to && writer->n > n)
		memcpy(writer->to + at, &pc, sizeof(pc));
}

/*
 * The g of the goroutine that mcall() left last, when the scheduler has already cleared curg; 0:
 * there is no such goroutine. mcall() pushed that g on g0's stack.
 */
static uint64_t go_find_parked(struct go_thread *thread)
{
	uint64_t sp = go_read(thread, thread->g0 + GO_G_SP);
	uint64_t g = sp ? go_read(thread, sp - WORD) : 0;

	if (!g || go_read(thread, g + GO_G_SELF) != g)
		return 0;
	thread->goroutine = go_read_extent(thread, g);
	return g;
}

/*
 * The frame of the Go function that calls the vDSO; 0: not found. A call of the vDSO runs on g0's
 * stack with the goroutine as g, and saves no stack pointer in g. The vDSO keeps frame pointers
 * (Linux arch/x86/entry/vdso/Makefile; on arm64 the vDSO changes no frame pointer). The first frame
 * pointer that leads to the goroutine's stack belongs to the Go function.
 */
static uint64_t go_find_frame(const struct go_thread *thread)
{
	uint64_t frame = thread->machine->read_frame_pointer(thread->copy);

	for (unsigned i = 0; i < GO_MAX_FRAMES_OF_VDSO && frame; i++) {
		if (stack_extent_has(thread->goroutine, frame))
			return frame;
		frame = go_read(thread, frame);
	}
	return 0;
}

/*
 * Bytes below the frame pointer that are copied. These are more than the locals of the function
 * that calls the vDSO: 16 bytes of results, 16 of saved state (Go src/runtime/sys_linux_amd64.s).
 * On arm64 all locals lie above the frame pointer.
 */
#define GO_BELOW_FRAME_BYTES 64

/*
 * Adds the goroutine's stack. The thread is on g0's stack, or on a stack of C. HAS_OUTER: a
 * signal has interrupted that stack, so the vCPU already has its only STACK_GO_OUTER.
 */
static void go_add_goroutine(struct go_thread *thread, bool has_outer)
{
	uint64_t g = thread->curg, frame = 0;

	if (g && g == thread->g)
		frame = go_find_frame(thread);
	if (frame) {
		frame = (frame & ~(WORD - 1)) - GO_BELOW_FRAME_BYTES;
		if (!has_outer && !piece_writer_have(&thread->copy->writer, frame))
			go_add(thread, STACK_GO_OUTER, frame);
		return;
	}
	if (!g)
		g = go_find_parked(thread);
	if (g)
		go_add_left(thread, STACK_GOROUTINE, g);
}

/* --- before the resolver knows ---------------------------------------------------------------- */

/*
 * Go's heap has all structures (Go src/runtime/malloc.go) but m0 and g0 of the first thread
 * (proc.go). These two are data of the program, which lies below 4 GiB unless the program is
 * position-independent.
 */
#define GO_HEAP_SHIFT 32

static bool go_is_heap(const struct go_machine *machine, uint64_t address)
{
	return address >> GO_HEAP_SHIFT == machine->heap;
}

static bool go_is_program(uint64_t address)
{
	return address && !(address >> GO_HEAP_SHIFT);
}

/*
 * Whether the stack at ADDRESS may be one of Go's: a goroutine's, a thread's, or the first thread's
 * in a program below 4 GiB. The first thread's stack ends far from the thread pointer.
 */
static bool go_may_be_stack(struct copy *copy, const struct go_machine *machine, uint64_t address)
{
	return go_is_heap(machine, address) ||
	       stacks_may_end(address, machine->thread_pointer(copy)) ||
	       go_is_program(machine->read_pc(copy));
}

/* Whether the goroutine is this thread's. The first thread must be on g0, and have a goroutine. */
static bool go_is_whole(const struct go_thread *thread, uint64_t address)
{
	if (!go_is_heap(thread->machine, thread->g) &&
	    (thread->g != thread->g0 || !stack_extent_has(thread->own, address) || !thread->curg))
		return false;
	return !thread->curg ||
	       go_read(thread, thread->curg + GO_G_M) == go_read(thread, thread->g + GO_G_M);
}

/*
 * Guesses whether a thread with a new stack at ADDRESS runs Go, before the resolver tells. Decoding
 * the first sample of a process takes a while, and meanwhile the next samples would lack their
 * other stack. For a position-independent program without Go the guess needs only pages that are
 * copied anyway: the word below the thread pointer is read only where the stack ends there, or
 * where a program below 4 GiB runs.
 */
static bool go_guess_thread(struct copy *copy, uint64_t address, struct go_thread *thread)
{
	const struct go_machine *machine = go_machine_of(copy);
	uint64_t g;

	if (stacks_learned_bytes(copy, address) || !go_may_be_stack(copy, machine, address))
		return false;
	g = machine->read_g(copy, &machine->usual);
	if (!go_is_heap(machine, g) && !go_is_program(g))
		return false;
	return go_find_thread(copy, &machine->usual, thread) && go_is_whole(thread, address);
}

bool stacks_copy_go(struct copy *copy, enum sample_stack_kind kind, uint64_t address,
		    enum sample_cut *cut)
{
	struct go_stacks at;
	struct go_thread thread;
	bool callbacks = false, has_outer = false;

	if (control_get_go_stacks(copy->copier->control, root_space(copy->own), &at, &callbacks)
		    ? !go_find_thread(copy, &at, &thread)
		    : !go_guess_thread(copy, address, &thread))
		return false;
	*cut = go_add(&thread, kind, address);
	if (stack_extent_has(thread.signal, address)) {
		address = go_find_interrupted(&thread, address, copy->writer.end);
		if (!address)
			return true;
		has_outer = !piece_writer_have(&copy->writer, address);
		if (has_outer)
			go_add(&thread, STACK_GO_OUTER, address);
	}
	if (!stack_extent_has(thread.goroutine, address))
		go_add_goroutine(&thread, has_outer);
	else if (callbacks)
		go_add_left(&thread, STACK_G0, thread.g0);
	return true;
}
