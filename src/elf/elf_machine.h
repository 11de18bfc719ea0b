/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which ELF files are read: those of x86-64, i386, arm64 and 32-bit Arm, on any machine, since a
 * recording may come from another one. Files of x32 are not read: they have registers of 64 bits
 * and addresses of 32 bits.
 */
#ifndef XTOP_ELF_MACHINE_H
#define XTOP_ELF_MACHINE_H

#include <elf.h>
#include <stdbool.h>

#define ELF_MACHINE_NAME "x86-64, i386, arm64 or 32-bit Arm"

static inline bool elf_machine_is_x32(unsigned machine, bool is_32bit)
{
	return is_32bit && machine == EM_X86_64;
}

/*
 * Whether files of MACHINE are read. Copies of unwind tables (symbol/elf_tables.c) are of class 64
 * also for i386 and 32-bit Arm.
 */
static inline bool elf_machine_is_read(unsigned machine, bool is_32bit)
{
	return machine == EM_386 || machine == EM_ARM ||
	       ((machine == EM_X86_64 || machine == EM_AARCH64) && !is_32bit);
}

static inline bool elf_machine_has_words_of_4(unsigned machine)
{
	return machine == EM_386 || machine == EM_ARM;
}

#endif
