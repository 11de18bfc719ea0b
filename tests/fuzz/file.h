/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The input of a fuzzer as a file. */
#ifndef TESTS_FUZZ_FILE_H
#define TESTS_FUZZ_FILE_H

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * A descriptor, at its beginning, of a file with the SIZE_BYTES at BYTES. All inputs share one file in
 * memory: a file on disk costs more than to read it.
 */
static inline int fuzz_file(const uint8_t *bytes, size_t size_bytes)
{
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (pwrite(fd, bytes, size_bytes, 0) != (ssize_t)size_bytes ||
	    ftruncate(fd, (off_t)size_bytes) || lseek(fd, 0, SEEK_SET))
		abort();
	return fd;
}

#endif
