/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The properties of a process's memory that depend on the processor, besides its page tables
 * (kernel/arch.h): its vDSO, and code at fixed addresses. One file for each architecture,
 * process_x86.c and vsyscall_x86.c so far. Resolver's thread.
 */
#ifndef XTOP_PROCESS_PROCESS_ARCH_H
#define XTOP_PROCESS_PROCESS_ARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "linux/kernel/linux_guest.h"
#include "xtop/symbol/image.h"

/*
 * Finds the kernel's own copy of the vDSO of the process with the mm_struct at MM: the whole ELF
 * file, SIZE_BYTES at the kernel's ADDRESS. Returns false and leaves the results untouched if
 * unknown.
 */
bool process_arch_find_vdso(const struct linux_guest *guest, uint64_t mm, uint64_t *address,
			    uint64_t *size_bytes);
/*
 * Sets *MAPPING to code at fixed addresses, which all processes may run although it is in none of
 * their areas. The caller gets the only reference to its image. Error: out of memory.
 */
struct xtop_error *process_arch_create_fixed(struct mapping *mapping);

#endif
