/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages of Protocol Buffers, field by field (varint.h). Pure functions: what they change is
 * their arguments'.
 */
#ifndef XTOP_PROTO_H
#define XTOP_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- writing ---------------------------------------------------------------------------------- */

/* To begin with all zeros. The owner frees BYTES. */
struct proto_buffer {
	uint8_t *bytes;
	size_t n, capacity;
	bool failed; /* out of memory: something is missing */
};

void proto_put_bytes(struct proto_buffer *to, uint32_t field, const void *bytes, size_t n);
void proto_put_text(struct proto_buffer *to, uint32_t field, const char *text);
/* Nothing for 0: Protocol Buffers leave zeroes out. */
void proto_put_number(struct proto_buffer *to, uint32_t field, uint64_t value);
void proto_put_fixed64(struct proto_buffer *to, uint32_t field, uint64_t value);
/* Packed; nothing for no number. */
void proto_put_numbers(struct proto_buffer *to, uint32_t field, const uint64_t *values, size_t n);
/* FROM becomes a message in TO, and empty. */
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

/* Takes a field off REST. False: there is none, or REST is damaged and not empty. */
bool proto_next(struct proto_bytes *rest, struct proto_field *field);
/* As proto_next(), but takes what is there of a field that is cut off at the end of REST. */
bool proto_next_cut(struct proto_bytes *rest, struct proto_field *field);
/* Appends the numbers of FIELD, packed or not, to *NP. False: they are damaged, or beyond MAX. */
bool proto_read_numbers(const struct proto_field *field, uint64_t *numbers, size_t max, size_t *np);

#endif
