/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to push/: gzip (RFC 1952) of bytes in memory, by zlib. Pure functions. */
#ifndef PUSH_ZIP_H
#define PUSH_ZIP_H

#include <stddef.h>

/*
 * The content of a gzip file of SIZE_BYTES, which the caller frees. NULL: the file is damaged, its
 * content has no byte or more than MAX_BYTES, or there is no memory.
 */
void *zip_unpack(const void *bytes, size_t size_bytes, size_t max_bytes, size_t *size_bytesp);
/* Makes a gzip file of the content, which the caller frees. NULL: out of memory. */
void *zip_pack(const void *bytes, size_t size_bytes, size_t *size_bytesp);

#endif
