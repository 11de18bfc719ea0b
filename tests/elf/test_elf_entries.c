/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where an image begins to run: ELF's entry, and Xen's note for PVH guests, a physical address. */
#include "config.h"

#include <fcntl.h>
#include <unistd.h>

#include "tests/support/elf_image.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/elf/elf.h"

#define ENTRY    0xffffffff80100000ULL
#define KERNEL   "tests/guests/tiny/tiny-fp" /* its PVH entry is at the start of its code */
#define LOAD     0x2000ULL                   /* physical; the second segment */
#define VIRTUAL  0xffffffff80300000ULL
#define MEM_SIZE 0x800

static const struct elf_limits limits = { .sections = 100 };

static struct entry_points find(int fd)
{
	struct bytes bytes = elf_image_file_bytes(&fd);
	struct entry_points entries;
	struct elf_file file;

	must(elf_file_init_guest(&file, &bytes, "file", &limits));
	elf_find_entries(&file, &entries);
	elf_file_deinit(&file);
	close(fd);
	return entries;
}

/* A file with a note of TYPE that has SIZE bytes of PHYSICAL. */
static struct entry_points made(uint32_t type, uint64_t physical, uint32_t size)
{
	struct {
		Elf64_Nhdr header;
		char name[4];
		uint64_t address, more;
	} note = { { 4, size, type }, "Xen", physical, 0 };
	struct elf_image image;

	elf_image_init(&image);
	image.header.e_entry = ENTRY;
	image.header.e_phnum = 2;
	image.segments[0] = (Elf64_Phdr){
		.p_type = PT_LOAD, .p_vaddr = ENTRY, .p_paddr = 0x1000, .p_memsz = 0x1000
	};
	image.segments[1] = (Elf64_Phdr){
		.p_type = PT_LOAD, .p_vaddr = VIRTUAL, .p_paddr = LOAD, .p_memsz = MEM_SIZE
	};
	elf_image_section(&image,
			  (Elf64_Shdr){ .sh_type = SHT_NOTE,
					.sh_addralign = 4,
					.sh_size = sizeof(note.header) + 4 + size },
			  &note);
	return find(elf_image_fd(&image));
}

int main(void)
{
	struct entry_points entries = find(open(KERNEL, O_RDONLY | O_CLOEXEC));

	check_u64(entries.elf, ENTRY, "a kernel of the lab: ELF's entry");
	check_u64(entries.pvh, ENTRY, "a kernel of the lab: its entry as a PVH guest");
	entries = made(18, LOAD + 0x10, 4);
	check_u64(entries.elf, ENTRY, "a made file: ELF's entry");
	check_u64(entries.pvh, VIRTUAL + 0x10, "PVH note of 4 bytes: entry in the second segment");
	check_u64(made(18, LOAD + 0x10, 8).pvh, VIRTUAL + 0x10,
		  "PVH note of 8 bytes: entry in the second segment");
	check_u64(made(18, LOAD + MEM_SIZE, 8).pvh, 0,
		  "PVH note with an address after all segments: no entry");
	check_u64(made(18, 0, 8).pvh, 0, "PVH note of address 0: no entry");
	check_u64(made(17, LOAD, 8).pvh, 0, "a note of another type: no PVH entry");
	check_u64(made(18, LOAD, 12).pvh, 0, "PVH note that is too long: no entry");
	return tap_done();
}
