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
 *
 * A chain is compared within the first 1,000 instructions after each place that was not met before.
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

#ifdef __x86_64__
#include <sys/user.h>
#include <ucontext.h>

#define STEP_WINDOW  1000
#define STEP_DEPTH   4096
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

static struct {
	pid_t pid;
	struct live_process process; /* .pid alone */
	struct space *space;
	struct step_frame frames[STEP_DEPTH]; /* outermost first */
	unsigned n;
	uint64_t lost; /* where a return address was overwritten; 0: nowhere */
	uint64_t seen[STEP_SEEN];
	uint64_t window;
	struct user_regs_struct regs;
	uint8_t code[16]; /* at regs.rip */
	uint64_t reports; /* how many chains that end early are printed */
	uint64_t n_compared, n_right, n_early, n_wrong, n_steps;
} step;

static struct {
	struct sample_vcpu vcpu;
	struct sample_stack stack;
	char bytes[SAMPLE_STACK_LIMIT_BYTES];
} record;

static bool step_read(uint64_t address, void *buffer, size_t n)
{
	struct iovec to = { buffer, n }, from = { (void *)(uintptr_t)address, n };

	return process_vm_readv(step.pid, &to, 1, &from, 1, 0) == (ssize_t)n;
}

/* --- the real chain --------------------------------------------------------------------------- */

/* Whether CODE is a call: e8, or ff /2, behind any prefixes. */
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

/* After one step: REGS and CODE are those before it. */
static void step_follow(const struct user_regs_struct *regs, const uint8_t *code)
{
	uint64_t value;

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

/* Whether ADDRESS is where frame I of the chain is, or was before its exception had a handler. */
static bool step_is_frame(unsigned i, uint64_t address)
{
	const struct step_frame *frame;

	if (!i)
		return address == step.regs.rip;
	frame = &step.frames[step.n - i];
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

static void step_copy(void)
{
	struct iovec to = { record.bytes, sizeof(record.bytes) };
	struct iovec from = { (void *)(uintptr_t)step.regs.rsp, sizeof(record.bytes) };
	ssize_t got;

	while ((got = process_vm_readv(step.pid, &to, 1, &from, 1, 0)) <= 0 && from.iov_len > 4096)
		from.iov_len /= 2;
	record.vcpu = (struct sample_vcpu){ .size_bytes = sizeof(record),
					    .state = VCPU_RUNNING,
					    .user = 1,
					    .n_stacks = 1,
					    .stack_cut = CUT_LIMIT };
	live_set_registers(&record.vcpu.regs, &step.regs);
	record.stack = (struct sample_stack){ .kind = STACK_USER,
					      .address = step.regs.rsp,
					      .size_bytes = got > 0 ? (uint32_t)got & ~7U : 0 };
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

static void step_compare(void)
{
	const struct unwind_spaces spaces = { .user = space_for_unwind(step.space),
					      .user_whole = true };
	static struct unwind_stack stack;
	unsigned i = 0;

	step_copy();
	unwind_stack(&record.vcpu, &spaces, UNWIND_AUTO, &stack);
	step.n_compared++;
	while (i < stack.n_frames && i <= step.n && step_is_frame(i, stack.frames[i].address))
		i++;
	if (i == stack.n_frames && i == step.n + 1 && stack.stop == UNWIND_COMPLETE) {
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
