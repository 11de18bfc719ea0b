/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An .xz file of a few bytes, made without a compressor: the bytes stand in it as they are (The .xz
 * File Format 1.2.1; the chunks are those of LZMA2, xz-embedded's linux/lib/xz/xz_dec_lzma2.c has
 * them).
 *
 *   stream header  fd "7zXZ" 00   00 04: check is CRC-64, here 00 00: none   crc32 of the two
 *   block header   02 00 21 01 dictionary 00 00 00   crc32
 *   chunks         01 size-1 (big-endian) bytes ... 00; padding to 4
 *   index          00 01 unpadded-size uncompressed-size padding crc32
 *   footer         crc32   index-size / 4 - 1   00 00   "YZ"
 */
#ifndef TESTS_MAKE_XZ_H
#define TESTS_MAKE_XZ_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "elf/elf_reader.h"

#define MAKE_XZ_MAX_BYTES   (60U << 10) /* limit for the contents: a chunk has at most 64 KiB */
#define MAKE_XZ_EXTRA_BYTES 80          /* bytes of a file besides its contents */

static inline size_t make_xz_crc(uint8_t *to, const uint8_t *from, size_t n)
{
	uint32_t crc = elf_crc32(from, n, 0);

	memcpy(to, &crc, sizeof(crc));
	return sizeof(crc);
}

/* Variable-length integers: 7 bits a byte, the lowest first. */
static inline size_t make_xz_number(uint8_t *to, size_t value)
{
	size_t n = 0;

	for (; value > 0x7f; value >>= 7)
		to[n++] = (uint8_t)(value | 0x80);
	to[n++] = (uint8_t)value;
	return n;
}

/* A file around N bytes of CHUNKS, whose index says that UNPACKED_BYTES come out of them. */
static inline size_t make_xz_chunks(uint8_t *to, const void *chunks, size_t n,
				    size_t unpacked_bytes, uint8_t dictionary)
{
	static const uint8_t magic[] = { 0xfd, '7', 'z', 'X', 'Z', 0, 0, 0 };
	const uint8_t block[] = { 2, 0, 0x21, 1, dictionary, 0, 0, 0 };
	uint8_t *at = to, *start, *index;
	uint32_t index_size;

	memcpy(at, magic, sizeof(magic));
	at += sizeof(magic);
	at += make_xz_crc(at, to + 6, 2);
	start = at;
	memcpy(at, block, sizeof(block));
	at += sizeof(block);
	at += make_xz_crc(at, start, sizeof(block));
	memmove(at, chunks, n);
	at += n;
	while ((at - start) % 4)
		*at++ = 0;
	index = at;
	*at++ = 0;
	*at++ = 1;
	at += make_xz_number(at, 12 + n);
	at += make_xz_number(at, unpacked_bytes);
	while ((at - index) % 4)
		*at++ = 0;
	at += make_xz_crc(at, index, (size_t)(at - index));
	index_size = (uint32_t)((at - index) / 4 - 1);
	memcpy(at + 4, &index_size, sizeof(index_size));
	memset(at + 8, 0, 2);
	make_xz_crc(at, at + 4, 6);
	at += 10;
	*at++ = 'Y';
	*at++ = 'Z';
	return (size_t)(at - to);
}

/*
 * A file of N bytes, 1 to MAKE_XZ_MAX_BYTES. DICTIONARY: as in a block header; 0 is 4 KiB, 40 is
 * 4 GiB.
 */
static inline size_t make_xz(uint8_t *to, const void *bytes, size_t n, uint8_t dictionary)
{
	uint8_t *chunk = to + 24; /* after both headers, where it stays */

	chunk[0] = 1;
	chunk[1] = (uint8_t)((n - 1) >> 8);
	chunk[2] = (uint8_t)(n - 1);
	memcpy(chunk + 3, bytes, n);
	chunk[3 + n] = 0;
	return make_xz_chunks(to, chunk, n + 4, n, dictionary);
}

#endif
