/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keys and the requests they make: the keys that views share, the keys that open views, and the
 * keys of each view.
 */
#ifndef UI_KEYS_H
#define UI_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "ui/key.h"

#define KEYS_MAX 128 /* rows of a view */

/*
 * The keys that work in VIEW, in the order of the help. Returns how many, at most KEYS_MAX. A key
 * of the view replaces each shared row that begins with the same code.
 */
size_t keys_list(const struct view_ops *view, const struct key *list[KEYS_MAX]);

/* The request of the key CODE in VIEW; REQUEST_NONE if the key does nothing. */
struct request keys_find(uint32_t code, const struct view_ops *view);

struct key_place {
	const struct key *key;
	int column, name_width, width;
};
/*
 * Key INDEX, from 0, of VIEW's bottom line. Keys that have no room in WIDTH cells are left out.
 * Returns false after the last key.
 */
bool keys_bottom(const struct view_ops *view, int width, size_t index,
		 struct key_place *placep);

#endif
