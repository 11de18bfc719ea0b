/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the offsets of a task's name and pid in code of 32-bit Arm; see layout_32.h.
 *
 *   ee1d 0f70 + r << 12                   mrc  p15, 0, r, c13, c0, 3: TPIDRURO, which has `current`
 *   e280 0000 + n << 16 + r << 12 + imm   add  r, rn, #imm: 8 bits, rotated by twice the upper 4
 *   e590 0000 + n << 16 + r << 12 + imm   ldr  r, [rn, #imm]
 *
 * (Arm ARM DDI 0487J.a §F5.1, §G8.2.153.) `add` computes the address of the name, and `ldr` loads
 * the pid. Another `ldr` loads thread_info.cpu, whose offset is smaller than the pid's. So the
 * largest offset is the pid's. Resolver's thread.
 */
#include "config.h"

#include "linux/kernel/layout_32.h"

#define CODE_WORDS  (LAYOUT_32_CODE_BYTES / 4)
#define CODE_REGS   16
#define MRC_CURRENT 0xee1d0f70

static uint32_t code_immediate(uint32_t word)
{
	uint32_t value = word & 0xff, by = 2 * (word >> 8 & 15);

	return by ? value >> by | value << (32 - by) : value;
}

/*
 * The last `mrc` tells which register has `current`. Up to the first call no other register has
 * `current`.
 */
bool layout_arm32_read_code(const struct linux_guest *guest, struct layout_32_names *names)
{
	uint32_t words[CODE_WORDS], current = CODE_REGS;

	*names = (struct layout_32_names){ 0 };
	if (!linux_read_function(guest, LINUX_STACK_INFO, words, sizeof(words)))
		return false;
	for (unsigned i = 0; i < CODE_WORDS; i++) {
		uint32_t word = words[i], offset = word & 0xfff;

		if ((word & 0xffff0fff) == MRC_CURRENT)
			current = word >> 12 & 15;
		else if ((word >> 16 & 15) != current)
			continue;
		else if ((word & 0xfff00000) == 0xe2800000 && !names->comm)
			names->comm = code_immediate(word);
		else if ((word & 0xfff00000) == 0xe5900000 && offset > names->pid)
			names->pid = offset;
	}
	return layout_32_are_names(names);
}
