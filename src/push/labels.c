/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The labels of a profile; see labels.h. Prometheus' rules for names apply. Values lose the
 * characters that Pyroscope's ingest API has between labels, because it knows no way to quote them.
 */
#include "config.h"

#include "push/labels.h"

#include <stdio.h>
#include <string.h>

#include "xtop/base/text.h"

#define LABELS_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
#define LABELS_DIGITS  "0123456789"

/* --- --label ---------------------------------------------------------------------------------- */

static struct xtop_error *labels_check_one(const char *text)
{
	size_t letters = strspn(text, LABELS_LETTERS);
	size_t n = strspn(text, LABELS_LETTERS LABELS_DIGITS);

	if (text[n] != '=' || !letters || n >= sizeof(((struct label *)NULL)->name) ||
	    strncmp(text, "__", 2) == 0)
		return error_create("--label: '%s' is not allowed: KEY=VALUE, where KEY is of "
				    "letters, digits and _",
				    text);
	if (!text[n + 1] || strlen(text + n + 1) >= LABELS_VALUE_BYTES)
		return error_create("--label: '%s' is not allowed: a value has 1 to %d bytes", text,
				    LABELS_VALUE_BYTES - 1);
	return NULL;
}

struct xtop_error *labels_check(const struct push_settings *settings)
{
	struct xtop_error *error = NULL;

	if (settings->n_labels > PUSH_MAX_LABELS)
		return error_create("--label: at most %d labels", PUSH_MAX_LABELS);
	for (size_t i = 0; i < settings->n_labels && !error; i++)
		error = labels_check_one(settings->labels[i]);
	return error;
}

/* --- all of them ------------------------------------------------------------------------------ */

const char *labels_get(const struct labels *labels, const char *name)
{
	for (size_t i = 0; i < labels->n; i++)
		if (strcmp(labels->labels[i].name, name) == 0)
			return labels->labels[i].value;
	return NULL;
}

static void labels_add(struct labels *labels, const char *name, const char *value)
{
	struct label *label = &labels->labels[labels->n];

	if (!*value || labels_get(labels, name))
		return;
	snprintf(label->name, sizeof(label->name), "%s", name);
	text_clean(label->value, sizeof(label->value), value, strlen(value));
	for (char *at = label->value; (at = strpbrk(at, "{},=\""));)
		*at = '_';
	labels->n++;
}

static void labels_add_given(struct labels *labels, const char *text)
{
	char name[sizeof(labels->labels[0].name)];

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(text, "="), text);
	labels_add(labels, name, text + strlen(name) + 1);
}

void labels_build(const struct push_settings *settings, const struct push_profile *profile,
		  struct labels *labels)
{
	labels->n = 0;
	for (size_t i = 0; i < settings->n_labels; i++)
		labels_add_given(labels, settings->labels[i]);
	labels_add(labels, "service_name", LABELS_SERVICE);
	labels_add(labels, "domain", profile->domain);
	labels_add(labels, "uuid", profile->uuid);
	labels_add(labels, "host", settings->host);
	labels_add(labels, "os", profile->os);
	labels_add(labels, "kernel", profile->kernel);
	labels_add(labels, "xen", settings->xen);
}
