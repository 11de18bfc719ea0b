/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unpacks gzip, xz and zstd by their libraries; see unpack.h. */
#include "config.h"

#include "xtop/base/unpack.h"

#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

/* `xz -9` makes a dictionary of 64 MiB, and a decoder needs little more (xz(1)). */
#define UNPACK_XZ_MAX_BYTES    (66U << 20)
#define UNPACK_ZSTD_WINDOW_LOG 27 /* 128 MiB, what zstd itself allows without --long (zstd(1)) */
#define UNPACK_GZIP_WINDOW     (15 + 16) /* largest window; with gzip's header (zlib.h) */

struct unpacker {
	enum unpack_format format;
	bool inside; /* a packed part has begun, and has not ended */
	union {
		z_stream gzip;
		lzma_stream xz;
#ifdef HAVE_ZSTD
		ZSTD_DStream *zstd;
#endif
	};
};

enum unpack_format unpack_find_format(const void *head, size_t n)
{
	static const struct {
		enum unpack_format format;
		const char *magic;
		size_t n;
	} formats[] = {
		{ UNPACK_GZIP, "\x1f\x8b", 2 },
		{ UNPACK_XZ,
		  "\xfd"
		  "7zXZ",
		  6 },
		{ UNPACK_ZSTD, "\x28\xb5\x2f\xfd", 4 },
	};

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (n >= formats[i].n && !memcmp(head, formats[i].magic, formats[i].n))
			return formats[i].format;
	return UNPACK_NONE;
}

/* --- gzip ------------------------------------------------------------------------------------- */

static const char *unpack_gzip(struct unpacker *unpacker, struct unpack_step *step)
{
	z_stream *stream = &unpacker->gzip;
	int status;

	if (!unpacker->inside)
		inflateReset(stream);
	stream->next_in = (Bytef *)step->in;
	stream->avail_in = (uInt)step->in_bytes;
	stream->next_out = step->out;
	stream->avail_out = (uInt)step->out_bytes;
	status = inflate(stream, Z_NO_FLUSH);
	step->in = stream->next_in;
	step->in_bytes = stream->avail_in;
	step->out = stream->next_out;
	step->out_bytes = stream->avail_out;
	unpacker->inside = status != Z_STREAM_END;
	if (status == Z_MEM_ERROR)
		return "out of memory";
	if (status == Z_OK || status == Z_BUF_ERROR || status == Z_STREAM_END)
		return NULL;
	return stream->msg ? stream->msg : "no gzip data";
}

/* --- xz --------------------------------------------------------------------------------------- */

static bool unpack_begin_xz(struct unpacker *unpacker)
{
	return lzma_stream_decoder(&unpacker->xz, UNPACK_XZ_MAX_BYTES, 0) == LZMA_OK;
}

static const char *unpack_describe_xz(lzma_ret status)
{
	if (status == LZMA_MEM_ERROR)
		return "out of memory";
	return status == LZMA_MEMLIMIT_ERROR ? "packed with a larger dictionary than by xz -9"
					     : "no xz data";
}

static const char *unpack_xz(struct unpacker *unpacker, struct unpack_step *step)
{
	lzma_stream *stream = &unpacker->xz;
	lzma_ret status;

	/* Zeros may stand between two parts and at the end (The .xz File Format, 2.2). */
	while (!unpacker->inside && step->in_bytes && !*step->in) {
		step->in++;
		step->in_bytes--;
	}
	if (!step->in_bytes)
		return NULL;
	if (!unpacker->inside && !unpack_begin_xz(unpacker))
		return "out of memory";
	stream->next_in = step->in;
	stream->avail_in = step->in_bytes;
	stream->next_out = step->out;
	stream->avail_out = step->out_bytes;
	status = lzma_code(stream, LZMA_RUN);
	step->in = stream->next_in;
	step->in_bytes = stream->avail_in;
	step->out = stream->next_out;
	step->out_bytes = stream->avail_out;
	unpacker->inside = status != LZMA_STREAM_END;
	if (status == LZMA_OK || status == LZMA_BUF_ERROR || status == LZMA_STREAM_END)
		return NULL;
	return unpack_describe_xz(status);
}

/* --- zstd ------------------------------------------------------------------------------------- */

#ifdef HAVE_ZSTD
static bool unpack_begin_zstd(struct unpacker *unpacker)
{
	unpacker->zstd = ZSTD_createDStream();
	return unpacker->zstd &&
	       !ZSTD_isError(ZSTD_DCtx_setParameter(unpacker->zstd, ZSTD_d_windowLogMax,
						    UNPACK_ZSTD_WINDOW_LOG));
}

static const char *unpack_zstd(struct unpacker *unpacker, struct unpack_step *step)
{
	ZSTD_inBuffer in = { step->in, step->in_bytes, 0 };
	ZSTD_outBuffer out = { step->out, step->out_bytes, 0 };
	size_t status = ZSTD_decompressStream(unpacker->zstd, &out, &in);

	step->in += in.pos;
	step->in_bytes -= in.pos;
	step->out += out.pos;
	step->out_bytes -= out.pos;
	unpacker->inside = status != 0;
	return ZSTD_isError(status) ? ZSTD_getErrorName(status) : NULL;
}
#else
static bool unpack_begin_zstd(struct unpacker *unpacker)
{
	(void)unpacker;
	return false;
}

static const char *unpack_zstd(struct unpacker *unpacker, struct unpack_step *step)
{
	(void)unpacker, (void)step;
	return "this xtop was built without zstd";
}
#endif

/* --- files of all formats --------------------------------------------------------------------- */

static bool unpacker_begin(struct unpacker *unpacker)
{
	switch (unpacker->format) {
	case UNPACK_GZIP:
		return inflateInit2(&unpacker->gzip, UNPACK_GZIP_WINDOW) == Z_OK;
	case UNPACK_XZ:
		return true;
	case UNPACK_ZSTD:
		return unpack_begin_zstd(unpacker);
	case UNPACK_NONE:
		break;
	}
	return false;
}

struct xtop_error *unpacker_create(enum unpack_format format, struct unpacker **unpackerp)
{
	struct unpacker *unpacker;

#ifndef HAVE_ZSTD
	if (format == UNPACK_ZSTD)
		return error_create("is packed by zstd, and this xtop was built without libzstd");
#endif
	unpacker = calloc(1, sizeof(*unpacker));
	if (unpacker)
		unpacker->format = format;
	if (!unpacker || !unpacker_begin(unpacker)) {
		unpacker_destroy(unpacker);
		return error_create("out of memory");
	}
	*unpackerp = unpacker;
	return NULL;
}

void unpacker_destroy(struct unpacker *unpacker)
{
	if (!unpacker)
		return;
	if (unpacker->format == UNPACK_GZIP)
		inflateEnd(&unpacker->gzip);
	else if (unpacker->format == UNPACK_XZ)
		lzma_end(&unpacker->xz);
#ifdef HAVE_ZSTD
	else if (unpacker->format == UNPACK_ZSTD)
		ZSTD_freeDStream(unpacker->zstd);
#endif
	free(unpacker);
}

const char *unpacker_run(struct unpacker *unpacker, struct unpack_step *step)
{
	switch (unpacker->format) {
	case UNPACK_GZIP:
		return unpack_gzip(unpacker, step);
	case UNPACK_XZ:
		return unpack_xz(unpacker, step);
	case UNPACK_ZSTD:
		return unpack_zstd(unpacker, step);
	case UNPACK_NONE:
		break;
	}
	return NULL;
}

bool unpacker_is_whole(const struct unpacker *unpacker)
{
	return !unpacker->inside;
}
