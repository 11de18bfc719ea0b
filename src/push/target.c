/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a URL of --push names; see target.h. */
#include "config.h"

#include "push/target.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool target_has_scheme(const char *url, const char *scheme, const char **restp)
{
	size_t n = strlen(scheme);

	if (strncmp(url, scheme, n) != 0)
		return false;
	*restp = url + n;
	return true;
}

/* Checks the URL of a store. Everybody on this machine can read it in the command line. */
static struct xtop_error *target_check_store(const char *url, const char *rest)
{
	size_t host = strcspn(rest, "/?#");

	if (memchr(rest, '@', host))
		return error_create("--push: a URL must not have a password, which everybody here "
				    "could see: give it in a file with --push-config");
	if (!host || strpbrk(rest, "?# ") || strlen(url) >= TARGET_URL_BYTES)
		return error_create("--push: '%s' is not allowed: http://HOST[:PORT][/PATH]", url);
	return NULL;
}

struct xtop_error *target_parse(const char *url, struct target *target)
{
	struct xtop_error *error;
	const char *rest, *http = url;
	size_t n;

	if (target_has_scheme(url, "file://", &rest)) {
		if (rest[0] != '/')
			return error_create("--push: '%s' is not allowed: file:///FOLDER", url);
		target->kind = TARGET_FILES;
		target->path = rest;
		return NULL;
	}
	target->kind = target_has_scheme(url, "otlp+", &http) ? TARGET_OTLP : TARGET_PYROSCOPE;
	if (!target_has_scheme(http, "http://", &rest) &&
	    !target_has_scheme(http, "https://", &rest))
		return error_create("--push: '%s' is not allowed: file:///FOLDER, http://..., "
				    "https://..., otlp+http://... or otlp+https://...",
				    url);
	error = target_check_store(url, rest);
	if (error)
		return error;
	n = (size_t)snprintf(target->base, sizeof(target->base), "%s", http);
	while (n && target->base[n - 1] == '/')
		target->base[--n] = '\0';
	return NULL;
}
