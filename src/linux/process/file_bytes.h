/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One file of the guest from all places that have some of it: its page cache, then the mappings of
 * one process. Also plain ranges of a process's memory, which is how a vDSO is read. Resolver's
 * thread.
 */
#ifndef XTOP_PROCESS_FILE_BYTES_H
#define XTOP_PROCESS_FILE_BYTES_H

#include "linux/process/page_cache.h"
#include "linux/process/vmas.h"

#define FILE_BYTES_MAX_PIECES 16

/* Bytes of the file from OFFSET on stand in the process's memory at ADDRESS. */
struct file_piece {
	uint64_t offset, address, size_bytes;
};

struct file_bytes {
	const struct linux_guest *linux_guest;
	struct page_cache *cache; /* NULL: none */
	struct memory_root root;  /* of the process */
	struct file_piece pieces[FILE_BYTES_MAX_PIECES];
	unsigned n_pieces;
	uint64_t left_bytes;      /* that may still be read: then all else is not there */
	uint64_t got_bytes;
	bool exhausted;           /* left_bytes was not enough */
};

/* What the process has mapped and cannot have written to. What is too much is left out. */
void file_bytes_add(struct file_bytes *file, const struct vma *vma);
/* Lives as long as FILE, which stays where it is. SIZE_BYTES: of the file; UINT64_MAX: not known. */
struct bytes file_bytes(struct file_bytes *file, uint64_t size_bytes);

#endif
