/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unit tests print TAP. Every check() is a test point; a failure prints its file and line. A
 * program ends with `return tap_done();`. Put values that matter into the message, so that the log
 * alone explains a failure.
 */
#ifndef TESTS_TAP_H
#define TESTS_TAP_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The files of one program share the counters. */
__attribute__((weak)) unsigned tap_points, tap_failures;

__attribute__((format(printf, 4, 5))) static inline bool
tap_check(bool ok, const char *file, int line, const char *format, ...)
{
	va_list arguments;

	printf("%s %u - ", ok ? "ok" : "not ok", ++tap_points);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	printf("\n");
	if (!ok) {
		tap_failures++;
		printf("# failed at %s:%d\n", file, line);
	}
	fflush(stdout);
	return ok;
}

#define check(condition, ...) tap_check((condition), __FILE__, __LINE__, __VA_ARGS__)
#define check_u64(got, want, name)                                                                 \
	do {                                                                                       \
		uint64_t got_ = (got), want_ = (want);                                             \
		check(got_ == want_, "%s: %" PRIu64 " (expected %" PRIu64 ")", name, got_, want_); \
	} while (0)
#define check_string(got, want, name)                                                              \
	do {                                                                                       \
		const char *got_ = (got), *want_ = (want);                                         \
		check(got_ && strcmp(got_, want_) == 0, "%s: \"%s\" (expected \"%s\")", name,      \
		      got_ ? got_ : "(null)", want_);                                              \
	} while (0)

static inline int tap_done(void)
{
	printf("1..%u\n", tap_points);
	return tap_failures != 0;
}

#endif
