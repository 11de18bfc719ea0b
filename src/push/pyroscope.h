/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to push/: requests to Pyroscope. Pure functions. */
#ifndef PUSH_PYROSCOPE_H
#define PUSH_PYROSCOPE_H

#include "xtop/push.h"

#define PYROSCOPE_CONTENT "application/octet-stream"

/* The URL of the request for PROFILE, below BASE. The caller frees it. NULL: out of memory. */
char *pyroscope_url(const char *base, const struct push_settings *settings,
		    const struct push_profile *profile);

#endif
