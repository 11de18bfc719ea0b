/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages, byte by byte. The examples are those of the manual of Protocol Buffers, "Encoding". */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/tap.h"
#include "xtop/base/proto.h"

static struct proto_buffer message;

static void check_bytes(const char *bytes, size_t n, const char *what)
{
	check(!message.failed && message.n == n && memcmp(message.bytes, bytes, n) == 0, "%s", what);
	message.n = 0;
}

static void test_numbers(void)
{
	const uint64_t packed[] = { 3, 270, 86942 };

	proto_put_number(&message, 1, 150);
	check_bytes("\x08\x96\x01", 3, "field 1 is 150");
	proto_put_number(&message, 1, 0);
	check_bytes("", 0, "a number 0 is left out");
	proto_put_number(&message, 15, 127);
	proto_put_number(&message, 16, 128);
	check_bytes("\x78\x7f\x80\x01\x80\x01", 6, "a tag, and a number, of one and of two bytes");
	proto_put_number(&message, 2, UINT64_MAX);
	check_bytes("\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, "the largest number");
	proto_put_fixed64(&message, 1, 0x0102030405060708ULL);
	check_bytes("\x09\x08\x07\x06\x05\x04\x03\x02\x01", 9, "eight bytes, the lowest first");
	proto_put_numbers(&message, 6, packed, 3);
	check_bytes("\x32\x06\x03\x8e\x02\x9e\xa7\x05", 8, "packed: 3, 270, 86942");
	proto_put_numbers(&message, 6, packed, 0);
	check_bytes("", 0, "packed: a list of nothing is left out");
}

static void test_messages(void)
{
	struct proto_buffer inner = { .n = 0 };

	proto_put_text(&message, 2, "testing");
	check_bytes("\x12\x07testing", 9, "a text");
	proto_put_number(&inner, 1, 150);
	proto_put_message(&message, 3, &inner);
	check_bytes("\x1a\x03\x08\x96\x01", 5, "a message in a message");
	proto_put_number(&inner, 2, 1);
	proto_put_message(&message, 3, &inner);
	check_bytes("\x1a\x02\x10\x01", 4, "a message that begins anew in a message");
	free(inner.bytes);
}

int main(void)
{
	test_numbers();
	test_messages();
	free(message.bytes);
	return tap_done();
}
