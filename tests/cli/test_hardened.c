/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The program that was built has the hardening that compiler and linker were asked for. */
#include "config.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/support/tap.h"

static Elf *elf;

static void test_segments(void)
{
	bool relro = false, stack = false, writable_code = false;
	size_t n = 0;
	GElf_Phdr header;

	elf_getphdrnum(elf, &n);
	for (size_t i = 0; i < n; i++) {
		gelf_getphdr(elf, (int)i, &header);
		relro |= header.p_type == PT_GNU_RELRO;
		stack |= header.p_type == PT_GNU_STACK && !(header.p_flags & PF_X);
		writable_code |= header.p_type == PT_LOAD && (header.p_flags & PF_W) &&
				 (header.p_flags & PF_X);
	}
	check(relro, "the program has a RELRO segment");
	check(stack, "the stack is not executable");
	check(!writable_code, "no segment is writable and executable");
}

/* The section of TYPE, its header in *HEADER. */
static Elf_Data *section(GElf_Word type, GElf_Shdr *header)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, header) && header->sh_type == type)
			return elf_getdata(scn, NULL);
	return NULL;
}

static uint64_t dynamic_value(GElf_Sxword tag)
{
	GElf_Shdr header;
	Elf_Data *data = section(SHT_DYNAMIC, &header);
	GElf_Dyn entry;

	for (int i = 0; data && gelf_getdyn(data, i, &entry); i++)
		if (entry.d_tag == tag)
			return entry.d_un.d_val;
	return 0;
}

static bool imports(const char *name, bool as_end)
{
	GElf_Shdr header;
	Elf_Data *data = section(SHT_DYNSYM, &header);
	GElf_Sym symbol;

	for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
		const char *found = elf_strptr(elf, header.sh_link, symbol.st_name);
		size_t length = found ? strlen(found) : 0, wanted = strlen(name);

		if (length >= wanted && strcmp(found + (as_end ? length - wanted : 0), name) == 0)
			return true;
	}
	return false;
}

/* The code has BYTES somewhere. */
static bool has_code(const void *bytes, size_t n)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr header;
	Elf_Data *data;

	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &header) && header.sh_type == SHT_PROGBITS &&
		    header.sh_flags & SHF_EXECINSTR && (data = elf_getdata(scn, NULL)) &&
		    data->d_buf && memmem(data->d_buf, data->d_size, bytes, n))
			return true;
	return false;
}

/* The first bytes of the function NAME; NULL: there is no such symbol. */
static const uint8_t *function(const char *name)
{
	GElf_Shdr header, code;
	Elf_Data *data = section(SHT_SYMTAB, &header);
	GElf_Sym symbol;

	for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
		const char *found = elf_strptr(elf, header.sh_link, symbol.st_name);
		Elf_Scn *scn = elf_getscn(elf, symbol.st_shndx);
		Elf_Data *bytes;

		if (!found || strcmp(found, name) != 0 || !scn || !gelf_getshdr(scn, &code))
			continue;
		bytes = elf_getdata(scn, NULL);
		if (bytes && symbol.st_value - code.sh_addr < bytes->d_size)
			return (uint8_t *)bytes->d_buf + (symbol.st_value - code.sh_addr);
	}
	return NULL;
}

/*
 * A function with a stack frame larger than a page touches each page: gcc with "or", clang with
 * "mov" of 0 at the stack pointer. No C code compiles to these instructions otherwise. On arm64 only
 * frames of 64 KiB and more are touched (gcc, --param stack-clash-protection-guard-size).
 */
static void test_stack_clash(void)
{
#ifdef __x86_64__
	static const uint8_t by_or[] = { 0x48, 0x83, 0x0c, 0x24, 0x00 };
	static const uint8_t by_mov[] = { 0x48, 0xc7, 0x04, 0x24, 0, 0, 0, 0 };

	check(has_code(by_or, sizeof(by_or)) || has_code(by_mov, sizeof(by_mov)),
	      "pages of large stack frames are touched");
#else
	(void)has_code;
	printf("ok %u - # SKIP no stack frame is so large that its pages are touched\n", ++tap_points);
#endif
}

/*
 * Functions that are called through pointers begin with endbr64 (Intel SDM vol. 1 §17.3). The
 * program as a whole has no mark: all parts must have it, and Debian's start-up code and libiberty
 * do not.
 */
static void test_control_flow(void)
{
#ifdef __CET__
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	const uint8_t *begin = function("main");

	check(begin && memcmp(begin, endbr64, sizeof(endbr64)) == 0, "main() begins with endbr64");
#else
	(void)function;
#endif
}

int main(void)
{
	const char *folder = getenv("top_builddir");
	char path[4096];
	GElf_Ehdr header;
	int fd;

	snprintf(path, sizeof(path), "%s/xtop", folder ? folder : ".");
	elf_version(EV_CURRENT);
	fd = open(path, O_RDONLY);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!check(elf && gelf_getehdr(elf, &header), "%s can be read", path))
		return tap_done();
	check(header.e_type == ET_DYN && (dynamic_value(DT_FLAGS_1) & DF_1_PIE),
	      "the program is position-independent (PIE)");
	check(dynamic_value(DT_FLAGS_1) & DF_1_NOW, "symbols are bound at start (BIND_NOW)");
	check(!dynamic_value(DT_TEXTREL), "code has no relocations (TEXTREL)");
	check(!dynamic_value(DT_RPATH) && !dynamic_value(DT_RUNPATH),
	      "the program names no library path");
	test_segments();
	check(imports("__stack_chk_fail", false), "the stack protector is used");
#if defined(_FORTIFY_SOURCE) && _FORTIFY_SOURCE >= 2
	check(imports("_chk", true), "checked string functions are used");
#endif
	test_stack_clash();
	test_control_flow();
	elf_end(elf);
	close(fd);
	return tap_done();
}
