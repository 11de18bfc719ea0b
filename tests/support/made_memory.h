/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guest's memory for tests of what walks it: bytes are put at virtual addresses, the page tables
 * are built underneath. It comes as a struct memory, with the cache and the walk of the real one.
 *
 *   struct made_memory *made = made_create();
 *   struct memory_root root = made_root(made);
 *   made_put_u64(made, root, 0xffffffff82000000, 42);      // a writable, not executable page
 *   memory_read_u64(made_memory(made), root, 0xffffffff82000000, &value);
 *
 * After a change to what was read already: memory_refresh(). Address spaces share what
 * made_share() says; frames are in no relation to addresses. Dies of what a test cannot have.
 */
#ifndef TESTS_MADE_MEMORY_H
#define TESTS_MADE_MEMORY_H

#include "xtop/memory.h"

#define MADE_FRAME    0x1000 /* the first frame's number */
#define MADE_LARGE    (2ULL << 20)
#define MADE_MAX_PAGES 65536

enum made_flags {
	MADE_READ = 0,
	MADE_WRITE = 1 << 0,
	MADE_EXECUTE = 1 << 1,
	MADE_PAGE_2M = 1 << 2,  /* made_map(): pages of 2 MiB; address and size are multiples */
};

struct made_memory;

struct made_memory *made_create(void);
void made_destroy(struct made_memory *made); /* and the struct memory */
struct memory *made_memory(struct made_memory *made);

/* A new, empty address space. */
struct memory_root made_root(struct made_memory *made);
struct memory_root made_root_la57(struct made_memory *made);
/*
 * ROOT's upper half (what the kernel has in every process) becomes that of FROM; later changes too.
 */
void made_share_kernel(struct made_memory *made, struct memory_root root, struct memory_root from);

/*
 * Maps [address, address + size_bytes), rounded to pages, to fresh frames of zeros. Pages that are
 * there stay.
 */
void made_map(struct made_memory *made, struct memory_root root, uint64_t address,
	      uint64_t size_bytes, unsigned flags);
/*
 * Maps the page at ADDRESS to the frame that holds OTHER under OTHER_ROOT: two views of one page.
 */
void made_alias(struct made_memory *made, struct memory_root root, uint64_t address,
		struct memory_root other_root, uint64_t other, unsigned flags);
/* Not mapped any more; inside pages of 2 MiB: those whole. */
void made_unmap(struct made_memory *made, struct memory_root root, uint64_t address,
		uint64_t size_bytes);
/* The frame at ADDRESS cannot be had (Xen refuses it), or can again. */
void made_refuse(struct made_memory *made, struct memory_root root, uint64_t address, bool refuse);

/* Bytes; pages that are missing are mapped writable, not executable. */
void made_put(struct made_memory *made, struct memory_root root, uint64_t address,
	      const void *bytes, size_t size_bytes);
void made_put_u64(struct made_memory *made, struct memory_root root, uint64_t address,
		  uint64_t value);
void made_put_u32(struct made_memory *made, struct memory_root root, uint64_t address,
		  uint32_t value);
void made_put_u16(struct made_memory *made, struct memory_root root, uint64_t address,
		  uint16_t value);
void made_put_u8(struct made_memory *made, struct memory_root root, uint64_t address,
		 uint8_t value);
void made_put_string(struct made_memory *made, struct memory_root root, uint64_t address,
		     const char *string); /* with its NUL */

/* The frame of ADDRESS, which is mapped. */
frame_t made_frame(struct made_memory *made, struct memory_root root, uint64_t address);
/*
 * The leaf entry of the 4 KiB page at ADDRESS; tables on the way are made. For tests that break it.
 */
uint64_t *made_entry(struct made_memory *made, struct memory_root root, uint64_t address,
		     unsigned level);

#endif
