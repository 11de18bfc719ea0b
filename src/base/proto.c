/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages of Protocol Buffers, field by field (varint.h); see proto.h. */
#include "config.h"

#include "xtop/base/proto.h"

#include <string.h>

#include "xtop/base/varint.h"
#include "xtop/base/vector.h"

#define PROTO_FIXED64 1 /* the type of a value of eight bytes */

/* --- writing ---------------------------------------------------------------------------------- */

/* Makes room for N more bytes, and returns its address. NULL: out of memory. */
static uint8_t *proto_room(struct proto_buffer *buffer, size_t n)
{
	if (vector_reserve(buffer->bytes, buffer->capacity, buffer->n + n))
		return buffer->bytes + buffer->n;
	buffer->failed = true;
	return NULL;
}

static void proto_end(struct proto_buffer *buffer, const uint8_t *at)
{
	buffer->n = (size_t)(at - buffer->bytes);
}

void proto_put_bytes(struct proto_buffer *to, uint32_t field, const void *bytes, size_t n)
{
	uint8_t *at = proto_room(to, VARINT_FIELD_BYTES + n);

	if (!at)
		return;
	at = varint_put_field(at, field, VARINT_LENGTH, n);
	memcpy(at, bytes, n);
	proto_end(to, at + n);
}

void proto_put_text(struct proto_buffer *to, uint32_t field, const char *text)
{
	proto_put_bytes(to, field, text, strlen(text));
}

void proto_put_number(struct proto_buffer *to, uint32_t field, uint64_t value)
{
	uint8_t *at = value ? proto_room(to, VARINT_FIELD_BYTES) : NULL;

	if (at)
		proto_end(to, varint_put_field(at, field, VARINT_NUMBER, value));
}

void proto_put_numbers(struct proto_buffer *to, uint32_t field, const uint64_t *values, size_t n)
{
	size_t bytes = 0;
	uint8_t *at;

	for (size_t i = 0; i < n; i++)
		bytes += varint_size(values[i]);
	at = n ? proto_room(to, VARINT_FIELD_BYTES + bytes) : NULL;
	if (!at)
		return;
	at = varint_put_field(at, field, VARINT_LENGTH, bytes);
	for (size_t i = 0; i < n; i++)
		at = varint_put(at, values[i]);
	proto_end(to, at);
}

void proto_put_message(struct proto_buffer *to, uint32_t field, struct proto_buffer *from)
{
	proto_put_bytes(to, field, from->n ? from->bytes : (const uint8_t *)"", from->n);
	to->failed |= from->failed;
	from->n = 0;
}

/* Writes VALUE as eight bytes, the lowest byte first. */
void proto_put_fixed64(struct proto_buffer *to, uint32_t field, uint64_t value)
{
	uint8_t *at = proto_room(to, VARINT_FIELD_BYTES);

	if (!at)
		return;
	at = varint_put(at, field << 3 | PROTO_FIXED64);
	for (unsigned i = 0; i < 8; i++)
		*at++ = (uint8_t)(value >> 8 * i);
	proto_end(to, at);
}

/* --- reading ---------------------------------------------------------------------------------- */

/*
 * Reads a tag and a number or length. Returns the end of both, or NULL if REST does not begin with
 * a whole field head of a known type.
 */
static const uint8_t *proto_get_field(const struct proto_bytes *rest, struct proto_field *field)
{
	const uint8_t *end = rest->bytes + rest->n, *at;
	uint64_t tag;

	at = varint_get(rest->bytes, end, &tag);
	if (!at || tag > UINT32_MAX || ((tag & 7) != VARINT_NUMBER && (tag & 7) != VARINT_LENGTH))
		return NULL;
	field->number = (uint32_t)tag >> 3;
	field->is_number = (tag & 7) == VARINT_NUMBER;
	return varint_get(at, end, &field->value);
}

bool proto_next(struct proto_bytes *rest, struct proto_field *field)
{
	const uint8_t *at = proto_get_field(rest, field), *end = rest->bytes + rest->n;

	if (!at || (!field->is_number && field->value > (size_t)(end - at)))
		return false;
	if (!field->is_number) {
		field->bytes = (struct proto_bytes){ at, (size_t)field->value };
		at += field->value;
	}
	*rest = (struct proto_bytes){ at, (size_t)(end - at) };
	return true;
}

bool proto_read_numbers(const struct proto_field *field, uint64_t *numbers, size_t max, size_t *np)
{
	const uint8_t *at, *end;

	if (field->is_number) {
		if (*np == max)
			return false;
		numbers[(*np)++] = field->value;
		return true;
	}
	at = field->bytes.bytes;
	end = at + field->bytes.n;
	while (at < end) {
		if (*np == max)
			return false;
		at = varint_get(at, end, &numbers[(*np)++]);
		if (!at)
			return false;
	}
	return true;
}

bool proto_next_cut(struct proto_bytes *rest, struct proto_field *field)
{
	const uint8_t *at;

	if (proto_next(rest, field))
		return true;
	at = proto_get_field(rest, field);
	if (!at || field->is_number)
		return false;
	field->bytes = (struct proto_bytes){ at, (size_t)(rest->bytes + rest->n - at) };
	rest->n = 0;
	return true;
}
