/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process of this machine as a guest's; see live_process.h. A frame number is the level of a page
 * table and the part of the address that leads to it; level 0 is the page itself. All pages are
 * said to be there, and a page that is not is refused when it is read.
 */
#include "config.h"

#include "tests/support/live_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "xtop/elf/elf.h"

#define LEVEL_SHIFT       36
#define LEVEL_BITS        9
#define PRESENT           7ULL
#define PRINTED_WITHIN_MS 30000

struct live_memory {
	int fd;
};

/* The page table FRAME, whose entries lead to the tables or pages one level lower. */
static void live_fill_table(uint64_t frame, uint64_t *entries)
{
	uint64_t level = frame >> LEVEL_SHIFT, prefix = frame & ((1ULL << LEVEL_SHIFT) - 1);

	for (uint64_t i = 0; i < 512; i++)
		entries[i] =
			((level - 1) << LEVEL_SHIFT | prefix << LEVEL_BITS | i) << 12 | PRESENT;
}

static void live_read(void *context, const frame_t *frames, size_t n, void *pages, bool *ok)
{
	struct live_memory *memory = context;

	for (size_t i = 0; i < n; i++) {
		char *page = (char *)pages + i * GUEST_PAGE_SIZE;

		ok[i] = true;
		if (frames[i].value >> LEVEL_SHIFT)
			live_fill_table(frames[i].value, (uint64_t *)(void *)page);
		else
			ok[i] = pread(memory->fd, page, GUEST_PAGE_SIZE,
				      (off_t)(frames[i].value << GUEST_PAGE_SHIFT)) ==
				GUEST_PAGE_SIZE;
	}
}

static void live_close(void *context)
{
	struct live_memory *memory = context;

	close(memory->fd);
	free(memory);
}

static bool live_open_memory(struct live_process *process)
{
	static const struct memory_ops ops = { .read = live_read, .close = live_close };
	struct live_memory *memory = malloc(sizeof(*memory));
	struct registers regs = { .arch = ARCH_X86, .cr0 = 1ULL << 31 };
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", process->pid);
	memory->fd = open(path, O_RDONLY | O_CLOEXEC);
	regs.cr3 = 4ULL << LEVEL_SHIFT << GUEST_PAGE_SHIFT;
	process->root = walk_root(&regs);
	return memory->fd >= 0 && !memory_create(&ops, memory, &process->memory);
}

/* Reads the registers of the first thread, which waits. */
static bool live_read_thread_pointer(struct live_process *process)
{
	struct user_regs_struct regs;
	bool ok;

	if (ptrace(PTRACE_SEIZE, process->pid, 0, 0) ||
	    ptrace(PTRACE_INTERRUPT, process->pid, 0, 0) ||
	    waitpid(process->pid, NULL, __WALL) != process->pid)
		return false;
	ok = !ptrace(PTRACE_GETREGS, process->pid, 0, &regs);
	process->thread_pointer = regs.fs_base;
	ptrace(PTRACE_DETACH, process->pid, 0, 0);
	return ok;
}

/* Looks for a runtime in the file PATH, whose first byte is mapped at START. */
static void live_find_runtime(struct live_process *process, const char *path, uint64_t start)
{
	static const struct elf_limits limits = { .symbols = 1 << 20,
						  .sections = 4096,
						  .lenient = true };
	struct elf_file file = { 0 };
	struct loads loads = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct xtop_error *error = elf_file_init_host(&file, fd, path, &limits);

	if (!error && elf_get_loads(&file, &loads))
		process->runtime = runtime_find(&file, strrchr(path, '/') + 1);
	if (process->runtime && !loads_bias(&loads, start, 0, &process->bias))
		process->bias = 0;
	error_destroy(error);
	elf_file_deinit(&file);
	close(fd);
}

static bool live_find_runtimes(struct live_process *process)
{
	char path[64], line[512], file[512];
	unsigned long start, offset;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", process->pid);
	maps = fopen(path, "re");
	while (maps && fgets(line, sizeof(line), maps))
		if (!process->runtime &&
		    sscanf(line, "%lx-%*x %*s %lx %*s %*s %511s", &start, &offset, file) == 3 &&
		    !offset && *file == '/')
			live_find_runtime(process, file, start);
	if (maps)
		fclose(maps);
	return maps;
}

bool live_process_start(struct live_process *process, char *const argv[])
{
	int ends[2];

	*process = (struct live_process){ 0 };
	if (pipe(ends))
		return false;
	process->pid = fork();
	if (process->pid == 0) {
		dup2(ends[1], 1);
		close(ends[0]);
		close(ends[1]);
		execvp(argv[0], argv);
		_exit(127);
	}
	close(ends[1]);
	process->output = ends[0];
	return process->pid > 0;
}

bool live_process_await(struct live_process *process, char *text, size_t capacity)
{
	struct pollfd ready = { .fd = process->output, .events = POLLIN };
	size_t n = 0;
	char *end = NULL;

	while (!end && n + 1 < capacity && poll(&ready, 1, PRINTED_WITHIN_MS) == 1) {
		ssize_t got = read(process->output, text + n, capacity - 1 - n);

		if (got <= 0)
			break;
		n += (size_t)got;
		text[n] = '\0';
		end = strstr(text, "END\n");
	}
	if (!end)
		return false;
	*end = '\0';
	usleep(20000); /* until the program waits */
	return live_open_memory(process) && live_read_thread_pointer(process) &&
	       live_find_runtimes(process);
}

void live_process_end(struct live_process *process)
{
	kill(process->pid, SIGKILL);
	waitpid(process->pid, NULL, 0);
	close(process->output);
	memory_destroy(process->memory);
	runtime_destroy(process->runtime);
}

static uint64_t live_read_word(const struct live_process *process, uint64_t address)
{
	uint64_t word = 0;

	memory_read_u64(process->memory, process->root, address, &word);
	return word;
}

const struct sample_vcpu *live_process_copy(const struct live_process *process,
					    const struct recipe *recipe, void *buffer)
{
	struct sample_vcpu *vcpu = buffer;
	struct sample_stack *piece = (struct sample_stack *)(vcpu + 1);
	uint64_t *words = (uint64_t *)(piece + 1);
	uint64_t node = recipe->base + (recipe->by_thread ? process->thread_pointer : 0);
	uint64_t owner = 0, end = 0;
	size_t n = 0;

	*vcpu = (struct sample_vcpu){ .n_stacks = 1 };
	for (unsigned i = 0; i < recipe->n_loads; i++) {
		owner = node;
		node = live_read_word(process, owner + recipe->loads[i]);
	}
	if (recipe->is_array)
		end = live_read_word(process, owner + recipe->array_start) +
		      sizeof(*words) * live_read_word(process, owner + recipe->array_words);
	for (unsigned nodes = 0; node && nodes < RECIPE_MAX_NODES; nodes++) {
		for (unsigned i = 0; i < recipe->n_words; i++)
			words[n++] = live_read_word(process, node + recipe->words[i]);
		if (recipe->is_array)
			node = node + recipe->next < end ? node + recipe->next : 0;
		else
			node = live_read_word(process, node + recipe->next);
	}
	*piece = (struct sample_stack){ .size_bytes = (uint32_t)(n * sizeof(*words)),
					.kind = STACK_LIST };
	return vcpu;
}
