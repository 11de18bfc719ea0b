/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds ELF headers in a guest's memory. A loader that keeps a kernel's symbols puts a small ELF
 * file after the kernel: a header, and section headers for the symbols and their names. Xen's
 * loader puts it at a multiple of the word size, after 4 bytes with the file's size (libelf's
 * elf_load_bsdsyms()). Resolver's thread.
 */
#ifndef XTOP_ELF_KERNEL_HEADER_FINDER_H
#define XTOP_ELF_KERNEL_HEADER_FINDER_H

#include <stdbool.h>
#include <stdint.h>

#include "xtop/memory/memory.h"

/*
 * Searches SIZE_BYTES for ELF headers, from the start of ADDRESS's page. Calls FN with the address
 * of each header, at most HEADERS_MAX, until FN returns true. Ends at the first page that cannot be
 * read, because a kernel and the file after it have no holes. Returns false if FN never returned
 * true.
 */
#define HEADERS_MAX 16

bool header_finder_each(struct memory *memory, struct memory_root root, uint64_t address,
			uint64_t size_bytes, bool (*fn)(void *context, uint64_t header),
			void *context);

#endif
