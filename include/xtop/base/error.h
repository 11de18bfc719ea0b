/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Errors: NULL is success. A function that cannot do its job returns a struct xtop_error whose
 * message says what failed, on which domain or file, and what the user can do. Each layer that
 * knows more may wrap the error once. Only main.c and the UI print errors. Expected outcomes, such
 * as a page that is not there or a stack that is cut short, are not errors but data in the sample.
 */
#ifndef XTOP_ERROR_H
#define XTOP_ERROR_H

struct xtop_error;

/* Never returns NULL. Without memory the result is a static error that says so. */
struct xtop_error *error_create(const char *format, ...)
	__attribute__((format(printf, 1, 2), warn_unused_result, returns_nonnull));
/* As error_create(); appends ": " and strerror(errno_value). */
struct xtop_error *error_create_errno(int errno_value, const char *format, ...)
	__attribute__((format(printf, 2, 3), warn_unused_result, returns_nonnull));
/* "CONTEXT: old message". Frees ERROR. NULL stays NULL. */
struct xtop_error *error_wrap(struct xtop_error *error, const char *format, ...)
	__attribute__((format(printf, 2, 3), warn_unused_result));
/* One line without line end; lives as long as ERROR. */
const char *error_message(const struct xtop_error *error);
void error_destroy(struct xtop_error *error); /* NULL allowed */
/*
 * Returns FIRST, or SECOND if FIRST is NULL. If both are errors, SECOND is freed: the error that
 * happened first explains the other one.
 */
struct xtop_error *error_first(struct xtop_error *first, struct xtop_error *second)
	__attribute__((warn_unused_result));

#ifdef ANALYZE /* tests/analyze: its tools do not understand returns_nonnull */
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
