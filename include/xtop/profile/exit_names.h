/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Exits to Xen in words. Results depend on the arguments alone; any thread. */
#ifndef XTOP_EXIT_NAMES_H
#define XTOP_EXIT_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "xtop/profile/exits.h"

#define EXIT_NAME_BYTES 64
/* The text to show if Xen traces, and no exit came. */
#define EXITS_NONE "no exit was traced (Xen on arm64 traces none)"

/* Writes "MSR write 0x80b APIC_EOI" to TEXT, and returns TEXT. */
const char *exit_name(const struct exit_reason *reason, char text[EXIT_NAME_BYTES]);

/* Whether EVENT, the event of a handler's record, names an exit instead of the exit's code. */
bool exit_handler_has_name(uint32_t event);

static inline const struct exits_weight *
exits_weight_of(const struct exits_weight *live, const struct exits_weight *total, bool totals)
{
	return totals ? total : live;
}

/* Sums of a table's rows, live or since start. */
struct exits_weight exits_sum(const struct exits_table *table, bool totals);
/* Time of the records, in ns; at least 1. */
double exits_span_ns(const struct exits_table *table, bool totals);

#endif
