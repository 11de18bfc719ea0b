/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Large arrays that are never written again are kept once: many guests run the same kernel and the
 * same libraries. Two arrays are one if all their bytes are equal, whatever a guest says of them.
 * So no guest can change what another one sees. Any thread.
 */
#ifndef XTOP_SHARED_ARRAY_H
#define XTOP_SHARED_ARRAY_H

#include <stddef.h>

/* Smaller arrays are not looked for: there are many of them, and they need little memory. */
#define SHARED_ARRAY_LEAST_BYTES (16 << 10)

/*
 * Takes over ARRAY, which malloc() gave. Returns it, or an equal one that was there before; nobody
 * may write to it from now on. Best effort: without memory ARRAY is not shared.
 */
void *shared_array_put(void *array, size_t size_bytes);
/* The opposite, with the size of then. Also for an array that was never put; NULL allowed. */
void shared_array_free(void *array, size_t size_bytes);

#endif
