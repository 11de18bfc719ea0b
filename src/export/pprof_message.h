/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A message of a pprof file, as Protocol Buffers lay out any message ("Encoding" in their manual).
 * A field is a tag and a value. The tag is 8 * number of the field + type of the value:
 *
 *   0   a number: a varint, 7 bits a byte, the lowest first; the top bit: another byte follows
 *   2   a varint N and N bytes: a text, a message or packed numbers
 *
 * Pure functions.
 */
#ifndef EXPORT_PPROF_MESSAGE_H
#define EXPORT_PPROF_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "xtop/snapshot.h"

#define PPROF_FIELD_BYTES 20 /* a tag and a varint of 64 bits at most */
/* Room for any message, which a sample of the deepest stack is: ids take 5 bytes at most. */
#define PPROF_MESSAGE_BYTES (16 * (SNAPSHOT_MAX_DEPTH + 64))

struct pprof_message {
	size_t n;
	uint8_t bytes[PPROF_MESSAGE_BYTES];
};

/* Nothing for 0: Protocol Buffers leave zeroes out. */
void pprof_message_put_number(struct pprof_message *message, uint32_t field, uint64_t value);
/* Packed. */
void pprof_message_put_numbers(struct pprof_message *message, uint32_t field,
			       const uint64_t *values, size_t n);
/* A message of two numbers inside this one. */
void pprof_message_put_pair(struct pprof_message *message, uint32_t field, uint32_t first,
			    uint64_t first_value, uint32_t second, uint64_t second_value);
/* What comes before N bytes that are a field. Returns how long that is. */
size_t pprof_message_begin(uint8_t bytes[PPROF_FIELD_BYTES], uint32_t field, size_t n);

#endif
