/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packed bytes as a stream: read in pieces of any size, of one part and of two, whole, cut short
 * and damaged. The text repeats itself, so an unpacker often has more bytes than a read takes.
 */
#include "config.h"

#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

#include "tests/support/tap.h"
#include "xtop/base/unpack.h"

#define TEXT_BYTES 30000

static char text[TEXT_BYTES];

struct packed {
	uint8_t bytes[2 * TEXT_BYTES];
	size_t n, given;
};

static struct xtop_error *give(void *context, uint8_t buffer[UNPACK_FILL_BYTES], size_t *np)
{
	struct packed *packed = context;
	size_t left = packed->n - packed->given;

	*np = left < 100 ? left : 100;
	memcpy(buffer, packed->bytes + packed->given, *np);
	packed->given += *np;
	return NULL;
}

/* Reads all of PACKED, N bytes at a time. Returns what is wrong; "": nothing. */
static const char *read_all(struct packed *packed, size_t n, char *out, size_t *sizep)
{
	static char wrong[200];
	struct unpack_stream *stream;
	struct xtop_error *error;
	size_t got = n;

	packed->given = *sizep = 0;
	if (unpack_stream_create(give, packed, &stream))
		abort();
	error = unpack_stream_begin(stream, NULL, 0);
	while (!error && got == n && *sizep + n <= 2 * TEXT_BYTES + n) {
		error = unpack_stream_read(stream, out + *sizep, n, &got);
		if (!error)
			*sizep += got;
	}
	snprintf(wrong, sizeof(wrong), "%s", error ? error_message(error) : "");
	error_destroy(error);
	unpack_stream_destroy(stream);
	return wrong;
}

static void test_format(const char *name, struct packed *packed)
{
	static const size_t pieces[] = { 1, 7, 100, 1000, TEXT_BYTES / 2, TEXT_BYTES };
	static char out[4 * TEXT_BYTES];
	const size_t n = packed->n;
	size_t size;

	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		const char *wrong = read_all(packed, pieces[i], out, &size);

		check(!*wrong && size == TEXT_BYTES && !memcmp(out, text, size),
		      "%s, %zu bytes at a time: %zu bytes, \"%s\"", name, pieces[i], size, wrong);
	}
	memcpy(packed->bytes + n, packed->bytes, n);
	packed->n = 2 * n;
	check(!*read_all(packed, 1000, out, &size) && size == 2 * TEXT_BYTES &&
		      !memcmp(out + TEXT_BYTES, text, TEXT_BYTES),
	      "%s: two parts are read one after the other: %zu bytes", name, size);
	packed->n = 2 * n - 1;
	check(strstr(read_all(packed, 1000, out, &size), "cut short"), "%s: a cut is found", name);
	packed->n = 2 * n;
	memset(packed->bytes + n, 0x55, n);
	check(strstr(read_all(packed, 1000, out, &size), "damaged at byte"),
	      "%s: an error names the place: %s", name, read_all(packed, 1000, out, &size));
}

static void test_gzip(void)
{
	static struct packed packed;
	z_stream stream = { .next_in = (Bytef *)text, .avail_in = TEXT_BYTES,
			    .next_out = packed.bytes, .avail_out = TEXT_BYTES };

	if (deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY) != Z_OK ||
	    deflate(&stream, Z_FINISH) != Z_STREAM_END)
		abort();
	packed.n = stream.total_out;
	deflateEnd(&stream);
	test_format("gzip", &packed);
}

static void test_xz(void)
{
	static struct packed packed;

	if (lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, NULL, (uint8_t *)text, TEXT_BYTES,
				    packed.bytes, &packed.n, TEXT_BYTES) != LZMA_OK)
		abort();
	test_format("xz", &packed);
}

#ifdef HAVE_ZSTD
static void test_zstd(void)
{
	static struct packed packed;

	packed.n = ZSTD_compress(packed.bytes, TEXT_BYTES, text, TEXT_BYTES, 3);
	if (ZSTD_isError(packed.n))
		abort();
	test_format("zstd", &packed);
}
#endif

int main(void)
{
	for (size_t i = 0; i < TEXT_BYTES; i++)
		text[i] = (char)('a' + i % 23 + i / 5000);
	test_gzip();
	test_xz();
#ifdef HAVE_ZSTD
	test_zstd();
#endif
	return tap_done();
}
