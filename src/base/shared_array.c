/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arrays that are kept once; see shared_array.h. */
#include "config.h"

#include "xtop/base/shared_array.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "xtop/base/hash.h"
#include "xtop/base/vector.h"

struct shared_array {
	void *bytes;
	size_t size_bytes, users;
	uint64_t hash;
};

/* All shared arrays: a few hundred at most, of kernels, their modules and the larger libraries. */
static struct shared_array *shared_arrays;
static size_t n_shared_arrays, shared_arrays_capacity;
static pthread_mutex_t shared_arrays_lock = PTHREAD_MUTEX_INITIALIZER;

/* The shared array that equals BYTES, or NULL. The lock is held. */
static struct shared_array *shared_array_find_equal(const void *bytes, size_t size_bytes,
						    uint64_t hash)
{
	for (size_t i = 0; i < n_shared_arrays; i++) {
		struct shared_array *shared = &shared_arrays[i];

		if (shared->hash == hash && shared->size_bytes == size_bytes &&
		    memcmp(shared->bytes, bytes, size_bytes) == 0)
			return shared;
	}
	return NULL;
}

/* The entry of the shared array BYTES, or NULL if BYTES is not shared. The lock is held. */
static struct shared_array *shared_array_find(const void *bytes)
{
	for (size_t i = 0; i < n_shared_arrays; i++)
		if (shared_arrays[i].bytes == bytes)
			return &shared_arrays[i];
	return NULL;
}

/* Adds BYTES to the shared arrays, if there is memory. The lock is held. */
static void shared_array_add(void *bytes, size_t size_bytes, uint64_t hash)
{
	if (vector_reserve(shared_arrays, shared_arrays_capacity, n_shared_arrays + 1))
		shared_arrays[n_shared_arrays++] = (struct shared_array){
			.bytes = bytes, .size_bytes = size_bytes, .users = 1, .hash = hash
		};
}

void *shared_array_put(void *array, size_t size_bytes)
{
	struct shared_array *shared;
	void *kept = array;
	uint64_t hash;

	if (!array || size_bytes < SHARED_ARRAY_LEAST_BYTES)
		return array;
	hash = hash_bytes(size_bytes, array, size_bytes);
	pthread_mutex_lock(&shared_arrays_lock);
	shared = shared_array_find_equal(array, size_bytes, hash);
	if (shared) {
		shared->users++;
		kept = shared->bytes;
	} else {
		shared_array_add(array, size_bytes, hash);
	}
	pthread_mutex_unlock(&shared_arrays_lock);
	if (kept != array)
		free(array);
	return kept;
}

/* Drops one user of ARRAY. Returns true if ARRAY has no user any more. The lock is held. */
static bool shared_array_leave(const void *array)
{
	struct shared_array *shared = shared_array_find(array);

	if (!shared)
		return true;
	if (--shared->users)
		return false;
	*shared = shared_arrays[--n_shared_arrays];
	if (!n_shared_arrays) {
		free(shared_arrays);
		shared_arrays = NULL;
		shared_arrays_capacity = 0;
	}
	return true;
}

void shared_array_free(void *array, size_t size_bytes)
{
	bool last = true;

	if (array && size_bytes >= SHARED_ARRAY_LEAST_BYTES) {
		pthread_mutex_lock(&shared_arrays_lock);
		last = shared_array_leave(array);
		pthread_mutex_unlock(&shared_arrays_lock);
	}
	if (last)
		free(array);
}
