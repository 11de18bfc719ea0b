/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fields of Protocol Buffers, by nanopb's functions for streams, tags and varints; see proto.h. */
#include "config.h"

#include "push/proto.h"

#ifdef HAVE_NANOPB_FOLDER
#include <nanopb/pb_decode.h>
#include <nanopb/pb_encode.h>
#else
#include <pb_decode.h>
#include <pb_encode.h>
#endif
#include <string.h>

#include "xtop/vector.h"

/* --- writing ---------------------------------------------------------------------------------- */

static bool proto_write(pb_ostream_t *stream, const pb_byte_t *bytes, size_t n)
{
	struct proto_buffer *buffer = stream->state;

	if (!vector_reserve(buffer->bytes, buffer->capacity, buffer->n + n)) {
		buffer->failed = true;
		return false;
	}
	memcpy(buffer->bytes + buffer->n, bytes, n);
	buffer->n += n;
	return true;
}

static pb_ostream_t proto_stream(struct proto_buffer *buffer)
{
	return (pb_ostream_t){ .callback = proto_write, .state = buffer, .max_size = SIZE_MAX };
}

void proto_put_bytes(struct proto_buffer *to, uint32_t field, const void *bytes, size_t n)
{
	pb_ostream_t stream = proto_stream(to);

	pb_encode_tag(&stream, PB_WT_STRING, field);
	pb_encode_string(&stream, bytes, n);
}

void proto_put_text(struct proto_buffer *to, uint32_t field, const char *text)
{
	proto_put_bytes(to, field, text, strlen(text));
}

void proto_put_number(struct proto_buffer *to, uint32_t field, uint64_t value)
{
	pb_ostream_t stream = proto_stream(to);

	if (!value)
		return;
	pb_encode_tag(&stream, PB_WT_VARINT, field);
	pb_encode_varint(&stream, value);
}

void proto_put_numbers(struct proto_buffer *to, uint32_t field, const uint64_t *values, size_t n)
{
	pb_ostream_t stream = proto_stream(to), size = PB_OSTREAM_SIZING;

	if (!n)
		return;
	for (size_t i = 0; i < n; i++)
		pb_encode_varint(&size, values[i]);
	pb_encode_tag(&stream, PB_WT_STRING, field);
	pb_encode_varint(&stream, size.bytes_written);
	for (size_t i = 0; i < n; i++)
		pb_encode_varint(&stream, values[i]);
}

void proto_put_message(struct proto_buffer *to, uint32_t field, struct proto_buffer *from)
{
	proto_put_bytes(to, field, from->n ? from->bytes : (const uint8_t *)"", from->n);
	to->failed |= from->failed;
	from->n = 0;
}

void proto_put_fixed64(struct proto_buffer *to, uint32_t field, uint64_t value)
{
	pb_ostream_t stream = proto_stream(to);

	pb_encode_tag(&stream, PB_WT_64BIT, field);
	pb_encode_fixed64(&stream, &value);
}

/* --- reading ---------------------------------------------------------------------------------- */

bool proto_next(struct proto_bytes *rest, struct proto_field *field)
{
	pb_istream_t stream = pb_istream_from_buffer(rest->bytes, rest->n);
	pb_wire_type_t type;
	bool end;

	if (!rest->n || !pb_decode_tag(&stream, &type, &field->number, &end) ||
	    (type != PB_WT_VARINT && type != PB_WT_STRING) ||
	    !pb_decode_varint(&stream, &field->value))
		return false;
	field->is_number = type == PB_WT_VARINT;
	if (!field->is_number && field->value > stream.bytes_left)
		return false;
	rest->bytes += rest->n - stream.bytes_left;
	rest->n = stream.bytes_left;
	if (field->is_number)
		return true;
	field->bytes = (struct proto_bytes){ rest->bytes, (size_t)field->value };
	rest->bytes += field->bytes.n;
	rest->n -= field->bytes.n;
	return true;
}

bool proto_read_numbers(const struct proto_field *field, uint64_t *numbers, size_t max, size_t *np)
{
	pb_istream_t stream = pb_istream_from_buffer(field->bytes.bytes, field->bytes.n);

	if (field->is_number) {
		if (*np == max)
			return false;
		numbers[(*np)++] = field->value;
		return true;
	}
	while (stream.bytes_left)
		if (*np == max || !pb_decode_varint(&stream, &numbers[(*np)++]))
			return false;
	return true;
}

bool proto_next_cut(struct proto_bytes *rest, struct proto_field *field)
{
	pb_istream_t stream = pb_istream_from_buffer(rest->bytes, rest->n);
	pb_wire_type_t type;
	bool end;

	if (proto_next(rest, field))
		return true;
	if (!rest->n || !pb_decode_tag(&stream, &type, &field->number, &end) ||
	    type != PB_WT_STRING || !pb_decode_varint(&stream, &field->value))
		return false;
	field->is_number = false;
	field->bytes = (struct proto_bytes){ rest->bytes + rest->n - stream.bytes_left,
					    stream.bytes_left };
	rest->n = 0;
	return true;
}
