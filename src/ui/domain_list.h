/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All domains of the host, as they were when the list was read last. */
#ifndef UI_DOMAIN_LIST_H
#define UI_DOMAIN_LIST_H

#include "xtop/ui/ui.h"

struct domain_entry {
	/* As the source gave it, for open(); INSIDE may come from profiling. Not clean. */
	struct ui_domain domain;
	bool inside_from_source; /* INSIDE is the source's */
	double cpu_percent; /* of one physical CPU since the list was read before; < 0: unknown */
	bool profiled;           /* now; the core sets it */
};

/* Begins zeroed. */
struct domain_list {
	struct domain_entry *entries; /* in the source's order */
	size_t n;
	uint64_t read_ns;
};

/*
 * Reads the list anew, if the last time is long enough ago. An entry for which the source does not
 * know what runs inside keeps what was known before. On error the list is as it was.
 */
struct xtop_error *domain_list_read(struct domain_list *list, const struct ui_source *source,
				    uint64_t now_ns);
/* NULL: there is no domain with that ID. */
struct domain_entry *domain_list_find(const struct domain_list *list, uint32_t id);
void domain_list_deinit(struct domain_list *list);

#endif
