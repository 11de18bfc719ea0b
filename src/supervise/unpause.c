/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Undoes the pause that an xtop left when all of its processes were killed at once, and no other
 * pause. In main's process before main gives up its rights, and in the starter's.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "supervise/ask.h"
#include "supervise/pause_record.h"
#include "xtop/base/text.h"
#include "xtop/supervise/broker.h"
#include "xtop/xen/xen.h"

static char *unpause_note(const char *format, const char *domain, uint32_t pid)
{
	char name[GUEST_NAME_BYTES], *note;

	text_clean(name, sizeof(name), domain, strlen(domain));
	return asprintf(&note, format, name, pid) < 0 ? NULL : note;
}

/*
 * Undoes the pause of DOMAIN, as the user names it. *NOTEP says what was found and done; NULL if
 * nothing was.
 */
static void unpause_domain(struct xen_control *control, const struct guest_info *info,
			   const char *domain, bool asked, char **notep)
{
	struct pause_found found;
	uint64_t cpu_time_ns = 0;
	bool paused, crash_sampler_paused, undone;

	paused = xen_is_paused(control, info->domid, &cpu_time_ns);
	pause_find_records(PAUSE_DIRECTORY, info, cpu_time_ns, &found);
	/*
	 * Each stop that was left needs one unpause. One unpause more would undo an administrator's
	 * pause.
	 */
	undone = paused && found.stopped && xen_unpause(control, info->domid, found.stopped);
	if (undone) {
		crash_sampler_paused = xen_is_paused(control, info->domid, &cpu_time_ns);
		*notep = unpause_note(
			crash_sampler_paused
				? "domain '%s': undid the pause that an xtop (process %u) "
				  "left when it was killed; somebody else's pause remains"
				: "domain '%s' stood still since an xtop (process %u) was "
				  "killed: it runs again",
			domain, found.pid);
	} else if (paused && found.stopped) {
		*notep = unpause_note("domain '%s' stands still since an xtop (process %u) was "
				      "killed, but Xen refuses to release it",
				      domain, found.pid);
	} else if (paused && found.run) {
		*notep = unpause_note("domain '%s' is paused, but it has run since an xtop "
				      "(process %u) was killed: that pause is somebody else's and "
				      "stays",
				      domain, found.pid);
	} else if (asked && paused) {
		*notep = unpause_note("domain '%s' is paused, but not by xtop: nothing done; "
				      "xl unpause lets it go",
				      domain, 0);
	} else if (asked) {
		*notep = unpause_note("domain '%s' is not paused: nothing to do", domain, 0);
	}
	pause_close_records(&found, undone || !paused || !found.stopped);
}

/* Finds a domid or a UUID without xenstore, which may not answer. A name needs xenstore. */
static struct xtop_error *unpause_find(const char *domain, struct guest_info *info)
{
	struct xtop_error *error = xen_find_unnamed(domain, info);

	if (!error)
		return NULL;
	error_destroy(error);
	return ask_find(-1, domain, NULL, info);
}

/* Opens the handle first, so that no record is judged that nobody could act on. */
struct xtop_error *guest_undo_pause(const char *domain, bool asked, char **notep)
{
	struct guest_info info;
	struct xtop_error *error = unpause_find(domain, &info);
	struct xen_control *control;

	*notep = NULL;
	if (!error)
		error = xen_open_control(&control);
	if (error)
		return error;
	unpause_domain(control, &info, domain, asked, notep);
	xen_close_control(control);
	return NULL;
}
