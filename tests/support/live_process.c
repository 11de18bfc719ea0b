/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process of this machine as a guest's; see live_process.h. */
#include "config.h"

#include "tests/support/children.h"
#include "tests/support/live_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/live_memory.h"
#include "xtop/elf/elf.h"

#define PRINTED_WITHIN_MS 30000

static bool live_read_page(void *context, uint64_t page, void *bytes)
{
	const struct live_process *process = context;

	off_t at = (off_t)(page << GUEST_PAGE_SHIFT);

	if (pread(process->memory_fd, bytes, GUEST_PAGE_SIZE, at) != GUEST_PAGE_SIZE)
		return false;
	if (process->kept_fd >= 0 &&
	    pwrite(process->kept_fd, bytes, GUEST_PAGE_SIZE, at) != GUEST_PAGE_SIZE)
		abort();
	return true;
}

static bool live_open_memory(struct live_process *process)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", process->pid);
	process->memory_fd = open(path, O_RDONLY | O_CLOEXEC);
	return process->memory_fd >= 0 &&
	       !live_memory_create(live_read_page, process, &process->memory, &process->root);
}

#ifdef __x86_64__
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

#else
static bool live_read_thread_pointer(struct live_process *process)
{
	(void)process;
	return false;
}
#endif

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
	if (process->runtime)
		snprintf(process->file, sizeof(process->file), "%s", path);
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

	*process = (struct live_process){ .memory_fd = -1, .kept_fd = -1 };
	if (pipe(ends))
		return false;
	process->pid = fork();
	if (process->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that is killed leaves no program */
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

/* Whether the first thread waits in the kernel. */
static bool live_is_asleep(const struct live_process *process)
{
	char path[64], state = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", process->pid);
	file = fopen(path, "re");
	if (file && fscanf(file, "%*d %*[^)]) %c", &state) != 1)
		state = 0;
	if (file)
		fclose(file);
	return state == 'S';
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
	for (unsigned i = 0; i < PRINTED_WITHIN_MS && !live_is_asleep(process); i++)
		usleep(1000);
	usleep(20000); /* the wait that was seen may have been a short one for something else */
	return live_open_memory(process) && live_read_thread_pointer(process) &&
	       live_find_runtimes(process);
}

void live_process_end(struct live_process *process)
{
	kill_process(process->pid, SIGKILL);
	waitpid(process->pid, NULL, 0);
	close(process->output);
	memory_destroy(process->memory);
	if (process->memory_fd >= 0)
		close(process->memory_fd);
	runtime_destroy(process->runtime);
}

static bool live_read_word(void *context, uint64_t address, uint64_t *word)
{
	const struct live_process *process = context;

	return memory_read_u64(process->memory, process->root, address, word);
}

const struct sample_vcpu *live_process_copy(struct live_process *process,
					    const struct recipe *recipe, void *buffer)
{
	struct sample_vcpu *vcpu = buffer;
	struct sample_stack *piece = (struct sample_stack *)(vcpu + 1);
	uint64_t *words = (uint64_t *)(piece + 1);
	size_t n = recipe_follow(recipe, process->thread_pointer, live_read_word, process, words,
				 SAMPLE_STACK_LIMIT_BYTES / sizeof(*words));

	*vcpu = (struct sample_vcpu){ .n_stacks = 1 };
	*piece = (struct sample_stack){ .address = recipe->n_words,
					.size_bytes = (uint32_t)(n * sizeof(*words)),
					.kind = STACK_LIST };
	return vcpu;
}
