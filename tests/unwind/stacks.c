/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * With the processor's trap flag set, every instruction raises a SIGTRAP first. The signal's
 * handler runs on its own stack, and copies registers and stack of the interrupted code. It also
 * steps through the code that a sanitizer adds.
 */
#include "config.h"

#include "stacks.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

static struct stacks *recording;
static uintptr_t stack_top;
static unsigned every_n, passed;

static void stacks_copy_registers(const greg_t *from, struct registers *to)
{
	*to = (struct registers){
		.rax = from[REG_RAX],
		.rbx = from[REG_RBX],
		.rcx = from[REG_RCX],
		.rdx = from[REG_RDX],
		.rsi = from[REG_RSI],
		.rdi = from[REG_RDI],
		.rbp = from[REG_RBP],
		.rsp = from[REG_RSP],
		.r8 = from[REG_R8],
		.r9 = from[REG_R9],
		.r10 = from[REG_R10],
		.r11 = from[REG_R11],
		.r12 = from[REG_R12],
		.r13 = from[REG_R13],
		.r14 = from[REG_R14],
		.r15 = from[REG_R15],
		.rip = from[REG_RIP],
		.rflags = from[REG_EFL],
	};
}

/* Copies from below the stack pointer, where leaf functions may keep data, to the first frame. */
#define RED_ZONE_BYTES 128

__attribute__((no_sanitize("address", "undefined"))) static void
stacks_on_trap(int number, siginfo_t *info, void *context)
{
	const ucontext_t *interrupted = context;
	uintptr_t from = interrupted->uc_mcontext.gregs[REG_RSP] - RED_ZONE_BYTES;
	size_t bytes, size_bytes;
	struct sample_stack *stack;
	struct sample_vcpu *vcpu;

	(void)number;
	(void)info;
	if (++passed % every_n || from > stack_top)
		return;
	bytes = stack_top - from;
	size_bytes = sizeof(*vcpu) + sizeof(*stack) + bytes;
	if (bytes > SAMPLE_STACK_LIMIT_BYTES ||
	    size_bytes > recording->capacity_bytes - recording->used_bytes)
		return;
	vcpu = (struct sample_vcpu *)(recording->bytes + recording->used_bytes);
	*vcpu = (struct sample_vcpu){
		.size_bytes = size_bytes, .state = VCPU_RUNNING, .user = 1, .n_stacks = 1
	};
	stacks_copy_registers(interrupted->uc_mcontext.gregs, &vcpu->regs);
	stack = (struct sample_stack *)(vcpu + 1);
	*stack = (struct sample_stack){ .address = from, .size_bytes = bytes };
	for (size_t i = 0; i < bytes / 8; i++)
		((uint64_t *)(stack + 1))[i] = ((volatile const uint64_t *)from)[i];
	recording->used_bytes += size_bytes;
	recording->n++;
}

/* Separate functions, so that the CFI around what they push is right. */
void stacks_stop(void);
__asm__(".text\n"
	".globl stacks_go_on, stacks_stop\n"
	".type stacks_go_on, @function\n"
	".type stacks_stop, @function\n"
	"stacks_go_on:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	pushfq\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	orq $0x100, (%rsp)\n"
	"	popfq\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size stacks_go_on, . - stacks_go_on\n"
	"stacks_stop:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	pushfq\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	andq $~0x100, (%rsp)\n"
	"	popfq\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size stacks_stop, . - stacks_stop\n");

static void *stacks_thread(void *work)
{
	stack_t other = { .ss_sp = malloc(1 << 16), .ss_size = 1 << 16 };
	pthread_attr_t attributes;
	size_t size;
	void *low;

	pthread_getattr_np(pthread_self(), &attributes);
	pthread_attr_getstack(&attributes, &low, &size);
	pthread_attr_destroy(&attributes);
	stack_top = ((uintptr_t)low + size) & ~(uintptr_t)7;
	sigaltstack(&other, NULL);
	stacks_go_on();
	((void (*)(void))work)();
	stacks_stop();
	other.ss_flags = SS_DISABLE;
	sigaltstack(&other, NULL);
	free(other.ss_sp);
	return NULL;
}

void stacks_record(struct stacks *stacks, void (*work)(void), unsigned every, size_t capacity_bytes)
{
	struct sigaction action = { .sa_sigaction = stacks_on_trap,
				    .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART };
	pthread_t thread;

	*stacks = (struct stacks){ .capacity_bytes = capacity_bytes };
	stacks->bytes = mmap(NULL, capacity_bytes, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	recording = stacks;
	every_n = every;
	passed = 0;
	sigaction(SIGTRAP, &action, NULL);
	if (stacks->bytes == MAP_FAILED || pthread_create(&thread, NULL, stacks_thread, work)) {
		printf("Bail out! cannot record stacks\n");
		exit(99);
	}
	pthread_join(thread, NULL);
	signal(SIGTRAP, SIG_DFL);
}

void stacks_deinit(struct stacks *stacks)
{
	munmap(stacks->bytes, stacks->capacity_bytes);
}

void stacks_raise(void (*handler)(int))
{
	signal(SIGUSR1, handler);
	raise(SIGUSR1);
	signal(SIGUSR1, SIG_DFL);
}
