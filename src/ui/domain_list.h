/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All domains of the host, as of the last reading. */
#ifndef UI_DOMAIN_LIST_H
#define UI_DOMAIN_LIST_H

#include "xtop/ui/ui.h"

struct domain_entry {
	/*
	 * The domain as the source gave it, for source->open(). domain.inside may come from
	 * profiling. Not clean.
	 */
	struct ui_domain domain;
	bool inside_from_source; /* the source gave domain.inside */
	/* share of one physical CPU since the last reading; < 0: unknown */
	double cpu_percent;
	bool profiled;           /* the domain is being profiled; the core sets it */
};

/* Zeroed at first. */
struct domain_list {
	struct domain_entry *entries; /* entries in the source's order */
	size_t n;
	uint64_t read_ns;
};

/*
 * Reads the list again unless it was read a moment ago. If the source does not know the system
 * inside a domain, the entry keeps what was known before. On error the list is unchanged.
 */
struct xtop_error *domain_list_read(struct domain_list *list, const struct ui_source *source,
				    uint64_t now_ns);
/* Returns NULL if no domain has that ID. */
struct domain_entry *domain_list_find(const struct domain_list *list, uint32_t id);
void domain_list_deinit(struct domain_list *list);

#endif
