/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The workload's program in Go (tests/guests/workload/goes.go) runs here, and its threads are
 * stopped by ptrace. Their stacks are copied as the sampler copies them, and unwound: all chains of
 * the first thread lead to main.main and runtime.goexit, through everything that changes stacks.
 * Needs Go with cgo, and the right to trace a child.
 */
#include "config.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/children.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/symbol/image.h"

/* The sampler's own code, with the reads below instead of those through page tables. */
#define piece_writer_read traced_read
#define piece_writer_add traced_add
#define piece_writer_have traced_have
#define stacks_copy_go traced_copy_go
#define go_machine_x86 traced_machine_x86
#include "../../src/sample/stacks_go.c"
#include "../../src/sample/stacks_go_x86.c"

#define N_SAMPLES   1500
#define MAX_THREADS 64
#define CR3         0x5000

static char folder[] = "/tmp/test_go_threads.XXXXXX";
static struct {
	pid_t pid;
	struct control *control;
	union {
		struct sample_vcpu vcpu;
		char bytes[sizeof(struct sample_vcpu) + SAMPLE_STACK_LIMIT_BYTES + 1024];
	} record;
	struct {
		struct code_mapping {
			uint64_t start, end, bias;
			struct image *image;
		} list[32];
		unsigned n;
	} mappings;
} traced;
static struct tally {
	unsigned n, whole, of_main, led_to_main, phases[16];
	unsigned bytes_copied;
} tally;

/* --- memory ----------------------------------------------------------------------------------- */

static size_t read_memory(uint64_t address, void *buffer, size_t n)
{
	struct iovec to = { buffer, n }, from = { (void *)(uintptr_t)address, n };
	ssize_t got = process_vm_readv(traced.pid, &to, 1, &from, 1, 0);

	return got > 0 ? (size_t)got : 0;
}

enum sample_cut traced_read(struct piece_writer *writer, struct memory_root root, uint64_t address,
			    uint64_t *word)
{
	(void)writer;
	(void)root;
	return address % 8 == 0 && read_memory(address, word, sizeof(*word)) == sizeof(*word)
		       ? CUT_NONE
		       : CUT_NOT_PRESENT;
}

enum sample_cut traced_add(struct piece_writer *writer, enum sample_stack_kind kind,
			   struct memory_root root, uint64_t address, uint64_t length)
{
	struct sample_stack *head = (void *)(traced.record.bytes + traced.record.vcpu.size_bytes);
	size_t got = 0;

	(void)root;
	if (length > writer->left_bytes)
		length = writer->left_bytes;
	while (got < length) {
		size_t n = GUEST_PAGE_SIZE - ((address + got) & GUEST_PAGE_MASK);

		n = n < length - got ? n : length - got;
		if (read_memory(address + got, (char *)(head + 1) + got, n) != n)
			break;
		got += n;
	}
	writer->end = address + got;
	if (!got)
		return CUT_NOT_PRESENT;
	*head = (struct sample_stack){ .address = address,
				       .size_bytes = (uint32_t)got,
				       .kind = kind };
	traced.record.vcpu.n_stacks++;
	traced.record.vcpu.size_bytes += (uint32_t)(sizeof(*head) + ((got + 7) & ~7UL));
	writer->left_bytes -= got;
	writer->extents[writer->n].address = address;
	writer->extents[writer->n++].end = writer->end;
	tally.bytes_copied += (unsigned)got;
	return CUT_LIMIT;
}

bool traced_have(const struct piece_writer *writer, uint64_t address)
{
	for (unsigned i = 0; i < writer->n; i++)
		if (address >= writer->extents[i].address && address < writer->extents[i].end)
			return true;
	return false;
}

/* --- code ------------------------------------------------------------------------------------- */

static size_t read_vdso(void *context, uint64_t offset, void *buffer, size_t n)
{
	return read_memory(((const struct code_mapping *)context)->start + offset, buffer, n);
}

static void read_image(struct code_mapping *mapping, uint64_t offset, const char *path)
{
	struct loads loads = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	must(image_create(path, &mapping->image));
	if (fd >= 0) {
		must(image_read_host_elf(mapping->image, fd, &loads));
		loads_bias(&loads, mapping->start, offset, &mapping->bias);
		close(fd);
	} else {
		struct bytes bytes = { .size_bytes = mapping->end - mapping->start,
				       .read = read_vdso,
				       .context = mapping };

		must(image_read_elf(mapping->image, &bytes));
		mapping->bias = mapping->start;
	}
}

static void read_maps(void)
{
	char path[64], line[512], name[256];
	FILE *maps;

	for (unsigned i = 0; i < traced.mappings.n; i++)
		image_unref(traced.mappings.list[i].image);
	traced.mappings.n = 0;
	snprintf(path, sizeof(path), "/proc/%d/maps", traced.pid);
	maps = fopen(path, "r");
	while (maps && fgets(line, sizeof(line), maps) && traced.mappings.n < 32) {
		struct code_mapping *mapping = &traced.mappings.list[traced.mappings.n];
		unsigned long start, end, offset;
		char rights[8];

		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %255s", &start, &end, rights, &offset,
			   name) != 5 ||
		    rights[2] != 'x' || strcmp(name, "[vsyscall]") == 0)
			continue;
		*mapping = (struct code_mapping){ .start = start, .end = end };
		read_image(mapping, offset, name);
		traced.mappings.n++;
	}
	if (maps)
		fclose(maps);
}

static void find_code(const struct unwind_space *space, uint64_t address, bool tables_needed,
		      struct unwind_code *code)
{
	(void)space;
	(void)tables_needed;
	*code = (struct unwind_code){ .start = address, .end = address + 1 };
	for (unsigned i = 0; i < traced.mappings.n; i++)
		if (address >= traced.mappings.list[i].start && address < traced.mappings.list[i].end)
			*code = (struct unwind_code){ .start = traced.mappings.list[i].start,
						      .end = traced.mappings.list[i].end,
						      .bias = traced.mappings.list[i].bias,
						      .tables = &traced.mappings.list[i].image->tables,
						      .mapped = true,
						      .possible = true };
}

static bool find_no_function(const struct unwind_space *space, uint64_t address, uint64_t *start)
{
	(void)space;
	(void)address;
	(void)start;
	return false;
}

static const char *name_at(uint64_t address)
{
	struct symtab_entry entry;

	for (unsigned i = 0; i < traced.mappings.n; i++)
		if (address >= traced.mappings.list[i].start && address < traced.mappings.list[i].end)
			return traced.mappings.list[i].image->symtab &&
					       symtab_find(traced.mappings.list[i].image->symtab,
							   address - traced.mappings.list[i].bias, &entry)
				       ? entry.name
				       : "?";
	return "nowhere";
}

/* --- threads ---------------------------------------------------------------------------------- */

static bool is_running(pid_t thread)
{
	char path[64], line[512] = "";
	const char *state;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", traced.pid, thread);
	file = fopen(path, "r");
	if (!file)
		return false;
	state = fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
	fclose(file);
	return state && state[1] == ' ' && state[2] == 'R';
}

static unsigned list_threads(pid_t *threads)
{
	struct dirent *entry;
	unsigned n = 0;
	char path[64];
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", traced.pid);
	tasks = opendir(path);
	while (tasks && (entry = readdir(tasks)) && n < MAX_THREADS)
		if (entry->d_name[0] != '.')
			threads[n++] = atoi(entry->d_name);
	if (tasks)
		closedir(tasks);
	return n;
}

/* Stops THREAD and reads its registers. Returns false if it stopped for a signal instead. */
static bool stop_thread(pid_t thread, struct user_regs_struct *regs)
{
	int status;

	if (ptrace(PTRACE_SEIZE, thread, 0, 0) != 0)
		return false;
	if (ptrace(PTRACE_INTERRUPT, thread, 0, 0) != 0 ||
	    waitpid(thread, &status, __WALL) != thread || !WIFSTOPPED(status))
		return false;
	if (status >> 16 == PTRACE_EVENT_STOP && ptrace(PTRACE_GETREGS, thread, 0, regs) == 0)
		return true;
	ptrace(PTRACE_DETACH, thread, 0, WSTOPSIG(status));
	return false;
}

/* --- one sample ------------------------------------------------------------------------------- */

static void copy_stacks(const struct user_regs_struct *regs)
{
	struct copier copier = { .control = traced.control };
	struct copy copy = { .copier = &copier };
	struct copied copied = { 0 };
	enum sample_cut cut;

	traced.record.vcpu = (struct sample_vcpu){
		.size_bytes = sizeof(traced.record.vcpu),
		.state = VCPU_RUNNING,
		.user = 1,
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
			  .rip = regs->rip,
			  .fs_base = regs->fs_base,
			  .cr3 = CR3 },
	};
	copy.regs = &traced.record.vcpu.regs;
	copy.copied = &copied;
	copy.own.cr3 = CR3;
	copy.writer.left_bytes = SAMPLE_STACK_LIMIT_BYTES;
	if (!traced_copy_go(&copy, STACK_FIRST, regs->rsp, &cut))
		traced_add(&copy.writer, STACK_FIRST, copy.own, regs->rsp, 16384);
}

static const char *const phases[] = { "main.phaseHash",   "main.phaseCall",  "main.phaseBack",
				      "main.phaseStack",  "main.phaseSignal", "main.phaseClock",
				      "main.phaseYield",  "main.phaseCollect" };
#define N_PHASES (sizeof(phases) / sizeof(*phases))
/* Each phase has its own kind of chains, and is to be tried. How often is the machine's affair. */
#define PHASE_SAMPLES 5

static void print_chain(const struct unwind_stack *stack, const char *what)
{
	printf("# %s, stop %d:", what, stack->stop);
	for (unsigned i = 0; i < stack->n_frames; i++)
		printf(" %s", name_at(stack->frames[i].address -
				      !!(stack->frames[i].flags & FRAME_RETURN)));
	printf("\n");
}

/*
 * A chain that ends in one of these: the thread gave its goroutine away, and looks for another one.
 * On a busy machine that lasts, until somebody takes the goroutine.
 */
static bool has_lost_goroutine(const char *outermost)
{
	return strcmp(outermost, "runtime.mcall") == 0 ||
	       strcmp(outermost, "runtime.morestack") == 0;
}

static void count_chain(const struct unwind_stack *stack, bool first_thread)
{
	bool main_found = false, phase_found = false;
	const char *name = "";

	for (unsigned i = 0; i < stack->n_frames; i++) {
		name = name_at(stack->frames[i].address -
			       !!(stack->frames[i].flags & FRAME_RETURN));
		main_found |= strcmp(name, "main.main") == 0;
		for (unsigned j = 0; j < N_PHASES && !phase_found; j++)
			if (strcmp(name, phases[j]) == 0) {
				tally.phases[j]++;
				phase_found = true;
			}
	}
	tally.n++;
	tally.whole += stack->stop == UNWIND_COMPLETE;
	if (stack->stop != UNWIND_COMPLETE)
		print_chain(stack, "not whole");
	if (!first_thread || (!main_found && has_lost_goroutine(name)))
		return;
	tally.of_main++;
	tally.led_to_main += main_found;
	if (stack->stop == UNWIND_COMPLETE && !main_found)
		print_chain(stack, "not to main");
}

static void sample_thread(pid_t thread, const struct user_regs_struct *regs)
{
	static const struct unwind_space space = { .find = find_code,
						   .find_function = find_no_function };
	const struct unwind_spaces spaces = { .user = &space, .user_whole = true };
	static struct unwind_stack stack;
	static unsigned n_before;

	copy_stacks(regs);
	unwind_stack(&traced.record.vcpu, &spaces, UNWIND_AUTO, &stack);
	if (stack.go_stacks)
		control_set_go_stacks(traced.control, CR3, stack.go_stacks, stack.go_callback);
	if (n_before++ >= 100) /* that C calls Go is known then */
		count_chain(&stack, thread == traced.pid);
}

/* All threads stand still at once, as in a guest. */
static void sample(void)
{
	struct user_regs_struct regs[MAX_THREADS];
	pid_t threads[MAX_THREADS];
	bool running[MAX_THREADS], stopped[MAX_THREADS];
	unsigned n = list_threads(threads);

	for (unsigned i = 0; i < n; i++) {
		running[i] = is_running(threads[i]);
		stopped[i] = stop_thread(threads[i], &regs[i]);
	}
	for (unsigned i = 0; i < n; i++)
		if (running[i] && stopped[i])
			sample_thread(threads[i], &regs[i]);
	for (unsigned i = 0; i < n; i++)
		if (stopped[i])
			ptrace(PTRACE_DETACH, threads[i], 0, 0);
}

/* --- the whole program ------------------------------------------------------------------------ */

static int build(void)
{
	const char *top = getenv("top_srcdir");
	char line[2048];

	snprintf(line, sizeof(line),
		 "mkdir %s/goes && cd %s/tests/guests/workload && "
		 "cp goes.go goes.c goes.h %s/goes && cp goes.mod %s/goes/go.mod && cd %s/goes && "
		 "export HOME=%s GO111MODULE=on GOFLAGS= CGO_ENABLED=1 "
		 "PATH=\"$PATH:/usr/lib/go-1.19/bin\" && go version >/dev/null 2>&1 || exit 77; "
		 "go build -o %s/program . >&2",
		 folder, top ? top : ".", folder, folder, folder, folder, folder);
	return system(line);
}

static void start(void)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/program", folder);
	traced.pid = fork();
	if (traced.pid == 0) {
		int fd = open("/dev/null", O_WRONLY);

		dup2(fd, STDERR_FILENO);
		execl(path, path, "x", NULL);
		_exit(1);
	}
	nanosleep(&(struct timespec){ .tv_nsec = 300000000 }, NULL);
}

static void run(void)
{
	struct timespec nap = { .tv_nsec = 2000000 };

	read_maps();
	for (unsigned i = 0; i < N_SAMPLES; i++) {
		nap.tv_nsec = 1000000 + rand() % 3000000;
		nanosleep(&nap, NULL);
		sample();
	}
}

int main(void)
{
	int status = mkdtemp(folder) ? build() : -1;
	char line[128];

	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		printf("1..0 # SKIP no Go here\n");
		return 0;
	}
	if (!check(status == 0, "go builds the program"))
		return tap_done();
	must(control_create(&traced.control));
	start();
	run();
	kill_process(traced.pid, SIGKILL);
	printf("# %u samples, %u of the first thread, %u bytes a sample\n", tally.n, tally.of_main,
	       tally.n ? tally.bytes_copied / tally.n : 0);
	check(tally.n > 500 && tally.whole * 1000ULL >= tally.n * 990ULL,
	      "%u of %u chains are whole", tally.whole, tally.n);
	check(tally.of_main > 200 && tally.led_to_main * 1000ULL >= tally.of_main * 990ULL,
	      "%u of %u chains of the first thread lead to main.main", tally.led_to_main,
	      tally.of_main);
	for (unsigned i = 0; i < N_PHASES; i++)
		check(tally.phases[i] >= PHASE_SAMPLES, "%u samples in %s", tally.phases[i],
		      phases[i]);
	snprintf(line, sizeof(line), "chmod -R u+w %s && rm -rf %s", folder, folder);
	status = system(line);
	control_destroy(traced.control);
	return tap_done();
}
