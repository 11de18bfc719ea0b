/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the stack of a sleeping task tells, on arm64: its registers, the user code that entered the
 * kernel, the system call. Stacks are made by hand; the places in them are those of Debian's 6.1.
 * x86-64's are tested with sleepers and locks, but for the calls of i386.
 */
#include "config.h"

#include <string.h>

#include "linux/process/sleeper_arch.h"
#include "tests/support/tap.h"

#define TASK  UINT64_C(0xffff000003a1d200)
#define STACK UINT64_C(0xffff80000abd0000)
#define WORDS 64 /* live words of the stack */
#define SAVED (WORDS - PT_ARM64_BYTES / 8)
#define USER  UINT64_C(0x0000ffffc3a0e410)

static uint64_t words[WORDS];
static struct linux_guest guest;
static struct sleeper_stack stack;

static void begin(void)
{
	const struct registers_arm64 regs = { .tcr = 2ULL << 30 | 16ULL << 16 | 25,
					      .ttbr0 = 0x120000043abd180,
					      .ttbr1 = 0x41efe000 };

	guest = (struct linux_guest){ .root = { .arm64 = root_arm64(&regs) } };
	for (size_t i = 0; i < LAYOUT_MEMBERS; i++)
		guest.layout.values[i] = -1;
	memset(words, 0, sizeof(words));
	for (unsigned i = 0; i < 8; i++)
		words[SAVED + i] = 100 + i;
	words[SAVED + 8] = 98; /* futex() */
	words[SAVED + PT_ARM64_SP] = USER;
	words[SAVED + PT_ARM64_PSTATE] = 0x80000000;
	words[SAVED + PT_ARM64_ORIG_X0] = 200;
	words[SAVED + PT_ARM64_SYSCALL] = 98;
	stack = (struct sleeper_stack){ .guest = &guest,
					.task = TASK,
					.sp = STACK,
					.bytes = words,
					.size_bytes = sizeof(words) };
	for (unsigned i = 0; i < 11; i++)
		stack.context[i] = 1000 + 19 + i;
	stack.context[11] = STACK;
	stack.context[12] = 0xffff800008017f54;
}

static void test_registers(void)
{
	struct memory_root root, user;
	struct registers regs;

	begin();
	check(sleeper_arch_get_registers(&stack, &regs) && regs.arch == ARCH_ARM64,
	      "arm64: registers of a sleeping task are found");
	check(regs.arm64.x[19] == 1019 && regs.arm64.x[28] == 1028 && regs.arm64.x[29] == 1029 &&
		      !regs.arm64.x[18] && !regs.arm64.x[30],
	      "arm64: preserved registers are read from the task");
	check_u64(registers_pc(&regs), 0xffff800008017f54,
		  "arm64: the pc is where the task left its CPU");
	check_u64(registers_stack_pointer(&regs), STACK,
		  "arm64: the stack pointer is the kernel's");
	check_u64(regs.arm64.sp_el0, TASK, "arm64: SP_EL0 is the task");
	check(!pstate_arm64_is_user(regs.arm64.pstate), "arm64: the registers are in kernel mode");
	root = walk_root(&regs);
	check(root.words[0] == guest.root.words[0] && root.words[1] == guest.root.words[1],
	      "arm64: the page tables are the kernel's");
	user = guest.root;
	user.arm64.table0 = 0x77777000;
	user.arm64.ds = user.arm64.is_wide = user.arm64.off1 = 1;
	user.arm64.granule0 = 2;
	sleeper_arch_set_root(&regs, user);
	root = walk_root(&regs);
	check(root.words[0] == user.words[0] && root.words[1] == user.words[1],
	      "arm64: other page tables can be set");

	stack.context[11] = STACK - 64;
	check(!sleeper_arch_get_registers(&stack, &regs),
	      "arm64: a task that has moved meanwhile has no registers");
}

static void test_user(void)
{
	uint64_t sp = 0, longer[WORDS + 2] = { 0 };

	begin();
	check(sleeper_arch_get_user_sp(&stack, &sp) && sp == USER,
	      "arm64: the program's stack pointer is found");
	words[SAVED + PT_ARM64_PSTATE] = 0x80000005;
	check(!sleeper_arch_get_user_sp(&stack, &sp),
	      "arm64: a kernel thread has no program's stack pointer");
	words[SAVED + PT_ARM64_PSTATE] = 0x60000010;
	words[SAVED + 13] = 0xbef10200;
	check(sleeper_arch_get_user_sp(&stack, &sp) && sp == 0xbef10200,
	      "arm64: a 32-bit program's stack pointer is x13");
	words[SAVED + PT_ARM64_PSTATE] = 0x13;
	check(!sleeper_arch_get_user_sp(&stack, &sp),
	      "arm64: another mode of 32 bits has no stack pointer");
	words[SAVED + PT_ARM64_PSTATE] = 0;
	words[SAVED + PT_ARM64_SP] = STACK;
	check(!sleeper_arch_get_user_sp(&stack, &sp),
	      "arm64: a kernel address is no program's stack pointer");
	words[SAVED + PT_ARM64_SP] = USER;
	stack.size_bytes = PT_ARM64_BYTES - 8;
	stack.bytes = words + SAVED + 1;
	check(!sleeper_arch_get_user_sp(&stack, &sp),
	      "arm64: a stack that is too short has no program's stack pointer");

	/* Kernels may have more in struct pt_regs, or less at its end. */
	begin();
	memcpy(longer, words, sizeof(words));
	stack.bytes = longer;
	stack.size_bytes = sizeof(longer);
	guest.layout.values[PT_REGS_SIZEOF] = PT_ARM64_BYTES + 16;
	check(sleeper_arch_get_user_sp(&stack, &sp) && sp == USER,
	      "arm64: a longer struct pt_regs is read");
	guest.layout.values[PT_REGS_SIZEOF] = LAYOUT_MAX;
	check(!sleeper_arch_get_user_sp(&stack, &sp),
	      "arm64: a struct pt_regs larger than the stack is refused");
	guest.layout.values[PT_REGS_SIZEOF] = 128;
	check(!sleeper_arch_get_user_sp(&stack, &sp),
	      "arm64: a struct pt_regs without flags is refused");
}

/* Nothing is known of them, and they are not those of i386. */
static void test_arm32(void)
{
	struct system_call call;
	struct registers regs;
	uint64_t sp;

	begin();
	guest.root = (struct memory_root){ .arm64 = { .kind = ROOT_ARM32 } };
	check(!sleeper_arch_get_registers(&stack, &regs),
	      "32-bit Arm: a sleeping task has no registers");
	words[WORDS - 3] = 0x73; /* cs, as i386 has it in its struct pt_regs */
	words[WORDS - 2] = 0xbffff000; /* and sp */
	check(!sleeper_arch_get_user_sp(&stack, &sp),
	      "32-bit Arm: a sleeping task has no program's stack pointer");
	check(!sleeper_arch_get_call(&stack, &call),
	      "32-bit Arm: a sleeping task has no system call");
}

static void check_call(uint64_t number, enum system_call_kind kind, const char *what)
{
	struct system_call call = { .kind = CALL_OTHER };

	words[SAVED + PT_ARM64_SYSCALL] = number;
	check(sleeper_arch_get_call(&stack, &call) && call.kind == kind &&
		      call.arguments[0] == 200 && call.arguments[1] == 101 &&
		      call.arguments[5] == 105,
	      "the system call is recognised: %s", what);
}

static void test_calls(void)
{
	struct system_call call;

	begin();
	check_call(98, CALL_FUTEX, "futex()");
	check_call(449, CALL_FUTEX_WAITV, "futex_waitv()");
	check_call(455, CALL_FUTEX_WAIT, "futex_wait()");
	check_call(202, CALL_OTHER, "futex() of x86-64 is another call here");
	check_call(0xabcd000000000062, CALL_FUTEX, "the number has 32 bits");
	words[SAVED + PT_ARM64_SYSCALL] = UINT32_MAX;
	check(!sleeper_arch_get_call(&stack, &call),
	      "an interrupt or a page fault is no system call");
	words[SAVED + PT_ARM64_SYSCALL] = 98;
	words[SAVED + PT_ARM64_PSTATE] = 5;
	check(!sleeper_arch_get_call(&stack, &call),
	      "saved registers of the kernel are no system call");
}

/* Numbers of arch/arm/tools/syscall.tbl. The upper halves of the registers mean nothing. */
static void test_calls_32(void)
{
	begin();
	words[SAVED + PT_ARM64_PSTATE] = 0x10;
	words[SAVED + PT_ARM64_ORIG_X0] |= 7ULL << 32;
	words[SAVED + 1] |= 7ULL << 32;
	check_call(240, CALL_FUTEX, "a 32-bit program: futex()");
	check_call(422, CALL_FUTEX, "futex_time64()");
	check_call(449, CALL_FUTEX_WAITV, "futex_waitv() has one number");
	check_call(98, CALL_OTHER, "futex() of arm64 is another call here");
}

/* i386 below a kernel of x86-64: numbers of arch/x86/entry/syscalls/syscall_32.tbl. */
static void test_calls_i386(void)
{
	const uint64_t arguments[] = { 200, 101, 102, 103, 104, 105 };
	static const uint8_t at[] = { PT_REGS_RBX, PT_REGS_RCX, PT_REGS_RDX,
				      PT_REGS_RSI, PT_REGS_RDI, PT_REGS_RBP };
	const size_t saved = WORDS - N_PT_REGS;
	struct system_call call;

	begin();
	guest.root = (struct memory_root){ .width = WIDTH_64 };
	memset(words, 0, sizeof(words));
	words[saved + PT_REGS_CS] = CS_USER_32;
	words[saved + PT_REGS_ORIG_RAX] = 240;
	for (size_t i = 0; i < 6; i++)
		words[saved + at[i]] = arguments[i] | 7ULL << 32;
	check(sleeper_arch_get_call(&stack, &call) && call.kind == CALL_FUTEX &&
		      memcmp(call.arguments, arguments, sizeof(arguments)) == 0,
	      "x86-64: futex() of a 32-bit program is recognised");
	words[saved + PT_REGS_ORIG_RAX] = 202;
	check(sleeper_arch_get_call(&stack, &call) && call.kind == CALL_OTHER,
	      "x86-64: getegid32() of a 32-bit program is no futex()");
	words[saved + PT_REGS_CS] = 0x33;
	check(sleeper_arch_get_call(&stack, &call) && call.kind == CALL_FUTEX,
	      "x86-64: call 202 is futex()");
}

int main(void)
{
	test_registers();
	test_user();
	test_arm32();
	test_calls();
	test_calls_32();
	test_calls_i386();
	return tap_done();
}
