/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to xen/: reads xenstore by any version of libxenstore. See store.c. */
#ifndef XEN_STORE_H
#define XEN_STORE_H

#include <stddef.h>

struct store;

/* Returns NULL without the library or without xenstore. Domains then have only numbers. */
struct store *store_open(void);
/* Opens xenstore by the first of these N libraries that can be loaded. For tests. */
struct store *store_open_by(const char *const *libraries, size_t n);
/* Returns the value at PATH, a string that the caller frees; NULL if there is none. */
char *store_read(struct store *store, const char *path);
void store_close(struct store *store);

#endif
