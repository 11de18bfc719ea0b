/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the mappings of a process: the vm_area_structs of an mm_struct, in both layouts that Linux
 * has had. Resolver's thread; the guest runs meanwhile.
 */
#ifndef XTOP_PROCESS_VMAS_H
#define XTOP_PROCESS_VMAS_H

#include <stdbool.h>
#include <stdint.h>

#include "linux/kernel/linux_guest.h"
#include "xtop/base/limit.h"

/* limit for one mm_struct; Linux's sysctl_max_map_count is 65530 */
#define VMAS_MAX LIMIT(65536, 512)

/* vm_flags, Linux include/linux/mm.h */
#define VMA_READ  0x1
#define VMA_WRITE 0x2
#define VMA_EXEC  0x4

struct vma {
	uint64_t start, end;  /* page-aligned; end is just after the last byte */
	uint64_t flags;       /* VMA_* and others */
	uint64_t page_offset; /* position of `start` in the file, in pages of the kernel */
	uint64_t file;        /* address of a struct file; 0 if the mapping is anonymous */
};

/*
 * Identifies the mappings of an mm_struct. Two keys of one mm_struct are equal as long as nothing
 * was mapped or unmapped, with one exception: kernels before 6.4 have no mm_lock_seq, and their
 * keys do not show a change that keeps count and size. The random addresses distinguish two
 * processes that had the same mm_struct one after the other. Compare with vmas_key_equal().
 */
struct vmas_key {
	uint64_t mm, pgd;
	uint64_t root;                /* the tree's root, or the list's first VMA */
	uint64_t total_vm;            /* size of all areas, in pages */
	uint64_t start_brk, start_stack, vdso;
	uint32_t map_count, lock_seq;
};

/*
 * MM is the address of an mm_struct. Returns false and leaves *key untouched if it cannot be read
 * or is no mm_struct.
 */
bool vmas_read_key(const struct linux_guest *guest, uint64_t mm, struct vmas_key *key);
bool vmas_key_equal(const struct vmas_key *a, const struct vmas_key *b);

enum vmas_result {
	VMAS_DONE,
	VMAS_STOPPED,    /* the visitor stopped the walk */
	VMAS_UNREADABLE, /* a page was not there; the VMAs before it were visited */
	VMAS_DAMAGED,    /* no list or tree: it changed meanwhile, or is hostile */
};

/* Visits VMAs by ascending address, at most VMAS_MAX. The visitor returns false to stop. */
typedef bool vmas_visitor(void *context, const struct vma *vma);
enum vmas_result vmas_walk(const struct linux_guest *guest, uint64_t mm, vmas_visitor *visit,
			   void *context);

#endif
