/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to push/: what a URL of --push names. Pure functions. */
#ifndef PUSH_TARGET_H
#define PUSH_TARGET_H

#include "xtop/base/error.h"

#define TARGET_URL_BYTES 1024

enum target_kind { TARGET_FILES, TARGET_PYROSCOPE, TARGET_OTLP };

struct target {
	enum target_kind kind;
	const char *path;              /* the folder of TARGET_FILES; points into the URL */
	char base[TARGET_URL_BYTES];   /* a store's URL without slashes at its end */
};

/* Parses a URL, which must outlive TARGET. Error: the URL is not allowed; says what is. */
struct xtop_error *target_parse(const char *url, struct target *target);

#endif
