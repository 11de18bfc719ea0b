/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads pprof files back, by zlib and nanopb: messages as lists of fields (pprof_fields.h). */
#ifndef TESTS_PPROF_MESSAGE_H
#define TESTS_PPROF_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef HAVE_NANOPB_FOLDER
#include <nanopb/pb_decode.h>
#else
#include <pb_decode.h>
#endif
#include <zlib.h>

#define PPROF_MAX_BYTES (1 << 20)

/* The message in FILE, from where FILE stands to its end; the caller frees it. NULL: it is no gzip. */
static inline unsigned char *pprof_read(FILE *file, size_t *np)
{
	unsigned char *message = malloc(PPROF_MAX_BYTES);
	gzFile gzip = gzdopen(dup(fileno(file)), "r");
	int n = gzread(gzip, message, PPROF_MAX_BYTES);

	if (gzclose(gzip) != Z_OK || n <= 0) {
		free(message);
		return NULL;
	}
	*np = (size_t)n;
	return message;
}

/* One field of a message. */
struct field {
	uint32_t number;
	uint64_t value;             /* a varint */
	const unsigned char *bytes; /* anything else */
	size_t n;
};

static inline bool next_field(const unsigned char **atp, const unsigned char *end, struct field *field)
{
	pb_istream_t stream = pb_istream_from_buffer(*atp, (size_t)(end - *atp));
	pb_wire_type_t type;
	uint64_t n;
	bool eof;

	if (!pb_decode_tag(&stream, &type, &field->number, &eof))
		return false;
	*field = (struct field){ .number = field->number };
	if (type == PB_WT_VARINT) {
		pb_decode_varint(&stream, &field->value);
	} else {
		pb_decode_varint(&stream, &n);
		field->bytes = end - stream.bytes_left;
		field->n = n;
		pb_read(&stream, NULL, n);
	}
	*atp = end - stream.bytes_left;
	return true;
}

/* The Ith field NUMBER of the message. */
static inline struct field find_field(const unsigned char *message, size_t n, uint32_t number, uint64_t i)
{
	const unsigned char *at = message;
	struct field field;

	while (next_field(&at, message + n, &field))
		if (field.number == number && i-- == 0)
			return field;
	return (struct field){ 0 };
}

/* The first varint of the packed or single field NUMBER. */
static inline uint64_t number_of(struct field message, uint32_t number, unsigned i)
{
	struct field field = find_field(message.bytes, message.n, number, 0);
	pb_istream_t stream = pb_istream_from_buffer(field.bytes, field.n);
	uint64_t value = field.value;

	if (field.bytes)
		for (i++; i; i--)
			if (!pb_decode_varint(&stream, &value))
				return 0;
	return value;
}

#endif
