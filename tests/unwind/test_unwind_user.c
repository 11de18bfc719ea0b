/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Chains from the kernel to user code, where the chain leads there, where it ends early, and in
 * the code that enters and leaves the kernel.
 */
#include "config.h"

#include "orc_guest.h"

/* --- ways from the kernel to user code -------------------------------------------------------- */

/* The kernel's part ends early at AFTER. The user's registers end SLACK bytes before the top. */
static void begin_broken(uint64_t slack)
{
	begin_task(LEAF, 4);
	record_piece(USER, 16);
	put(TASK, AT(WRONG, 5));
	put_regs(SYSCALL - slack, PROGRAM + 0x10, USER_CS, USER, USER);
	put_user_stack();
}

static void test_user_regs(void)
{
	const struct expected *whole =
		CHAIN({ AT(LEAF, 4), 0 }, { AT(WRONG, 5), R }, { PROGRAM + 0x10, U | FRAME_BROKEN },
		      { PROGRAM + 0x20, U | R });
	const struct expected *half = CHAIN({ AT(LEAF, 4), 0 }, { AT(WRONG, 5), R });

	begin_broken(0);
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_BAD, whole, "user registers at the stack's top");
	begin_broken(16);
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_BAD, whole, "user registers 16 bytes before the top");
	begin_broken(0);
	put(SYSCALL + 8 * 17, KERNEL_CS);
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_BAD, half, "kernel registers at the top");
	begin_broken(0);
	put(SYSCALL + 8 * 19, USER + 0x10000);
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_BAD, half, "registers with another user stack");
	check_u64(made.stack.reached[0], TASK + 8,
		  "bytes that were only looked at do not count as reached");
	check_part(UNWIND_USER, false, UNWIND_COMPLETE, 0, 0);
}

/* The end of a system call pops the user's registers; rbp is the fifth. */
static void test_popped_regs(void)
{
	const uint64_t rsp = SYSCALL_REGS + 8 * 5;

	record_begin(AT(POPS, 4), rsp);
	record_piece(rsp, REGS_BYTES / 8 - 5);
	record_piece(USER, 16);
	put_iret(SYSCALL_REGS + 8 * 16, PROGRAM + 0x10, USER_CS, USER);
	record.vcpu.regs.rbp = USER;
	put_user_stack();
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_COMPLETE,
		    CHAIN({ AT(POPS, 4), 0 }, { PROGRAM + 0x10, U }, { PROGRAM + 0x20, U | R }),
		    "registers of which five are popped");
	record_begin(AT(POPS, 4), rsp);
	record_piece(rsp, REGS_BYTES / 8 - 6);
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_CUT, CHAIN({ AT(POPS, 4), 0 }),
		    "popped registers of which the rest was not copied");
	record_begin(AT(POPPED, 4), SYSCALL_REGS + 8 * 16);
	record_piece(SYSCALL_REGS + 8 * 16, REGS_BYTES / 8 - 16);
	record_piece(USER, 16);
	put_iret(SYSCALL_REGS + 8 * 16, PROGRAM + 0x10, USER_CS, USER);
	record.vcpu.regs.rbp = USER;
	put_user_stack();
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_COMPLETE,
		    CHAIN({ AT(POPPED, 4), 0 }, { PROGRAM + 0x10, U }, { PROGRAM + 0x20, U | R }),
		    "registers of which all are popped");
}

/* No user stack was copied: the frame is known, but its callers are not, even if rbp is 0. */
static void test_user_cut(void)
{
	begin_task(INTERRUPT, 4);
	put_regs(TASK, PROGRAM + 0x10, USER_CS, USER, 0);
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_CUT, CHAIN({ AT(INTERRUPT, 4), 0 }, { PROGRAM + 0x10, U }),
		    "the user stack was not copied");
	check_part(UNWIND_KERNEL, true, UNWIND_COMPLETE, 1, -1);
	check_part(UNWIND_USER, true, UNWIND_CUT, 0, -1);
	begin_task(INTERRUPT, 4);
	record_piece(USER, 16);
	put_user_stack();
	put_regs(TASK, PROGRAM + 0x10, USER_CS, USER - 4000, USER);
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_COMPLETE,
		    CHAIN({ AT(INTERRUPT, 4), 0 }, { PROGRAM + 0x10, U }, { PROGRAM + 0x20, U | R }),
		    "the stack pointer lies below the stack that is there");
}

/* In execve() the memory is the new program's, but the registers are the old program's. */
static void test_last_calls(void)
{
	const struct expected *whole = CHAIN({ AT(INTERRUPT, 4), 0 });
	const struct expected *cut = CHAIN({ AT(INTERRUPT, 4), 0 }, { PROGRAM + 0x10, U });
	/* execve(), execveat(), exit(), exit_group(), and those of programs of 32 bits */
	const uint64_t calls[] = { 59, 322, 60, 231, 11, 358, 1, 252 };

	record_begin(AT(INTERRUPT, 4), SYSCALL);
	record_piece(SYSCALL, REGS_BYTES / 8);
	record.vcpu.user_cut = CUT_NOT_PRESENT;
	for (unsigned i = 0; i < 8; i++) {
		put_regs(SYSCALL, PROGRAM + 0x10, i < 4 ? USER_CS : CS_USER_32, USER, USER);
		put(SYSCALL + 8 * 15, calls[i]);
		unwind_as(UNWIND_AUTO);
		check_chain(UNWIND_COMPLETE, whole, "a system call that gives up the memory: no user code");
		check_part(UNWIND_USER, false, UNWIND_COMPLETE, 0, 0);
	}
	put(SYSCALL + 8 * 15, 60);
	unwind_as(UNWIND_AUTO);
	/* another call, in a program of 32 bits */
	check_part(UNWIND_USER, true, UNWIND_CUT, 0, -1);
	put_regs(SYSCALL, PROGRAM + 0x10, USER_CS, USER, USER);
	put(SYSCALL + 8 * 15, calls[0]);
	record.vcpu.user_cut = CUT_NOT_MAPPED;
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_CUT, cut, "a stack that is not mapped: user code is cut");
	record.vcpu.user_cut = CUT_NOT_PRESENT;
	put(SYSCALL + 8 * 15, 1);
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_CUT, cut, "a system call that keeps the memory: user code is cut");
	made.spaces.user_ended = true;
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_COMPLETE, whole,
		    "a system call in which the task has ended: no user code");
	record.vcpu.user_cut = CUT_NOT_MAPPED;
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_CUT, cut, "an ended task whose stack is not mapped: user code is cut");
	made.spaces.user_ended = false;
}

/* The first and last instructions of the kernel, for which the tables say END. */
static void begin_entry(uint64_t rsp)
{
	record_begin(AT(KTHREAD, 4), rsp);
	record.vcpu.regs.rcx = PROGRAM + 0x10;
	record.vcpu.regs.r11 = 0x246;
	record.vcpu.regs.rbp = USER;
	if (rsp == TASK)
		record_piece(TASK, N_TASK);
	record_piece(USER, 16);
	put_user_stack();
}

static void test_entry(void)
{
	const struct expected *whole =
		CHAIN({ AT(KTHREAD, 4), 0 }, { PROGRAM + 0x10, U }, { PROGRAM + 0x20, U | R });
	const struct expected *half = CHAIN({ AT(KTHREAD, 4), 0 });

	begin_entry(TASK);
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_COMPLETE, whole, "sysret: rcx is the user's rip");
	begin_entry(USER);
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_COMPLETE, whole, "syscall: still on the user's stack");
	begin_entry(TASK);
	record.vcpu.regs.rsp = 0x4666000; /* CR3, while the kernel switches page tables */
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_COMPLETE, whole, "syscall: the user's stack pointer is not in rsp");
	begin_entry(TASK);
	record.vcpu.regs.r11 = 0x100000246;
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_COMPLETE, half, "r11 cannot be rflags");
	put_iret(TASK, PROGRAM + 0x10, USER_CS, USER);
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_COMPLETE, whole, "iret: the words are on top");
	begin_entry(TASK);
	record.vcpu.regs.rcx = PROGRAM + 0x1010;
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_COMPLETE, half, "rcx is no address of code");
	put_iret(TASK + 8, PROGRAM + 0x10, USER_CS, USER);
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_COMPLETE, whole, "iret: one word below the top");
	for (unsigned above = 16; above <= 24; above += 8) {
		begin_entry(TASK);
		record.vcpu.regs.rcx = 0;
		put_iret(TASK + above, PROGRAM + 0x10, USER_CS, USER);
		unwind_as(UNWIND_AUTO);
		check_chain(UNWIND_COMPLETE, whole,
			    "iret: the words lie below Xen's rcx and r11, and an error code");
	}
	put_iret(TASK + 24, PROGRAM + 0x10, KERNEL_CS, USER);
	put_iret(TASK + 32, PROGRAM + 0x10, USER_CS, USER);
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_COMPLETE, half, "iret: four words below the top is too far");
	put_iret(TASK + 8, PROGRAM + 0x10, KERNEL_CS, USER);
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_COMPLETE, half, "iret: back to the kernel");
	begin_task(LEAF, 4);
	put(TASK, AT(KTHREAD, 4));
	record.vcpu.regs.rcx = PROGRAM + 0x10;
	record.vcpu.regs.r11 = 0x246;
	record_piece(USER, 16);
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_COMPLETE, CHAIN({ AT(LEAF, 4), 0 }, { AT(KTHREAD, 4), R }),
		    "a kernel thread whose caller is entry code has no user part");
}

static void test_user_code(void)
{
	made.spaces.user_whole = true;
	begin_task(INTERRUPT, 4);
	record_piece(USER, 16);
	put_regs(TASK, PROGRAM + 0x10, USER_CS, USER, USER);
	put(USER, 0);
	put(USER + 8, PROGRAM + 0x1234); /* no code of the program */
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_NO_TABLES, CHAIN({ AT(INTERRUPT, 4), 0 }, { PROGRAM + 0x10, U }),
		    "a return address where the process has no code");
	check_part(UNWIND_USER, true, UNWIND_NO_TABLES, 2, 1);
	put_user_stack();
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_COMPLETE,
		    CHAIN({ AT(INTERRUPT, 4), 0 }, { PROGRAM + 0x10, U },
			  { PROGRAM + 0x20, U | R | GUESS }),
		    "a program without tables: frames are guesses, and so is the end");
	put_regs(TASK, PROGRAM + 0x10, USER_CS, USER, 0);
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_NO_TABLES, CHAIN({ AT(INTERRUPT, 4), 0 }, { PROGRAM + 0x10, U }),
		    "rbp 0 without a frame before proves nothing");
	put_regs(TASK, PROGRAM + 0x10, USER_CS, USER, USER);
	put(USER + 8, PROGRAM + 0x1234);
	made.spaces.user_whole = false;
	unwind_as(UNWIND_AUTO);
	check_u64(made.stack.n_frames, 3,
		  "frames that count as no guess while the process's code is not wholly known");

	record_begin(PROGRAM + 0x10, USER);
	record.vcpu.user = 1;
	record.vcpu.regs.rbp = USER;
	record_piece(USER, 16);
	put_user_stack();
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_COMPLETE, CHAIN({ PROGRAM + 0x10, U }, { PROGRAM + 0x20, U | R }),
		    "a vCPU in user code");
	check_part(UNWIND_KERNEL, false, UNWIND_COMPLETE, 0, 0);
	check_part(UNWIND_USER, true, UNWIND_COMPLETE, 1, 0);
}

int main(void)
{
	begin_guest();
	test_user_regs();
	test_popped_regs();
	test_user_cut();
	test_last_calls();
	test_entry();
	test_user_code();
	end_guest();
	return tap_done();
}
