/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages of Protocol Buffers, field by field (varint.h). The functions change nothing but their
 * arguments. Any thread.
 */
#ifndef XTOP_PROTO_H
#define XTOP_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- writing ---------------------------------------------------------------------------------- */

/* A message that is being written. All zeros is an empty one. The owner frees BYTES. */
struct proto_buffer {
	uint8_t *bytes;
	size_t n, capacity;
	bool failed; /* out of memory: something is missing */
};

void proto_put_bytes(struct proto_buffer *to, uint32_t field, const void *bytes, size_t n);
void proto_put_text(struct proto_buffer *to, uint32_t field, const char *text);
/* Writes nothing if VALUE is 0: Protocol Buffers leave zeros out. */
void proto_put_number(struct proto_buffer *to, uint32_t field, uint64_t value);
void proto_put_fixed64(struct proto_buffer *to, uint32_t field, uint64_t value);
/* Writes the N VALUES as one packed field; writes nothing if N is 0. */
void proto_put_numbers(struct proto_buffer *to, uint32_t field, const uint64_t *values, size_t n);
/* Writes the content of FROM as a nested message to TO, and empties FROM. */
void proto_put_message(struct proto_buffer *to, uint32_t field, struct proto_buffer *from);

/* --- reading ---------------------------------------------------------------------------------- */

struct proto_bytes {
	const uint8_t *bytes;
	size_t n;
};

struct proto_field {
	uint32_t number;
	bool is_number;           /* the field is a varint; otherwise bytes, a text or a message */
	uint64_t value;           /* the number; for other fields the number of bytes */
	struct proto_bytes bytes; /* the bytes, if the field is no number */
};

/* Takes the next field off REST. Returns false if REST is empty, or is damaged and so not empty. */
bool proto_next(struct proto_bytes *rest, struct proto_field *field);
/*
 * As proto_next(), but accepts a field that is cut off at the end of REST: field->bytes are the
 * bytes that are there.
 */
bool proto_next_cut(struct proto_bytes *rest, struct proto_field *field);
/*
 * Appends the numbers of FIELD, packed or not, to NUMBERS, which has *NP numbers and room for MAX.
 * Returns false if FIELD is damaged or the room too small.
 */
bool proto_read_numbers(const struct proto_field *field, uint64_t *numbers, size_t max, size_t *np);

#endif
