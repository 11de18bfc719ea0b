/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds data without symbols in an arm64 kernel; see search.c. The lists of modules and of BPF
 * programs are the first lists that certain functions read. xen_runstate and the table of the CPUs'
 * per-CPU areas are all that xen_vcpu_stolen() reads. __entry_task is read into SP_EL0 by the code
 * that enters the kernel from user mode.
 *
 * A variable's address takes two instructions (Arm ARM DDI 0487J.a §C6.2, ADRP, ADD (immediate),
 * LDR (immediate)):
 *
 *   31 30 29 28 .. 24 23 .. 5      4 .. 0
 *   1  immlo 1 0 0 0 0  immhi      Rd      ADRP: the page of the instruction, and a distance
 *
 *   31 .. 23     22  21 .. 10   9 .. 5  4 .. 0
 *   1 0 0 1 0 0 0 1 0  sh  imm12   Rn     Rd      ADD, of 64 bits: Rd = Rn + imm12
 *   1 1 1 1 1 0 0 1 0  1   imm12   Rn     Rt      LDR, of 64 bits: Rt = the word at Rn + 8 * imm12
 *
 *   31 .. 21               20 .. 12  11 10  9 .. 5  4 .. 0
 *   1 1 1 1 1 0 0 0 0 1 0  imm9      1  1   Rn      Rt     LDR, first Rn = Rn + imm9
 *
 *   1 1 1 1 1 0 0 0 0 1 1  Rm         1 1 0 1 1 0  Rn Rt  LDR: the word at Rn + 8 * Wm, signed
 *   1 0 1 1 1 0 0 0 0 1 1  Rm         0 1 1 0 1 0  Rn Rt  LDR, of 32 bits: the word at Rn + Xm
 *   1 1 1 1 1 0 0 0 0 1 1  Rm         0 1 1 0 1 0  Rn Rt  LDR, of 64 bits: the word at Rn + Xm
 *   1 1 0 1 0 1 0 1 0 0 0 1 1 0 0 0 0 1 0 0 0 0 0 1 0 0 0 Rt   MSR SP_EL0
 *
 * gcc often makes the address of one variable, and reads other variables relative to that address.
 *
 * Resolver's thread.
 */
#include "config.h"

#include "linux/kernel/search_arch.h"

#define ARM64_INSTRUCTIONS 64 /* instructions of a function that are read */
#define ARM64_REGISTERS    32
#define ARM64_RET          0xd65f03c0

struct arm64_code {
	const struct linux_guest *guest;
	uint64_t address;
	uint32_t words[ARM64_INSTRUCTIONS];
	uint64_t known[ARM64_REGISTERS]; /* addresses that ADRP and ADD have made; 0 if unknown */
};

static bool arm64_is_adrp(uint32_t word)
{
	return (word & 0x9f000000) == 0x90000000;
}

static uint64_t arm64_adrp_page(uint32_t word, uint64_t pc)
{
	uint32_t distance = (word >> 5 & 0x7ffff) << 2 | (word >> 29 & 3);
	int64_t pages = (int64_t)((uint64_t)distance << 43) >> 43; /* 21 bits, signed */

	return (pc & ~GUEST_PAGE_MASK) + ((uint64_t)pages << GUEST_PAGE_SHIFT);
}

/* The address that LDR reads with a known register; 0 for other instructions. */
static uint64_t arm64_loaded(const struct arm64_code *code, uint32_t word)
{
	uint64_t base = code->known[word >> 5 & 31];
	int64_t step = (int64_t)((uint64_t)word << 43) >> 55; /* bits 20..12, signed */

	if (!base)
		return 0;
	if ((word & 0xffc00000) == 0xf9400000)
		return base + 8 * (word >> 10 & 0xfff);
	return (word & 0xffe00c00) == 0xf8400c00 ? base + (uint64_t)step : 0;
}

/* Follows an instruction that makes an address. */
static void arm64_follow(struct arm64_code *code, uint32_t word, uint64_t pc)
{
	uint64_t base = code->known[word >> 5 & 31];

	if (arm64_is_adrp(word))
		code->known[word & 31] = arm64_adrp_page(word, pc);
	else if ((word & 0xffc00000) == 0x91000000)
		code->known[word & 31] = base ? base + (word >> 10 & 0xfff) : 0;
}

static uint64_t arm64_find_list(struct arm64_code *code)
{
	for (unsigned i = 0; i < ARM64_INSTRUCTIONS; i++) {
		uint64_t variable = arm64_loaded(code, code->words[i]);

		if (variable && search_is_list(code->guest, variable))
			return variable;
		arm64_follow(code, code->words[i], code->address + 4 * i);
	}
	return 0;
}

static bool arm64_read_code(const struct search *search, enum linux_symbol function,
			    struct arm64_code *code)
{
	*code = (struct arm64_code){ .guest = search->guest,
				     .address = search->guest->symbols[function] };
	return linux_read_function(search->guest, function, code->words, sizeof(code->words));
}

/* Whether TABLE[0] can be the distance from VARIABLE to CPU 0's copy of VARIABLE. */
static bool arm64_is_per_cpu(const struct linux_guest *guest, uint64_t table, uint64_t variable)
{
	uint64_t distance, value;

	return linux_is_kernel(table) && linux_read_u64(guest, table, &distance) &&
	       linux_is_kernel(variable + distance) &&
	       linux_read_u64(guest, variable + distance, &value);
}

/*
 * Finds xen_runstate. "return per_cpu(xen_runstate, vcpu).state == RUNSTATE_runnable" (Linux
 * drivers/xen/time.c) reads two words: the CPU's entry in the table, and the state.
 */
static void arm64_find_runstate(struct search *search, struct arm64_code *code)
{
	uint64_t table = 0, variable = 0;
	unsigned area = ARM64_REGISTERS; /* the register that has the table's entry */

	for (unsigned i = 0; i < ARM64_INSTRUCTIONS && !variable; i++) {
		uint32_t word = code->words[i], first = word >> 5 & 31, second = word >> 16 & 31;

		if (word == ARM64_RET)
			return;
		if ((word & 0xffe0fc00) == 0xf860d800) {
			table = code->known[first];
			area = word & 31;
			code->known[area] = 0;
		} else if ((word & 0xffe0fc00) == 0xb8606800 && (first == area || second == area)) {
			variable = code->known[first == area ? second : first];
		}
		arm64_follow(code, word, code->address + 4 * i);
	}
	if (!variable || !arm64_is_per_cpu(code->guest, table, variable))
		return;
	search_set(search, LINUX_PER_CPU_OFFSET, table);
	search_set(search, LINUX_RUNSTATE, variable);
}

/*
 * Finds __entry_task in "ldr_this_cpu tsk, __entry_task, x20", followed by "msr sp_el0, tsk" (Linux
 * arch/arm64/kernel/entry.S, kernel_entry; from v4.10). The variable names the task that the CPU
 * runs in user mode.
 */
static void arm64_find_entry_task(struct search *search, struct arm64_code *code)
{
	uint64_t table = search->guest->symbols[LINUX_PER_CPU_OFFSET], variable = 0;

	for (unsigned i = 0; i + 1 < ARM64_INSTRUCTIONS && !variable; i++) {
		uint32_t word = code->words[i], next = code->words[i + 1];

		if ((word & 0xffe0fc00) == 0xf8606800 && next == (0xd5184100 | (word & 31)))
			variable = code->known[word >> 5 & 31];
		arm64_follow(code, word, code->address + 4 * i);
	}
	if (variable && arm64_is_per_cpu(code->guest, table, variable))
		search_set(search, LINUX_ENTRY_TASK, variable);
}

void search_arm64_functions(struct search *search)
{
	struct arm64_code code;

	for (size_t i = 0; i < N_SEARCH_LISTS; i++) {
		if (arm64_read_code(search, search_lists[i].function, &code))
			search_set(search, search_lists[i].list, arm64_find_list(&code));
	}
	if (arm64_read_code(search, LINUX_STOLEN, &code))
		arm64_find_runstate(search, &code);
	if (arm64_read_code(search, LINUX_EL0_SYNC, &code))
		arm64_find_entry_task(search, &code);
}
