/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Large arrays that are never written again are kept once: many guests run the same kernel and the
 * same libraries. Two arrays are shared only if all their bytes are equal. So no guest can change
 * what xtop shows of another guest. Any thread.
 */
#ifndef XTOP_SHARED_ARRAY_H
#define XTOP_SHARED_ARRAY_H

#include <stddef.h>

/* Smaller arrays are not shared: there are many, and they need little memory. */
#define SHARED_ARRAY_LEAST_BYTES (16 << 10)

/*
 * Takes over ARRAY, which malloc() gave. Returns ARRAY, or frees ARRAY and returns an equal array
 * that is already kept. Nobody may write to the returned array. Without memory, ARRAY is returned
 * and not shared.
 */
void *shared_array_put(void *array, size_t size_bytes);
/*
 * Releases an array that shared_array_put() has returned; SIZE_BYTES is the size given there. An
 * array that was never put is freed; NULL is allowed.
 */
void shared_array_free(void *array, size_t size_bytes);

#endif
