/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages, byte by byte. The examples are those of the manual of Protocol Buffers, "Encoding". */
#include "config.h"

#include "tests/support/tap.h"

#include <string.h>

#include "export/pprof_message.h"

static struct pprof_message message;

static void check_bytes(const char *bytes, size_t n, const char *what)
{
	check(message.n == n && memcmp(message.bytes, bytes, n) == 0, "%s", what);
	message.n = 0;
}

static void test_numbers(void)
{
	const uint64_t packed[] = { 3, 270, 86942 };

	pprof_message_put_number(&message, 1, 150);
	check_bytes("\x08\x96\x01", 3, "field 1 is 150");
	pprof_message_put_number(&message, 1, 0);
	check_bytes("", 0, "0 is left out");
	pprof_message_put_number(&message, 15, 127);
	pprof_message_put_number(&message, 16, 128);
	check_bytes("\x78\x7f\x80\x01\x80\x01", 6, "a tag, and a number, of one and of two bytes");
	pprof_message_put_number(&message, 2, UINT64_MAX);
	check_bytes("\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, "the largest number");
	pprof_message_put_numbers(&message, 6, packed, 3);
	check_bytes("\x32\x06\x03\x8e\x02\x9e\xa7\x05", 8, "packed: 3, 270, 86942");
	pprof_message_put_numbers(&message, 6, packed, 0);
	check_bytes("\x32\x00", 2, "packed: nothing");
}

static void test_messages(void)
{
	uint8_t bytes[VARINT_FIELD_BYTES];
	size_t n;

	pprof_message_put_pair(&message, 3, 1, 150, 2, 1);
	check_bytes("\x1a\x05\x08\x96\x01\x10\x01", 7, "a message in a message");
	pprof_message_put_pair(&message, 3, 1, 150, 2, 0);
	check_bytes("\x1a\x03\x08\x96\x01", 5, "its second number is left out");
	n = pprof_message_begin(bytes, 2, 7);
	check(n == 2 && memcmp(bytes, "\x12\x07", 2) == 0, "before \"testing\" as field 2");
}

/* A stack of the greatest depth, whose ids take five bytes, and all else of a sample. */
static void test_largest(void)
{
	static uint64_t ids[SNAPSHOT_MAX_DEPTH];
	const uint64_t values[4] = { UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX };

	for (size_t i = 0; i < SNAPSHOT_MAX_DEPTH; i++)
		ids[i] = UINT32_MAX;
	pprof_message_put_numbers(&message, 1, ids, SNAPSHOT_MAX_DEPTH);
	pprof_message_put_numbers(&message, 2, values, 4);
	pprof_message_put_pair(&message, 3, 1, UINT64_MAX, 2, UINT64_MAX);
	pprof_message_put_pair(&message, 3, 1, UINT64_MAX, 2, UINT64_MAX);
	check(message.n > 5 * SNAPSHOT_MAX_DEPTH, "the largest sample has room");
	message.n = 0;
}

int main(void)
{
	test_numbers();
	test_messages();
	test_largest();
	return tap_done();
}
