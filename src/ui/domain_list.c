/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All domains of the host. */
#include "config.h"

#include "ui/domain_list.h"

#include <stdlib.h>
#include <string.h>

#define DOMAINS_MAX 4096
/* CPU shares of a shorter time would be noise. */
#define MIN_INTERVAL_NS 10000000

struct domain_entry *domain_list_find(const struct domain_list *list, uint32_t id)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->entries[i].domain.id == id)
			return &list->entries[i];
	return NULL;
}

/* NS: time since the list was last read; 0 if unknown. */
static void domain_entry_init(struct domain_entry *entry, const struct ui_domain *domain,
			      const struct domain_entry *before, uint64_t ns)
{
	*entry = (struct domain_entry){ .domain = *domain,
					.inside_from_source = domain->inside[0] != '\0',
					.cpu_percent = -1 };
	if (!before)
		return;
	if (ns && domain->cpu_ns >= before->domain.cpu_ns)
		entry->cpu_percent =
			100.0 * (double)(domain->cpu_ns - before->domain.cpu_ns) / (double)ns;
	if (!entry->inside_from_source)
		memcpy(entry->domain.inside, before->domain.inside, sizeof(entry->domain.inside));
}

struct xtop_error *domain_list_read(struct domain_list *list, const struct ui_source *source,
				    uint64_t now_ns)
{
	uint64_t ns = now_ns - list->read_ns;
	struct ui_domain *domains = NULL;
	struct domain_entry *entries;
	struct xtop_error *error;
	size_t n = 0;

	if (!source->list || (list->n && ns < MIN_INTERVAL_NS))
		return NULL;
	error = source->list(source->context, &domains, &n);
	if (error)
		return error;
	n = n < DOMAINS_MAX ? n : DOMAINS_MAX;
	entries = calloc(n + 1, sizeof(*entries));
	for (size_t i = 0; i < n && entries; i++)
		domain_entry_init(&entries[i], &domains[i], domain_list_find(list, domains[i].id),
				  list->read_ns ? ns : 0);
	free(domains);
	if (!entries)
		return error_create("out of memory");
	free(list->entries);
	list->entries = entries;
	list->n = n;
	list->read_ns = now_ns;
	return NULL;
}

void domain_list_deinit(struct domain_list *list)
{
	free(list->entries);
}
