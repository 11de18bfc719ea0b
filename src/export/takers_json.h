/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to export/: the neighbours as a member of a JSON object; see takers_table.c. */
#ifndef EXPORT_TAKERS_JSON_H
#define EXPORT_TAKERS_JSON_H

#include "export/json.h"
#include "xtop/sample/takers.h"

void takers_put_json(struct json *json, const struct takers_table *table, bool totals);

#endif
