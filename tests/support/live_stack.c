/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stack of a process of this machine; see live_stack.h. */
#include "config.h"

#include "tests/support/live_stack.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/must.h"

struct live_file {
	char path[512];
	struct image *image;
	struct loads loads;
};

#define LIVE_MAX_FILES 64

struct live_files {
	struct live_file files[LIVE_MAX_FILES];
	size_t n;
};

/* The file PATH, which is read when it is first asked for; NULL: PATH is no file. */
static const struct live_file *live_find_file(struct live_files *files, const char *path)
{
	struct live_file *file = &files->files[files->n];
	int fd;

	for (size_t i = 0; i < files->n; i++)
		if (strcmp(files->files[i].path, path) == 0)
			return &files->files[i];
	fd = *path == '/' && files->n < LIVE_MAX_FILES ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return NULL;
	snprintf(file->path, sizeof(file->path), "%s", path);
	must(image_create(strrchr(path, '/') + 1, &file->image));
	error_destroy(image_read_host_elf(file->image, fd, &file->loads));
	error_destroy(image_read_tables(file->image, fd)); /* also lets instructions be read */
	close(fd);
	files->n++;
	return file;
}

/* Adds the code of the file PATH, or code without a file if there is no such file. */
static void live_add_mapping(struct space *space, struct live_files *files, const char *path,
			     struct mapping *mapping)
{
	const struct live_file *file = live_find_file(files, path);

	if (file) {
		mapping->kind = MAPPING_CODE;
		mapping->image = file->image;
		if (!loads_bias(&file->loads, mapping->start, mapping->file_offset, &mapping->bias))
			mapping->bias = 0;
	}
	must(space_add(space, mapping));
}

struct space *live_stack_create_space(const struct live_process *process)
{
	static struct live_files files;
	char path[64], line[512], mode[8], file[512];
	unsigned long start, end, offset;
	struct space *space;
	FILE *maps;

	must(space_create(&space));
	snprintf(path, sizeof(path), "/proc/%d/maps", process->pid);
	maps = fopen(path, "re");
	while (maps && fgets(line, sizeof(line), maps)) {
		*file = '\0';
		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %511s", &start, &end, mode, &offset,
			   file) >= 4 &&
		    strchr(mode, 'x'))
			live_add_mapping(space, &files, file,
					 &(struct mapping){ .start = start,
							    .end = end,
							    .file_offset = offset,
							    .kind = MAPPING_ANONYMOUS });
	}
	if (maps)
		fclose(maps);
	while (files.n)
		image_unref(files.files[--files.n].image);
	return space;
}

#ifdef __x86_64__
void live_set_registers(struct registers *to, const struct user_regs_struct *from)
{
	*to = (struct registers){ .arch = ARCH_X86,
				  .width = WIDTH_64,
				  .rax = from->rax,
				  .rbx = from->rbx,
				  .rcx = from->rcx,
				  .rdx = from->rdx,
				  .rsi = from->rsi,
				  .rdi = from->rdi,
				  .rbp = from->rbp,
				  .rsp = from->rsp,
				  .r8 = from->r8,
				  .r9 = from->r9,
				  .r10 = from->r10,
				  .r11 = from->r11,
				  .r12 = from->r12,
				  .r13 = from->r13,
				  .r14 = from->r14,
				  .r15 = from->r15,
				  .rip = from->rip,
				  .cs = (uint32_t)from->cs,
				  .ss = from->ss,
				  .fs_base = from->fs_base };
}

const struct sample_vcpu *live_stack_copy(const struct live_process *process, pid_t thread,
					  void *buffer)
{
	struct sample_vcpu *vcpu = buffer;
	struct sample_stack *piece = (struct sample_stack *)(vcpu + 1);
	struct user_regs_struct regs;
	ssize_t n = 0;

	if (ptrace(PTRACE_SEIZE, thread, 0, 0))
		return NULL;
	if (!ptrace(PTRACE_INTERRUPT, thread, 0, 0) && waitpid(thread, NULL, __WALL) == thread &&
	    !ptrace(PTRACE_GETREGS, thread, 0, &regs))
		n = pread(process->memory_fd, piece + 1, SAMPLE_STACK_LIMIT_BYTES, (off_t)regs.rsp);
	ptrace(PTRACE_DETACH, thread, 0, 0);
	if (n <= 0)
		return NULL;
	n &= ~(ssize_t)7;
	*vcpu = (struct sample_vcpu){ .size_bytes = (uint32_t)(sizeof(*vcpu) + sizeof(*piece) +
							       (size_t)n),
				      .state = VCPU_RUNNING,
				      .user = 1,
				      .n_stacks = 1,
				      .stack_cut = CUT_LIMIT };
	live_set_registers(&vcpu->regs, &regs);
	*piece = (struct sample_stack){ .address = regs.rsp, .size_bytes = (uint32_t)n };
	return vcpu;
}
#else
const struct sample_vcpu *live_stack_copy(const struct live_process *process, pid_t thread,
					  void *buffer)
{
	(void)process, (void)thread, (void)buffer;
	return NULL;
}
#endif
