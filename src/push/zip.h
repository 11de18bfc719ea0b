/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to push/: gzip (RFC 1952) of bytes in memory, by zlib. Pure functions. */
#ifndef PUSH_ZIP_H
#define PUSH_ZIP_H

#include <stddef.h>

/*
 * Unpacks a gzip file of SIZE_BYTES. The caller frees the result. NULL: the file is damaged, its
 * content is empty or has more than MAX_BYTES, or memory is out.
 */
void *zip_unpack(const void *bytes, size_t size_bytes, size_t max_bytes, size_t *size_bytesp);
/* Packs BYTES into a gzip file, which the caller frees. NULL: memory is out. */
void *zip_pack(const void *bytes, size_t size_bytes, size_t *size_bytesp);

#endif
