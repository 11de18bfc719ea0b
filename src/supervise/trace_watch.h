/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to supervise/: the two processes that have Xen trace. See trace_watch.c.
 *
 *   broker ── fork ─► watcher ── fork ─► reader ── struct trace_chunk ─► main
 */
#ifndef SUPERVISE_TRACE_WATCH_H
#define SUPERVISE_TRACE_WATCH_H

/* The body of the watcher (helper_run_fn). CONTEXT is not used. */
void trace_watch_run(void *context, int socket);

#endif
