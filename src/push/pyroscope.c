/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pyroscope's ingest API (Grafana Pyroscope, "Server HTTP API"; all versions from 1.0 on have it):
 *
 *   POST /ingest?name=SERVICE{KEY=VALUE,...}&from=NS&until=NS
 *                &format=pprof&sampleRate=HZ&spyName=xtop
 *
 * The body is the unchanged profile, pprof in gzip. Times of 19 digits are nanoseconds since 1970.
 * The server takes SERVICE as the label service_name. It knows no way to quote the characters
 * between labels (labels.c). Pure functions.
 */
#include "config.h"

#include "push/pyroscope.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "push/labels.h"

#define PYROSCOPE_CONTENT "application/octet-stream"
#define PYROSCOPE_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._"

/* Writes TEXT percent-encoded (RFC 3986, 2.1). */
static void pyroscope_put(FILE *file, const char *text)
{
	for (; *text; text++) {
		if (strchr(PYROSCOPE_LETTERS, *text))
			fputc(*text, file);
		else
			fprintf(file, "%%%02X", (unsigned char)*text);
	}
}

/* The server allows fewer characters in the name of a service than in other labels. */
static void pyroscope_put_service(FILE *file, const char *service)
{
	for (; *service; service++)
		fputc(strchr(PYROSCOPE_LETTERS, *service) ? *service : '_', file);
}

static void pyroscope_put_labels(FILE *file, const struct labels *labels)
{
	const char *before = "{";

	pyroscope_put_service(file, labels_get(labels, "service_name"));
	for (size_t i = 0; i < labels->n; i++) {
		const struct label *label = &labels->labels[i];

		if (strcmp(label->name, "service_name") == 0)
			continue;
		pyroscope_put(file, before);
		pyroscope_put(file, label->name);
		pyroscope_put(file, "=");
		pyroscope_put(file, label->value);
		before = ",";
	}
	pyroscope_put(file, *before == ',' ? "}" : "{}");
}

/* Returns the URL, which the caller frees. NULL: out of memory. */
static char *pyroscope_url(const char *base, const struct push_settings *settings,
			   const struct push_profile *profile)
{
	struct labels labels;
	char *url = NULL;
	size_t size_bytes;
	FILE *file = open_memstream(&url, &size_bytes);

	if (!file)
		return NULL;
	labels_build(settings, profile, &labels);
	fprintf(file, "%s/ingest?name=", base);
	pyroscope_put_labels(file, &labels);
	fprintf(file, "&from=%" PRIu64 "&until=%" PRIu64, profile->from_ns, profile->until_ns);
	fprintf(file, "&format=pprof&sampleRate=%ld&spyName=xtop", lround(settings->hz));
	if (fclose(file) == EOF) {
		free(url);
		return NULL;
	}
	return url;
}

struct xtop_error *pyroscope_request(const char *base, const struct push_settings *settings,
				     const struct entry *entry, struct http_request *request)
{
	*request = (struct http_request){
		.url = pyroscope_url(base, settings, &entry->profile),
		.content_type = PYROSCOPE_CONTENT,
		.body = entry->bytes,
		.size_bytes = entry->size_bytes,
	};
	return request->url ? NULL : error_create("out of memory");
}
