/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arrays that are kept once: equal ones alone, and as long as anybody uses them. */
#include "config.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/tap.h"
#include "xtop/base/shared_array.h"

#define SIZE_BYTES (SHARED_ARRAY_LEAST_BYTES + 12345)

static char *make(char fill, char last)
{
	char *array = malloc(SIZE_BYTES);

	if (!array)
		abort();
	memset(array, fill, SIZE_BYTES);
	array[SIZE_BYTES - 1] = last;
	return array;
}

static void test_equal(void)
{
	char *a = shared_array_put(make('a', 'x'), SIZE_BYTES);
	char *b = shared_array_put(make('a', 'x'), SIZE_BYTES);
	char *c = shared_array_put(make('a', 'y'), SIZE_BYTES);
	char *d = shared_array_put(make('a', 'x'), SIZE_BYTES - 1);

	check(a == b, "equal arrays are one");
	check(a != c && c[SIZE_BYTES - 1] == 'y', "an array with one other byte is another");
	check(a != d, "an array of another size is another");
	shared_array_free(a, SIZE_BYTES);
	check(b[0] == 'a' && b[SIZE_BYTES - 1] == 'x', "an array stays while somebody uses it");
	a = shared_array_put(make('a', 'x'), SIZE_BYTES);
	check(a == b, "an array in use is found again");
	shared_array_free(a, SIZE_BYTES);
	shared_array_free(b, SIZE_BYTES);
	shared_array_free(c, SIZE_BYTES);
	shared_array_free(d, SIZE_BYTES - 1);
}

static void test_small(void)
{
	char *a = shared_array_put(calloc(1, 100), 100), *b = shared_array_put(calloc(1, 100), 100);

	check(a != b, "small arrays are not shared");
	shared_array_free(a, 100);
	shared_array_free(b, 100);
	shared_array_free(make('a', 'x'), SIZE_BYTES);
	shared_array_free(NULL, SIZE_BYTES);
	check(shared_array_put(NULL, SIZE_BYTES) == NULL, "the array NULL stays NULL");
}

static void *run(void *context)
{
	for (int i = 0; i < 500; i++) {
		char *a = shared_array_put(make((char)('a' + i % 3), 'x'), SIZE_BYTES);
		char *b = shared_array_put(make((char)('a' + i % 2), 'x'), SIZE_BYTES);

		*(bool *)context &= a[1] == 'a' + i % 3 && b[1] == 'a' + i % 2;
		shared_array_free(a, SIZE_BYTES);
		shared_array_free(b, SIZE_BYTES);
	}
	return NULL;
}

static void test_threads(void)
{
	bool right[4] = { true, true, true, true };
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, run, &right[i]))
			abort();
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	check(right[0] && right[1] && right[2] && right[3], "four threads share arrays");
}

int main(void)
{
	test_equal();
	test_small();
	test_threads();
	return tap_done();
}
