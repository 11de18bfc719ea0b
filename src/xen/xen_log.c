/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps Xen's libraries from writing to stderr; see xen_log.h. Any process and thread; no state. */
#include "config.h"

#include <xentoollog.h>

#include "xen/xen_log.h"

static void xen_log_message(struct xentoollog_logger *logger, xentoollog_level level,
			    int errno_value, const char *context, const char *format,
			    va_list arguments)
{
	(void)logger, (void)level, (void)errno_value, (void)context, (void)format, (void)arguments;
}

static void xen_log_progress(struct xentoollog_logger *logger, const char *context,
			     const char *doing, int percent, unsigned long done,
			     unsigned long total)
{
	(void)logger, (void)context, (void)doing, (void)percent, (void)done, (void)total;
}

static void xen_log_destroy(struct xentoollog_logger *logger)
{
	(void)logger;
}

struct xentoollog_logger *xen_log_quiet(void)
{
	static struct xentoollog_logger logger = {
		.vmessage = xen_log_message,
		.progress = xen_log_progress,
		.destroy = xen_log_destroy,
	};

	return &logger;
}
