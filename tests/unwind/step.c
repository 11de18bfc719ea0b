/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * step [-c FUNCTION] [-n STEPS] [-p PERCENT] [-r REPORTS] PROGRAM [ARG...]: runs PROGRAM by single
 * steps of ptrace, and compares the chain of each instruction with what its calls have left on the
 * stack. step_shadow.c follows the real chain.
 *
 * A chain is compared within the first 1,000 instructions after each place that was not met before.
 * After a change of stacks three chains are right: the chain of the new stack; the calls since the
 * change and then the chain of the old stack; and the calls since the change alone (Go's mcall). A
 * stack that another thread has changed meanwhile is not compared.
 *
 * Prints the first chain in FUNCTION, by names; how many chains are right, how many end early (which
 * xtop says) and how many are wrong. Fails if less than PERCENT are right, or one is wrong. Only on
 * x86-64.
 */
#include "config.h"

#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __x86_64__
#include "step_shadow.h"
#include "tests/support/children.h"

/* A sample of three stacks at most. */
static union {
	struct sample_vcpu vcpu;
	char bytes[sizeof(struct sample_vcpu) +
		   3 * (sizeof(struct sample_stack) + SAMPLE_STACK_LIMIT_BYTES)];
} record;

/* --- comparing -------------------------------------------------------------------------------- */

static bool step_is_new(uint64_t rip)
{
	uint64_t *slot = &step.seen[(rip * 0x9e3779b97f4a7c15ULL) >> 44];

	if (*slot == rip)
		return false;
	*slot = rip;
	return true;
}

/* Adds the bytes from ADDRESS on as a piece of KIND. */
static void step_copy_stack(uint32_t kind, uint64_t address)
{
	struct sample_vcpu *vcpu = &record.vcpu;
	struct sample_stack *piece = (struct sample_stack *)(record.bytes + vcpu->size_bytes);
	struct iovec to = { piece + 1, SAMPLE_STACK_LIMIT_BYTES };
	struct iovec from = { (void *)(uintptr_t)address, SAMPLE_STACK_LIMIT_BYTES };
	ssize_t got;

	while ((got = process_vm_readv(step.pid, &to, 1, &from, 1, 0)) <= 0 && from.iov_len > 4096)
		from.iov_len /= 2;
	*piece = (struct sample_stack){ .kind = kind,
					.address = address,
					.size_bytes = got > 0 ? (uint32_t)got & ~7U : 0 };
	vcpu->size_bytes += (uint32_t)sizeof(*piece) + piece->size_bytes;
	vcpu->n_stacks++;
}

static uint64_t step_read_word(uint64_t address)
{
	uint64_t word = 0;

	step_read(address, &word, sizeof(word));
	return word;
}

/* Adds the goroutine's stack as the sampler does, if the thread has left it. */
static void step_copy_goroutine(void)
{
	uint64_t g = step_read_word(step.regs.fs_base + (uint64_t)step.go.g);
	uint64_t goroutine = step_read_word(step_read_word(g + GO_G_M) + step.go.curg);

	if (goroutine && goroutine != g)
		step_copy_stack(STACK_GOROUTINE, step_read_word(goroutine + GO_G_SP) - 8);
	else if (goroutine && step.stack == step.stacks && step.stack->from) /* calls the vDSO */
		step_copy_stack(STACK_GO_OUTER, step.stack->from->sp);
}

static void step_copy(void)
{
	record.vcpu = (struct sample_vcpu){ .size_bytes = sizeof(record.vcpu),
					    .state = VCPU_RUNNING,
					    .user = 1,
					    .stack_cut = CUT_LIMIT };
	live_set_registers(&record.vcpu.regs, &step.regs);
	step_copy_stack(STACK_FIRST, step.regs.rsp);
	if (step.stack->is_handler)
		step_copy_stack(STACK_GO_OUTER, step.stack->from->sp);
	if (step.go.g)
		step_copy_goroutine();
}

/* Prints the place at ADDRESS. */
static void step_put_place(uint64_t address)
{
	struct symtab_entry entry = { .name = "?" };
	const struct mapping *mapping = NULL;

	space_find_symbol(step.space, address, &entry, &mapping);
	printf("%#" PRIx64 " in %s+%#" PRIx64 " of %s", address, entry.name,
	       entry.start ? address - entry.start : 0,
	       mapping && mapping->image ? mapping->image->name : "no file");
}

/* Prints WHAT is wrong with STACK, whose first AT frames are right. */
static void step_report(const char *what, const struct unwind_stack *stack, unsigned at)
{
	if (step.n_early > step.reports && what[0] == 'e')
		return;
	printf("# at ");
	step_put_place(step.regs.rip);
	printf(": %s after frame %u of %u, stop %d, at ", what, at, step.n + 1, stack->stop);
	step_put_place(at ? unwind_frame_code(&stack->frames[at - 1]) : 0);
	if (at < stack->n_frames) {
		printf(", goes on at ");
		step_put_place(unwind_frame_code(&stack->frames[at]));
	}
	putchar('\n');
}

/* How many frames of STACK in a row, from frame AT on, are those of FRAMES, innermost first. */
static unsigned step_match(const struct unwind_stack *stack, unsigned at,
			   const struct step_frame *frames, unsigned n)
{
	unsigned i = 0;

	while (at + i < stack->n_frames && i < n &&
	       step_is_frame(&frames[n - 1 - i], stack->frames[at + i].address))
		i++;
	return i;
}

/*
 * How many frames of CHAIN are right. The first AT are; the next ones are compared with SHADOW, to
 * which DEPTH changes of stacks have led. *IS_WHOLE becomes whether the chain may end there.
 */
static unsigned step_count_right(const struct unwind_stack *chain, unsigned at,
				 const struct step_stack *shadow, unsigned depth, bool *is_whole)
{
	unsigned since = shadow->n - (shadow->n < shadow->base ? shadow->n : shadow->base);
	unsigned own = at + step_match(chain, at, shadow->frames, shadow->n), other;
	bool is_other_whole = false;

	*is_whole = own == at + shadow->n;
	if (!shadow->from || own < at + since || depth == STEP_CHANGES)
		return own;
	if (chain->n_frames == at + since) {
		*is_whole = true;
		return own;
	}
	other = step_count_right(chain, at + since, shadow->from, depth + 1, &is_other_whole);
	*is_whole |= is_other_whole && other >= own;
	return other > own ? other : own;
}

/* Whether Go's table says that chains end in the function of the last frame of CHAIN. */
static bool step_is_outermost_go(const struct unwind_stack *chain)
{
	static const char *const names[] = { "runtime.mstart", "runtime.gogo", "gogo",
					     "runtime.rt0_go" };
	struct symtab_entry entry = { .name = "" };
	const struct mapping *mapping;

	space_find_symbol(step.space, unwind_frame_code(&chain->frames[chain->n_frames - 1]),
			  &entry, &mapping);
	for (unsigned i = 0; step.go.g && i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(entry.name, names[i]))
			return true;
	return false;
}

/*
 * How many frames of the shadow CHAIN has to have: a retpoline's call returns to code that waits
 * (pause), for an instruction, and may count as a frame or not.
 */
static unsigned step_count_frames(const struct unwind_stack *chain)
{
	const struct step_frame *frame = &step.frames[step.n - 1];
	uint8_t code[2];

	if (step.n && !(chain->n_frames > 1 && chain->frames[1].address == frame->value) &&
	    step_read(frame->value, code, sizeof(code)) && code[0] == 0xf3 && code[1] == 0x90)
		return step.n - 1;
	return step.n;
}

/* Whether the first caller of CHAIN is where swapcontext() or longjmp() goes on. */
static bool step_is_goal(const struct unwind_stack *chain)
{
	uint64_t goal = step.goal ? step_read_word(step.goal) : step.landing;

	return goal && chain->n_frames > 1 && chain->frames[1].address == goal;
}

/* Prints the chain of STACK if it begins in the function that is asked for. */
static void step_put_chain(const struct unwind_stack *stack)
{
	for (unsigned i = 0; i < stack->n_frames; i++) {
		struct symtab_entry entry = { .name = "?" };
		const struct mapping *mapping;

		space_find_symbol(step.space, unwind_frame_code(&stack->frames[i]), &entry,
				  &mapping);
		if (!i && strcmp(entry.name, step.asked) != 0)
			return;
		printf("%s%s", i ? ";" : "# chain: ", entry.name);
	}
	putchar('\n');
	step.asked = NULL;
}

static void step_compare(void)
{
	const struct unwind_spaces spaces = { .user = space_for_unwind(step.space),
					      .user_whole = true };
	static struct unwind_stack stack;
	bool is_whole;
	unsigned i;

	if (step.stack->is_strange || (step.stack->from && step.stack->from->is_strange))
		return;
	step_copy();
	unwind_stack(&record.vcpu, &spaces, UNWIND_AUTO, &stack);
	step.n_compared++;
	if (step.asked)
		step_put_chain(&stack);
	step.stack->n = step_count_frames(&stack);
	if (stack.go_stacks)
		step.go = *stack.go_stacks;
	i = step_count_right(&stack, step_is_goal(&stack) ? 2 : 1, step.stack, 0, &is_whole);
	is_whole |= i == stack.n_frames && step_is_outermost_go(&stack);
	if (i == stack.n_frames && is_whole && stack.stop == UNWIND_COMPLETE) {
		step.n_right++;
	} else if (i == stack.n_frames && stack.stop != UNWIND_COMPLETE) {
		step.n_early++;
		step_report("ends", &stack, i);
	} else {
		step.n_wrong++;
		step_report("leads elsewhere", &stack, i);
	}
}

/*
 * Whether the program has changed stacks, and has not yet pushed the address at which it goes on.
 * glibc's rows for swapcontext() still describe the old stack there. Go's tables have rows for such
 * code.
 */
static bool step_is_between(void)
{
	return step.left && !step.go.g;
}

/*
 * Whether the program is at a ret that is a jump, or at a jump that is a return: a retpoline has
 * written the target over the return address of its call; libgcc goes to a handler by jmp *%rcx.
 */
static bool step_is_jump(void)
{
	if (step.code[0] == 0xc3)
		return step.n && step.frames[step.n - 1].slot != step.regs.rsp;
	return step.code[0] == 0xff && step.code[1] == 0xe1; /* jmp *%rcx */
}

/* Libraries may have been loaded: the space is made anew when the program runs outside of it. */
static void step_look(void)
{
	const struct mapping *mapping;

	if (!step.space || !space_find(step.space, step.regs.rip)) {
		space_destroy(step.space);
		step.space = live_stack_create_space(&step.process);
	}
	if (step_is_new(step.regs.rip))
		step.window = STEP_WINDOW;
	mapping = space_find(step.space, step.regs.rip);
	if (!step.window || step_is_jump() || step_is_between() || !mapping ||
	    !mapping->image) /* the vDSO has no file */
		return;
	step.window--;
	step_compare();
}

/* --- running ---------------------------------------------------------------------------------- */

/* Lets the program run one instruction. Returns false if the program has ended. */
static bool step_once(int *signal)
{
	struct user_regs_struct before = step.regs;
	uint8_t code[sizeof(step.code)];
	int status, given = *signal;

	memcpy(code, step.code, sizeof(code));
	if (ptrace(PTRACE_SINGLESTEP, step.pid, 0, given) || waitpid(step.pid, &status, 0) < 0 ||
	    !WIFSTOPPED(status) || ptrace(PTRACE_GETREGS, step.pid, 0, &step.regs))
		return false;
	*signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
	memset(step.code, 0, sizeof(step.code));
	for (size_t n = sizeof(step.code); n > 1 && !step_read(step.regs.rip, step.code, n); n /= 2)
		;
	if (given)
		step_enter_handler(&before);
	else
		step_follow(&before, code);
	return true;
}

static void step_start(char **argv)
{
	int status;

	step.pid = fork();
	if (!step.pid) {
		personality(ADDR_NO_RANDOMIZE);
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		if (!freopen("/dev/null", "w", stdout))
			_exit(2);
		execvp(argv[0], argv);
		_exit(2);
	}
	if (waitpid(step.pid, &status, 0) < 0 || !WIFSTOPPED(status) ||
	    ptrace(PTRACE_SETOPTIONS, step.pid, 0, PTRACE_O_EXITKILL) ||
	    ptrace(PTRACE_GETREGS, step.pid, 0, &step.regs)) {
		printf("# %s cannot be traced\n", argv[0]);
		exit(77);
	}
	step.process.pid = step.pid;
	step.stack = step_add_stack();
	step.stack->n = 0;
	step.frames = step.stack->frames;
}

int main(int argc, char **argv)
{
	uint64_t most = UINT64_MAX;
	double percent = 0, right;
	int option, signal = 0;

	step.reports = STEP_REPORTS;
	while ((option = getopt(argc, argv, "+c:n:p:r:")) != -1) {
		if (option == 'c')
			step.asked = optarg;
		else if (option == 'n')
			most = strtoull(optarg, NULL, 10);
		else if (option == 'r')
			step.reports = strtoull(optarg, NULL, 10);
		else
			percent = strtod(optarg, NULL);
	}
	if (optind >= argc)
		return 2;
	step_start(argv + optind);
	do
		step_look();
	while (step.n_steps++ < most && step_once(&signal));
	kill_process(step.pid, SIGKILL);
	right = step.n_compared ? 100. * (double)step.n_right / (double)step.n_compared : 0;
	printf("# %s: %" PRIu64 " of %" PRIu64 " chains are right (%.3f %%), %" PRIu64
	       " end early, %" PRIu64 " are wrong; %" PRIu64 " steps\n",
	       argv[optind], step.n_right, step.n_compared, right, step.n_early, step.n_wrong,
	       step.n_steps);
	space_destroy(step.space);
	return right < percent || step.n_wrong;
}
#else
int main(void)
{
	printf("# only on x86-64\n");
	return 77;
}
#endif
