/* SPDX-License-Identifier: GPL-2.0-or-later */
/* main() by the code at a program's entry: this program's own, and code as compilers write it. */
#include "config.h"

#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include "tests/support/elf_image.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/elf/elf.h"

#define TEXT  0x401000
#define ENTRY (TEXT + 0x40) /* the code starts at 0x40 of the segment, wherever that lies */

static uint64_t text_address = TEXT;

int main(void);

static const struct elf_limits limits = { .sections = 100 };

static int take_bias(struct dl_phdr_info *info, size_t size, void *bias)
{
	(void)size;
	*(uint64_t *)bias = info->dlpi_addr;
	return 1; /* the program comes first */
}

static void test_own(void)
{
	struct elf_file file;
	uint64_t bias = 0;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	dl_iterate_phdr(take_bias, &bias);
	must(elf_file_init_host(&file, fd, "self", &limits));
	check_u64(elf_find_main(&file), (uint64_t)(uintptr_t)main - bias, "main of this program");
	elf_file_deinit(&file);
	close(fd);
}

/* What FIND finds in a program of MACHINE whose entry begins with the N bytes of CODE. */
static uint64_t look_by(uint64_t (*find)(struct elf_file *file), unsigned machine,
			const void *code, size_t n)
{
	static uint8_t text[0x400];
	struct elf_image image;
	struct elf_file file;
	struct bytes bytes;
	uint64_t found;
	int fd;

	memset(text, 0, sizeof(text));
	memcpy(text + (ENTRY - TEXT), code, n);
	elf_image_init(&image);
	image.header.e_machine = (uint16_t)machine;
	image.header.e_entry = text_address + (ENTRY - TEXT);
	image.header.e_phentsize = sizeof(Elf64_Phdr);
	image.header.e_phnum = 1;
	elf_image_section(&image,
			  (Elf64_Shdr){ .sh_type = SHT_PROGBITS,
					.sh_addralign = 16,
					.sh_size = sizeof(text) },
			  text);
	image.segments[0] = (Elf64_Phdr){ .p_type = PT_LOAD,
					  .p_flags = PF_R | PF_X,
					  .p_offset = image.sections[1].sh_offset,
					  .p_vaddr = text_address,
					  .p_filesz = sizeof(text),
					  .p_memsz = sizeof(text) };
	fd = elf_image_fd(&image);
	bytes = elf_image_file_bytes(&fd);
	must(elf_file_init_guest(&file, &bytes, "file", &limits));
	found = find(&file);
	check(!file.incomplete, "a main that is not found leaves the file complete");
	elf_file_deinit(&file);
	close(fd);
	return found;
}

static uint64_t look(unsigned machine, const void *code, size_t n)
{
	return look_by(elf_find_main, machine, code, n);
}

static void test_x86_64(void)
{
	/* xor ebp, ebp; lea 0x100(%rip), %rdi; call *(%rip) */
	static const uint8_t pie[] = "\x31\xed\x48\x8d\x3d\x00\x01\x00\x00\xff\x15";
	static const uint8_t fixed[] = "\x31\xed\x48\xc7\xc7\x80\x11\x40\x00\xe8";
	static const uint8_t data[] = "\x48\x8d\x3d\x00\x10\x00\x00\x48\x8d\x3d\x10\x00\x00\x00\xe8";
	static const uint8_t itself[] = "\x48\x8d\x3d\xf9\xff\xff\xff";

	check_u64(look(EM_X86_64, pie, sizeof(pie) - 1), ENTRY + 9 + 0x100,
		  "x86-64: main that a lea gives");
	check_u64(look(EM_X86_64, fixed, sizeof(fixed) - 1), 0x401180,
		  "x86-64: main that a mov gives");
	check_u64(look(EM_X86_64, data, sizeof(data) - 1), ENTRY + 14 + 0x10,
		     "x86-64: an address outside of the code is not main");
	check_u64(look(EM_X86_64, itself, sizeof(itself) - 1), 0, "x86-64: the entry is not main");
	check_u64(look(EM_X86_64, "", 0), 0, "x86-64: no such instruction");
	text_address = 0;
	check_u64(look(EM_X86_64, pie, sizeof(pie) - 1), 0x40 + 9 + 0x100, "x86-64, code from 0 on");
	text_address = TEXT;
}

static void test_arm64(void)
{
	static const uint32_t added[] = { 0xd280001d, 0x90000000, 0x91060000 }; /* + 0x180 */
	static const uint32_t loaded[] = { 0x90000000, 0xf9402c00, 0, 0, 0, 0, /* [+ 0x58] */
					   0x401200, 0 };
	static const uint32_t other[] = { 0x90000001, 0x91060021 }; /* x1 */
	static const uint32_t jump[] = { 0x90000000, 0x91014000, 0, 0, 0xd503245f, 0x14000040 };
	static const uint32_t behind[] = { 0x90000000, 0x91014000, 0, 0, 0xd503201f, 0x17fffffd };
	static const uint32_t back[] = { 0xf0ffffe0, 0x91060000 }; /* a page before: no code */

	check_u64(look(EM_AARCH64, added, sizeof(added)), TEXT + 0x180,
		  "arm64: main that an add gives");
	check_u64(look(EM_AARCH64, loaded, sizeof(loaded)), 0x401200, "arm64, from the GOT");
	check_u64(look(EM_AARCH64, jump, sizeof(jump)), TEXT + 0x54 + 0x100, "arm64, a jump to main");
	check_u64(look_by(elf_find_called, EM_AARCH64, jump, sizeof(jump)), TEXT + 0x50,
		  "arm64: the code that is called is the jump");
	check_u64(look(EM_AARCH64, behind, sizeof(behind)), TEXT + 0x48, "arm64, a jump back");
	check_u64(look(EM_AARCH64, other, sizeof(other)), 0, "arm64: another register");
	check_u64(look(EM_AARCH64, back, sizeof(back)), 0, "arm64: a page without code");
}

int main(void)
{
	test_own();
	test_x86_64();
	test_arm64();
	return tap_done();
}
