/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Common instructions are decoded as Zydis decodes them: at every byte of libc's code, whether an
 * instruction begins there or not, and at random bytes.
 */
#include "config.h"

#include "elf_tables.h"
#include "tests/support/program_files.h"
#include "tests/support/tap.h"
#include "unwind/instruction_common.h"

#define RANDOM_BYTES (4U << 20)

struct tally {
	uint64_t n, common, different;
};

static bool is_same_effect(const struct instruction *a, const struct instruction *b)
{
	if (a->effect != b->effect)
		return false;
	switch ((enum instruction_effect)a->effect) {
	case EFFECT_LOSE:
	case EFFECT_LEAVE:
		return !a->compares || a->source == b->source;
	case EFFECT_PUSH:
		return a->source == b->source && a->size == b->size;
	case EFFECT_POP:
		return a->dest == b->dest && a->size == b->size;
	case EFFECT_ALIGN:
		return a->dest == b->dest && a->value == b->value;
	case EFFECT_ADD:
	case EFFECT_STORE:
	case EFFECT_LOAD:
	case EFFECT_NUMBER:
	case EFFECT_MOVE:
		return a->dest == b->dest && a->source == b->source && a->value == b->value;
	}
	return false;
}

static bool is_same(const struct instruction *a, const struct instruction *b)
{
	return is_same_effect(a, b) && a->length == b->length && a->flow == b->flow &&
	       a->target == b->target && a->lost == b->lost && a->compares == b->compares &&
	       a->begins == b->begins && a->marks_target == b->marks_target &&
	       a->filler == b->filler;
}

static void compare_at(const uint8_t *bytes, size_t n, struct tally *tally)
{
	struct instruction common, zydis;

	tally->n++;
	if (!instruction_decode_common(bytes, n, 0x1000, &common))
		return;
	tally->common++;
	if (instruction_decode_zydis(bytes, n, 0x1000, &zydis) && is_same(&common, &zydis))
		return;
	if (tally->different++ >= 10)
		return;
	printf("# differs:");
	for (size_t i = 0; i < 12 && i < n; i++)
		printf(" %02x", bytes[i]);
	printf(" length %u lost %#x effect %u\n", common.length, common.lost, common.effect);
}

static void compare(const uint8_t *bytes, size_t n, const char *what)
{
	struct tally tally = { 0 };

	for (size_t i = 0; i < n; i++)
		compare_at(bytes + i, n - i < 32 ? n - i : 32, &tally);
	printf("# %s: %" PRIu64 " of %" PRIu64 " places are common\n", what, tally.common, tally.n);
	check(tally.common * 10 > tally.n * 3, "%s: common ones are common", what);
	check_u64(tally.different, 0, "instructions that Zydis decodes otherwise");
}

static void compare_file(const char *path)
{
	struct elf_file file;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	elf_tables_fatal(elf_file_init_host(&file, fd, path, &elf_tables_limits));
	if (!elf_machine_is_x86_64(&file)) {
		printf("ok %u - # SKIP %s has no code of x86-64\n", ++tap_points, path);
		file.n_segments = 0;
	}
	for (size_t i = 0; i < file.n_segments; i++) {
		const Elf64_Phdr *segment = &file.segments[i];
		uint8_t *bytes;

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
			continue;
		bytes = malloc(segment->p_filesz);
		compare(bytes, elf_read(&file, segment->p_offset, bytes, segment->p_filesz), path);
		free(bytes);
	}
	elf_file_deinit(&file);
	close(fd);
}

static void compare_random(void)
{
	uint8_t *bytes = malloc(RANDOM_BYTES);
	uint64_t state = 88172645463325252ULL;

	for (size_t i = 0; i < RANDOM_BYTES; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		bytes[i] = (uint8_t)(state >> 24);
	}
	compare(bytes, RANDOM_BYTES, "random bytes");
	free(bytes);
}

/* glibc's locks begin and end transactions. */
static void test_transactions(void)
{
	static const uint8_t xend[] = { 0x0f, 0x01, 0xd5 }, xabort[] = { 0xc6, 0xf8, 0xff };
	static const uint8_t xbegin[] = { 0xc7, 0xf8, 0x10, 0, 0, 0 };
	struct instruction instruction;

	check(instruction_decode_zydis(xend, sizeof(xend), 0x1000, &instruction) &&
		      instruction.flow == INSTRUCTION_NEXT && !instruction.target,
	      "xend goes on");
	check(instruction_decode_zydis(xabort, sizeof(xabort), 0x1000, &instruction) &&
		      instruction.flow == INSTRUCTION_NEXT && !instruction.target,
	      "xabort goes on");
	check(instruction_decode_zydis(xbegin, sizeof(xbegin), 0x1000, &instruction) &&
		      instruction.flow == INSTRUCTION_BRANCH && instruction.target == 0x1016,
	      "xbegin goes on, or to where an abort leads");
}

int main(void)
{
	test_transactions();
	with_libc_file(compare_file);
	compare_random();
	return tap_done();
}
