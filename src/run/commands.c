/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What xtop does without profiling; see commands.h. */
#include "config.h"

#include "xtop/run/commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "xtop/base/cleanup.h"
#include "xtop/base/text.h"
#include "xtop/pipeline/pipelines.h"
#include "xtop/push/push.h"
#include "xtop/run/session.h"
#include "xtop/supervise/broker.h"
#include "xtop/xen/guest.h"

/* --- --unpause -------------------------------------------------------------------------------- */

struct xtop_error *command_unpause(const struct options *options, char **notep)
{
	return guest_undo_pause(options->unpause, true, notep);
}

static struct xtop_error *command_repair_domain(const char *domain,
						void (*report)(const char *line))
{
	_cleanup_free_ char *note = NULL;
	struct xtop_error *error = guest_undo_pause(domain, false, &note);

	if (note)
		report(note);
	return error;
}

/*
 * Lets go every guest that a killed run of --all may have left stopped, also a guest that this run
 * does not sample, because no other program looks after them. A guest that cannot be examined does
 * not keep the others from being let go.
 */
static struct xtop_error *command_repair_all(void (*report)(const char *line))
{
	_cleanup_free_ struct guest_listing *list = NULL;
	struct xtop_error *error;
	size_t n;

	error = guest_list(&list, &n);
	if (error)
		return error;
	for (size_t i = 0; i < n; i++) {
		char domid[16];

		if (list[i].info.domid == 0 || list[i].state != 'p')
			continue;
		snprintf(domid, sizeof(domid), "%u", list[i].info.domid);
		error_destroy(command_repair_domain(domid, report));
	}
	return NULL;
}

struct xtop_error *command_repair(const struct options *options, void (*report)(const char *line))
{
	struct xtop_error *error = NULL;

	if (options->all)
		return command_repair_all(report);
	for (size_t i = 0; i < options->n_domains && !error; i++)
		error = command_repair_domain(options->domains[i], report);
	return error;
}

/* --- --check ---------------------------------------------------------------------------------- */

struct xtop_error *command_check(const struct options *options)
{
	struct xtop_error *error = session_check(options);

	if (!error && options->push_config)
		error = push_check_config(options->push_config);
	return error;
}

/* --- -l --------------------------------------------------------------------------------------- */

struct xtop_error *command_list(void)
{
	_cleanup_free_ struct guest_listing *list = NULL;
	struct xtop_error *error;
	size_t n;

	error = guest_list(&list, &n);
	if (error)
		return error;
	printf("%-24s %5s  %-4s  %-5s  %4s  %11s  %10s\n", "Name", "Id", "Type", "State", "vCPU",
	       "Memory MiB", "CPU time s");
	for (size_t i = 0; i < n; i++) {
		const struct guest_info *info = &list[i].info;
		char name[sizeof(info->name)];

		text_clean(name, sizeof(name), info->name, strlen(info->name));
		printf("%-24s %5u  %-4s  %-5c  %4u  %11.1f  %10.3f\n", name, info->domid,
		       pipelines_type_name(info->type), list[i].state, info->n_vcpus,
		       (double)info->memory_kib / 1024, (double)list[i].cpu_time_ns / 1e9);
	}
	return fflush(stdout) == EOF ? error_create_errno(errno, "cannot write the list") : NULL;
}
