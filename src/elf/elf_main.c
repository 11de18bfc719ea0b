/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds main() in a program whose symbols were stripped: the C library's first code, at e_entry,
 * gives the address of main() to __libc_start_main() as its first argument.
 *
 *   x86-64   lea main(%rip), %rdi    48 8d 3d rel32    or mov $main, %rdi          48 c7 c7 imm32
 *            (glibc sysdeps/x86_64/start.S; musl crt/crt1.c, whose code follows that of crt_arch.h)
 *   arm64    adrp x0, page; add x0, x0, low            or ldr x0, [x0, low], from the GOT
 *            (glibc sysdeps/aarch64/start.S: in programs at fixed addresses a jump to main() stands
 *            there; GNU ld writes the address into the GOT of the file)
 *
 * The first such instruction counts that gives an address in code other than the entry.
 */
#include "config.h"

#include <endian.h>
#include <string.h>

#include "xtop/elf/elf.h"

#define MAIN_CODE_BYTES 128 /* bytes read at the entry; musl's code has some 70, glibc's 38 */

static uint32_t main_u32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return le32toh(value);
}

/* Whether ADDRESS is in code that the file loads, and is not the entry. 0 is no address. */
static bool main_is_code(const struct elf_file *file, uint64_t address)
{
	for (size_t i = 0; i < file->n_segments; i++) {
		const Elf64_Phdr *segment = &file->segments[i];

		if (segment->p_type == PT_LOAD && segment->p_flags & PF_X &&
		    address - segment->p_vaddr < segment->p_filesz)
			return address && address != file->header.e_entry;
	}
	return false;
}

static uint64_t main_find_x86_64(const struct elf_file *file, const uint8_t *code, size_t n)
{
	for (size_t i = 0; i + 7 <= n; i++) {
		const uint64_t value = (uint64_t)(int32_t)main_u32(code + i + 3);
		uint64_t address = 0;

		if (memcmp(code + i, "\x48\x8d\x3d", 3) == 0)
			address = file->header.e_entry + i + 7 + value;
		else if (memcmp(code + i, "\x48\xc7\xc7", 3) == 0)
			address = value;
		if (main_is_code(file, address))
			return address;
	}
	return 0;
}

/* Reads the eight bytes that the file loads at ADDRESS; 0: they cannot be read. */
static uint64_t main_read_word(struct elf_file *file, uint64_t address)
{
	uint64_t word;

	return elf_read_at(file, address, &word, sizeof(word)) ? le64toh(word) : 0;
}

/* The page that an ADRP to x0 at PLACE leads to. False: CODE is another instruction. */
static bool main_decode_adrp(uint32_t code, uint64_t place, uint64_t *page)
{
	uint64_t pages = (code >> 5 & 0x7ffff) << 2 | (code >> 29 & 3);

	*page = (place & ~UINT64_C(4095)) + (((pages ^ 1 << 20) - (1 << 20)) << 12);
	return (code & 0x9f00001f) == 0x90000000;
}

/* Follows a jump, NOP or BTI at ADDRESS. Returns ADDRESS if other code is there. */
static uint64_t main_follow_arm64(struct elf_file *file, uint64_t address)
{
	uint64_t words = main_read_word(file, address);
	uint32_t first = (uint32_t)words;
	uint32_t jump = (first & 0xfffff01f) == 0xd503201f ? (uint32_t)(words >> 32) : first;

	if (jump >> 26 != 5)
		return address;
	return address + (jump == first ? 0 : 4) +
	       ((((uint64_t)jump & 0x3ffffff) ^ 1 << 25) - (1 << 25)) * 4;
}

static uint64_t main_find_arm64(struct elf_file *file, const uint8_t *code, size_t n)
{
	for (size_t i = 0; i + 8 <= n; i += 4) {
		uint32_t next = main_u32(code + i + 4), low = next >> 10 & 0xfff;
		uint64_t page, address = 0;

		if (!main_decode_adrp(main_u32(code + i), file->header.e_entry + i, &page))
			continue;
		if ((next & 0xffc003ff) == 0x91000000) /* add x0, x0, low */
			address = page + low;
		else if ((next & 0xffc003ff) == 0xf9400000) /* ldr x0, [x0, 8 * low] */
			address = main_read_word(file, page + 8 * low);
		if (main_is_code(file, address))
			return address;
	}
	return 0;
}

uint64_t elf_find_called(struct elf_file *file)
{
	bool incomplete = file->incomplete;
	uint8_t code[MAIN_CODE_BYTES];
	uint64_t address = 0;
	size_t n;

	if (!file->header.e_entry)
		return 0;
	n = elf_read_front(file, file->header.e_entry, code, sizeof(code));
	if (file->header.e_machine == EM_X86_64)
		address = main_find_x86_64(file, code, n);
	else if (file->header.e_machine == EM_AARCH64)
		address = main_find_arm64(file, code, n);
	file->incomplete = incomplete; /* missing bytes here are no reason to read the file again */
	return address;
}

uint64_t elf_find_main(struct elf_file *file)
{
	bool incomplete = file->incomplete;
	uint64_t address = elf_find_called(file);

	if (address && file->header.e_machine == EM_AARCH64)
		address = main_follow_arm64(file, address);
	file->incomplete = incomplete;
	return address;
}
