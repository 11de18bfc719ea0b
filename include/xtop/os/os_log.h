/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The log that a kernel keeps in its memory, as an operating system tells it (os_ops.h). Plain
 * data of its owner. Everything in it is the guest's, and raw: who shows it cleans it.
 */
#ifndef XTOP_OS_LOG_H
#define XTOP_OS_LOG_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* A line of a message. A message of several lines has several, with the same time. */
struct os_log_line {
	uint64_t time_ns;   /* on the kernel's own clock, since its boot */
	uint32_t at, bytes; /* in struct os_log's text; no NUL ends it */
};

struct os_log {
	const char *lack; /* why there is no log; NULL: there is one, which may be empty */
	char *text;
	size_t text_bytes, text_capacity;
	struct os_log_line *lines; /* the oldest first */
	size_t n_lines, lines_capacity;
	uint64_t n_messages;
	uint64_t unreadable; /* messages between those that cannot be read, or are still written */
	uint64_t left_out;   /* older messages than there is room for */
};

static inline void os_log_deinit(struct os_log *log)
{
	free(log->text);
	free(log->lines);
	*log = (struct os_log){ 0 };
}

#endif
