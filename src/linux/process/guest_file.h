/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One file of the guest: what tells it from other files, and where its bytes are. They are in the
 * page cache, and in the mappings of one process. A vDSO has no file; its bytes are a plain range
 * of memory. Resolver's thread.
 */
#ifndef XTOP_PROCESS_GUEST_FILE_H
#define XTOP_PROCESS_GUEST_FILE_H

#include "linux/process/page_cache.h"
#include "linux/process/vmas.h"

#define GUEST_FILE_MAX_PIECES 16

/* What tells files apart for as long as the guest runs. Equal: the same bytes. */
struct file_identity {
	uint64_t super_block, inode_number; /* a vDSO has 0 and the address or frame of its bytes */
	uint64_t size_bytes;
	uint64_t mtime_sec;
	uint32_t mtime_nsec, generation;
};

/* SIZE_BYTES of the file, from OFFSET on, are in the process's memory at ADDRESS. */
struct guest_file_piece {
	uint64_t offset, address, size_bytes;
};

struct guest_file {
	const struct linux_guest *linux_guest;
	struct file_identity identity;
	uint64_t inode;           /* address of the struct inode; 0: none, as for a vDSO */
	uint64_t file;            /* address of a struct file, for the path; 0: none */
	struct page_cache *cache; /* NULL: none */
	struct memory_root root;  /* page tables that the pieces' addresses belong to */
	struct guest_file_piece pieces[GUEST_FILE_MAX_PIECES];
	unsigned n_pieces;
	uint64_t max_bytes;       /* may be read or looked for; a larger read yields nothing */
	uint64_t got_bytes;       /* were read */
	uint64_t wasted_bytes;    /* were looked for or copied in vain */
	bool exhausted;           /* max_bytes was too small for a read */
};

/* INODE is the address of a struct inode. False: it cannot be read; *identity is untouched. */
bool file_identity_read(const struct linux_guest *linux_guest, uint64_t inode,
			struct file_identity *identity);
bool file_identity_equal(const struct file_identity *a, const struct file_identity *b);

/*
 * Finds inode and identity of FILE, the address of a struct file. False: they cannot be read;
 * *guest_file is untouched.
 */
bool guest_file_find_inode(const struct linux_guest *linux_guest, uint64_t file,
			   struct guest_file *guest_file);
/*
 * VMA maps the file in the process; guest_file->linux_guest is set. Ignored: writable mappings, as
 * the program may have changed the bytes, and mappings beyond GUEST_FILE_MAX_PIECES.
 */
void guest_file_add_mapping(struct guest_file *guest_file, const struct vma *vma);
/*
 * Valid as long as GUEST_FILE, which must not move. SIZE_BYTES of the file; UINT64_MAX: not known.
 */
struct bytes guest_file_bytes(struct guest_file *guest_file, uint64_t size_bytes);

#endif
