/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages of Protocol Buffers; see pprof_message.h. nanopb's streams call three functions for each
 * number, and do so twice for packed ones: that was a quarter of what a pushed profile cost.
 */
#include "config.h"

#include "export/pprof_message.h"

#include <assert.h>

/* Where the next N bytes go. */
static uint8_t *pprof_message_room(struct pprof_message *message, size_t n)
{
	assert(n <= sizeof(message->bytes) - message->n);
	return message->bytes + message->n;
}

static void pprof_message_end(struct pprof_message *message, const uint8_t *at)
{
	message->n = (size_t)(at - message->bytes);
}

void pprof_message_put_number(struct pprof_message *message, uint32_t field, uint64_t value)
{
	uint8_t *at = pprof_message_room(message, VARINT_FIELD_BYTES);

	if (value)
		pprof_message_end(message, varint_put_field(at, field, VARINT_NUMBER, value));
}

void pprof_message_put_numbers(struct pprof_message *message, uint32_t field,
			       const uint64_t *values, size_t n)
{
	size_t bytes = 0;
	uint8_t *at;

	for (size_t i = 0; i < n; i++)
		bytes += varint_size(values[i]);
	at = pprof_message_room(message, VARINT_FIELD_BYTES + bytes);
	at = varint_put_field(at, field, VARINT_LENGTH, bytes);
	for (size_t i = 0; i < n; i++)
		at = varint_put(at, values[i]);
	pprof_message_end(message, at);
}

void pprof_message_put_pair(struct pprof_message *message, uint32_t field, uint32_t first,
			    uint64_t first_value, uint32_t second, uint64_t second_value)
{
	uint8_t *begin = pprof_message_room(message, 3 * VARINT_FIELD_BYTES), *at, pair[40];
	size_t n;

	at = pair;
	if (first_value)
		at = varint_put_field(at, first, VARINT_NUMBER, first_value);
	if (second_value)
		at = varint_put_field(at, second, VARINT_NUMBER, second_value);
	n = (size_t)(at - pair);
	at = varint_put_field(begin, field, VARINT_LENGTH, n);
	for (size_t i = 0; i < n; i++)
		*at++ = pair[i];
	pprof_message_end(message, at);
}

size_t pprof_message_begin(uint8_t bytes[VARINT_FIELD_BYTES], uint32_t field, size_t n)
{
	return (size_t)(varint_put_field(bytes, field, VARINT_LENGTH, n) - bytes);
}
