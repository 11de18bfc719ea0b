/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where metrics go, by the text of --metrics; see metrics_process.h. Pure functions. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metrics/metrics_process.h"

static bool metrics_target_copy(char *to, size_t capacity, const char *from, size_t n)
{
	return n && (size_t)snprintf(to, capacity, "%.*s", (int)n, from) < capacity;
}

/* node_exporter reads only files whose names end in .prom. */
static struct xtop_error *metrics_target_parse_file(const char *text, struct metrics_target *target)
{
	const char *slash = strrchr(text, '/');
	size_t n = strlen(slash + 1);

	if (n < 6 || strcmp(slash + 1 + n - 5, ".prom") != 0 || slash[1] == '.')
		return error_create("--metrics: '%s': node_exporter reads only files that are "
				    "named *.prom",
				    text);
	target->is_file = true;
	if (!metrics_target_copy(target->folder, sizeof(target->folder), text,
				 slash > text ? (size_t)(slash - text) : 1) ||
	    !metrics_target_copy(target->name, sizeof(target->name) - 8, slash + 1, n))
		return error_create("--metrics: the file's name is too long");
	return NULL;
}

/* The address must be given, so that nobody shows guests to all networks by accident. */
static struct xtop_error *metrics_target_parse_server(const char *text,
						      struct metrics_target *target)
{
	const char *colon = strrchr(text, ':');
	size_t n = colon ? (size_t)(colon - text) : 0;
	bool bracket = text[0] == '[';

	if (!colon || n < 2 || bracket != (text[n - 1] == ']') ||
	    (!bracket && memchr(text, ':', n)) ||
	    !metrics_target_copy(target->address, sizeof(target->address), text + bracket,
				 n - 2 * bracket) ||
	    !metrics_target_copy(target->port, sizeof(target->port), colon + 1,
				 strlen(colon + 1)) ||
	    target->port[strspn(target->port, "0123456789")] || strlen(target->port) > 5 ||
	    atoi(target->port) > 65535)
		return error_create("--metrics: '%s' is neither ADDRESS:PORT, as 127.0.0.1:9187 "
				    "or [::1]:9187, nor /DIRECTORY/NAME.prom",
				    text);
	return NULL;
}

struct xtop_error *metrics_target_parse(const char *text, struct metrics_target *target)
{
	*target = (struct metrics_target){ .is_file = false };
	return text[0] == '/' ? metrics_target_parse_file(text, target)
			      : metrics_target_parse_server(text, target);
}
