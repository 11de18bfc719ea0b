/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds out where xtop was started; see place.h. A container has no /dev/xen, or may not open it,
 * but sees its kernel's /sys/hypervisor (Linux Documentation/ABI/stable/sysfs-hypervisor-xen).
 */
#include "config.h"

#include "xen/place.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xtop/base/cleanup.h"

/* Xen tells only dom0 that it has this feature (Xen 4.17 public/features.h, XENFEAT_dom0). */
#define PLACE_FEATURE_DOM0 11

/* Reads the first line of a small file. TEXT becomes "" if the file cannot be read. */
static void place_read(const char *folder, const char *name, char text[64])
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "re");
	if (!file || !fgets(text, 64, file))
		text[0] = '\0';
	text[strcspn(text, "\n")] = '\0';
}

enum place place_find(const char *folder)
{
	char text[64];

	place_read(folder, "type", text);
	if (strcmp(text, "xen") != 0)
		return PLACE_NO_XEN;
	place_read(folder, "properties/features", text);
	return strtoull(text, NULL, 16) & UINT64_C(1) << PLACE_FEATURE_DOM0 ? PLACE_DOM0
									    : PLACE_GUEST;
}

struct xtop_error *place_explain(enum place place, int errno_value, bool is_root)
{
	bool forbidden = errno_value == EACCES || errno_value == EPERM;

	if (place == PLACE_GUEST)
		return error_create("this is a guest of Xen, which may not look into others: run "
				    "xtop in dom0, or replay a recording with -r");
	if (forbidden && !is_root)
		return error_create("not allowed to open /dev/xen/privcmd: run xtop as root");
	if (forbidden)
		return error_create("not allowed to open /dev/xen/privcmd, even as root: run xtop "
				    "outside of the container");
	if (place == PLACE_DOM0)
		return error_create("this is dom0, but without /dev/xen/privcmd (%s): run xtop "
				    "outside of the container, or load the module xen-privcmd",
				    strerror(errno_value));
	return error_create("no Xen here (/dev/xen/privcmd: %s): run xtop in the dom0 of a Xen "
			    "host, or replay a recording with -r",
			    strerror(errno_value));
}
