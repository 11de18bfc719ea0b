/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unwind tables of a file that -k names: the copy that a recording carries, and stacks that are
 * unwound in the code of the file and by its copy. The input is a byte for the stack, then the
 * file. fuzz_elf_host has all else that libelf reads.
 */
#include "config.h"

#include <sys/mman.h>
#include <unistd.h>

#include "file.h"
#include "vcpu.h"
#include "xtop/symbol/image.h"

/* A stack of numbers that lead into the first 64 KiB of the file's code, and to the stack. */
static void make_vcpu(uint64_t code, uint8_t step, struct fuzz_vcpu *vcpu)
{
	struct sample_stack *piece = (struct sample_stack *)vcpu->rest;
	const unsigned words = 64;

	*vcpu = (struct fuzz_vcpu){ .sample = { .n_vcpus = 1, .weight = SAMPLE_WEIGHT_TICK } };
	vcpu->vcpu = (struct sample_vcpu){
		.state = VCPU_RUNNING, .stack_cut = CUT_LIMIT, .user = 1, .n_stacks = 1
	};
	vcpu->vcpu.regs.rip = code;
	vcpu->vcpu.regs.rsp = VCPU_USER_STACK;
	vcpu->vcpu.regs.rbp = VCPU_USER_STACK + 16;
	*piece = (struct sample_stack){ .address = VCPU_USER_STACK, .size_bytes = 8 * words };
	for (unsigned i = 0; i < words; i++)
		vcpu->rest[2 + i] =
			i % 4 == 2 ? VCPU_USER_STACK + 8 * i + 32 : code + (uint64_t)step * i;
	vcpu->vcpu.size_bytes = (uint32_t)((char *)(vcpu->rest + 2 + words) - (char *)&vcpu->vcpu);
	vcpu->sample.size_bytes = vcpu->vcpu.size_bytes + (uint32_t)sizeof(vcpu->sample);
	fuzz_must(sample_check(vcpu, vcpu->sample.size_bytes), "the record is right");
}

static void unwind(struct image *image, uint64_t code, uint8_t step)
{
	struct mapping mapping = { .start = 0, .end = 1ULL << 47, .image = image };
	static struct unwind_stack stack;
	static struct fuzz_vcpu vcpu;
	struct unwind_spaces spaces = { 0 };
	struct space *space;

	fuzz_succeed(space_create(&space));
	fuzz_succeed(space_add(space, &mapping));
	spaces.user = space_for_unwind(space);
	make_vcpu(code, step, &vcpu);
	unwind_stack(&vcpu.vcpu, &spaces, UNWIND_AUTO, &stack);
	fuzz_must(stack.n_frames >= 1 && stack.n_frames <= UNWIND_MAX_FRAMES, "frames are limited");
	space_destroy(space);
}

/* Where the code of the file begins: its first function, or where the program starts. */
static uint64_t find_code(const struct image *image, const uint8_t *bytes, size_t size_bytes)
{
	uint64_t entry = 0;

	if (image->symtab && symtab_count(image->symtab))
		return symtab_at(image->symtab, 0).start;
	if (size_bytes >= 32)
		memcpy(&entry, bytes + 24, sizeof(entry)); /* e_entry */
	return entry;
}

static void read_symbols(struct image *image, int fd)
{
	struct loads loads = { .n = 0 };

	error_destroy(image_read_host_elf(image, fd, &loads));
	unwind_tables_deinit(&image->tables); /* ORC is dropped */
}

/* The copy becomes the tables of an image that has no file, as in a replay. */
static void adopt(int copy, uint64_t code, uint8_t step)
{
	struct image *image;

	fuzz_succeed(image_create("copy", &image));
	image_adopt_tables_file(image, copy);
	unwind(image, code, step);
	image_unref(image);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size_bytes)
{
	struct fuzz fuzz = fuzz_begin(input, size_bytes);
	uint8_t step = fuzz_u8(&fuzz);
	int fd = fuzz_file(fuzz.at, fuzz.left_bytes), copy;
	struct xtop_error *error;
	struct image *image;
	uint64_t code;

	fuzz_succeed(image_create("file", &image));
	read_symbols(image, fd);
	code = find_code(image, fuzz.at, fuzz.left_bytes);
	image_adopt_tables_file(image, dup(fd));
	error = image_copy_tables(image, &copy);
	fuzz_must(!error || copy == -1, "an error leaves no descriptor");
	error_destroy(error);
	unwind(image, code, step);
	if (copy >= 0)
		adopt(copy, code, step);
	image_unref(image);
	return 0;
}
