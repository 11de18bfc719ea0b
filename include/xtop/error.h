/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Errors: NULL is success. A function that cannot do its job returns a struct xtop_error whose
 * message says what failed, on what, and what the user can do; each layer that knows more may wrap
 * it once. Only main.c and the UI print one. Expected outcomes (a page not there, a stack cut
 * short) are not errors but data in the sample.
 */
#ifndef XTOP_ERROR_H
#define XTOP_ERROR_H

struct xtop_error;

/* Never NULL: when memory is out, a static error that says so. */
struct xtop_error *error_create(const char *format, ...)
	__attribute__((format(printf, 1, 2), warn_unused_result, returns_nonnull));
/* As error_create, with ": " and strerror(errno_value) behind it. */
struct xtop_error *error_create_errno(int errno_value, const char *format, ...)
	__attribute__((format(printf, 2, 3), warn_unused_result, returns_nonnull));
/* "CONTEXT: old message"; takes ERROR over. NULL stays NULL. */
struct xtop_error *error_wrap(struct xtop_error *error, const char *format, ...)
	__attribute__((format(printf, 2, 3), warn_unused_result));
/* One line without line end; lives as long as ERROR. */
const char *error_message(const struct xtop_error *error);
void error_destroy(struct xtop_error *error); /* NULL allowed */

#ifdef ANALYZE /* tests/analyze: what returns_nonnull does not tell these tools */
static inline struct xtop_error *error_never_null(struct xtop_error *error)
{
	if (!error)
		__builtin_unreachable();
	return error;
}
#define error_create(...) error_never_null(error_create(__VA_ARGS__))
#define error_create_errno(...) error_never_null(error_create_errno(__VA_ARGS__))
#endif

#endif
