/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Go's table of functions, written as Go's linker writes it (Go src/cmd/link/internal/ld/pcln.go;
 * for Go 1.15 src/cmd/link/internal/ld/pcln.go of that release):
 *
 *   head, names, depths, list of functions, records
 *
 * The layout of 1.2 has one list, in which all offsets count from the head.
 */
#include "make_go.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

struct maker {
	uint8_t *bytes;
	size_t at, capacity;
};

static void put(struct maker *maker, uint64_t value, unsigned size_bytes)
{
	assert(size_bytes <= sizeof(value) && maker->at + size_bytes <= maker->capacity);
	memcpy(maker->bytes + maker->at, &value, size_bytes);
	maker->at += size_bytes;
}

static void put_at(struct maker *maker, size_t at, uint64_t value, unsigned size_bytes)
{
	memcpy(maker->bytes + at, &value, size_bytes);
}

static void put_varint(struct maker *maker, uint32_t value)
{
	for (; value >= 0x80; value >>= 7)
		put(maker, (value & 0x7f) | 0x80, 1);
	put(maker, value, 1);
}

static void put_depths(struct maker *maker, const struct make_go_row *rows)
{
	int32_t depth = -1;

	for (unsigned i = 0; i < 6 && rows[i].size_bytes; i++) {
		int32_t change = rows[i].depth - depth;

		put_varint(maker, (uint32_t)change << 1 ^ (uint32_t)(change >> 31));
		put_varint(maker, rows[i].size_bytes);
		depth = rows[i].depth;
	}
	put(maker, 0, 1);
}

static void align(struct maker *maker)
{
	while (maker->at % 8)
		put(maker, 0, 1);
}

/* NAME and DEPTHS: offsets as the layout counts them. */
static void put_record(struct maker *maker, enum make_go_layout layout, uint64_t start,
		       uint32_t name, uint32_t depths, uint8_t flags)
{
	size_t first = maker->at;

	put(maker, start, layout >= MAKE_GO_1_18 ? 4 : 8);
	put(maker, name, 4);
	put(maker, 0, 8); /* arguments, deferreturn */
	put(maker, depths, 4);
	put(maker, 0, 8); /* files, lines */
	put(maker, 0, 4); /* number of other tables */
	if (layout >= MAKE_GO_1_16)
		put(maker, 0, 4); /* unit */
	if (layout == MAKE_GO_1_20)
		put(maker, 7, 4); /* first line */
	put(maker, 0, 1); /* kind of function */
	put(maker, flags, 1);
	put(maker, 0, 2);
	align(maker);
	assert(maker->at - first <= 64);
}

size_t make_go(const struct make_go_program *program, uint8_t *bytes, size_t capacity)
{
	const struct make_go_function *functions = program->functions;
	static const uint32_t magics[] = { 0xfffffffb, 0xfffffffa, 0xfffffff0, 0xfffffff1 };
	struct maker maker = { .bytes = bytes, .capacity = capacity };
	enum make_go_layout layout = program->layout;
	bool relative = layout >= MAKE_GO_1_18, old = layout == MAKE_GO_1_2;
	unsigned word = relative ? 4 : 8;
	size_t offsets = 0, list, names_at, depths_at, at[64][2];
	uint64_t text = program->text, start = relative ? 0 : text;
	size_t n = program->n;

	assert(n <= 64);
	put(&maker, magics[layout], 4);
	put(&maker, 0x08010000, 4);
	put(&maker, n, 8);
	if (!old) {
		put(&maker, 1, 8);
		if (relative)
			put(&maker, program->tell_text ? text : 0, 8);
		offsets = maker.at;
		maker.at += 40;
	}
	list = maker.at;
	if (old)
		maker.at += (2 * n + 1) * word + 4;
	align(&maker);
	names_at = old ? 0 : maker.at;
	for (size_t i = 0; i < n; i++) {
		at[i][0] = maker.at - names_at;
		for (const char *c = functions[i].name; *c; c++)
			put(&maker, (uint8_t)*c, 1);
		put(&maker, 0, 1);
	}
	align(&maker);
	depths_at = old ? 0 : maker.at;
	put(&maker, 0, 1); /* offset 0 means that there are none */
	for (size_t i = 0; i < n; i++) {
		at[i][1] = functions[i].rows[0].size_bytes ? maker.at - depths_at : 0;
		put_depths(&maker, functions[i].rows);
	}
	align(&maker);
	if (!old) {
		const size_t places[] = { names_at, 0, 0, depths_at, maker.at };

		for (unsigned i = 0; i < 5; i++)
			put_at(&maker, offsets + 8 * i, places[i], 8);
		list = maker.at;
		maker.at += (2 * n + 1) * word;
		align(&maker);
	}
	for (size_t i = 0; i < n; i++) {
		put_at(&maker, list + 2 * i * word, start, word);
		put_at(&maker, list + (2 * i + 1) * word, maker.at - (old ? 0 : list), word);
		put_record(&maker, layout, start, at[i][0], at[i][1], functions[i].flags);
		start += functions[i].size_bytes;
	}
	put_at(&maker, list + 2 * n * word, start, word);
	return maker.at;
}
