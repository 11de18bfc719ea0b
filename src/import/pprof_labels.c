/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The labels of a pprof sample; see pprof_labels.h. */
#include "config.h"

#include "import/pprof_labels.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "xtop/base/hash.h"

void pprof_labels_begin(struct pprof_labels *labels)
{
	labels->n = labels->n_numbers = 0;
}

void pprof_labels_add(struct pprof_labels *labels, const char *key, const char *value)
{
	size_t at = labels->n;

	if (at == PPROF_MAX_LABELS)
		return;
	for (; at && strcmp(labels->pairs[at - 1].key, key) > 0; at--)
		labels->pairs[at] = labels->pairs[at - 1];
	labels->pairs[at] = (struct pprof_label_pair){ key, value };
	labels->n++;
}

void pprof_labels_add_number(struct pprof_labels *labels, const char *key, int64_t number,
			     const char *unit)
{
	char *text;

	if (!strcmp(key, "bytes") || labels->n_numbers == PPROF_MAX_LABELS)
		return;
	text = labels->numbers[labels->n_numbers++];
	snprintf(text, PPROF_NUMBER_BYTES, "%" PRId64 "%s", number, unit ? unit : "");
	pprof_labels_add(labels, key, text);
}

/* False: the text is no earlier group's, and there is no room for another group. */
static bool pprof_labels_find_or_add(struct pprof_labels *labels)
{
	uint64_t hash = hash_bytes(0, labels->text, strlen(labels->text));

	for (size_t i = labels->n_groups; i-- > 0;)
		if (labels->hashes[i] == hash && !strcmp(labels->groups[i], labels->text))
			return true;
	if (labels->n_groups == PPROF_MAX_LABEL_GROUPS)
		return false;
	labels->hashes[labels->n_groups] = hash;
	memcpy(labels->groups[labels->n_groups++], labels->text, sizeof(labels->text));
	return true;
}

const char *pprof_labels_group(struct pprof_labels *labels)
{
	size_t n = 0;

	if (!labels->n)
		return NULL;
	for (size_t i = 0; i < labels->n && n < sizeof(labels->text); i++)
		n += (size_t)snprintf(labels->text + n, sizeof(labels->text) - n, "%s%s=%s",
				      i ? " " : "", labels->pairs[i].key, labels->pairs[i].value);
	return pprof_labels_find_or_add(labels) ? labels->text : PPROF_OTHER_LABELS;
}
