/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Main's side of the process that looks at the host (host_watch.h): who takes the physical CPUs of
 * one guest. Any thread; a lock lets one through at a time. Nothing is looked at before
 * takers_source_start().
 */
#ifndef XTOP_TAKERS_SOURCE_H
#define XTOP_TAKERS_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "xtop/sample/takers.h"

struct takers_source;
/* HALF_LIFE_NS: the half-life of live figures; 0: they do not decay. NULL: out of memory. */
struct takers_source *takers_source_create(uint64_t half_life_ns);
void takers_source_destroy(struct takers_source *source); /* NULL allowed */
/*
 * Begins to look at the neighbours of DOMID. Does nothing if a process looks at them already. For
 * another DOMID, after a reboot, looking begins anew. Error: no process could be started.
 */
struct xtop_error *takers_source_start(struct takers_source *source, uint32_t domid);
/*
 * Goes on with DOMID, the same guest after a reboot, if somebody has asked for looks. SOURCE may be
 * NULL.
 */
void takers_source_switch(struct takers_source *source, uint32_t domid);
/* The sums so far begin anew with the next answer. */
void takers_source_reset(struct takers_source *source);
/*
 * Asks for the sums so far, which the caller frees. NULL: nobody has asked for looks, or no answer
 * came within some milliseconds.
 */
struct takers_table *takers_source_get(struct takers_source *source);

#endif
