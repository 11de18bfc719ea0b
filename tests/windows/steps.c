/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See steps.h. The C library's names of registers are those of unwind/, so this file is apart. */
#include "config.h"

#include "steps.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#define TRAP 0x100 /* RFLAGS.TF: a trap after each instruction */

static struct {
	uint64_t start, end;
	void (*see)(const struct registers *regs);
	volatile sig_atomic_t wanted;
} steps;

static void steps_trap(int number, siginfo_t *info, void *context)
{
	greg_t *from = ((ucontext_t *)context)->uc_mcontext.gregs;
	const struct registers regs = {
		.rax = (uint64_t)from[REG_RAX], .rbx = (uint64_t)from[REG_RBX],
		.rcx = (uint64_t)from[REG_RCX], .rdx = (uint64_t)from[REG_RDX],
		.rsi = (uint64_t)from[REG_RSI], .rdi = (uint64_t)from[REG_RDI],
		.rbp = (uint64_t)from[REG_RBP], .rsp = (uint64_t)from[REG_RSP],
		.r8 = (uint64_t)from[REG_R8],	.r9 = (uint64_t)from[REG_R9],
		.r10 = (uint64_t)from[REG_R10], .r11 = (uint64_t)from[REG_R11],
		.r12 = (uint64_t)from[REG_R12], .r13 = (uint64_t)from[REG_R13],
		.r14 = (uint64_t)from[REG_R14], .r15 = (uint64_t)from[REG_R15],
		.rip = (uint64_t)from[REG_RIP],
	};

	(void)number, (void)info;
	if (!steps.wanted)
		from[REG_EFL] &= ~(greg_t)TRAP;
	if (regs.rip >= steps.start && regs.rip < steps.end)
		steps.see(&regs);
}

long steps_run(const void *function, long n, const void *start, const void *end,
	       void (*see)(const struct registers *regs))
{
	long __attribute__((ms_abi)) (*call)(long) = (long __attribute__((ms_abi)) (*)(long))function;
	const struct sigaction action = { .sa_sigaction = steps_trap, .sa_flags = SA_SIGINFO };
	long result;

	if (sigaction(SIGTRAP, &action, NULL)) {
		perror("sigaction");
		exit(99);
	}
	steps.start = (uint64_t)start;
	steps.end = (uint64_t)end;
	steps.see = see;
	steps.wanted = 1;
	asm volatile("pushfq\n	orq %0, (%%rsp)\n	popfq" : : "i"(TRAP) : "memory", "cc");
	result = call(n);
	steps.wanted = 0; /* the next trap is the last one */
	asm volatile("nop\n	nop" : : : "memory");
	return result;
}
