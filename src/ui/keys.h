/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keys and the requests they make. One table says which key makes which request in which view, and
 * what the bottom line and the help call the key. No other file knows a key.
 */
#ifndef UI_KEYS_H
#define UI_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "ui/request.h"
#include "ui/terminal/input.h"

#define KEY_MAX_CODES 4

struct key {
	uint32_t codes[KEY_MAX_CODES]; /* 0-filled */
	enum request_code request;
	unsigned opens;    /* REQUEST_VIEW: which view, one bit of enum view_mask; else 0 */
	unsigned views;    /* where the key works: enum view_mask */
	const char *names; /* in the help, with the keys that do the same: "F1 h ?" */
	const char *label; /* on the bottom line; NULL: the key is not there */
	const char *help;  /* NULL: the key is not in the help */
};

extern const struct key keys[];
extern const size_t n_keys;

/* What the key CODE asks for in VIEW; REQUEST_NONE: nothing. */
struct request keys_find(uint32_t code, unsigned view);

/*
 * Key INDEX, from 0, of the bottom line of a view. Keys that have no room in COLUMNS are left out.
 * False: there are fewer.
 */
struct key_place {
	const struct key *key;
	int column, name_width, width;
};
bool keys_bottom(unsigned view, int columns, size_t index, struct key_place *place);

#endif
