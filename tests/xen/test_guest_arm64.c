/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What Xen says of an arm64 vCPU becomes registers: the part that is needed in the stop, and the
 * rest. Each member of Xen's structure has a number of its own.
 */
#include "config.h"

#include "xen/public.h"

#include XEN_GUEST_HEADER

#include "tests/support/tap.h"

static vcpu_guest_context_t context;
static struct registers regs;

static void fill(void)
{
	uint64_t *x = &context.user_regs.x0;

	for (unsigned i = 0; i < 31; i++)
		x[i] = 0x1000 + i;
	context.user_regs.pc64 = 0x2000;
	context.user_regs.cpsr = 5;
	context.user_regs.spsr_el1 = 0x2002;
	context.user_regs.sp_el0 = 0x2003;
	context.user_regs.sp_el1 = 0x2004;
	context.user_regs.elr_el1 = 0x2005;
	context.sctlr = 0x2006;
	context.ttbcr = 0x0800000000000007;
	context.ttbr0 = 0x2008;
	context.ttbr1 = 0x2009;
}

static void test_stop(void)
{
	memset(&regs, 0xff, sizeof(regs));
	vcpu_get_stack_registers(&context, false, &regs);
	check(regs.arch == ARCH_ARM64, "architecture of the registers");
	check(regs.arm64.x[29] == 0x101d && regs.arm64.pc == 0x2000 && regs.arm64.pstate == 5 &&
		      regs.arm64.sp_el0 == 0x2003 && regs.arm64.sp_el1 == 0x2004,
	      "registers that lead to the stacks");
	check(regs.arm64.sctlr == 0x2006 && regs.arm64.tcr == 0x0800000000000007 &&
		      regs.arm64.ttbr0 == 0x2008 && regs.arm64.ttbr1 == 0x2009,
	      "registers that lead to the page tables; TCR has 64 bits");
	check(regs.arm64.x[13] == 0x100d && regs.arm64.elr_el1 == 0x2005 &&
		      regs.arm64.spsr_el1 == 0x2002,
	      "registers that lead to the stack where 32-bit code enters the kernel");
	check(regs.arm64.x[0] == UINT64_MAX && regs.arm64.x[30] == UINT64_MAX,
	      "nothing else while the guest stands still");
}

static void test_rest(void)
{
	bool same = true;

	vcpu_get_other_registers(&context, false, &regs);
	for (unsigned i = 0; i < 31; i++)
		same &= regs.arm64.x[i] == 0x1000 + i;
	check(same, "x0 to x30 are Xen's");
}

/* Modes of AArch32, each with a stack pointer and a link register in Xen's members for them. */
static void test_modes_32(void)
{
	const struct vcpu_guest_core_regs *from = &context.user_regs;
	const struct {
		uint64_t cpsr, sp, lr;
		const char *name;
	} modes[] = {
		{ 0x10, from->sp_usr, from->lr_usr, "usr" }, { 0x11, from->sp_fiq, from->lr_fiq, "fiq" },
		{ 0x12, from->sp_irq, from->lr_irq, "irq" }, { 0x13, from->sp_svc, from->lr_svc, "svc" },
		{ 0x17, from->sp_abt, from->lr_abt, "abt" }, { 0x1b, from->sp_und, from->lr_und, "und" },
		{ 0x1f, from->sp_usr, from->lr_usr, "sys" },
	};

	for (unsigned i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		context.user_regs.cpsr = modes[i].cpsr;
		context.ttbcr = 0;
		vcpu_get_stack_registers(&context, false, &regs);
		check(registers_is_arm32(&regs) && registers_stack_pointer(&regs) == modes[i].sp &&
			      registers_arm32_get(&regs.arm64, 14) == modes[i].lr,
		      "sp and lr of %s mode are there in the stop", modes[i].name);
		check(registers_arm32_get(&regs.arm64, 7) == from->r7_usr &&
			      registers_arm32_get(&regs.arm64, 11) ==
				      (modes[i].cpsr == 0x11 ? from->r11_fiq : from->r11_usr),
		      "frame pointers of vCPUs");
	}
}

/* A 32-bit program below a kernel of 64 bits, whose page tables it has. */
static void test_program_32(void)
{
	context.user_regs.cpsr = 0x60000010;
	context.ttbcr = 2ULL << 30 | 16ULL << 16 | 16;
	vcpu_get_stack_registers(&context, false, &regs);
	check(!registers_is_arm32(&regs) && registers_runs_arm32(&regs) &&
		      registers_word_bytes(&regs, true) == 4,
	      "code of 32 bits, and a kernel of 64");
	check(registers_stack_pointer(&regs) == context.user_regs.sp_usr &&
		      registers_pc(&regs) == 0x2000,
	      "sp and pc of 32-bit code");
	check(walk_root(&regs).width == ROOT_ARM64 && walk_root(&regs).arm64.size0 == 16,
	      "the page tables are the kernel's");
}

static void test_modes(void)
{
	struct vcpu_mode mode = { 0 };

	check(!vcpu_is_user(&context, false), "EL1 is no user code");
	context.user_regs.cpsr = 0x60001000;
	check(vcpu_is_user(&context, false), "EL0 is user code");
	context.user_regs.cpsr = 0x60000013;
	check(!vcpu_is_user(&context, false), "AArch32 in svc mode is no user code");
	context.user_regs.cpsr = 0x60000010;
	check(vcpu_is_user(&context, false), "AArch32 in usr mode is user code");
	vcpu_apply_mode(&mode, &regs);
	check(vcpu_shows_mode(&regs) && !mode.wanted, "Xen need not be asked");
	check(domain_type(&(struct xen_domain){ .emulation_flags = 3 }) == GUEST_PVH,
	      "every guest is PVH");
}

int main(void)
{
	fill();
	test_stop();
	test_rest();
	test_modes_32();
	test_modes();
	test_program_32();
	return tap_done();
}
