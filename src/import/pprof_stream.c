/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fields of a pprof file: bytes, varints, tags and messages. nanopb's functions for streams,
 * tags and varints do the work, except where a varint lies in the buffer as a whole. Code from
 * nanopb's generator would need a whole Profile in memory.
 */
#include "config.h"

#include "import/pprof_stream.h"

#include <inttypes.h>
#include <string.h>

#include "import/readers.h"

/* --- recognising the format ------------------------------------------------------------------- */

/* Decodes a varint and moves *AT after it. False: it is too long, or the N bytes end in it. */
static bool pprof_decode_varint(const unsigned char *bytes, size_t n, size_t *at, uint64_t *valuep)
{
	*valuep = 0;
	for (unsigned shift = 0; shift < 64 && *at < n; shift += 7) {
		unsigned char byte = bytes[(*at)++];

		*valuep |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return shift < 63 || byte <= 1;
	}
	return false;
}

/*
 * Writers begin with any field: xtop with the kinds of values, Go with the time or the period's
 * kind. So all fields that begin in START have to be fields of a Profile, with the right wire types
 * (Protocol Buffers, "Encoding": 0 is a varint, 2 has a length).
 */
bool pprof_is_head(const char *start, size_t n)
{
	/* By field number: m is a message or string, n a number, b may be both (packed numbers). */
	static const char kinds[] = "-mmmmmmnnnnmnbnn";
	const unsigned char *bytes = (const unsigned char *)start;
	uint64_t tag, value;

	for (size_t at = 0; at < n;) {
		if (!pprof_decode_varint(bytes, n, &at, &tag))
			return at == n && n > 0;
		if (tag >> 3 == 0 || tag >> 3 >= sizeof(kinds) - 1)
			return false;
		if (!((tag & 7) == 2 && kinds[tag >> 3] != 'n') &&
		    !((tag & 7) == 0 && kinds[tag >> 3] != 'm'))
			return false;
		if (!pprof_decode_varint(bytes, n, &at, &value))
			return at == n;
		if ((tag & 7) == 2)
			at = value < n - at ? at + (size_t)value : n;
	}
	return n > 0;
}

/* --- bytes ------------------------------------------------------------------------------------ */

static bool pprof_stream_fill(struct pprof_stream *stream)
{
	if (stream->error)
		return false;
	stream->at = 0;
	stream->error =
		source_read(stream->source, stream->buffer, sizeof(stream->buffer), &stream->n);
	if (stream->error)
		stream->n = 0;
	stream->offset += stream->n;
	return stream->n > 0;
}

/* nanopb calls this: reads COUNT bytes into BYTES, or skips them if it is NULL. */
static bool pprof_stream_callback(pb_istream_t *fields, pb_byte_t *bytes, size_t count)
{
	struct pprof_stream *stream = fields->state;

	while (count) {
		size_t there;

		if (stream->at == stream->n && !pprof_stream_fill(stream)) {
			stream->ended = true;
			fields->bytes_left = 0;
			return false;
		}
		there = stream->n - stream->at < count ? stream->n - stream->at : count;
		if (bytes) {
			memcpy(bytes, stream->buffer + stream->at, there);
			bytes += there;
		}
		stream->at += there;
		count -= there;
	}
	return true;
}

bool pprof_stream_fail(struct pprof_stream *stream, const char *what)
{
	if (!stream->damage)
		stream->damage = what;
	return false;
}

/* --- varints ---------------------------------------------------------------------------------- */

/*
 * The next varint of FIELDS if all of it is in the buffer; false: nothing was read. nanopb reads
 * each byte by two calls through pointers, and nearly all bytes of a profile are varints.
 */
static bool pprof_stream_read_buffered(struct pprof_stream *stream, pb_istream_t *fields,
				       uint64_t max, uint64_t *valuep)
{
	size_t at = stream->at, there = stream->n - at;
	size_t end = at + (there < fields->bytes_left ? there : fields->bytes_left);
	uint64_t value;

	if (!pprof_decode_varint((const unsigned char *)stream->buffer, end, &at, &value) ||
	    value > max)
		return false;
	fields->bytes_left -= at - stream->at;
	stream->at = at;
	*valuep = value;
	return true;
}

static bool pprof_stream_read_varint(struct pprof_stream *stream, pb_istream_t *fields,
				     uint64_t *valuep)
{
	return pprof_stream_read_buffered(stream, fields, UINT64_MAX, valuep) ||
	       pb_decode_varint(fields, valuep);
}

/* Does what pb_decode_tag() does. */
static bool pprof_stream_read_tag(struct pprof_stream *stream, pb_istream_t *fields,
				  pb_wire_type_t *wire, uint32_t *tag, bool *eof)
{
	uint64_t value;

	if (!pprof_stream_read_buffered(stream, fields, UINT32_MAX, &value))
		return pb_decode_tag(fields, wire, tag, eof);
	*wire = (pb_wire_type_t)(value & 7);
	*tag = (uint32_t)value >> 3;
	*eof = false;
	return true;
}

/* Does what pb_make_string_substream() does. */
static bool pprof_stream_open_inside(struct pprof_stream *stream, pb_istream_t *fields,
				     pb_istream_t *inside)
{
	uint64_t size_bytes;

	if (!pprof_stream_read_buffered(stream, fields, UINT32_MAX, &size_bytes))
		return pb_make_string_substream(fields, inside);
	if (size_bytes > fields->bytes_left)
		return false;
	*inside = *fields;
	inside->bytes_left = size_bytes;
	fields->bytes_left -= size_bytes;
	return true;
}

/* --- what a message has ----------------------------------------------------------------------- */

bool pprof_stream_read_packed(struct pprof_stream *stream, uint32_t tag, pb_istream_t *fields,
			      pprof_number_fn *number, void *context)
{
	uint64_t value;

	while (fields->bytes_left)
		if (!pprof_stream_read_varint(stream, fields, &value) ||
		    !number(stream, tag, value, context))
			return false;
	return true;
}

bool pprof_stream_read_fields(struct pprof_stream *stream, pb_istream_t *fields,
			      pprof_number_fn *number, pprof_message_fn *message, void *context)
{
	pb_wire_type_t wire;
	pb_istream_t inside;
	uint64_t value;
	uint32_t tag;
	bool eof, ok;

	for (;;) {
		if (!pprof_stream_read_tag(stream, fields, &wire, &tag, &eof))
			return eof && !stream->error;
		if (wire == PB_WT_VARINT) {
			if (!pprof_stream_read_varint(stream, fields, &value) ||
			    !number(stream, tag, value, context))
				return false;
		} else if (wire == PB_WT_STRING) {
			if (!pprof_stream_open_inside(stream, fields, &inside))
				return false;
			ok = message ? message(stream, tag, &inside, context)
				     : pprof_stream_read_packed(stream, tag, &inside, number,
								context);
			if (!ok || !pb_close_string_substream(fields, &inside))
				return false;
		} else if (!pb_skip_field(fields, wire)) {
			return false;
		}
	}
}

/* --- a whole file ----------------------------------------------------------------------------- */

void pprof_stream_begin(struct pprof_stream *stream, struct import_source *source,
			const char *start, size_t n)
{
	stream->source = source;
	memcpy(stream->buffer, start, n);
	stream->at = 0;
	stream->n = stream->offset = n;
	stream->ended = false;
}

struct xtop_error *pprof_stream_read(struct pprof_stream *stream, pprof_number_fn *number,
				     pprof_message_fn *message, void *context)
{
	pb_istream_t fields = { .callback = pprof_stream_callback,
				.state = stream,
				.bytes_left = SIZE_MAX };

	if (pprof_stream_read_fields(stream, &fields, number, message, context))
		return NULL;
	if (stream->error)
		return stream->error;
	return error_create("damaged at byte %" PRIu64 " of its content: %s",
			    stream->offset - (stream->n - stream->at),
			    stream->damage  ? stream->damage
			    : stream->ended ? "cut short"
					    : "no pprof message");
}
