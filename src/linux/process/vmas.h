/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a process has mapped: the vm_area_structs of an mm_struct, in either layout Linux has had.
 * Resolver's thread; the guest runs meanwhile.
 */
#ifndef XTOP_PROCESS_VMAS_H
#define XTOP_PROCESS_VMAS_H

#include <stdbool.h>
#include <stdint.h>

#include "linux/kernel/linux.h"
#include "xtop/limit.h"

#define VMAS_MAX LIMIT(65536, 512) /* of one mm_struct; Linux's sysctl_max_map_count is 65530 */

/* vm_flags, Linux include/linux/mm.h */
#define VMA_READ  0x1
#define VMA_WRITE 0x2
#define VMA_EXEC  0x4

struct vma {
	uint64_t start, end;
	uint64_t flags;
	uint64_t page_offset; /* of `start` in the file, in pages */
	uint64_t file;        /* struct file; 0: anonymous */
};

/*
 * Equal as long as nothing was mapped or unmapped, with one exception: kernels before 6.4 have no
 * mm_lock_seq, and there a change that keeps count and size goes unseen. Compare by vmas_same().
 * The random addresses are in it for an mm_struct that ended and is another process's now.
 */
struct vmas_key {
	uint64_t mm, pgd;
	uint64_t root;                /* of the tree, or the list's first */
	uint64_t total_vm;            /* pages */
	uint64_t start_brk, start_stack, vdso;
	uint32_t map_count, lock_seq;
};

/* False: the mm_struct cannot be read, or is none. */
bool vmas_read_key(const struct linux_guest *linux_guest, uint64_t mm, struct vmas_key *key);
bool vmas_same(const struct vmas_key *a, const struct vmas_key *b);

enum vmas_result {
	VMAS_DONE,
	VMAS_STOPPED,    /* by the visitor */
	VMAS_UNREADABLE, /* a page was not there: what came before it was visited */
	VMAS_DAMAGED,    /* what stood there is no list or tree: changed meanwhile, or hostile */
};

/* Visits ascending, at most VMAS_MAX. The visitor returns false to stop. */
typedef bool vmas_visitor(void *context, const struct vma *vma);
enum vmas_result vmas_walk(const struct linux_guest *linux_guest, uint64_t mm,
			   vmas_visitor *visit, void *context);

#endif
