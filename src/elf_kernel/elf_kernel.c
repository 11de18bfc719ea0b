/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A kernel of any kind whose loader has kept its symbols, as one of the operating systems in
 * os_ops.h. Xen's domain builder keeps them for a kernel with the note BSD_SYMTAB (Xen's
 * public/elfnote.h), which NetBSD and FreeBSD have: the names are in memory, where the guest's own
 * debugger finds them.
 *
 *   registers ─► ELF headers after pc ─► the one whose symbols have a function at pc
 *
 * There are no unwind tables. Chains are found by frame pointers, or on x86-64 by the instructions,
 * which are read from the guest's memory. Nothing is known of processes and threads. Resolver's
 * thread.
 */
#include "config.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf_kernel/header_finder.h"
#include "xtop/base/limit.h"
#include "xtop/os/kernel_code.h"
#include "xtop/os/os_ops.h"
#include "xtop/sample/sample.h"
#include "xtop/symbol/image.h"
#include "xtop/symbol/symbol.h"

/*
 * A loader has stored the symbols before the kernel runs. So the first looks search the range that
 * a unikernel needs, and one later look, when the kernel has booted, the range that NetBSD and
 * FreeBSD need. Mapping 4 MiB takes 34 million instructions in the deterministic lab, and guests on
 * dom0's CPU wait for dom0's work.
 */
#define ELF_KERNEL_NEAR_LOOKS 2
#define ELF_KERNEL_NEAR_BYTES LIMIT(4U << 20, 256U << 10)
#define ELF_KERNEL_FAR_LOOK   3
#define ELF_KERNEL_FAR_BYTES  LIMIT(64U << 20, 256U << 10)

struct elf_kernel {
	struct memory *memory;
	struct memory_root root; /* root of the vCPU through which the kernel was found */
	uint64_t pc;             /* pc of that vCPU */
	uint64_t header;         /* address of the ELF header */
	/* first bytes of the header; a header of 64 bits is longer */
	uint8_t ident[sizeof(Elf32_Ehdr)];
	struct image *image;     /* NULL until the header has been found */
	struct space *space;     /* borrowed space that maps the image; NULL before it does */
};

/* --- the image -------------------------------------------------------------------------------- */

/* Reads the file of symbols. OFFSET is relative to its header. */
static size_t elf_kernel_read_file(void *context, uint64_t offset, void *buffer, size_t size_bytes)
{
	const struct elf_kernel *kernel = context;

	return memory_read(kernel->memory, kernel->root, kernel->header + offset, buffer,
			   size_bytes);
}

static struct xtop_error *elf_kernel_read(struct elf_kernel *kernel, struct image *image)
{
	const struct bytes bytes = { elf_kernel_read_file, kernel, UINT64_MAX };
	struct code_source source;

	if (!kernel_code_open(kernel->memory, kernel->root, image, &source))
		return error_create("out of memory for a kernel's symbols");
	return image_read_loaded_elf(image, &bytes, &source);
}

/* Whether the file at HEADER has the symbols of the code that runs. */
static bool elf_kernel_is_at(void *context, uint64_t header)
{
	struct elf_kernel *kernel = context;
	struct symtab_entry entry;
	struct image *image;
	struct xtop_error *error = image_create("[kernel]", &image);

	kernel->header = header;
	if (!error) {
		image->work = memory_work(kernel->memory);
		error = elf_kernel_read(kernel, image);
		if (!error && image->symtab && symtab_find(image->symtab, kernel->pc, &entry) &&
		    elf_kernel_read_file(kernel, 0, kernel->ident, sizeof(kernel->ident)) ==
			    sizeof(kernel->ident))
			kernel->image = image;
		else
			image_unref(image);
	}
	error_destroy(error);
	return kernel->image;
}

/* Maps the addresses that have symbols. The code lies where it was linked. */
static struct xtop_error *elf_kernel_map(struct elf_kernel *kernel, struct space *space)
{
	uint64_t start, end;

	symtab_extent(kernel->image->symtab, &start, &end);
	space_clear(space);
	kernel->space = space;
	return space_add(space, &(struct mapping){
					.start = start, .end = end, .image = kernel->image });
}

/* --- struct os_ops ---------------------------------------------------------------------------- */

static void elf_kernel_destroy(void *context)
{
	struct elf_kernel *kernel = context;

	if (kernel->space)
		space_clear(kernel->space); /* the image of the space reads kernel->memory */
	image_unref(kernel->image);
	free(kernel);
}

/* Number of bytes after the pc to search, after LOOKS failed searches. */
static uint64_t elf_kernel_reach(unsigned looks)
{
	if (looks < ELF_KERNEL_NEAR_LOOKS)
		return ELF_KERNEL_NEAR_BYTES;
	return looks == ELF_KERNEL_FAR_LOOK ? ELF_KERNEL_FAR_BYTES : 0;
}

static void *elf_kernel_find(const struct os_guest *guest, const struct registers *regs,
			     struct linux_stacks *stacks)
{
	struct elf_kernel *kernel;
	struct xtop_error *error;

	(void)stacks; /* there is one stack, at rsp */
	if (symbols_count(guest->symbols) || !elf_kernel_reach(guest->looks))
		return NULL;
	kernel = calloc(1, sizeof(*kernel));
	if (!kernel)
		return NULL;
	kernel->memory = guest->memory;
	kernel->root = walk_root(regs);
	kernel->pc = registers_pc(regs);
	if (!header_finder_each(kernel->memory, kernel->root, kernel->pc,
				elf_kernel_reach(guest->looks), elf_kernel_is_at, kernel)) {
		elf_kernel_destroy(kernel);
		return NULL;
	}
	error = elf_kernel_map(kernel, guest->kernel);
	if (error) {
		error_destroy(error);
		elf_kernel_destroy(kernel);
		return NULL;
	}
	return kernel;
}

/* Whether the header is visible under ROOT. */
static bool elf_kernel_is_under(const struct elf_kernel *kernel, struct memory_root root)
{
	uint8_t ident[sizeof(kernel->ident)];

	return memory_read(kernel->memory, root, kernel->header, ident, sizeof(ident)) ==
		       sizeof(ident) &&
	       memcmp(ident, kernel->ident, sizeof(ident)) == 0;
}

static bool elf_kernel_is_there(void *context)
{
	const struct elf_kernel *kernel = context;

	return elf_kernel_is_under(kernel, kernel->root);
}

/* A program's page tables need not map the kernel. */
static enum os_runs elf_kernel_runs_on(void *context, const struct sample_vcpu *vcpu)
{
	if (elf_kernel_is_under(context, walk_root(&vcpu->regs)))
		return OS_RUNS;
	return vcpu->user ? OS_RUNS_UNKNOWN : OS_RUNS_NOT;
}

static void elf_kernel_get_root(const void *context, struct memory_root *root)
{
	const struct elf_kernel *kernel = context;

	*root = kernel->root;
}

static void elf_kernel_describe(const void *context, struct os_description *description)
{
	(void)context;
	snprintf(description->system, sizeof(description->system),
		 "a kernel with its symbols in memory");
	snprintf(description->notes[0], sizeof(description->notes[0]),
		 "the kernel is not one that xtop knows: neither processes nor threads");
}

const struct os_ops elf_kernel_os = {
	.archs = 1U << ARCH_X86 | 1U << ARCH_ARM64,
	.find = elf_kernel_find,
	.destroy = elf_kernel_destroy,
	.is_there = elf_kernel_is_there,
	.runs_on = elf_kernel_runs_on,
	.get_kernel_root = elf_kernel_get_root,
	.describe = elf_kernel_describe,
};
