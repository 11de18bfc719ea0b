/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes gzip (RFC 1952) with zlib. export.h has gzip_create(). Main's thread. */
#ifndef EXPORT_GZIP_H
#define EXPORT_GZIP_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "xtop/export/export.h"

#define GZIP_BLOCK_BYTES (64 << 10)

struct gzip {
	FILE *file;
	bool quick;
	z_stream stream;
	size_t n_waiting; /* bytes in WAITING that zlib does not have yet */
	unsigned char waiting[GZIP_BLOCK_BYTES], ready[GZIP_BLOCK_BYTES];
};

/* Begins a new file. Failed writes are left to ferror(FILE). */
void gzip_begin(struct gzip *gzip, FILE *file);
void gzip_end(struct gzip *gzip); /* writes the rest */

void gzip_write_on(struct gzip *gzip, const void *bytes, size_t n); /* N may be anything */

/* Most writes are a few bytes. */
static inline void gzip_write(struct gzip *gzip, const void *bytes, size_t n)
{
	if (n >= sizeof(gzip->waiting) - gzip->n_waiting) {
		gzip_write_on(gzip, bytes, n);
		return;
	}
	memcpy(gzip->waiting + gzip->n_waiting, bytes, n);
	gzip->n_waiting += n;
}

#endif
