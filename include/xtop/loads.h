/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a file's bytes go in memory: the PT_LOAD segments of an ELF file, and what of them follows
 * for the mapping of a process. Pure but for the bytes it reads. Resolver's thread.
 */
#ifndef XTOP_PROCESS_LOADS_H
#define XTOP_PROCESS_LOADS_H

#include <stdbool.h>
#include <stdint.h>

#include "xtop/bytes.h"

#define LOADS_MAX          32  /* PT_LOADs kept; linkers make two to five */
#define LOADS_MAX_SEGMENTS 128 /* e_phnum */

struct load {
	uint64_t offset, address, file_bytes; /* p_offset, p_vaddr, p_filesz */
	bool executable;
};

struct loads {
	struct load loads[LOADS_MAX];
	unsigned n;
};

enum loads_result {
	LOADS_READ,
	LOADS_MISSING, /* the bytes are not there */
	LOADS_ELF32,   /* of a 32-bit program of x86 */
	LOADS_NO_ELF,  /* no ELF file of x86-64 */
};

/* *loads is untouched but by LOADS_READ. */
enum loads_result loads_read(const struct bytes *bytes, struct loads *loads);

/*
 * What relocation added, for a mapping of the file's bytes from FILE_OFFSET on at START, whatever
 * the addresses in the file begin with. False: no segment has bytes there.
 */
bool loads_bias(const struct loads *loads, uint64_t start, uint64_t file_offset, uint64_t *bias);

#endif
