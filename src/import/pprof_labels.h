/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to import/: the labels of a pprof sample, other than its process and thread. Together
 * they name a group of samples: "request=/login tenant=a". The number of groups is bounded, because
 * some programs label each sample with a number of its own. Main's thread.
 */
#ifndef IMPORT_PPROF_LABELS_H
#define IMPORT_PPROF_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xtop/base/limit.h"

#define PPROF_MAX_LABELS       16 /* more labels of a sample are left out */
#define PPROF_MAX_LABEL_GROUPS LIMIT(512, 8)
#define PPROF_LABEL_TEXT_BYTES 256
#define PPROF_NUMBER_BYTES     48 /* a number and its unit; longer ones are cut */
#define PPROF_OTHER_LABELS     "[other labels]"

struct pprof_label_pair {
	const char *key, *value;
};

struct pprof_labels {
	struct pprof_label_pair pairs[PPROF_MAX_LABELS]; /* the sample's labels, sorted by key */
	size_t n;
	char text[PPROF_LABEL_TEXT_BYTES];
	char numbers[PPROF_MAX_LABELS][PPROF_NUMBER_BYTES]; /* texts of values that are numbers */
	size_t n_numbers;
	uint64_t hashes[PPROF_MAX_LABEL_GROUPS];                     /* hash_bytes() of each text */
	char groups[PPROF_MAX_LABEL_GROUPS][PPROF_LABEL_TEXT_BYTES]; /* the texts */
	size_t n_groups;
};

void pprof_labels_begin(struct pprof_labels *labels); /* a new sample */
/* KEY and VALUE outlive the sample. */
void pprof_labels_add(struct pprof_labels *labels, const char *key, const char *value);
/*
 * Adds a label whose value is a NUMBER; UNIT NULL: no unit. Sizes of objects, "bytes", are left
 * out: heap profiles of Go have one in each sample, and they name no part of the program.
 */
void pprof_labels_add_number(struct pprof_labels *labels, const char *key, int64_t number,
			     const char *unit);
/*
 * The group of the sample's labels, until the next sample; NULL: it has none. After the first
 * PPROF_MAX_LABEL_GROUPS groups, all others are one.
 */
const char *pprof_labels_group(struct pprof_labels *labels);

#endif
