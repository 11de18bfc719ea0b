/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * step_arm64 [-n STEPS] [-p PERCENT] [-r REPORTS] PROGRAM: tests/unwind/step for static
 * programs of arm64 with fixed addresses, which qemu-aarch64 runs by single steps, as gdb's remote
 * protocol asks it to. Their memory is the emulator's, at the same addresses. The real chain:
 *
 *	bl, blr        a frame begins: where the stack pointer is, and where the call returns to
 *	ret            the frames up to that stack pointer have ended, by longjmp() as well
 *	a signal       two frames begin: the interrupted place and the return into the trampoline
 *	sp above       a frame has ended
 *
 * Between a load and a store that are exclusive the program is not stopped. Each chain is compared
 * within the first 1,000 instructions after a place that was not met before. Fails if less than
 * PERCENT are right, or if one leads elsewhere.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/children.h"
#include "tests/support/must.h"
#include "xtop/symbol/image.h"
#include "xtop/unwind/unwind.h"

#define STEP_WINDOW  1000
#define STEP_DEPTH   1024
#define STEP_LEAST   1000      /* chains that are compared at least */
#define STEP_SEEN    (1U << 20) /* places, by hash */
#define STEP_REPORTS 5
#define STEP_PACKET  4096
#define STEP_TRAP    5 /* the signal of a step, in gdb's numbers */
#define STEP_WAIT_MS 5000
#define STEP_EXCLUSIVE 8 /* instructions from a load that is exclusive to its store and a branch */
#define STEP_SOCKET  "gdb.socket"

enum { REG_LINK = 30, REG_STACK = 31, REG_CODE = 32, N_STEP_REGISTERS };

struct step_frame {
	uint64_t sp;    /* the caller's stack pointer */
	uint64_t value; /* the call's return address, or the place that a signal has interrupted */
	bool is_place;
};

static struct {
	pid_t pid;
	int fd;
	uint64_t regs[N_STEP_REGISTERS];
	struct space *space;
	struct step_frame frames[STEP_DEPTH];
	unsigned n;
	uint64_t seen[STEP_SEEN];
	unsigned window;
	bool has_exited;
	uint64_t reports;
	uint64_t n_compared, n_right, n_early, n_wrong, n_steps;
} step;

static union {
	struct sample_vcpu vcpu;
	char bytes[sizeof(struct sample_vcpu) + sizeof(struct sample_stack) +
		   SAMPLE_STACK_LIMIT_BYTES];
} record;

/* --- the emulator ----------------------------------------------------------------------------- */

/* Sends TEXT and receives the answer. False: the program has ended. */
static bool step_ask(const char *text, char answer[STEP_PACKET])
{
	char packet[64], *start, *end;
	uint8_t sum = 0;
	size_t n = 0;
	ssize_t got;

	for (const char *at = text; *at; at++)
		sum += (uint8_t)*at;
	snprintf(packet, sizeof(packet), "$%s#%02x", text, sum);
	if (write(step.fd, packet, strlen(packet)) < 0)
		return false;
	for (;;) {
		got = read(step.fd, answer + n, STEP_PACKET - 1 - n);
		if (got <= 0)
			return false;
		n += (size_t)got;
		answer[n] = '\0';
		start = strchr(answer, '$');
		end = start ? strchr(start, '#') : NULL;
		if (end && answer + n >= end + 3)
			break;
	}
	*end = '\0';
	memmove(answer, start + 1, (size_t)(end - start));
	return write(step.fd, "+", 1) == 1;
}

static bool step_read(uint64_t address, void *buffer, size_t n)
{
	struct iovec to = { buffer, n }, from = { (void *)(uintptr_t)address, n };

	if (process_vm_readv(step.pid, &to, 1, &from, 1, 0) == (ssize_t)n)
		return true;
	memset(buffer, 0, n);
	return false;
}

/* Whether CODE is b.cond, cbz or cbnz. */
static bool step_is_branch(uint32_t code)
{
	return (code & 0xff000010) == 0x54000000 || (code & 0x7e000000) == 0x34000000;
}

/* The distance from CODE, which is b.cond, cbz or cbnz, to its target. */
static uint64_t step_distance(uint32_t code)
{
	return (uint64_t)((int64_t)(int32_t)(code << 8) >> 13) << 2;
}

static bool step_set_stop(char kind, uint64_t address, char answer[STEP_PACKET])
{
	char text[40];

	snprintf(text, sizeof(text), "%c0,%" PRIx64 ",4", kind, address);
	return step_ask(text, answer);
}

static bool step_read_registers(void)
{
	char answer[STEP_PACKET];

	if (!step_ask("g", answer) || strlen(answer) < N_STEP_REGISTERS * 16)
		return false;
	for (unsigned i = 0; i < N_STEP_REGISTERS; i++) {
		char word[17] = "";

		memcpy(word, answer + 16 * i, 16);
		step.regs[i] = __builtin_bswap64(strtoull(word, NULL, 16));
	}
	return true;
}

/*
 * Lets the program run through an exclusive load and its store without a stop in between: after a
 * stop the store would never succeed. CODE begins with the load, at which the program stands. Stops
 * after the store and its branch, or where a branch leads.
 */
static bool step_through(const uint32_t code[STEP_EXCLUSIVE], char answer[STEP_PACKET])
{
	uint64_t pc = step.regs[REG_CODE], stops[STEP_EXCLUSIVE];
	unsigned n = 0, i = 0;
	bool stored = false;

	for (; i < STEP_EXCLUSIVE && !(stored && step_is_branch(code[i])); i++) {
		stored |= (code[i] & 0x3fe00000) == 0x08000000; /* stxr, stlxr */
		if (step_is_branch(code[i]))
			stops[n++] = pc + 4 * i + step_distance(code[i]);
	}
	stops[n++] = pc + 4 * (i + 1);
	for (i = 0; i < n; i++)
		if (!step_set_stop('Z', stops[i], answer))
			return false;
	if (!step_ask("c", answer))
		return false;
	for (i = 0; i < n; i++) {
		char unused[STEP_PACKET];

		step_set_stop('z', stops[i], unused);
	}
	return true;
}

/*
 * Lets the program run one instruction, and gives it the signal *SIGNALP unless that is 0. *SIGNALP
 * becomes the signal that stopped the program, or 0 if the step did. Returns false if it has ended.
 */
static bool step_once(unsigned *signalp)
{
	char text[32] = "s", answer[STEP_PACKET];
	uint32_t code[STEP_EXCLUSIVE];

	step_read(step.regs[REG_CODE], code, sizeof(code));
	if (*signalp)
		snprintf(text, sizeof(text), "vCont;S%02x", *signalp);
	if ((code[0] & 0x3fe00000) == 0x08400000 && !*signalp ? !step_through(code, answer) /* ldxr */
							     : !step_ask(text, answer))
		return false;
	step.has_exited = answer[0] == 'W';
	if (answer[0] != 'T' || !step_read_registers())
		return false;
	answer[3] = '\0';
	*signalp = (unsigned)strtoul(answer + 1, NULL, 16);
	if (*signalp == STEP_TRAP)
		*signalp = 0;
	return true;
}

static void step_start(char **argv)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = STEP_SOCKET };

	unlink(STEP_SOCKET);
	step.pid = fork();
	if (!step.pid) {
		if (!freopen("/dev/null", "w", stdout))
			_exit(2);
		execlp("qemu-aarch64", "qemu-aarch64", "-g", STEP_SOCKET, argv[0], NULL);
		_exit(2);
	}
	step.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	for (unsigned i = 0; i < STEP_WAIT_MS; i++) {
		if (!connect(step.fd, (struct sockaddr *)&address, sizeof(address)) &&
		    step_read_registers())
			return;
		usleep(1000);
	}
	printf("# %s does not run\n", argv[0]);
	exit(77);
}

/* --- the program's code ----------------------------------------------------------------------- */

/* Adds the parts of PROGRAM's file that the emulator has mapped. The file is read as one of -k. */
static void step_find_code(const char *program)
{
	int fd = open(program, O_RDONLY | O_CLOEXEC);
	char path[64], line[512], *name = realpath(program, NULL);
	unsigned long start, end, offset;
	struct image *image;
	struct loads loads;
	FILE *maps;

	must(space_create(&step.space));
	must(image_create("program", &image));
	must(image_read_host_elf(image, fd, &loads));
	must(image_read_tables(image, fd));
	close(fd);
	snprintf(path, sizeof(path), "/proc/%d/maps", step.pid);
	maps = fopen(path, "re");
	while (maps && name && fgets(line, sizeof(line), maps)) {
		struct mapping mapping = { .kind = MAPPING_CODE, .image = image };

		if (!strstr(line, name) ||
		    sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) != 3)
			continue;
		mapping.start = start;
		mapping.end = end;
		mapping.file_offset = offset;
		if (loads_bias(&loads, start, offset, &mapping.bias))
			must(space_add(step.space, &mapping));
	}
	if (maps)
		fclose(maps);
	free(name);
	image_unref(image);
}

/* --- the real chain --------------------------------------------------------------------------- */

static void step_push(uint64_t sp, uint64_t value, bool is_place)
{
	if (step.n < STEP_DEPTH)
		step.frames[step.n++] = (struct step_frame){ sp, value, is_place };
}

/* Brings the real chain up to date after a step. BEFORE has the registers before the step. */
static void step_follow(const uint64_t before[N_STEP_REGISTERS])
{
	uint64_t sp = step.regs[REG_STACK], pc = before[REG_CODE];
	uint32_t code;

	step_read(pc, &code, sizeof(code));
	if (code == 0xd4000001) { /* svc: the emulator stops after the next instruction */
		pc += sizeof(code);
		step_read(pc, &code, sizeof(code));
	}
	if ((code & 0xfffffc1f) == 0xd65f0000 || code == 0xd61f03c0) /* ret; br x30 */
		while (step.n && step.frames[step.n - 1].sp <= sp)
			step.n--;
	while (step.n && (step.frames[step.n - 1].sp < sp ||
			  (step.frames[step.n - 1].is_place && step.frames[step.n - 1].sp == sp)))
		step.n--;
	if ((code & 0xfc000000) == 0x94000000 || (code & 0xfffffc1f) == 0xd63f0000) /* bl; blr */
		step_push(sp, pc + sizeof(code), false);
}

/* The stack pointer at a handler's entry. The emulator stops after the handler's first instruction. */
static uint64_t step_entry_sp(void)
{
	uint32_t code;

	step_read(step.regs[REG_CODE] - sizeof(code), &code, sizeof(code));
	if ((code & 0xffc003ff) == 0xd10003ff) /* sub sp, sp, #number */
		return step.regs[REG_STACK] + (code >> 10 & 0xfff);
	if ((code & 0xffe003e0) == 0xa9a003e0) /* stp, [sp, #-number]! */
		return step.regs[REG_STACK] + 8 * (64 - (code >> 15 & 63));
	return step.regs[REG_STACK];
}

/*
 * The program has entered a handler, which returns to the first byte of a page that the emulator
 * has made. The page before is mapped, too: a return address is looked up by the byte before it.
 */
static void step_enter_handler(const uint64_t before[N_STEP_REGISTERS])
{
	uint64_t page = step.regs[REG_LINK] & ~UINT64_C(4095);

	if (!space_find(step.space, page))
		must(space_add(step.space, &(struct mapping){ .kind = MAPPING_ANONYMOUS,
							      .start = page - 4096,
							      .end = page + 4096 }));
	step_push(before[REG_STACK], before[REG_CODE], true);
	step_push(step_entry_sp(), step.regs[REG_LINK], false);
}

/* --- comparing -------------------------------------------------------------------------------- */

static void step_copy(void)
{
	struct sample_stack *piece = (struct sample_stack *)(&record.vcpu + 1);
	struct iovec to = { piece + 1, SAMPLE_STACK_LIMIT_BYTES }, from;
	struct registers_arm64 *regs = &record.vcpu.regs.arm64;
	ssize_t got;

	record.vcpu = (struct sample_vcpu){ .state = VCPU_RUNNING,
					    .user = 1,
					    .stack_cut = CUT_LIMIT,
					    .n_stacks = 1,
					    .regs.arch = ARCH_ARM64,
					    .regs.width = WIDTH_64 };
	memcpy(regs->x, step.regs, sizeof(regs->x));
	regs->sp_el0 = step.regs[REG_STACK];
	regs->pc = step.regs[REG_CODE];
	from = (struct iovec){ (void *)(uintptr_t)regs->sp_el0, SAMPLE_STACK_LIMIT_BYTES };
	while ((got = process_vm_readv(step.pid, &to, 1, &from, 1, 0)) <= 0 && from.iov_len > 4096)
		from.iov_len /= 2;
	*piece = (struct sample_stack){ .kind = STACK_FIRST,
					.address = regs->sp_el0,
					.size_bytes = got > 0 ? (uint32_t)got & ~7U : 0 };
	record.vcpu.size_bytes =
		(uint32_t)(sizeof(record.vcpu) + sizeof(*piece)) + piece->size_bytes;
}

static void step_report(const char *what, const struct unwind_stack *stack, unsigned at)
{
	struct symtab_entry entry = { .name = "?" };
	const struct mapping *mapping;
	uint64_t pc = step.regs[REG_CODE];

	if (step.n_early + step.n_wrong > step.reports)
		return;
	space_find_symbol(step.space, pc, &entry, &mapping);
	printf("# at %#" PRIx64 " in %s: %s after frame %u of %u, stop %d", pc, entry.name, what, at,
	       step.n + 1, stack->stop);
	if (at < stack->n_frames)
		printf(", goes on at %#" PRIx64, stack->frames[at].address);
	if (at <= step.n)
		printf(", should at %#" PRIx64, step.frames[step.n - at].value);
	putchar('\n');
}

/*
 * How many frames of STACK are right if the program is about to go to the address in the link
 * register, as longjmp() does: the place there, and then the callers of a real frame of its
 * function, or an early end. 1 if this is no such chain.
 */
static unsigned step_match_goal(const struct unwind_stack *stack)
{
	const struct mapping *mapping = space_find(step.space, step.regs[REG_LINK]);
	unsigned n = stack->n_frames;
	uint64_t start, end, inner;

	if (n < 2 || n - 2 > step.n || stack->frames[1].address != step.regs[REG_LINK] ||
	    !mapping || !mapping->image)
		return 1;
	if (n == 2 && stack->stop != UNWIND_COMPLETE)
		return n;
	for (unsigned i = 2; i < n; i++)
		if (stack->frames[i].address != step.frames[n - 1 - i].value)
			return 1;
	if (n - 2 == step.n)
		return n;
	inner = step.frames[n - 2].value - 1 - mapping->bias; /* its call may be its end */
	return image_find_code(mapping->image, step.regs[REG_LINK] - mapping->bias, &start, &end) &&
			       inner - start < end - start
		       ? n
		       : 1;
}

static void step_compare(void)
{
	const struct unwind_spaces spaces = { .user = space_for_unwind(step.space),
					      .user_whole = true };
	static struct unwind_stack stack;
	unsigned i = 1;
	bool is_whole;

	step_copy();
	unwind_stack(&record.vcpu, &spaces, UNWIND_AUTO, &stack);
	step.n_compared++;
	while (i < stack.n_frames && i <= step.n &&
	       stack.frames[i].address == step.frames[step.n - i].value)
		i++;
	is_whole = i == step.n + 1;
	if (i == 1 && step_match_goal(&stack) > 1) {
		i = stack.n_frames;
		is_whole = true;
	}
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

static void step_look(void)
{
	uint64_t pc = step.regs[REG_CODE];
	uint64_t *slot = &step.seen[(pc * 0x9e3779b97f4a7c15ULL) >> 44];

	if (*slot != pc)
		step.window = STEP_WINDOW;
	*slot = pc;
	if (!step.window)
		return;
	step.window--;
	step_compare();
}

int main(int argc, char **argv)
{
	uint64_t most = UINT64_MAX, before[N_STEP_REGISTERS];
	double percent = 0, right;
	unsigned stopped = 0, given;
	int option;

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
	step_find_code(argv[optind]);
	for (;;) {
		step_look();
		memcpy(before, step.regs, sizeof(before));
		given = stopped;
		if (step.n_steps++ == most || !step_once(&stopped))
			break;
		if (given)
			step_enter_handler(before);
		else
			step_follow(before);
	}
	kill_process(step.pid, SIGKILL);
	waitpid(step.pid, NULL, 0);
	unlink(STEP_SOCKET);
	right = step.n_compared ? 100. * (double)step.n_right / (double)step.n_compared : 0;
	printf("# %s: %" PRIu64 " of %" PRIu64 " chains are right (%.3f %%), %" PRIu64
	       " end early, %" PRIu64 " are wrong; %" PRIu64 " steps\n",
	       argv[optind], step.n_right, step.n_compared, right, step.n_early, step.n_wrong,
	       step.n_steps);
	space_destroy(step.space);
	return right < percent || step.n_wrong || step.n_compared < STEP_LEAST ||
	       !(step.has_exited || step.n_steps > most);
}
