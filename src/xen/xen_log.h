/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to xen/: keeps Xen's libraries from writing to stderr. */
#ifndef XEN_XEN_LOG_H
#define XEN_XEN_LOG_H

struct xentoollog_logger;

/*
 * A logger that drops all messages. Without a logger Xen's libraries write to stderr, into the
 * screen.
 */
struct xentoollog_logger *xen_log_quiet(void);

#endif
