/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to xen/: xenstore, by whichever libxenstore is there. See store.c. */
#ifndef XEN_STORE_H
#define XEN_STORE_H

#include <stddef.h>

struct store;

/* NULL: no library, or no xenstore. Domains have only numbers then. */
struct store *store_open(void);
/* Opens xenstore by the first of these N libraries that can be loaded. For tests. */
struct store *store_open_by(const char *const *libraries, size_t n);
/* The value at PATH, as a string of the caller's; NULL: there is none. */
char *store_read(struct store *store, const char *path);
void store_close(struct store *store);

#endif
