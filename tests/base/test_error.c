/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Errors: a message is one line without control characters, even if a guest has written parts of
 * it.
 */
#include "config.h"

#include "tests/support/tap.h"

#include <errno.h>

#include "xtop/base/error.h"

static const struct {
	const char *what, *name, *message;
} cases[] = {
	{ "plain", "web01", "guest web01 is gone" },
	{ "other letters", "\u00fc\u6f22", "guest \u00fc\u6f22 is gone" },
	{ "escape sequence", "\033]0;x\a", "guest ?]0;x? is gone" },
	{ "line end", "a\nb", "guest a?b is gone" },
	{ "DEL", "a\177", "guest a? is gone" },
	{ "C1 in UTF-8",
	  "\xc2\x9b"
	  "31m",
	  "guest ?31m is gone" },
	{ "C1 raw",
	  "\x9b"
	  "31m",
	  "guest ?31m is gone" },
	{ "bidi override", "a\u202eb", "guest a?b is gone" },
	{ "isolates", "\u2066b\u2069", "guest ?b? is gone" },
	{ "line separator", "a\u2028b", "guest a?b is gone" },
	{ "zero-width space", "a\u200bb", "guest a?b is gone" },
	{ "cut within a character", "\xe6\xbc", "guest ?? is gone" },
};

static void test_clean(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct xtop_error *error = error_create("guest %s is gone", cases[i].name);

		check_string(error_message(error), cases[i].message, cases[i].what);
		error_destroy(error);
	}
}

static void test_wrap(void)
{
	struct xtop_error *error = error_create_errno(ENOENT, "cannot read '%s'", "a\033b");

	error = error_wrap(error, "guest %s", "\n");
	check_string(error_message(error), "guest ?: cannot read 'a?b': No such file or directory",
		     "the text of each layer is cleaned");
	error_destroy(error);
	check(error_wrap(NULL, "nothing") == NULL, "success stays success");
}

int main(void)
{
	test_clean();
	test_wrap();
	return tap_done();
}
