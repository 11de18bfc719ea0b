/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds where a Go thread keeps its stacks on arm64, by the code of runtime.systemstack() (Go
 * src/runtime/asm_arm64.s). g is in x28:
 *
 *   ldr xM, [x28, #48]        m
 *   ldr xN, [xM, #gsignal]    compared with g
 *   ldr xN, [xM]              g0, compared with g
 *   ldr xN, [xM, #curg]
 *
 * These are the first loads by xM. The code is hostile. Resolver's thread; pure functions.
 */
#include "config.h"

#include "xtop/unwind/go.h"

#include <string.h>

#include "xtop/base/vcpu_arm64.h"

#define WORD_BYTES 4

/*
 * Whether WORD is LDR (immediate) of 64 bits with an unsigned offset from x[BASE] (Arm ARM DDI
 * 0487J.a §C6.2): 1 1 1 1 1 0 0 1 0 1 imm12 Rn Rt loads Rt from Rn + 8 * imm12.
 */
static bool go_is_load(uint32_t word, uint32_t base, uint32_t *offset)
{
	if ((word & 0xffc00000) != 0xf9400000 || (word >> 5 & 31) != base)
		return false;
	*offset = (word >> 10 & 0xfff) * 8;
	return true;
}

bool go_stacks_arm64_decode(const uint8_t *bytes, size_t n, struct go_stacks *stacks)
{
	uint32_t loads[3], base = REGISTER_ARM64_GO_G, offset, word; /* gsignal, g0, curg */
	unsigned n_loads = 0;

	for (size_t i = 0; i + WORD_BYTES <= n && n_loads < 3; i += WORD_BYTES) {
		memcpy(&word, bytes + i, sizeof(word));
		if (!go_is_load(word, base, &offset))
			continue;
		if (base != REGISTER_ARM64_GO_G)
			loads[n_loads++] = offset;
		else if (offset == GO_G_M && (word & 31) != REGISTER_ARM64_GO_G)
			base = word & 31;
	}
	if (n_loads < 3 || !loads[0] || loads[1] != GO_M_G0 || !loads[2] ||
	    loads[0] > GO_MAX_M_OFFSET || loads[2] > GO_MAX_M_OFFSET)
		return false;
	*stacks = (struct go_stacks){ .g = GO_G_IN_REGISTER,
				      .gsignal = (uint16_t)loads[0],
				      .curg = (uint16_t)loads[2] };
	return true;
}
