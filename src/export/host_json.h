/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to export/: what the host has to do with the guest, as members of a JSON object; see
 * takers_table.c and exits_table.c.
 */
#ifndef EXPORT_HOST_JSON_H
#define EXPORT_HOST_JSON_H

#include "export/json.h"
#include "xtop/profile/snapshot.h"

void takers_put_json(struct json *json, const struct takers_table *table, bool totals);
/* Puts the exits of SNAPSHOT, which has some. */
void exits_put_json(struct json *json, const struct snapshot *snapshot, bool totals);

#endif
