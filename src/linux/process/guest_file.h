/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One file of the guest: its identity, and the places of its bytes. The bytes are in the page
 * cache, and in the mappings of one process. A vDSO has no file; its bytes are a plain range of
 * memory. Resolver's thread.
 */
#ifndef XTOP_PROCESS_GUEST_FILE_H
#define XTOP_PROCESS_GUEST_FILE_H

#include "linux/process/page_cache.h"
#include "linux/process/vmas.h"

#define GUEST_FILE_MAX_PIECES 16

/* Identifies a file as long as the guest runs. Files with equal identities have equal bytes. */
struct file_identity {
	/* 0 if the file is a vDSO, and the address or frame of its bytes */
	uint64_t super_block, inode_number;
	uint64_t size_bytes;
	uint64_t mtime_sec;
	uint32_t mtime_nsec, generation;
};

/* SIZE_BYTES of the file, from OFFSET on, are in the process's memory at ADDRESS. */
struct guest_file_piece {
	uint64_t offset, address, size_bytes;
};

struct guest_file {
	const struct linux_guest *guest;
	struct file_identity identity;
	uint64_t inode; /* address of the struct inode; 0 if there is none, as for a vDSO */
	uint64_t file;  /* address of a struct file, for the path; 0 if there is none */
	struct page_cache *cache; /* NULL if there is none */
	struct memory_root root;  /* page tables for the addresses of the pieces */
	struct guest_file_piece pieces[GUEST_FILE_MAX_PIECES];
	unsigned n_pieces;
	uint64_t max_bytes;    /* limit for bytes read or searched; a larger read yields nothing */
	uint64_t got_bytes;    /* bytes that were read */
	uint64_t wasted_bytes; /* bytes that were searched or copied in vain */
	bool exhausted;           /* max_bytes was too small for a read */
};

/*
 * INODE is the address of a struct inode. Returns false and leaves *identity untouched if it cannot
 * be read.
 */
bool file_identity_read(const struct linux_guest *guest, uint64_t inode,
			struct file_identity *identity);
bool file_identity_equal(const struct file_identity *a, const struct file_identity *b);

/*
 * Finds inode and identity of FILE, the address of a struct file. Returns false and leaves
 * *guest_file untouched if they cannot be read.
 */
bool guest_file_find_inode(const struct linux_guest *guest, uint64_t file,
			   struct guest_file *guest_file);
/*
 * Adds VMA, which maps the file in the process; guest_file->guest is set. Ignores writable
 * mappings, because the program may have changed the bytes, and mappings beyond
 * GUEST_FILE_MAX_PIECES.
 */
void guest_file_add_mapping(struct guest_file *guest_file, const struct vma *vma);
/*
 * The bytes of the file. Valid as long as GUEST_FILE, which must not move. SIZE_BYTES is UINT64_MAX
 * if the size is unknown.
 */
struct bytes guest_file_bytes(struct guest_file *guest_file, uint64_t size_bytes);

/* A file that can be read as long as the guest has its inode. */
struct guest_inode {
	const struct linux_guest *guest;
	struct file_identity identity;
	uint64_t inode; /* address of the struct inode */
};

/*
 * Reads from the front of SIZE_BYTES at OFFSET, as far as the page cache has them, which becomes
 * *CACHE. Returns the number of bytes: 0 if the inode belongs to another file by now.
 */
size_t guest_inode_read(const struct guest_inode *inode, struct page_cache *cache, uint64_t offset,
			void *buffer, size_t size_bytes);
/*
 * Reads from the front of the file PATH, as path_find_file() finds it for the task_struct at TASK,
 * at most SIZE_BYTES and as far as the page cache has them. Returns the number of bytes.
 */
size_t guest_file_read_path(const struct linux_guest *guest, uint64_t task, const char *path,
			    void *buffer, size_t size_bytes);

#endif
