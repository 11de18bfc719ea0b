/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Chains of a real program, Python's interpreter, which is stopped by ptrace at random: by all
 * tables, and with neither tables nor symbols for the program itself, whose instructions alone are
 * then read. Its libraries keep their tables. Both give the same chains. Needs python3 and the
 * right to trace a child.
 */
#include "config.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/children.h"
#include "tests/support/must.h"
#include "tests/support/program_files.h"
#include "tests/support/tap.h"
#include "xtop/symbol/image.h"
#include "xtop/unwind/code.h"

#define PROGRAM     "/usr/bin/python3" /* a distribution's: compiled with a profile */
#define N_SAMPLES   300
#define MAX_IMAGES  64
#define STACK_BYTES (48U << 10)

static const struct elf_limits limits = { .sections = 4096, .lenient = true };

static const char script[] =
	"import json, re, random, collections\n"
	"data = [{'a': i, 'b': str(i) * 3, 'c': [i, i + 1, i * 2.5]} for i in range(300)]\n"
	"def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)\n"
	"class Place:\n"
	"    def __init__(self, x): self.x = x\n"
	"    def __lt__(self, other): return self.x < other.x\n"
	"print('ready', flush=True)\n"
	"while True:\n"
	"    json.loads(json.dumps(data))\n"
	"    sorted([Place(random.random()) for _ in range(2000)])\n"
	"    re.sub(r'(\\d+)-(\\w+)', r'\\2:\\1', '12-abc 99-zz ' * 300)\n"
	"    fib(16); collections.Counter('the quick brown fox'.split() * 500)\n"
	"    ''.join(str(i) for i in range(3000)); {i: i * i for i in range(3000)}\n"
	"    eval('+'.join(map(str, range(200)))); 2 ** 3000 % 97\n";

/* The stopped program. The first image is the program's own. */
static struct {
	pid_t pid;
	struct {
		uint64_t start, end, bias;
		struct image *image;
	} images[MAX_IMAGES];
	unsigned n_images;
	int fd;
	struct elf_file file;              /* the program's bytes, for reading instructions */
	struct unwind_tables instructions; /* the program's tables: only its instructions */
	bool by_instructions;              /* find_code() gives `instructions` for the program */
} child;

static struct {
	struct sample_vcpu vcpu;
	struct sample_stack stack;
	char bytes[STACK_BYTES];
} record;

/* --- code ------------------------------------------------------------------------------------- */

static void read_maps(void)
{
	char path[64], line[512], name[256];
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", child.pid);
	maps = fopen(path, "r");
	while (maps && fgets(line, sizeof(line), maps) && child.n_images < MAX_IMAGES) {
		struct loads loads = { 0 };
		unsigned long start, end, offset;
		char rights[8];
		int fd;

		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %255s", &start, &end, rights, &offset,
			   name) != 5 || rights[2] != 'x')
			continue;
		fd = open(name, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		must(image_create(name, &child.images[child.n_images].image));
		must(image_read_host_elf(child.images[child.n_images].image, fd, &loads));
		child.images[child.n_images].start = start;
		child.images[child.n_images].end = end;
		loads_bias(&loads, start, offset, &child.images[child.n_images].bias);
		close(fd);
		child.n_images++;
	}
	if (maps)
		fclose(maps);
}

static size_t read_code(void *context, uint64_t address, void *buffer, size_t size_bytes)
{
	(void)context;
	return read_file_code(&child.file, address, buffer, size_bytes);
}

static bool find_no_bounds(void *context, uint64_t address, uint64_t *start, uint64_t *end)
{
	(void)context;
	(void)address;
	(void)start;
	(void)end;
	return false;
}

static void read_instructions(void)
{
	struct code_source source = { .read = read_code, .find_function = find_no_bounds };
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", child.pid);
	child.fd = open(path, O_RDONLY | O_CLOEXEC);
	must(elf_file_init_host(&child.file, child.fd, path, &limits));
	source.entries.elf = child.file.header.e_entry;
	must(unwind_tables_build_computed(&child.instructions, &source,
					  child.images[0].start - child.images[0].bias,
					  child.images[0].end - child.images[0].bias));
}

static void find_code(const struct unwind_space *space, uint64_t address, bool tables_needed,
		      struct unwind_code *code)
{
	(void)space;
	(void)tables_needed;
	*code = (struct unwind_code){ .start = address, .end = address + 1 };
	for (unsigned i = 0; i < child.n_images; i++)
		if (address >= child.images[i].start && address < child.images[i].end)
			*code = (struct unwind_code){
				.start = child.images[i].start,
				.end = child.images[i].end,
				.bias = child.images[i].bias,
				.tables = i == 0 && child.by_instructions
						  ? &child.instructions
						  : &child.images[i].image->tables,
				.mapped = true,
				.possible = true
			};
}

static bool find_no_function(const struct unwind_space *space, uint64_t address, uint64_t *start)
{
	(void)space;
	(void)address;
	(void)start;
	return false;
}

/* --- samples ---------------------------------------------------------------------------------- */

/* Waits until the program works. Returns false if this machine does not have the program. */
static bool start(void)
{
	char line[16] = "";
	int ends[2];

	if (pipe(ends))
		return false;
	child.pid = fork();
	if (child.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(ends[1], STDOUT_FILENO);
		execl(PROGRAM, PROGRAM, "-c", script, NULL);
		_exit(1);
	}
	close(ends[1]);
	return read(ends[0], line, sizeof(line) - 1) > 0 && strncmp(line, "ready", 5) == 0;
}

/* Stops the child and reads its registers. Returns false if one of the two fails. */
static bool stop(struct user_regs_struct *regs)
{
	int status;

	return ptrace(PTRACE_SEIZE, child.pid, 0, 0) == 0 &&
	       ptrace(PTRACE_INTERRUPT, child.pid, 0, 0) == 0 &&
	       waitpid(child.pid, &status, 0) == child.pid && WIFSTOPPED(status) &&
	       ptrace(PTRACE_GETREGS, child.pid, 0, regs) == 0;
}

static void copy_stack(const struct user_regs_struct *regs)
{
	struct iovec to = { record.bytes, sizeof(record.bytes) };
	struct iovec from = { (void *)(uintptr_t)regs->rsp, sizeof(record.bytes) };
	ssize_t got = process_vm_readv(child.pid, &to, 1, &from, 1, 0);

	record.vcpu = (struct sample_vcpu){
		.size_bytes = sizeof(record),
		.state = VCPU_RUNNING,
		.user = 1,
		.n_stacks = 1,
		.stack_cut = CUT_LIMIT,
		.regs = { .rax = regs->rax,
			  .rbx = regs->rbx,
			  .rcx = regs->rcx,
			  .rdx = regs->rdx,
			  .rsi = regs->rsi,
			  .rdi = regs->rdi,
			  .rbp = regs->rbp,
			  .rsp = regs->rsp,
			  .r8 = regs->r8,
			  .r9 = regs->r9,
			  .r10 = regs->r10,
			  .r11 = regs->r11,
			  .r12 = regs->r12,
			  .r13 = regs->r13,
			  .r14 = regs->r14,
			  .r15 = regs->r15,
			  .rip = regs->rip },
	};
	record.stack = (struct sample_stack){ .kind = STACK_USER,
					      .address = regs->rsp,
					      .size_bytes = got > 0 ? (uint32_t)got : 0 };
}

static struct {
	unsigned n, same, cut, other, steps; /* steps: by the program's instructions */
} tally;

static void compare_chains(const struct unwind_stack *wanted, const struct unwind_stack *got)
{
	unsigned i = 0;

	tally.n++;
	for (unsigned j = 0; j < got->n_frames; j++)
		tally.steps += got->frames[j].by == UNWIND_BY_COMPUTED;
	while (i < got->n_frames && i < wanted->n_frames &&
	       got->frames[i].address == wanted->frames[i].address)
		i++;
	if (got->stop == UNWIND_COMPLETE && i == wanted->n_frames && i == got->n_frames) {
		tally.same++;
		return;
	}
	if (i == got->n_frames && got->stop != UNWIND_COMPLETE)
		tally.cut++;
	else
		tally.other++;
	printf("# %s after frame %u of %u, %#" PRIx64 "\n",
	       i == got->n_frames ? "ends" : "leads elsewhere", i, wanted->n_frames,
	       wanted->frames[i ? i - 1 : 0].address);
}

static void sample(void)
{
	static const struct unwind_space space = { .find = find_code,
						   .find_function = find_no_function };
	const struct unwind_spaces spaces = { .user = &space, .user_whole = true };
	static struct unwind_stack by_tables, alone;
	struct user_regs_struct regs;
	bool stopped = stop(&regs);

	if (stopped)
		copy_stack(&regs);
	ptrace(PTRACE_DETACH, child.pid, 0, 0);
	if (!stopped)
		return;
	child.by_instructions = false;
	unwind_stack(&record.vcpu, &spaces, UNWIND_AUTO, &by_tables);
	child.by_instructions = true;
	unwind_stack(&record.vcpu, &spaces, UNWIND_AUTO, &alone);
	if (by_tables.stop == UNWIND_COMPLETE)
		compare_chains(&by_tables, &alone);
}

int main(void)
{
	struct user_regs_struct regs;

	if (!start() || !stop(&regs)) {
		kill_process(child.pid, SIGKILL);
		printf("1..0 # SKIP no python3 here, or no right to trace it\n");
		return 0;
	}
	ptrace(PTRACE_DETACH, child.pid, 0, 0);
	read_maps();
	read_instructions();
	for (unsigned i = 0; i < N_SAMPLES; i++) {
		struct timespec nap = { .tv_nsec = 1000000 + rand() % 3000000 };

		nanosleep(&nap, NULL);
		sample();
	}
	kill_process(child.pid, SIGKILL);
	printf("# %s: of %u chains that are whole by tables, %u are the same by instructions, %u end "
	       "early, %u lead elsewhere; %u steps\n",
	       child.images[0].image->name, tally.n, tally.same, tally.cut, tally.other,
	       tally.steps);
	check(tally.n >= N_SAMPLES / 2, "%u chains are whole by tables", tally.n);
	check(tally.steps >= 5 * tally.n, "%u steps by instructions", tally.steps);
	check(tally.same * 100 >= tally.n * 95,
	      "95 %% of the whole chains are the same by instructions alone");
	check(tally.other * 100 <= tally.n,
	      "at most one chain in a hundred leads elsewhere by instructions");
	unwind_tables_deinit(&child.instructions);
	elf_file_deinit(&child.file);
	close(child.fd);
	for (unsigned i = 0; i < child.n_images; i++)
		image_unref(child.images[i].image);
	return tap_done();
}
