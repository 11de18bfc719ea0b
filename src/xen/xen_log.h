/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to guest/. */
#ifndef GUEST_XEN_LOG_H
#define GUEST_XEN_LOG_H

struct xentoollog_logger;

/*
 * A logger that swallows everything: without one Xen's libraries write to stderr, into the screen.
 */
struct xentoollog_logger *xen_log_quiet(void);

#endif
