/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the bytes of an ELF file are loaded: its PT_LOAD segments, and the bias of a process's
 * mapping that follows from them. Pure functions, except that loads_read() reads bytes. Resolver's
 * thread.
 */
#ifndef XTOP_LOADS_H
#define XTOP_LOADS_H

#include <stdbool.h>
#include <stdint.h>

#include "xtop/base/bytes.h"
#include "xtop/base/types.h"

#define LOADS_MAX          32  /* PT_LOADs that are kept; linkers make two to five */
#define LOADS_MAX_SEGMENTS 128 /* e_phnum */

struct load {
	uint64_t offset, address, file_bytes; /* p_offset, p_vaddr, p_filesz */
	bool executable;
};

/* How many bytes a process has before a segment, in its first page, out of the same file. */
static inline uint64_t load_bytes_before(uint64_t offset, uint64_t address)
{
	uint64_t before = address & GUEST_PAGE_MASK;

	return (offset & GUEST_PAGE_MASK) == before ? before : 0;
}

struct loads {
	struct load loads[LOADS_MAX];
	unsigned n;
	uint64_t entry; /* e_entry: where the program begins */
	bool words_of_4; /* a program of 32 bits */
};

/*
 * The addresses at which an image begins to run: e_entry, the one in Xen's note for PVH guests, and
 * those to which jumps lead from there. 0: no such entry. `called` is the function that the code at
 * e_entry calls. A symbol or an FDE of the entry's may cover that function, too, as glibc's for
 * arm64 does; it is no part of the entry all the same.
 */
#define ENTRY_MAX_JUMPS 4
struct entry_points {
	uint64_t elf, pvh, called;
	uint64_t jumps[ENTRY_MAX_JUMPS];
	unsigned n_jumps;
};

/* Whether an entry lies in [START, END). */
static inline bool entry_points_lie_in(const struct entry_points *entries, uint64_t start,
				       uint64_t end)
{
	bool found = entries->elf - start < end - start || entries->pvh - start < end - start;

	for (unsigned i = 0; i < entries->n_jumps && !found; i++)
		found = entries->jumps[i] - start < end - start;
	return found;
}

/* Cuts [*START, *END), which has ADDRESS, if it has the entry and what the entry has called. */
static inline void entry_points_cut(const struct entry_points *entries, uint64_t address,
				    uint64_t *start, uint64_t *end)
{
	uint64_t called = entries->called;

	if (*start <= entries->elf && entries->elf < called && called < *end)
		*(address < called ? end : start) = called;
}

enum loads_result {
	LOADS_READ,
	LOADS_MISSING, /* the bytes cannot be read now */
	LOADS_ELF32,   /* a file of x32, which is not read */
	LOADS_NO_ELF,  /* no ELF file for the guest's machine */
};

/* Reads only the headers. *LOADS is untouched unless the result is LOADS_READ. */
enum loads_result loads_read(const struct bytes *bytes, struct loads *loads);

/*
 * Finds the bias, which relocation has added to the file's addresses, of a mapping at START that
 * shows the file from FILE_OFFSET on. False: no segment has bytes there.
 */
bool loads_bias(const struct loads *loads, uint64_t start, uint64_t file_offset, uint64_t *bias);

#endif
