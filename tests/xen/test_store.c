/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whichever libxenstore is there is used: src/xen/store.c with a made-up library. */
#include "config.h"

#include <stdlib.h>

#include "tests/support/tap.h"
#include "xen/store.h"

#define MADE "tests/xen/made_store.so"

static void test_reads(const char *const *libraries, size_t n, const char *what)
{
	char path[4096];
	const char *names[3];
	struct store *store;
	char *value;

	snprintf(path, sizeof(path), "%s/" MADE, getenv("top_builddir"));
	for (size_t i = 0; i < n; i++)
		names[i] = libraries[i] ? libraries[i] : path;
	store = store_open_by(names, n);
	check(store != NULL, "%s: opened", what);
	if (!store)
		return;
	value = store_read(store, "/local/domain/7/name");
	check_string(value ? value : "none", "web", what);
	free(value);
	check(!store_read(store, "/local/domain/8/name"), "%s: no such domain", what);
	store_close(store);
}

int main(void)
{
	static const char *const first[] = { NULL, "libmissing.so.3.0" };
	static const char *const second[] = { "libmissing.so.4", NULL };
	static const char *const none[] = { "libmissing.so.4", "libmissing.so.3.0" };
	static const char *const other[] = { "libc.so.6" };

	test_reads(first, 2, "the newer library");
	test_reads(second, 2, "the older library alone");
	check(!store_open_by(none, 2), "without libxenstore there is an error");
	check(!store_open_by(other, 1), "a libxenstore without the functions is refused");
	return tap_done();
}
