/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where chains of callers begin, in code without tables. The assembler makes the code of this file:
 * entries of kernels and threads in the shapes that real ones have, and functions that resemble
 * them but have a caller. Each piece of code is one function. A step from the label "at" has to find
 * that there is no caller, or the caller.
 */
#include "config.h"

#include <string.h>

#include "elf_tables.h"
#include "tests/support/tap.h"
#include "unwind/computed.h"

#define STACK UINT64_C(0x7ffc00000000)
#define PLACE 0x100000

/* Makes NAME_begin, NAME_at and NAME_end in the data of this program; LINES have the label "at". */
#define CODE(name, lines)                                                                          \
	__asm__(".pushsection .rodata\n" #name "_begin:\n" lines "\n" #name "_end:\n"              \
		".popsection\n");                                                                  \
	extern const uint8_t name##_begin[], name##_at[], name##_end[]

/* --- code that has no caller ------------------------------------------------------------------ */

/* The entry of a PVH kernel after its trampoline: segments first, then the stack. */
CODE(segments, "mov $16,%eax; mov %eax,%ds; mov %eax,%es; mov %eax,%ss; mov $0x200000,%rsp;"
	       "xor %ebp,%ebp; call . + 0x1000; segments_at: hlt");
CODE(no_frame_pointer, "mov $16,%eax; mov %eax,%ds; mov %eax,%es; mov %eax,%fs; mov %eax,%gs;"
		       "mov %eax,%ss; mov $0x200000,%rsp; mov %ebx,%edi; call . + 0x1000;"
		       "no_frame_pointer_at: 1: hlt; jmp 1b");
/* The stack pointer is put together by several instructions. */
CODE(sum, "cld; mov $0x200000,%rsp; add $0x4000 - 16,%rsp; mov %rbx,%rdi; call . + 0x1000;"
	  "sum_at: 1: hlt; jmp 1b");
CODE(masked, "cld; mov 0x1000(%rip),%rsp; and $-0x10000,%rsp; mov %rsi,%rdi; call . + 0x1000;"
	     "masked_at: ud2");
CODE(by_register, "mov %cr0,%rax; and $-5,%eax; mov %rax,%cr0; lea 0x4000(%rip),%rax;"
		  "add $0x1000,%rax; mov %rax,%rsp; push $0; push $0; call . + 0x1000;"
		  "by_register_at: ud2");
CODE(short_register, "mov $16,%eax; mov %eax,%ss; mov $0x200000,%esp; push $2; popf;"
		     "call . + 0x1000; lea 0x100(%rip),%rdi; call . + 0x1100;"
		     "short_register_at: nop");
CODE(absolute, "cld; mov 0x1000,%rsp; call . + 0x1000; absolute_at: hlt");
/* The entry of another CPU takes its stack out of a table. */
CODE(table, "cld; mov %cr4,%rax; or $0x20,%eax; mov %rax,%cr4; mov 0x200000(,%rdi,8),%rsp;"
	    "xor %ebp,%ebp; call . + 0x1000; table_at: ud2");
CODE(by_word, "mov 0x1000(%rip),%rax; mov 0x10(%rax),%rdx; mov 0x18(%rdx),%rsp; wrmsr; push $0;"
	      "popfq; call *%rax; by_word_at: int3");
/* A branch before the stack is set, and an endless loop in place of hlt. */
CODE(branch, "test %rdi,%rdi; je 1f; lea 0x3000(%rip),%rsp; call . + 0x1000; branch_at: 2: jmp 2b;"
	     "1: ud2");
/* Calls without a stack of its own come first only after the stack was set. */
CODE(two_stacks, "lea 0x4000(%rip),%rsp; call . + 0x1000; push %rsi; call . + 0x2000; pop %rsi;"
		 "mov 0x8000(%rip),%rsp; push $0; popfq; call *0x100(%rip); two_stacks_at: int3");
CODE(start_of_chain, "cld; xor %eax,%eax; mov %eax,%ds; mov %eax,%es; mov %eax,%ss; xor %ebp,%ebp;"
		     "mov %ebx,%esi; call . + 0x1000; start_of_chain_at: ud2");

/* The code segment is loaded by a far return to the next instruction. */
CODE(far_return, "mov %rsi,%r15; lea 0x4000(%rip),%rsp; call . + 0x1000; push $16;"
		 "lea 1f(%rip),%rax; push %rax; lretq; 1: mov %r15,%rdi; call . + 0x2000;"
		 "far_return_at: ud2");
/* The entry of another CPU counts the CPUs, then waits for its stack. */
CODE(counted, "mov $1,%eax; lock xadd %eax,0x1000(%rip); 1: pause; mov 0x2000(%rip),%rsp;"
	      "test %rsp,%rsp; je 1b; xor %ebp,%ebp; mov %eax,%edi; call . + 0x1000;"
	      "counted_at: 2: hlt; jmp 2b");
/* A new thread's stack has its argument and function where others have their return address. */
CODE(popped, "pop %rdi; pop %rbx; push $0; xor %ebp,%ebp; call *%rbx; popped_at: call . + 0x1000");
CODE(popped_first, "pop %rax; pop %rdi; call *%rax; popped_first_at: mov %eax,%edi;"
		   "call . + 0x1000; ud2");

/* A new thread begins after the system call that the old thread returns from. */
CODE(clone3, "endbr64; mov $-22,%eax; test %rdi,%rdi; je 1f; mov %rcx,%r8; mov $435,%eax; syscall;"
	     "test %eax,%eax; jl 1f; je 2f; ret; 1: neg %eax; ret;"
	     "2: xor %ebp,%ebp; mov %r8,%rdi; call *%rdx; clone3_at: mov %eax,%edi; mov $60,%eax;"
	     "syscall");
CODE(clone, "xor %eax,%eax; mov $56,%al; mov %rdi,%r11; mov %rdx,%rdi; mov %r8,%rdx; mov %r9,%r8;"
	    "mov 8(%rsp),%r10; mov %r11,%r9; and $-16,%rsi; sub $8,%rsi; mov %rcx,(%rsi); syscall;"
	    "test %eax,%eax; jne 1f; xor %ebp,%ebp; pop %rdi; call *%r9; clone_at: mov %eax,%edi;"
	    "xor %eax,%eax; mov $60,%al; syscall; hlt; 1: ret");

/* C code that changes to a new stack for ever: its own caller is on the old stack. */
CODE(c_start, "sub $8,%rsp; call . + 0x1000; lea 0x4000(%rip),%rsp; call . + 0x2000;"
	      "c_start_at: ud2");
CODE(c_start_frame, "push %rbp; mov %rsp,%rbp; call . + 0x1000; lea 0x4000(%rip),%rsp;"
		    "call . + 0x2000; c_start_frame_at: 1: hlt; jmp 1b");
CODE(c_start_call, "sub $8,%rsp; call . + 0x1000; mov %rax,%rsp; call . + 0x2000;"
		   "c_start_call_at: ud2");

/* --- code that has a caller ------------------------------------------------------------------- */

CODE(before_change, "sub $8,%rsp; call . + 0x1000; before_change_at: lea 0x4000(%rip),%rsp;"
		    "call . + 0x2000; ud2");
CODE(aligned, "push %rbp; mov %rsp,%rbp; and $-32,%rsp; sub $0x40,%rsp; call . + 0x1000;"
	      "aligned_at: 1: call . + 0x1000; jmp 1b");
CODE(drap, "lea 8(%rsp),%r10; and $-32,%rsp; push -8(%r10); push %rbp; mov %rsp,%rbp; push %r10;"
	   "sub $0x28,%rsp; call . + 0x1000; drap_at: mov -8(%rbp),%r10; leave; lea -8(%r10),%rsp;"
	   "ret");
/* Room of any size on the stack, in functions that never return. */
CODE(room, "push %rbp; mov %rsp,%rbp; shl $4,%rdi; sub %rdi,%rsp; mov %rsp,%rdi; call . + 0x1000;"
	   "room_at: 1: call . + 0x1000; jmp 1b");
CODE(room_by_register, "push %rbp; mov %rsp,%rbp; mov %rsp,%rax; sub %rdi,%rax; mov %rax,%rsp;"
		       "call . + 0x1000; room_by_register_at: 1: call . + 0x1000; jmp 1b");
CODE(room_aligned, "push %rbp; mov %rsp,%rbp; lea -64(%rsp),%rax; sub %rdi,%rax; and $-64,%rax;"
		   "mov %rax,%rsp; call . + 0x1000; room_aligned_at: 1: call . + 0x1000; jmp 1b");
CODE(other_stack, "push %rbp; mov %rsp,%rbp; mov 0x4000(%rip),%rsp; call . + 0x1000;"
		  "other_stack_at: mov %rbp,%rsp; pop %rbp; ret");
CODE(by_preserved, "push %rbx; mov %rsp,%rbx; mov $0x200000,%rsp; call *%rdi;"
		   "by_preserved_at: mov %rbx,%rsp; pop %rbx; ret");
CODE(zero, "push %rbp; xor %ebp,%ebp; call . + 0x1000; zero_at: pop %rbp; ret");
CODE(zero_for_ever, "sub $8,%rsp; xor %ebp,%ebp; call . + 0x1000; zero_for_ever_at: ud2");
CODE(left, "push %rbp; mov %rsp,%rbp; mov $0x200000,%rsp; call *%rdi; left_at: leave; ret");

/* --- code whose caller these steps do not find, but that has one -------------------------------- */

CODE(by_variable, "mov %rsp,0x1000(%rip); lea 0x2000(%rip),%rsp; call *%rdi;"
		  "by_variable_at: mov 0x1000(%rip),%rsp; ret");
CODE(long_jump, "mov %esi,%eax; mov (%rdi),%rbx; mov 8(%rdi),%rbp; mov 0x30(%rdi),%rsp;"
		"long_jump_at: jmp *0x38(%rdi)");
CODE(threads, "push %rbp; push %rbx; mov %rsp,(%rdi); mov (%rsi),%rsp; threads_at: pop %rbx;"
	      "pop %rbp; ret");
CODE(threads_call, "push %rbp; mov %rsp,(%rdi); mov (%rsi),%rsp; call . + 0x1000;"
		   "threads_call_at: pop %rbp; ret");
CODE(system_call,
     "swapgs; mov %rsp,%gs:0x14; mov %gs:0x1c,%rsp; push %r11; push %rcx;"
     "call . + 0x1000; system_call_at: pop %rcx; pop %r11; mov %gs:0x14,%rsp; sysretq");
CODE(interrupt, "push %rax; mov %rsp,%rdi; mov 0x1000(%rip),%rsp; push %rdi; call . + 0x1000;"
		"interrupt_at: pop %rsp; pop %rax; iretq");

/* Functions that keep their return address in a register for a while. */
CODE(kept, "pop %rdi; mov $58,%eax; syscall; kept_at: push %rdi; ret");
CODE(kept_jump, "pop %rdx; mov $1,%eax; kept_jump_at: jmp *%rdx");

/* --- steps ------------------------------------------------------------------------------------ */

static struct {
	struct sample_vcpu vcpu;
	struct sample_stack stack;
	uint64_t words[64];
} made;

struct code {
	const char *name;
	const uint8_t *begin, *at, *end;
};

#define PIECE(name)                                                                                \
	{                                                                                          \
#name, name##_begin, name##_at, name##_end                                         \
	}

static const struct code first[] = {
	PIECE(segments),    PIECE(no_frame_pointer), PIECE(sum),        PIECE(masked),
	PIECE(by_register), PIECE(short_register),   PIECE(absolute),   PIECE(table),
	PIECE(by_word),     PIECE(branch),           PIECE(two_stacks), PIECE(start_of_chain),
	PIECE(far_return), PIECE(counted), PIECE(popped), PIECE(popped_first),
};
static const struct code changed[] = {
	PIECE(c_start),
	PIECE(c_start_frame),
	PIECE(c_start_call),
	PIECE(clone3),
	PIECE(clone),
};
static const struct code called[] = {
	PIECE(before_change), PIECE(aligned),          PIECE(drap),
	PIECE(room),          PIECE(room_by_register), PIECE(room_aligned),
	PIECE(other_stack),   PIECE(by_preserved),     PIECE(left),
	PIECE(zero),          PIECE(zero_for_ever),
};
static const struct code unknown[] = {
	PIECE(by_variable),  PIECE(long_jump),   PIECE(threads),
	PIECE(threads_call), PIECE(system_call), PIECE(interrupt),
	PIECE(kept), PIECE(kept_jump),
};

static size_t read_code(void *context, uint64_t address, void *buffer, size_t size_bytes)
{
	const struct code *code = context;
	uint64_t size = (uint64_t)(code->end - code->begin), at = address - PLACE;
	uint64_t n = at < size ? size - at : 0;

	n = n < size_bytes ? n : size_bytes;
	memcpy(buffer, code->begin + at, n);
	return n;
}

static bool find_function(void *context, uint64_t address, uint64_t *start, uint64_t *end)
{
	const struct code *code = context;

	*start = PLACE;
	*end = PLACE + (uint64_t)(code->end - code->begin);
	return address - *start < *end - *start;
}

static enum unwind_step step_from(const struct code *code, uint64_t address)
{
	struct code copy = *code;
	const struct code_source source = { .read = read_code,
					    .find_function = find_function,
					    .context = &copy };
	struct computed *computed;
	struct cursor cursor;
	enum unwind_step step;

	made.vcpu = (struct sample_vcpu){ .size_bytes = sizeof(made),
					  .state = VCPU_RUNNING,
					  .user = true,
					  .n_stacks = 1,
					  .regs.rip = address,
					  .regs.rbx = STACK,
					  .regs.rbp = STACK + 128,
					  .regs.rsp = STACK };
	made.stack = (struct sample_stack){ .kind = STACK_USER,
					    .address = STACK,
					    .size_bytes = sizeof(made.words) };
	for (unsigned i = 0; i < 64; i++)
		made.words[i] = STACK + 0x100;
	elf_tables_fatal(computed_create(&source, PLACE,
					 PLACE + (uint64_t)(code->end - code->begin), &computed));
	cursor_init(&cursor, &made.vcpu);
	step = computed_step(computed, 0, &cursor);
	computed_destroy(computed);
	return step;
}

static enum unwind_step step_at(const struct code *code)
{
	return step_from(code, PLACE + (uint64_t)(code->at - code->begin));
}

int main(void)
{
	for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++) {
		check(step_at(&first[i]) == STEP_OUTERMOST, "%s: code that runs first",
		      first[i].name);
		check(step_from(&first[i], PLACE) == STEP_OUTERMOST,
		      "%s: its first instruction has no caller either", first[i].name);
	}
	for (size_t i = 0; i < sizeof(changed) / sizeof(changed[0]); i++) {
		check(step_at(&changed[i]) == STEP_OUTERMOST,
		      "%s: on the new stack there is no caller", changed[i].name);
		check(step_from(&changed[i], PLACE) == STEP_CALLER,
		      "%s: the caller is found while the old stack is used", changed[i].name);
	}
	for (size_t i = 0; i < sizeof(called) / sizeof(called[0]); i++)
		check(step_at(&called[i]) == STEP_CALLER, "%s: a function with a caller",
		      called[i].name);
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
		check(step_at(&unknown[i]) != STEP_OUTERMOST, "%s: not the outermost function",
		      unknown[i].name);
	return tap_done();
}
