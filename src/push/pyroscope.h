/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to push/: requests to Pyroscope. Pure functions. */
#ifndef PUSH_PYROSCOPE_H
#define PUSH_PYROSCOPE_H

#include "push/http.h"
#include "push/sender_process.h"

/* Makes the request for ENTRY, below BASE. The caller calls http_request_deinit(). */
struct xtop_error *pyroscope_request(const char *base, const struct push_settings *settings,
				     const struct entry *entry, struct http_request *request);

#endif
