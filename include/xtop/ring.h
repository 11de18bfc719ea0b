/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ring between sampler and resolver: single producer, single consumer, lock-free, in memory
 * that survives fork(), records of any size written in place.
 *
 * The bytes are mapped twice in a row, so that a record that wraps is still one piece of memory.
 * One side reserves, fills and commits; the other peeks, reads and releases. A full ring is the
 * producer's to count: it never waits.
 */
#ifndef XTOP_RING_H
#define XTOP_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xtop/error.h"

struct ring;

/* SIZE_BYTES is rounded up to a power of two of at least a page. */
struct xtop_error *ring_create(size_t size_bytes, struct ring **ringp);
/*
 * The same ring in another process, as its producer: FD is ring_fd()'s, handed over; stays the
 * caller's. Refused if it is not sealed, as it could then shrink under the one who writes to it.
 */
struct xtop_error *ring_adopt(int fd, struct ring **ringp);
int ring_fd(const struct ring *ring);
/* In a process that takes over as producer: goes on where the one before left off. */
void ring_take_over(struct ring *ring);
void ring_destroy(struct ring *ring); /* unmaps this process's view */

/* Producer: room for SIZE_BYTES, 8-aligned; NULL when there is none. A second reserve without a
 * commit gives the same room again. */
void *ring_reserve(struct ring *ring, size_t size_bytes);
/* Producer: the first SIZE_BYTES (at most what was reserved) of it become one record. */
void ring_commit(struct ring *ring, size_t size_bytes);
/* Producer: bytes committed since the start; whether the consumer is done with the first COUNT of them. */
uint64_t ring_committed(const struct ring *ring);
bool ring_consumed(struct ring *ring, uint64_t count);

/* Consumer: the oldest record, NULL when empty. The same again until released. */
const void *ring_peek(struct ring *ring, size_t *size_bytesp);
void ring_release(struct ring *ring);

/* Either side: bytes in use now, and in all. */
size_t ring_used_bytes(const struct ring *ring);
size_t ring_size_bytes(const struct ring *ring);

#endif
