/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bias of mappings: PIE, fixed, prelinked, segments that share a page, large alignment; bad
 * headers.
 */
#include "config.h"

#include "tests/support/program.h"
#include "tests/support/tap.h"
#include "xtop/elf/loads.h"

struct file {
	const unsigned char *bytes;
	size_t size, absent_from;
};

static size_t file_read(void *context, uint64_t offset, void *buffer, size_t size_bytes)
{
	const struct file *file = context;
	size_t n = offset < file->absent_from ? file->absent_from - offset : 0;

	n = n < size_bytes ? n : size_bytes;
	if (n)
		memcpy(buffer, file->bytes + offset, n);
	return n;
}

static enum loads_result read_file(struct file *file, struct loads *loads)
{
	struct bytes bytes = { file_read, file, file->size };

	return loads_read(&bytes, loads);
}

static void check_bias(const char *what, const struct loads *loads, uint64_t start, uint64_t offset,
		       uint64_t want)
{
	uint64_t bias = 1;

	check(loads_bias(loads, start, offset, &bias) && bias == want,
	      "%s: %#" PRIx64 " (expected %#" PRIx64 ")", what, bias, want);
}

static void test_program(void)
{
	struct program program;
	struct file file = { program.bytes, PROGRAM_BYTES, PROGRAM_BYTES };
	struct loads loads;
	uint64_t bias = 7;

	program_make(&program, 0, "f", 1);
	check(read_file(&file, &loads) == LOADS_READ && loads.n == 2, "a PIE has two segments");
	check_bias("a PIE", &loads, 0x55a000001000, 0x1000, 0x55a000001000 - PROGRAM_TEXT);
	check_bias("the headers of a PIE", &loads, 0x7000, 0, 0x7000);
	check(!loads_bias(&loads, 0x7000, 0x3000, &bias) && bias == 7,
	      "bytes in no segment have no bias");
	program_make(&program, 0x400000, "f", 1);
	check(read_file(&file, &loads) == LOADS_READ,
	      "segments of a program at fixed addresses are read");
	check_bias("a program where it was linked to lie", &loads, 0x400000 + PROGRAM_TEXT, 0x1000,
		   0);
	check_bias("a prelinked program that was moved", &loads, 0x500000 + PROGRAM_TEXT, 0x1000,
		   0x100000);
}

static void test_shapes(void)
{
	/* code begins and ends within pages it shares with its neighbours */
	const struct loads shared = { { { 0, 0, 0x1234, false },
					{ 0x1234, 0x2234, 0x1000, true },
					{ 0x2234, 0x4234, 0x100, false } },
				      3, 0, false };
	/* aligned to 2 MiB in the file and in memory */
	const struct loads large = {
		{ { 0, 0x400000, 0x1000, false }, { 0x200000, 0x800000, 0x345678, true } }, 2, 0, false
	};
	const struct loads hostile = { { { UINT64_MAX - 5, 5, UINT64_MAX, true } }, 1, 0, false };
	uint64_t bias;

	check_bias("a page that code shares with what is before it", &shared, 0x10001000, 0x1000,
		   0x10001000 - 0x2000);
	check_bias("a page that code shares with what is after it", &shared, 0x10002000, 0x2000,
		   0x10002000 - 0x3000);
	check_bias("the middle of a segment", &large, 0x900000, 0x300000, 0);
	check_bias("a segment that was moved by 2 MiB", &large, 0xa00000, 0x200000, 0x200000);
	check_bias("a part of a segment, as mprotect() splits it", &large, 0xb00000, 0x300000,
		   0x200000);
	loads_bias(&hostile, 0x1000, 0x2000, &bias);
	check(true, "a segment around the end of all numbers does no harm");
}

static void check_result(const char *what, const struct program *program, size_t absent_from,
			 size_t size, enum loads_result want)
{
	struct file file = { program->bytes, size, absent_from };
	struct loads loads = { .n = 99 };

	check(read_file(&file, &loads) == want && loads.n == 99, "%s", what);
}

static void test_refused(void)
{
	struct program good, bad;
	Elf64_Ehdr *header = (void *)bad.bytes;

	program_make(&good, 0, "f", 1);
	check_result("the header is missing", &good, 0, PROGRAM_BYTES, LOADS_MISSING);
	check_result("half the header is missing", &good, 10, PROGRAM_BYTES, LOADS_MISSING);
	check_result("the program headers are missing", &good, 64, PROGRAM_BYTES, LOADS_MISSING);
	check_result("an empty file", &good, 0, 0, LOADS_NO_ELF);
#define BAD(text, statement)                                                                       \
	do {                                                                                       \
		bad = good;                                                                        \
		statement;                                                                         \
		check_result(text, &bad, PROGRAM_BYTES, PROGRAM_BYTES, LOADS_NO_ELF);              \
	} while (0)
	BAD("a script", memcpy(header->e_ident, "#!/b", 4));
	BAD("32 bits of another machine", header->e_ident[EI_CLASS] = ELFCLASS32;
	    header->e_machine = EM_PPC);
	BAD("another machine", header->e_machine = EM_PPC64);
	BAD("an object file", header->e_type = ET_REL);
	BAD("no program headers", header->e_phnum = 0);
	BAD("129 of them", header->e_phnum = 129);
	BAD("of another size", header->e_phentsize = 32);
	BAD("no PT_LOAD", memset(bad.bytes + 64, 0, 2 * sizeof(Elf64_Phdr)));
	bad = good;
	header->e_ident[EI_CLASS] = ELFCLASS32;
	check_result("x32", &bad, PROGRAM_BYTES, PROGRAM_BYTES, LOADS_ELF32);
	header->e_machine = EM_386; /* whose own headers are in test_elf_class */
	check_result("i386 with headers of 64 bits", &bad, PROGRAM_BYTES, PROGRAM_BYTES,
		     LOADS_NO_ELF);
	bad = good;
	header->e_phoff = UINT64_MAX - 8;
	check_result("program headers beyond all files", &bad, PROGRAM_BYTES, PROGRAM_BYTES,
		     LOADS_MISSING);
}

/* All that a header may name, and no more of them than are kept. */
static void test_many(void)
{
	struct program program;
	struct file file = { program.bytes, PROGRAM_BYTES, PROGRAM_BYTES };
	Elf64_Phdr *segments = (void *)(program.bytes + sizeof(Elf64_Ehdr));
	struct loads loads;

	program_make(&program, 0, "f", 1);
	((Elf64_Ehdr *)(void *)program.bytes)->e_phnum = LOADS_MAX_SEGMENTS;
	for (unsigned i = 0; i < LOADS_MAX_SEGMENTS; i++)
		segments[i] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_filesz = 1 + i };
	check(read_file(&file, &loads) == LOADS_READ && loads.n == LOADS_MAX &&
		      loads.loads[LOADS_MAX - 1].file_bytes == LOADS_MAX,
	      "the first 32 of 128 segments are kept");
}

int main(void)
{
	test_program();
	test_shapes();
	test_refused();
	test_many();
	return tap_done();
}
