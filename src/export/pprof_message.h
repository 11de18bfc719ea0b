/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A message of a pprof file, field by field (xtop/varint.h). Pure functions. */
#ifndef EXPORT_PPROF_MESSAGE_H
#define EXPORT_PPROF_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "xtop/snapshot.h"
#include "xtop/varint.h"

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
size_t pprof_message_begin(uint8_t bytes[VARINT_FIELD_BYTES], uint32_t field, size_t n);

#endif
