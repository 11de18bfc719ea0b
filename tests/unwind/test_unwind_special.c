/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Chains from code for which the ORC table has no entry or a wrong one: retpolines, hypercalls, the
 * switch of tasks, and trampolines of tracers.
 */
#include "config.h"

#include "orc_guest.h"

/* --- special code ----------------------------------------------------------------------------- */

/*
 * A retpoline (arch/x86/lib/retpoline.S), 32 bytes a register:
 *          6.1   6.17
 *            0   0   call     before it the caller is on top; also at 3, the jump without a call
 *            5   5   a trap
 *           12   6   mov %reg, (%rsp)    the inner call's return address is on top
 *           16  10   ret                 now the target of the jump is on top
 */
static void test_retpolines(void)
{
	static const unsigned offsets[] = { 0, 3, 6, 10, 12, 16, 64, 64 + 6, 64 + 12, 64 + 16 };

	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		unsigned inner = offsets[i] % 32 > 3;

		begin_task(THUNKS, offsets[i]);
		put(TASK, inner ? AT(THUNKS, offsets[i] / 32 * 32 + 5) : AT(FRAME, 8));
		if (inner)
			put(TASK + 8, AT(FRAME, 8));
		put(TASK + 8 * inner + 24, AT(KTHREAD, 9));
		unwind_as(UNWIND_AUTO);
		check_chain(UNWIND_COMPLETE,
			    CHAIN({ AT(THUNKS, offsets[i]), 0 }, { AT(FRAME, 8), R },
				  { AT(KTHREAD, 9), R }),
			    "retpoline");
	}
	begin_task(ITS, 16);
	put(TASK, AT(KTHREAD, 9));
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_COMPLETE, CHAIN({ AT(ITS, 16), 0 }, { AT(KTHREAD, 9), R }),
		    "a thunk that only jumps");
}

/* A PVH guest's stub never moves the stack pointer. A PV guest's stub has pushed `words` words. */
static void test_hypercalls(void)
{
	static const struct {
		enum function page;
		unsigned offset, words;
	} places[] = {
		/* mov $n, %eax; vmcall; ret */
		{ LEAVES, 0, 0 }, { LEAVES, 5, 0 }, { LEAVES, 8, 0 }, { LEAVES, 64 + 8, 0 },
		/* push %rcx; push %r11; mov $n, %eax; syscall; pop %r11; pop %rcx; ret */
		{ PV_PAGE, 0, 0 }, { PV_PAGE, 1, 1 }, { PV_PAGE, 3, 2 }, { PV_PAGE, 8, 2 },
		{ PV_PAGE, 10, 2 }, { PV_PAGE, 12, 1 }, { PV_PAGE, 13, 0 },
		{ PV_PAGE, 32, 0 }, { PV_PAGE, 22 * 32 + 10, 2 },
	};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		uint64_t at = AT(places[i].page, places[i].offset);
		uint64_t top = TASK + 8 * places[i].words;

		begin_task(places[i].page, places[i].offset);
		for (uint64_t pushed = TASK; pushed < top; pushed += 8)
			put(pushed, AT(LEAF, 9)); /* rcx and r11 may look like anything */
		put(top, AT(FRAME, 8));
		put(top + 24, AT(KTHREAD, 9));
		unwind_as(UNWIND_AUTO);
		check_chain(UNWIND_COMPLETE,
			    CHAIN({ at, 0 }, { AT(FRAME, 8), R }, { AT(KTHREAD, 9), R }),
			    "hypercall");
	}

	/* Events are delivered when a hypercall ends: the upcall's registers are in the stub. */
	begin_task(INTERRUPT, 4);
	put_regs(TASK, AT(PV_PAGE, 10), PV_CS, TASK + REGS_BYTES, 5);
	put(TASK + REGS_BYTES + 16, AT(FRAME, 8));
	put(TASK + REGS_BYTES + 40, AT(KTHREAD, 9));
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_COMPLETE,
		    CHAIN({ AT(INTERRUPT, 4), 0 }, { AT(PV_PAGE, 10), 0 }, { AT(FRAME, 8), R },
			  { AT(KTHREAD, 9), R }),
		    "an upcall in a hypercall");
}

/*
 * A PV guest's stub of iret: it pushes rcx, r11 and rax, and Xen takes flags and the words of iret.
 */
static void test_hypercall_iret(void)
{
	static const struct {
		unsigned offset, words;
	} places[] = { { 0, 0 }, { 1, 1 }, { 3, 2 }, { 4, 3 }, { 9, 3 } };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		uint64_t at = AT(PV_PAGE, 23 * 32 + places[i].offset);
		uint64_t iret = TASK + 8 * (places[i].words + 1);

		record_begin(at, TASK);
		record.vcpu.regs.rbp = USER;
		record_piece(TASK, N_TASK);
		record_piece(USER, 16);
		put_iret(iret, PROGRAM + 0x10, USER_CS, USER);
		put_user_stack();
		unwind_as(UNWIND_AUTO);
		check_chain(UNWIND_COMPLETE,
			    CHAIN({ at, 0 }, { PROGRAM + 0x10, U }, { PROGRAM + 0x20, U | R }),
			    "back to user code");
		put_iret(iret, AT(LEAF, 3), PV_CS, TASK + 80);
		put(TASK + 80, AT(KTHREAD, 9));
		unwind_as(UNWIND_AUTO);
		check_chain(UNWIND_COMPLETE,
			    CHAIN({ at, 0 }, { AT(LEAF, 3), 0 }, { AT(KTHREAD, 9), R }),
			    "back to interrupted kernel code");
	}
}

/*
 * The kernel has patched in code with two calls, at 0x2f and 0x35 (Linux 5.10). The table describes
 * code with one call: its row has one word beside the saved registers and the return address.
 */
static void test_task_switch(void)
{
	static const struct {
		uint64_t offset;
		unsigned calls; /* how many calls have return addresses on top of the stack */
	} places[] = { { 0x28, 0 }, { 0x2f, 0 }, { 0x35, 1 }, { 0x3b, 2 }, { 0x3f, 0 } };
	static const uint64_t returns[] = { 0x34, 0x3a };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		uint64_t at = TASK;

		begin_task(TASK_SWITCH, places[i].offset);
		for (unsigned call = places[i].calls; call > 0; call--, at += 8)
			put(at, AT(TASK_SWITCH, returns[call - 1]));
		for (unsigned saved = 0; saved < 5; saved++, at += 8)
			put(at, 0x1234);
		put(at, TASK + 200); /* rbp */
		put(at + 8, AT(BY_BP, 9));
		put(TASK + 208, AT(KTHREAD, 4));
		unwind_as(UNWIND_AUTO);
		check_chain(UNWIND_COMPLETE,
			    CHAIN({ AT(TASK_SWITCH, places[i].offset), 0 }, { AT(BY_BP, 9), R },
				  { AT(KTHREAD, 4), R }),
			    "__switch_to_asm fills the return stack buffer");
	}
}

static void test_trampolines(void)
{
	begin_task(LEAF, 4);
	put(TASK, AT(TRAMPOLINE, 0));
	put(TASK + 8, AT(KTHREAD, 9));
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_REPLACED, CHAIN({ AT(LEAF, 4), 0 }, { AT(TRAMPOLINE, 0), R }),
		    "a tracer's return address");

	record_piece(USER, 16);
	put_regs(SYSCALL, PROGRAM + 0x10, USER_CS, USER, USER);
	put_user_stack();
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_REPLACED,
		    CHAIN({ AT(LEAF, 4), 0 }, { AT(TRAMPOLINE, 0), R },
			  { PROGRAM + 0x10, U | FRAME_BROKEN }, { PROGRAM + 0x20, U | R }),
		    "a tracer's return address, and the user code below");
	check_part(UNWIND_KERNEL, true, UNWIND_REPLACED, 1, 0);
	check_part(UNWIND_USER, true, UNWIND_COMPLETE, 2, 1);
}

int main(void)
{
	begin_guest();
	test_retpolines();
	test_hypercalls();
	test_hypercall_iret();
	test_task_switch();
	test_trampolines();
	end_guest();
	return tap_done();
}
