/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What tells the guest's files apart for as long as the guest runs. Resolver's thread. */
#ifndef XTOP_PROCESS_FILE_IDENTITY_H
#define XTOP_PROCESS_FILE_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

#include "linux/kernel/linux.h"

/* Equal identities: the same bytes. */
struct file_identity {
	uint64_t super_block, inode_number; /* a vDSO has 0 and the address or frame of its bytes */
	uint64_t size_bytes;
	uint64_t mtime_sec;
	uint32_t mtime_nsec, generation;
};

/*
 * INODE is the address of a struct inode. False: the inode cannot be read; *identity is untouched.
 */
bool file_identity_read(const struct linux_guest *linux_guest, uint64_t inode,
			struct file_identity *identity);
bool file_identity_equal(const struct file_identity *a, const struct file_identity *b);

#endif
