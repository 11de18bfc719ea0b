/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to push/: what a URL of --push names. Pure functions. */
#ifndef PUSH_TARGET_H
#define PUSH_TARGET_H

#include "xtop/base/error.h"

#define TARGET_URL_BYTES 1024

enum target_kind { TARGET_FILES, TARGET_PYROSCOPE, TARGET_OTLP };

struct target {
	enum target_kind kind;
	const char *path;              /* folder for TARGET_FILES, inside the URL's text */
	char base[TARGET_URL_BYTES];   /* a store's URL, without slashes at its end */
};

/* URL must outlive TARGET. The error names URL and says what is allowed. */
struct xtop_error *target_parse(const char *url, struct target *target);

#endif
