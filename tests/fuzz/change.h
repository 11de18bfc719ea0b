/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FUZZ_CHANGE_H
#define FUZZ_CHANGE_H

#include "tests/fuzz/fuzz.h"

enum change_kind {
	CHANGE_ANY,
	CHANGE_ADDRESS, /* the caller takes one that leads somewhere */
	CHANGE_BIT,
	CHANGE_NEAR,
};

static inline enum change_kind fuzz_change_kind(struct fuzz *fuzz)
{
	return fuzz_u8(fuzz) % 4;
}

/* What becomes of a word of guest memory that was WAS. */
static inline uint64_t fuzz_change(struct fuzz *fuzz, enum change_kind kind, uint64_t was)
{
	if (kind == CHANGE_ANY)
		return fuzz_u64(fuzz);
	if (kind == CHANGE_BIT)
		return was ^ 1ULL << fuzz_u8(fuzz) % 64;
	return was + (uint64_t)(int8_t)fuzz_u8(fuzz);
}

#endif
