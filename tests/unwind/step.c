/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * step [-n STEPS] [-p PERCENT] [-r REPORTS] PROGRAM [ARG...]: runs PROGRAM by single steps of ptrace, and
 * compares the chain of each instruction with what its calls have left on the stack. The real chain
 * is known without any table:
 *
 *	a call            puts a return address on the stack: a frame begins
 *	a signal          puts one on the stack, and the interrupted place: two frames begin
 *	rsp above a slot  the frame whose return address was there has ended, however it did
 *	another value     the return address was overwritten, as retpolines do: it is no frame
 *	another place of  the exception has a handler: the frame goes on there (libgcc)
 *	that function
 *	another frame's   the frames up to that one have ended: libgcc goes to its function
 *	rsp is loaded     the program goes on on another stack, which has a shadow of its own
 *
 * A chain is compared within the first 1,000 instructions after each place that was not met before.
 * On a stack that was changed to, both chains are right: that stack's own, or what was called since
 * and then the chain of the stack that was left; or what was called since, alone (Go's mcall).
 * A stack that has changed while it was left, by another thread, is not compared.
 *
 * Prints how many are right, how many end early (which xtop says) and how many are wrong. Fails if
 * less than PERCENT are right, or one is wrong. Only on x86-64.
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

#include "tests/support/live_stack.h"
#include "xtop/sample/go_stacks.h"

#ifdef __x86_64__
#include <sys/user.h>
#include <ucontext.h>

#define STEP_WINDOW  1000
#define STEP_DEPTH   4096
#define STEP_STACKS  64
#define STEP_CHANGES 3          /* the most changes of stacks in one chain */
#define STEP_NEAR    65536      /* frames that are made by mov are smaller */
#define STEP_SEEN    (1U << 20) /* places, by hash */
#define STEP_REPORTS 5

struct step_frame {
	uint64_t slot;  /* where the return address is on the stack */
	uint64_t value; /* the return address, or the place that a signal has interrupted */
	/*
	 * What a signal has interrupted. SLOT is where its ucontext begins. Handlers may change the
	 * place that they return to.
	 */
	bool is_place;
	uint64_t before; /* VALUE before a handler was found; 0: none was */
};

struct step_stack {
	struct step_frame *frames; /* outermost first; STEP_DEPTH of them */
	unsigned n;
	unsigned base;           /* how many frames it had when the program changed to it */
	uint64_t sp;             /* where it was left */
	uint64_t top;            /* the highest stack pointer on it */
	bool is_strange;         /* frames are not known */
	bool is_handler;         /* a signal has changed to it */
	struct step_stack *from; /* the stack that was left; NULL: none */
};

static struct {
	pid_t pid;
	struct live_process process; /* .pid alone */
	struct space *space;
	struct step_stack stacks[STEP_STACKS]; /* the thread's own first */
	unsigned n_stacks;
	struct step_stack *stack;  /* the program is on it */
	struct step_frame *frames; /* the stack's */
	unsigned n;
	uint64_t lost; /* where a return address was overwritten; 0: nowhere */
	uint64_t seen[STEP_SEEN];
	uint64_t window;
	struct user_regs_struct regs;
	struct go_stacks go; /* .g 0: no function of Go was met yet */
	uint8_t code[16];    /* at regs.rip */
	uint64_t reports;    /* how many chains that end early are printed */
	uint64_t n_compared, n_right, n_early, n_wrong, n_steps;
} step;

/* A sample of three stacks at most. */
static union {
	struct sample_vcpu vcpu;
	char bytes[sizeof(struct sample_vcpu) +
		   3 * (sizeof(struct sample_stack) + SAMPLE_STACK_LIMIT_BYTES)];
} record;

static bool step_read(uint64_t address, void *buffer, size_t n)
{
	struct iovec to = { buffer, n }, from = { (void *)(uintptr_t)address, n };

	return process_vm_readv(step.pid, &to, 1, &from, 1, 0) == (ssize_t)n;
}

/* --- the real chain --------------------------------------------------------------------------- */

/* Whether CODE is a call: e8, or ff /2, after any prefixes. */
static bool step_is_call(const uint8_t *code)
{
	unsigned i = 0;

	while (i < 4 && ((code[i] & 0xf0) == 0x40 || code[i] == 0xf2 || code[i] == 0x66 ||
			 code[i] == 0x2e || code[i] == 0x3e || code[i] == 0x67))
		i++;
	return code[i] == 0xe8 || (code[i] == 0xff && (code[i + 1] >> 3 & 7) == 2);
}

static void step_push(uint64_t slot, uint64_t value, bool is_place)
{
	if (step.n < STEP_DEPTH)
		step.frames[step.n++] =
			(struct step_frame){ .slot = slot, .value = value, .is_place = is_place };
}

/* Whether A and B lie in one function, or in a part of it that seldom runs. */
static bool step_is_one_function(uint64_t a, uint64_t b)
{
	struct symtab_entry entry[2] = { { .name = "" }, { .name = "" } };
	const struct mapping *mapping[2];
	size_t n[2];

	if (!step.space || !space_find_symbol(step.space, a, &entry[0], &mapping[0]) ||
	    !space_find_symbol(step.space, b, &entry[1], &mapping[1]))
		return false;
	for (unsigned i = 0; i < 2; i++) {
		const char *cold = strstr(entry[i].name, ".cold");

		n[i] = cold ? (size_t)(cold - entry[i].name) : strlen(entry[i].name);
	}
	return mapping[0] == mapping[1] && n[0] == n[1] &&
	       !memcmp(entry[0].name, entry[1].name, n[0]);
}

/* Whether the frame is as its call has left it. */
static bool step_is_whole(const struct step_frame *frame)
{
	uint64_t value;

	return frame->is_place ||
	       (step_read(frame->slot, &value, sizeof(value)) && value == frame->value);
}

/*
 * A function has lost its caller: libgcc looks for a handler, or a retpoline jumps. A handler's
 * address is written over the return address into the function that has the handler. All frames
 * further in have ended then.
 */
static void step_find_handler(void)
{
	for (unsigned i = step.n; i--;) {
		struct step_frame *frame = &step.frames[i];
		uint64_t value;

		if (step_is_whole(frame) || !step_read(frame->slot, &value, sizeof(value)) ||
		    !step_is_one_function(value, frame->value - 1))
			continue;
		frame->before = frame->value;
		frame->value = value;
		step.n = i + 1;
		step.lost = 0;
		return;
	}
}

/*
 * Removes frame I, and those up to the frame further out whose return address was written over
 * frame I's: the innermost such frame.
 */
static void step_find_goal(unsigned i)
{
	uint64_t value;

	if (i >= step.n || step_is_whole(&step.frames[i]) ||
	    !step_read(step.frames[i].slot, &value, sizeof(value)))
		return;
	for (unsigned j = i; j--;) {
		if (step.frames[j].value != value || step.frames[j].is_place)
			continue;
		memmove(&step.frames[j + 1], &step.frames[i + 1],
			(step.n - i - 1) * sizeof(step.frames[0]));
		step.n -= i - j;
		return;
	}
}

static void step_pop(void)
{
	while (step.n && step.frames[step.n - 1].slot < step.regs.rsp)
		step.n--;
	if (step.lost < step.regs.rsp)
		step.lost = 0;
	step_find_goal(step.n - 1);
	step_find_goal(step.n - 2); /* the function that overwrites has been called */
	if (step.lost || (step.n && !step_is_whole(&step.frames[step.n - 1])))
		step_find_handler();
	while (step.n && !step_is_whole(&step.frames[step.n - 1])) {
		step.lost = step.frames[--step.n].slot;
	}
}

/* --- stacks ----------------------------------------------------------------------------------- */

/* Whether CODE loads rsp out of memory, or out of a register. */
static bool step_loads_rsp(const uint8_t *code, bool *is_register)
{
	if ((code[0] & 0xf8) != 0x48)
		return false;
	*is_register = code[2] >= 0xc0;
	if (code[1] == 0x8b)
		return (code[2] >> 3 & 7) == 4 && !(code[0] & 4);
	return code[1] == 0x89 && (code[2] & 0xc7) == 0xc4 && !(code[0] & 1);
}

/* Whether the frames of STACK that lie at DISTANCE now are as before, from the innermost one on. */
static bool step_lies_at(const struct step_stack *stack, uint64_t distance, unsigned n)
{
	uint64_t value;

	for (unsigned i = 0; i < n; i++)
		if (!stack->frames[i].is_place &&
		    (!step_read(stack->frames[i].slot + distance, &value, sizeof(value)) ||
		     value != stack->frames[i].value))
			return false;
	return n;
}

/* Go copies stacks to larger ones: the frames move, and the innermost ones have ended. */
static bool step_has_moved(struct step_stack *stack)
{
	for (unsigned n = stack->n; n && n + 4 > stack->n; n--) {
		uint64_t distance = step.regs.rsp - stack->frames[n - 1].slot;

		if (!step_lies_at(stack, distance, n))
			continue;
		for (unsigned i = 0; i < n; i++)
			stack->frames[i].slot += distance;
		stack->top += distance;
		stack->n = n;
		return true;
	}
	return false;
}

static struct step_stack *step_find_stack(void)
{
	for (unsigned i = 0; i < step.n_stacks; i++) {
		struct step_stack *stack = &step.stacks[i];

		if (stack == step.stack || step.regs.rsp < stack->sp - 256 ||
		    step.regs.rsp > stack->top)
			continue;
		stack->is_strange |= step.regs.rsp < stack->sp || !step_lies_at(stack, 0, stack->n);
		return stack;
	}
	for (unsigned i = 1; i < step.n_stacks; i++)
		if (&step.stacks[i] != step.stack && step_has_moved(&step.stacks[i]))
			return &step.stacks[i];
	return NULL;
}

/* A stack that was not met before: it begins with a return address that no call has put there. */
static struct step_stack *step_add_stack(void)
{
	struct step_stack *stack =
		&step.stacks[step.n_stacks < STEP_STACKS ? step.n_stacks++ : STEP_STACKS - 1];
	uint64_t value;

	if (!stack->frames)
		stack->frames = calloc(STEP_DEPTH, sizeof(*stack->frames));
	stack->n = 0;
	stack->top = step.regs.rsp;
	stack->is_strange = false;
	if (step_read(step.regs.rsp, &value, sizeof(value)) && step.space &&
	    space_find(step.space, value))
		stack->frames[stack->n++] = (struct step_frame){ step.regs.rsp, value, false, 0 };
	return stack;
}

/* The program has gone on on another stack than that of REGS. */
static void step_change_stack(const struct user_regs_struct *regs)
{
	struct step_stack *stack = step_find_stack();

	step.stack->n = step.n;
	step.stack->sp = regs->rsp;
	if (!stack)
		stack = step_add_stack();
	while (stack->n && stack->frames[stack->n - 1].slot < step.regs.rsp)
		stack->n--;
	if (!step.stack->is_handler || stack != step.stack->from) { /* no return from a handler */
		stack->from = step.stack;
		stack->is_handler = false;
		stack->base = stack->n;
	}
	step.stack = stack;
	step.frames = stack->frames;
	step.n = stack->n;
	step.lost = 0;
}

/* Whether the program has gone to another stack by one step; REGS and CODE are those before it. */
static bool step_has_changed(const struct user_regs_struct *regs, const uint8_t *code)
{
	uint64_t low = regs->rsp;
	bool is_register = false;

	if (!(code[0] == 0x0f && code[1] == 0x05) && /* sigreturn() */
	    !step_loads_rsp(code, &is_register))
		return false;
	if (is_register)
		low -= STEP_NEAR;
	return step.regs.rsp < low || step.regs.rsp > step.stack->top;
}

/* After one step: REGS and CODE are those before it. */
static void step_follow(const struct user_regs_struct *regs, const uint8_t *code)
{
	uint64_t value;

	if (step_has_changed(regs, code))
		step_change_stack(regs);
	step_pop();
	if (step.regs.rsp == regs->rsp - 8 && step_is_call(code) &&
	    step_read(step.regs.rsp, &value, sizeof(value)) && value - regs->rip - 2 < 8)
		step_push(step.regs.rsp, value, false);
}

/* The program is at a handler's first instruction; REGS are the interrupted ones. */
static void step_enter_handler(const struct user_regs_struct *regs)
{
	uint64_t trampoline;

	if (!step_read(step.regs.rsp, &trampoline, sizeof(trampoline)))
		return;
	if (regs->rsp - step.regs.rsp > STEP_NEAR) {
		step_change_stack(regs);
		step.n = step.stack->base = 0; /* a handler's stack is empty */
		step.stack->is_handler = true;
	}
	step_push(step.regs.rsp + 8, regs->rip, true);
	step_push(step.regs.rsp, trampoline, false);
}

/* Where FRAME will go on. */
static uint64_t step_get_place(const struct step_frame *frame)
{
	uint64_t value = 0;

	if (!frame->is_place)
		return frame->value;
	step_read(frame->slot + offsetof(ucontext_t, uc_mcontext.gregs[REG_RIP]), &value,
		  sizeof(value));
	return value;
}

/* Whether ADDRESS is where FRAME is, or was before its exception had a handler. */
static bool step_is_frame(const struct step_frame *frame, uint64_t address)
{
	return address == step_get_place(frame) || (frame->before && address == frame->before);
}

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

/* The first AT frames are right. */
static void step_report(const char *what, const struct unwind_stack *stack, unsigned at)
{
	if (step.n_early > step.reports && what[0] == 'e')
		return;
	printf("# at ");
	step_put_place(step.regs.rip);
	printf(": %s after frame %u of %u, stop %d, at ", what, at, step.n + 1, stack->stop);
	step_put_place(at ? unwind_frame_code(&stack->frames[at - 1]) : 0);
	putchar('\n');
}

/* How many frames of STACK are in a row those of FRAMES, from frame AT of STACK on. */
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
 * How many frames of CHAIN are right, N of them in a row on SHADOW, from frame AT of CHAIN on.
 * *IS_WHOLE: the chain may end there. DEPTH changes of stacks have led to SHADOW.
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
	step.stack->n = step.n;
	if (stack.go_stacks)
		step.go = *stack.go_stacks;
	i = step_count_right(&stack, 1, step.stack, 0, &is_whole);
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
 * Whether the program is at a ret that is a jump, or at a jump that is a return: a retpoline has
 * written the target over the return address of its call; libgcc goes to a handler by jmp *%rcx.
 */
static bool step_is_jump(void)
{
	if (step.code[0] == 0xc3)
		return step.n && step.frames[step.n - 1].slot != step.regs.rsp;
	return step.code[0] == 0xff && step.code[1] == 0xe1; /* jmp *%rcx */
}

/* Libraries may have come: the space is made anew when the program is where no code was. */
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
	if (!step.window || step_is_jump() || !mapping ||
	    !mapping->image) /* the vDSO has no file */
		return;
	step.window--;
	step_compare();
}

/* --- running ---------------------------------------------------------------------------------- */

/* False: the program has ended. */
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
	while ((option = getopt(argc, argv, "+n:p:r:")) != -1) {
		if (option == 'n')
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
	kill(step.pid, SIGKILL);
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
