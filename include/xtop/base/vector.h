/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Arrays that grow: the owner keeps a pointer, a count and a capacity, and frees the array with
 * free(). Any thread, one at a time for each array.
 */
#ifndef XTOP_VECTOR_H
#define XTOP_VECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define VECTOR_MIN_ELEMENTS 16

/*
 * Returns ARRAY, perhaps moved, with room for at least WANTED elements of SIZE_BYTES each.
 * *CAPACITYP becomes the number of elements that fit. The room doubles, so that adding one element
 * at a time costs constant time on average. Returns NULL if memory is out; ARRAY and *CAPACITYP are
 * then unchanged. Call this function through vector_reserve().
 */
static inline void *vector_grow(void *array, size_t *capacityp, size_t wanted, size_t size_bytes)
{
	size_t capacity = *capacityp ? *capacityp : VECTOR_MIN_ELEMENTS;

	while (capacity < wanted) {
		if (capacity > SIZE_MAX / 2)
			return NULL;
		capacity *= 2;
	}
	array = reallocarray(array, capacity, size_bytes);
	if (array)
		*capacityp = capacity;
	return array;
}

/*
 * Makes room for WANTED elements in ARRAY, an lvalue. CAPACITY is a size_t lvalue, 0 for an array
 * that is NULL. False: out of memory, and nothing has changed.
 *
 * 	if (!vector_reserve(list->items, list->capacity, list->n + 1))
 * 		return error_create("out of memory");
 * 	list->items[list->n++] = item;
 */
#define vector_reserve(array, capacity, wanted)                                                    \
	__extension__({                                                                            \
		void *grown_ = (array);                                                            \
		bool has_room_ = grown_ && (capacity) >= (wanted);                                 \
		if (!has_room_) {                                                                  \
			grown_ = vector_grow((array), &(capacity), (wanted), sizeof(*(array)));    \
			has_room_ = grown_ != NULL;                                                \
			if (has_room_)                                                             \
				(array) = grown_;                                                  \
		}                                                                                  \
		has_room_;                                                                         \
	})

#endif
