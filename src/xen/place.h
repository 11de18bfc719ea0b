/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to xen/: whether xtop was started in dom0, in a guest or without Xen, for messages. See
 * place.c.
 */
#ifndef XEN_PLACE_H
#define XEN_PLACE_H

#include <stdbool.h>

#include "xtop/base/error.h"

enum place {
	PLACE_NO_XEN,
	PLACE_DOM0,
	PLACE_GUEST, /* a domain that may not look into others */
};

/* FOLDER is /sys/hypervisor, or a test's folder. */
enum place place_find(const char *folder);
/* Says why /dev/xen/privcmd could not be opened, and what to do. IS_ROOT: the user id is 0. */
struct xtop_error *place_explain(enum place place, int errno_value, bool is_root);

#endif
