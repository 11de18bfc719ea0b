/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds data without symbols in a kernel of 32-bit Arm; see search.c.
 *
 *   unwind tables   __start_unwind_idx: the longest run of index entries in read-only data. Each
 *                   entry has two words; the first is the distance to a function (unwind/exidx.c),
 *                   and functions ascend. The second table follows the index (asm/vmlinux.lds.h,
 *                   ARM_UNWIND_SECTIONS)
 *   current         in the kernel the register TPIDRURO has the current task, but Xen does not show
 *                   TPIDRURO. The scheduler has the task, too: idle_cpu() compares
 *                   cpu_rq(cpu)->curr and ->idle, which lie in this order (kernel/sched/sched.h)
 *   per-cpu areas   cpu_rq() adds the CPU's entry in the table of these areas
 *
 *      e300 0000 + imm4 << 16 + r << 12 + imm12     movw r, #imm
 *      e340 0000                                    movt r, #imm
 *      e790 0100 + n << 16 + r << 12 + m            ldr  r, [rn, rm, lsl #2]
 *      e080 0000 + n << 16 + r << 12 + m            add  r, rn, rm
 *      e590 0000 + n << 16 + r << 12 + imm12        ldr  r, [rn, #imm]
 *
 * (Arm ARM DDI 0487J.a §F5.1.) Resolver's thread.
 */
#include "config.h"

#include "linux/kernel/search_arch.h"

#include "xtop/base/limit.h"

#define SEARCH_MIN_EXIDX   LIMIT(4096, 16) /* entries: Debian's kernel has 34,150 */
#define SEARCH_EXIDX_BYTES 8
#define SEARCH_CODE_WORDS  32 /* words of a function that are read */
#define SEARCH_REGISTERS   16

/* --- unwind tables ---------------------------------------------------------------------------- */

/* The function that the table entry at AT describes; 0 if there is no entry. */
static uint64_t search_exidx_function(const struct search *search, size_t at)
{
	uint32_t word = search_u32(search, at);
	uint32_t function =
		(uint32_t)(search->address + at) + (uint32_t)((int32_t)(word << 1) >> 1);

	return word >> 31 || function < search->image_start || function >= search->image_end
		       ? 0
		       : function;
}

/* Number of entries from AT on. An address within the table is no function. */
static size_t search_exidx_run(const struct search *search, size_t at)
{
	uint64_t start = search->address + at, last = 1, function;
	size_t n = 0;

	for (; at + SEARCH_EXIDX_BYTES <= search->size_bytes; at += SEARCH_EXIDX_BYTES, n++) {
		function = search_exidx_function(search, at);
		if (function < last ||
		    (function >= start && function <= search->address + at))
			break;
		last = function;
	}
	return n;
}

void search_arm32_constants(struct search *search)
{
	uint64_t *symbols = search->guest->symbols;

	if (symbols[LINUX_EXIDX_START] && !search->n_unwind)
		return; /* the index was found by name */
	for (size_t first = 0; first < SEARCH_EXIDX_BYTES; first += 4) {
		size_t at = first, n;

		for (; at < search->size_bytes; at += SEARCH_EXIDX_BYTES * (n ? n : 1)) {
			n = search_exidx_run(search, at);
			if (n < SEARCH_MIN_EXIDX || n <= search->n_unwind)
				continue;
			search->n_unwind = n;
			symbols[LINUX_EXIDX_START] = search->address + at;
			symbols[LINUX_EXIDX_STOP] = search->address + at + SEARCH_EXIDX_BYTES * n;
		}
	}
}

/* --- functions -------------------------------------------------------------------------------- */

struct arm32_code {
	uint32_t words[SEARCH_CODE_WORDS];
	uint32_t known[SEARCH_REGISTERS]; /* numbers that movw and movt have set; 0 if unknown */
};

/* Follows WORD, if it is movw or movt. Returns false for other instructions. */
static bool arm32_follow(struct arm32_code *code, uint32_t word)
{
	uint32_t *to = &code->known[word >> 12 & 15];
	uint32_t half = (word >> 4 & 0xf000) | (word & 0xfff);

	if ((word & 0xfff00000) == 0xe3000000)
		*to = half;
	else if ((word & 0xfff00000) == 0xe3400000)
		*to = (*to & 0xffff) | half << 16;
	else
		return false;
	return true;
}

/* What the code of idle_cpu() tells. A member that was not found is 0. */
struct arm32_runqueue {
	uint32_t table;     /* address of the table of the CPUs' areas */
	uint32_t address;   /* address of the first CPU's struct rq, relative to its area */
	uint32_t curr;      /* offset of `curr`, the lower one of the two members */
	unsigned n_members; /* members that were found so far: `curr` and `idle` */
};

static void arm32_find_runqueue(struct arm32_code *code, struct arm32_runqueue *found)
{
	/* Registers that have the CPU's area, and the address of the CPU's struct rq. */
	unsigned area = SEARCH_REGISTERS, queue = SEARCH_REGISTERS;

	for (unsigned i = 0; i < SEARCH_CODE_WORDS && found->n_members < 2; i++) {
		uint32_t word = code->words[i];
		unsigned to = word >> 12 & 15, n = word >> 16 & 15, m = word & 15;

		if (arm32_follow(code, word))
			continue;
		if ((word & 0xfff00ff0) == 0xe7900100) {
			found->table = code->known[n];
			area = to;
		} else if ((word & 0xfff00ff0) == 0xe0800000 && (n == area || m == area)) {
			found->address = code->known[n == area ? m : n];
			queue = to;
		} else if ((word & 0xfff00000) == 0xe5900000 && n == queue) {
			if (!found->n_members++ || (word & 0xfff) < found->curr)
				found->curr = word & 0xfff;
		}
	}
}

void search_arm32_functions(struct search *search)
{
	struct arm32_runqueue found = { 0 };
	struct arm32_code code = { .known = { 0 } };

	if (!linux_read_function(search->guest, LINUX_IDLE_CPU, code.words, sizeof(code.words)))
		return;
	arm32_find_runqueue(&code, &found);
	if (found.n_members < 2 || !linux_is_kernel_of(search->guest, found.table) ||
	    !linux_is_kernel_of(search->guest, found.address))
		return;
	search_set(search, LINUX_PER_CPU_OFFSET, found.table);
	search_set(search, LINUX_CURRENT_TASK, found.address + found.curr);
}
