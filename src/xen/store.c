/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads xenstore; see store.h. In the processes that have root's rights.
 *
 * The library is loaded when it is needed: its version was 3.0 before Xen 4.16 and is 4 since. A
 * program that is linked with one version does not start on a system with only the other one. The
 * three functions below are the same in both versions (Xen 4.14 and 4.17,
 * tools/libs/store/include/xenstore.h; in 4.14 tools/xenstore/include).
 */
#include "config.h"

#include "xen/store.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "xtop/base/library.h"
#include "xtop/xen/xen.h"

struct xs_handle;

struct store {
	struct xs_handle *handle;
	struct xs_handle *(*open)(unsigned long flags);
	void *(*read)(struct xs_handle *handle, uint32_t transaction, const char *path,
		      unsigned *bytes);
	void (*close)(struct xs_handle *handle);
};

/* False: the library lacks a function, or there is no xenstore. */
static bool store_connect(struct store *store, const char *library)
{
	const struct library_function functions[] = {
		{ "xs_open", &store->open },
		{ "xs_read", &store->read },
		{ "xs_close", &store->close },
	};

	if (!library_load(library, functions, sizeof(functions) / sizeof(functions[0])))
		return false;
	store->handle = store->open(0);
	return store->handle;
}

struct store *store_open_by(const char *const *libraries, size_t n)
{
	struct store *store = calloc(1, sizeof(*store));

	if (!store)
		return NULL;
	for (size_t i = 0; i < n; i++)
		if (store_connect(store, libraries[i]))
			return store;
	free(store);
	return NULL;
}

static const char *const store_libraries[] = { "libxenstore.so.4", "libxenstore.so.3.0" };
#define STORE_LIBRARIES (sizeof(store_libraries) / sizeof(store_libraries[0]))

struct store *store_open(void)
{
	return store_open_by(store_libraries, STORE_LIBRARIES);
}

/* The library is never closed, so a later store_open() maps no code. */
void xen_load(void)
{
	struct store store;
	const struct library_function functions[] = { { "xs_open", &store.open } };

	for (size_t i = 0; i < STORE_LIBRARIES; i++)
		if (library_load(store_libraries[i], functions, 1))
			return;
}

char *store_read(struct store *store, const char *path)
{
	return store->read(store->handle, 0, path, NULL); /* 0: no transaction */
}

void store_close(struct store *store)
{
	store->close(store->handle);
	free(store);
}
