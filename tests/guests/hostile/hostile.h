/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the hostile guest's files share; hostile.c says what it is. */
#ifndef HOSTILE_H
#define HOSTILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOSTILE_PAGE 4096

/* hostile.c */
uint64_t hostile_random(uint64_t *state);
/* PVH: pages of our own tables by number and kind; PV has none. */
uint64_t *hostile_table(unsigned int level_index);
/*
 * Spins ROUNDS times with RSP and RBP, at the address AT if that is not 0 (the code there must be
 * that of hostile_spin). No interrupt can come: nothing is pushed there.
 */
void hostile_park(uint64_t rsp, uint64_t rbp, uint64_t rounds, uint64_t at);
extern const char hostile_spin[];

/* linux.c: PVH only; false: there is no such scenario */
bool hostile_linux(const char *scenario);
/* One turn of it: parks, and spoils what is to be spoilt. */
void hostile_linux_turn(uint64_t *random);

#endif
