/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ring between sampler and resolver: one producer, one consumer, no locks, in memory that is
 * shared over fork(). Records have any size and are written in place.
 *
 * The bytes are mapped twice in a row, so a record that wraps is still one piece of memory. The
 * producer reserves, fills and commits; the consumer peeks, reads and releases. The producer never
 * waits. When the ring is full the producer drops its record and counts the drop.
 */
#ifndef XTOP_RING_H
#define XTOP_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xtop/base/error.h"

struct ring;

/* SIZE_BYTES is rounded up to a power of two of at least a page. */
struct xtop_error *ring_create(size_t size_bytes, struct ring **ringp);
/*
 * Opens the ring in another process, which becomes its producer. FD comes from ring_fd(); the
 * caller keeps FD. An FD that is not sealed is refused: its memory could shrink under the producer.
 */
struct xtop_error *ring_adopt(int fd, struct ring **ringp);
/* The descriptor of the memory, in the process that created the ring; else -1. */
int ring_fd(const struct ring *ring);
/* Makes this process the producer, which goes on where the last producer stopped. */
void ring_adopt_producer(struct ring *ring);
void ring_destroy(struct ring *ring); /* unmaps this process's view */

/*
 * Producer: room for SIZE_BYTES, 8-aligned. NULL: there is no room now. A second call without a
 * commit in between gives the same room again.
 */
void *ring_reserve(struct ring *ring, size_t size_bytes);
/*
 * Producer: makes the kernel give memory to the first SIZE_BYTES of the ROOM that was reserved. A
 * page of the ring that was never written may have no memory.
 */
void ring_touch(const struct ring *ring, void *room, size_t size_bytes);
/* Producer: the first SIZE_BYTES of the room, at most what was reserved, become one record. */
void ring_commit(struct ring *ring, size_t size_bytes);
/* Producer: bytes committed since the start. */
uint64_t ring_committed(const struct ring *ring);
/* Producer: whether the consumer has released the first COUNT of the committed bytes. */
bool ring_is_consumed(struct ring *ring, uint64_t count);

/* Consumer: the oldest record, which stays until it is released; NULL: the ring is empty. */
const void *ring_peek(struct ring *ring, size_t *size_bytesp);
void ring_release(struct ring *ring);
/*
 * Consumer: the record at *POSITION, which stays until it is released, and moves *POSITION to the
 * record's end. *POSITION counts bytes since the start, and is 0 before the first call.
 * Records that were released meanwhile are left out. NULL: no record has come after it.
 */
const void *ring_peek_after(struct ring *ring, uint64_t *position, size_t *size_bytesp);

/* Either side: the bytes in use now, and the size of the ring. */
size_t ring_used_bytes(const struct ring *ring);
size_t ring_size_bytes(const struct ring *ring);

#endif
