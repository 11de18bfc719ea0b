/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The labels of a pprof sample; see pprof_labels.h. */
#include "config.h"

#include "import/pprof_labels.h"

#include <stdio.h>
#include <string.h>

#include "xtop/base/hash.h"

void pprof_labels_begin(struct pprof_labels *labels)
{
	labels->n = 0;
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

/* Whether the text is that of an earlier group, or there is room for another one. */
static bool pprof_labels_find_or_add(struct pprof_labels *labels)
{
	uint64_t hash = hash_bytes(0, labels->text, strlen(labels->text));

	for (size_t i = labels->n_groups; i-- > 0;)
		if (labels->groups[i] == hash)
			return true;
	if (labels->n_groups == PPROF_MAX_LABEL_GROUPS)
		return false;
	labels->groups[labels->n_groups++] = hash;
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
