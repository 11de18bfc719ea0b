/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The log that a kernel keeps in its memory, as an operating system reports it (os_ops.h). Plain
 * data. All text comes from the guest and is raw: code that shows it cleans it first.
 */
#ifndef XTOP_OS_LOG_H
#define XTOP_OS_LOG_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* A line of a message. The lines of one message have the same time. */
struct os_log_line {
	uint64_t time_ns;   /* the line's time by the kernel's own clock, which starts at boot */
	uint32_t at, bytes; /* position and length in os_log.text; no NUL ends the line */
};

struct os_log {
	const char *lack; /* why there is no log; NULL if there is one, which may be empty */
	char *text;
	size_t text_bytes, text_capacity;
	struct os_log_line *lines; /* oldest first */
	size_t n_lines, lines_capacity;
	uint64_t n_messages;
	/* messages within the log that cannot be read or are still being written */
	uint64_t unreadable;
	uint64_t left_out; /* older messages for which there was no room */
};

static inline void os_log_deinit(struct os_log *log)
{
	free(log->text);
	free(log->lines);
	*log = (struct os_log){ 0 };
}

#endif
