/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of the hostile guest, which hostile.c describes. */
#ifndef HOSTILE_H
#define HOSTILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOSTILE_PAGE 4096

/* hostile.c */
uint64_t hostile_random(uint64_t *state);
/* PVH: the page table of the code's own addresses: 3 is the root, 1 has 2 MiB pages. */
uint64_t *hostile_table(unsigned int level_index);
/*
 * Spins ROUNDS times with these values of RSP and RBP. If AT is not 0, it spins at this address,
 * where the code of hostile_spin must be mapped. Nothing is pushed, because no interrupt can come.
 */
void hostile_park(uint64_t rsp, uint64_t rbp, uint64_t rounds, uint64_t at);
extern const char hostile_spin[];

/* linux.c, for PVH only. Prepares a scenario; false: there is no such scenario. */
bool hostile_linux(const char *scenario);
/* One turn of the scenario: spins, and damages what the scenario damages. */
void hostile_linux_turn(uint64_t *random);

#endif
