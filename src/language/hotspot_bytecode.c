/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bytecode of Java methods. Compilers note no place in a method that calls nothing and whose
 * loop has no safepoint: a short loop has none, and with some collectors no counted loop has one.
 * If the bytecode has only one loop, the code's loops are copies of it.
 *
 * Instructions are those of the Java Virtual Machine Specification, chapter 6, and those that
 * HotSpot puts in their place (openjdk interpreter/bytecodes.hpp; jdk8u's have the same numbers
 * since fast_zputfield came in).
 */
#include "config.h"

#include "language/hotspot.h"

#define CODE_MAX_BYTES 4096
#define CODE_IF        153 /* ifeq; goto and jsr are the last ones with a short distance */
#define CODE_JSR       168
#define CODE_IFNULL    198
#define CODE_IFNONNULL 199

/* Bytes of instructions; 0: calls, switches and others that nobody reads here. */
static const struct {
	uint8_t last, bytes; /* BYTES is the size of all up to LAST */
} sizes[] = {
	{ 15, 1 },  { 16, 2 },  { 17, 3 },  { 18, 2 },  { 20, 3 },  { 25, 2 },  { 53, 1 },
	{ 58, 2 },  { 131, 1 }, { 132, 3 }, { 152, 1 }, { 168, 3 }, { 169, 2 }, { 171, 0 },
	{ 177, 1 }, { 181, 3 }, { 186, 0 }, { 187, 3 }, { 188, 2 }, { 189, 3 }, { 191, 1 },
	{ 193, 3 }, { 195, 1 }, { 196, 0 }, { 197, 4 }, { 199, 3 }, { 202, 0 }, { 219, 3 },
	{ 220, 1 }, { 223, 4 }, { 224, 2 }, { 225, 4 }, { 226, 3 }, { 229, 0 }, { 230, 2 },
	{ 231, 3 }, { 232, 1 }, { 233, 0 }, { 235, 3 }, { 236, 1 }, { 237, 2 }, { 255, 0 },
};

static unsigned bytecode_size(uint8_t code)
{
	unsigned i = 0;

	while (code > sizes[i].last)
		i++;
	return sizes[i].bytes;
}

/* Whether the instruction at BYTES jumps back. */
static bool bytecode_jumps_back(const uint8_t *bytes)
{
	bool jumps = (bytes[0] >= CODE_IF && bytes[0] <= CODE_JSR) || bytes[0] == CODE_IFNULL ||
		     bytes[0] == CODE_IFNONNULL;

	return jumps && bytes[1] & 0x80;
}

uint64_t hotspot_find_only_loop(const struct runtime_process *process, uint64_t description)
{
	uint64_t found = HOTSPOT_NO_PLACE;
	uint8_t bytes[CODE_MAX_BYTES];
	size_t n = hotspot_read_bytecode(process, description, bytes, sizeof(bytes));

	for (size_t at = 0; at < n;) {
		unsigned size = bytecode_size(bytes[at]);

		if (!size || size > n - at)
			return HOTSPOT_NO_PLACE;
		if (bytecode_jumps_back(bytes + at)) {
			if (found != HOTSPOT_NO_PLACE)
				return HOTSPOT_NO_PLACE;
			found = at;
		}
		at += size;
	}
	return found;
}
