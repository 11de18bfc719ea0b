/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Guest memory from a file; see dump_memory.h. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dump_memory.h"
#include "xtop/base/cleanup.h"
#include "xtop/base/registers_x86.h"

struct dump {
	int fd;
};

static void dump_read(void *context, const frame_t *frames, size_t n, void *pages, bool *ok)
{
	const struct dump *dump = context;

	for (size_t i = 0; i < n; i++)
		ok[i] = frames[i].value < 1ULL << 40 &&
			pread(dump->fd, (char *)pages + i * GUEST_PAGE_SIZE, GUEST_PAGE_SIZE,
			      (off_t)(frames[i].value << GUEST_PAGE_SHIFT)) ==
				(ssize_t)GUEST_PAGE_SIZE;
}

static void dump_close(void *context)
{
	struct dump *dump = context;

	if (dump->fd >= 0)
		close(dump->fd);
	free(dump);
}

static const struct memory_ops dump_ops = { .read = dump_read, .close = dump_close };

struct xtop_error *dump_open(const char *path, struct memory **memoryp)
{
	struct dump *dump = calloc(1, sizeof(*dump));

	if (!dump)
		return error_create("out of memory");
	dump->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (dump->fd < 0) {
		dump_close(dump);
		return error_create_errno(errno, "cannot open '%s'", path);
	}
	return memory_create(&dump_ops, dump, memoryp);
}

/* Lines NAME=HEX, with the names of tests/lab/README: registers of arm64. */
static void dump_read_arm64(struct registers *all, FILE *file)
{
	struct registers_arm64 *regs = &all->arm64;
	const struct {
		const char *name;
		uint64_t *to;
	} names[] = {
		{ "pc", &regs->pc },         { "cpsr", &regs->pstate },
		{ "sp_el0", &regs->sp_el0 }, { "sp_el1", &regs->sp_el1 },
		{ "sctlr", &regs->sctlr },   { "tcr", &regs->tcr },
		{ "ttbr0", &regs->ttbr0 },   { "ttbr1", &regs->ttbr1 },
	};
	char line[512];
	unsigned number;
	char *value;

	all->arch = ARCH_ARM64;
	while (fgets(line, sizeof(line), file)) {
		value = strchr(line, '=');
		if (!value)
			continue;
		*value++ = '\0';
		if (sscanf(line, "x%u", &number) == 1 && number < 31)
			regs->x[number] = strtoull(value, NULL, 16);
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			if (strcmp(line, names[i].name) == 0)
				*names[i].to = strtoull(value, NULL, 16);
	}
}

/* EFER.LMA: 64-bit mode (Intel SDM vol. 4, IA32_EFER). Else CR4.PAE tells the page tables. */
static enum register_width dump_width(const struct registers *regs, uint64_t efer)
{
	if (efer & 1 << 10)
		return WIDTH_64;
	return regs->cr4 & CR4_PAE ? WIDTH_32_PAE : WIDTH_32;
}

/* General registers, except r8 to r15. Names without "R" or "E". */
static void dump_read_line(struct registers *regs, const char *line)
{
	const struct {
		const char *name;
		uint64_t *to;
	} names[] = {
		{ "AX=", &regs->rax }, { "BX=", &regs->rbx }, { "CX=", &regs->rcx },
		{ "DX=", &regs->rdx }, { "SI=", &regs->rsi }, { "DI=", &regs->rdi },
		{ "BP=", &regs->rbp }, { "SP=", &regs->rsp }, { "IP=", &regs->rip },
	};
	const char *at;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if ((at = strstr(line, names[i].name)))
			*names[i].to = strtoull(at + 3, NULL, 16);
}

struct xtop_error *dump_read_registers(const char *path, struct registers *regs, bool *user)
{
	_cleanup_fclose_ FILE *file = fopen(path, "r");
	char line[512];
	const char *at;

	*user = false;
	if (!file)
		return error_create_errno(errno, "cannot open %s", path);
	if (strstr(path, ".arm64")) {
		dump_read_arm64(regs, file);
		*user = pstate_arm64_is_user(regs->arm64.pstate);
	}
	while (fgets(line, sizeof(line), file) && strncmp(line, "CPU#1", 5) != 0) {
		dump_read_line(regs, line);
		if ((at = strstr(line, "CPL=")))
			*user = at[4] == '3';
		if ((at = strstr(line, "CR0=")))
			regs->cr0 = strtoull(at + 4, NULL, 16);
		if ((at = strstr(line, "CR3=")))
			regs->cr3 = strtoull(at + 4, NULL, 16);
		if ((at = strstr(line, "CR4=")))
			regs->cr4 = strtoull(at + 4, NULL, 16);
		if (strncmp(line, "GS =", 4) == 0)
			regs->gs_base = strtoull(line + 9, NULL, 16);
		if (strncmp(line, "FS =", 4) == 0)
			regs->fs_base = strtoull(line + 9, NULL, 16);
		if ((at = strstr(line, "EFER=")))
			regs->width = dump_width(regs, strtoull(at + 5, NULL, 16));
	}
	return NULL;
}
