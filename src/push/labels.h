/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to push/: the labels of a profile. Labels of --label come first and win over xtop's own
 * labels: service_name, domain, uuid, host, os, kernel, xen.
 */
#ifndef PUSH_LABELS_H
#define PUSH_LABELS_H

#include "xtop/push/push.h"

#define LABELS_OWN         7
#define LABELS_VALUE_BYTES 264
#define LABELS_SERVICE     "xtop" /* service_name, unless --label gives another one */

struct label {
	char name[64];
	char value[LABELS_VALUE_BYTES]; /* UTF-8, without control bytes and {},=" */
};

struct labels {
	size_t n;
	struct label labels[PUSH_MAX_LABELS + LABELS_OWN];
};

/* Checks the labels of --label. Error: one of them is not KEY=VALUE, or there are too many. */
struct xtop_error *labels_check(const struct push_settings *settings);
/* Builds the labels of PROFILE. SETTINGS are checked. Labels without a value are left out. */
void labels_build(const struct push_settings *settings, const struct push_profile *profile,
		  struct labels *labels);
/* Returns the value of the label NAME. NULL: there is no such label. */
const char *labels_get(const struct labels *labels, const char *name);

#endif
