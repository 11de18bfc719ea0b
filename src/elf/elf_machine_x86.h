/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which ELF files the guest's machine runs: x86-64, and 32-bit programs of i386 and of x32. */
#ifndef XTOP_ELF_MACHINE_X86_H
#define XTOP_ELF_MACHINE_X86_H

#include <elf.h>
#include <stdbool.h>

#define ELF_MACHINE_NAME "x86-64"
#define ELF_MACHINE      EM_X86_64

static inline bool elf_machine_runs_32bit(unsigned machine)
{
	return machine == EM_386 || machine == EM_X86_64;
}

#endif
