/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by the files of the hostile guest, which hostile.c describes. HOSTILE_TEXT is where a Linux
 * kernel may lie; HOSTILE_RAM is the physical address that is mapped at TINY_VIRT_BASE.
 */
#ifndef HOSTILE_H
#define HOSTILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOSTILE_PAGE        4096
#define HOSTILE_SPIN_ROUNDS 4000 /* about 10 microseconds */
#define HOSTILE_STACK_WORDS 0x4000

#ifdef __aarch64__
#define HOSTILE_TEXT 0xffffffc008000000
#define HOSTILE_RAM  0x40000000UL
#else
#define HOSTILE_TEXT 0xffffffffa0000000
#define HOSTILE_RAM  0UL
#endif

struct scenario {
	const char *name;
	void (*turn)(unsigned int vcpu, uint64_t *random);
};

/* hostile.c */
extern uint64_t hostile_stack[HOSTILE_STACK_WORDS];
uint64_t hostile_random(uint64_t *state);

/* hostile_x86.c, hostile_arm64.c */
extern const uint64_t hostile_edges[]; /* stack pointers */
extern const unsigned int n_hostile_edges;
extern const struct scenario hostile_scenarios[];
extern const unsigned int n_hostile_scenarios;
/*
 * Spins ROUNDS times with these values of the stack pointer and the frame pointer. If AT is not 0, it
 * spins at this address, where the code of hostile_spin must be mapped. Nothing is pushed, because no
 * interrupt can come.
 */
void hostile_park(uint64_t sp, uint64_t fp, uint64_t rounds, uint64_t at);
extern const char hostile_spin[];
static inline void hostile_park_at(uint64_t sp, uint64_t fp)
{
	hostile_park(sp, fp, HOSTILE_SPIN_ROUNDS, 0);
}
/* PVH: maps 2 MiB of physical memory at ADDRESS, near HOSTILE_TEXT: code, or data to be read. */
void hostile_map(uint64_t address, uint64_t phys, bool is_code);

/* linux.c, for PVH only. Prepares a scenario; false: there is no such scenario. */
bool hostile_linux(const char *scenario);
/* One turn of the scenario: spins, and damages what the scenario damages. */
void hostile_linux_turn(uint64_t *random);

#endif
