/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Undoing the pause that a killed xtop has left. A made-up Xen and made-up records replace
 * domains.c and pause_record.c. An administrator's pause must stay, and no record may be lost.
 */
#include "config.h"

#include <stdlib.h>

#include "supervise/pause_record.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/broker.h"
#include "xtop/xen.h"

#define DOMID 7

/* The domain as Xen sees it, what a test makes fail, and what was called. */
static struct {
	unsigned pauses;
	bool refuse_find, refuse_open, refuse_unpause;
	struct pause_found found;
	unsigned opened, closed, judged;
	uint64_t judged_cpu_ns; /* the CPU time with which records were judged */
} xen;

struct xtop_error *xen_find(const char *domain, struct guest_info *info)
{
	if (xen.refuse_find)
		return error_create("no domain '%s'", domain);
	*info = (struct guest_info){ .domid = DOMID, .name = "web\x1b" };
	return NULL;
}

struct xtop_error *xen_open_control(struct xc_interface_core **controlp)
{
	if (xen.refuse_open)
		return error_create("cannot open Xen's control interface");
	*controlp = (struct xc_interface_core *)(void *)&xen;
	xen.opened++;
	return NULL;
}

void xen_close_control(struct xc_interface_core *control)
{
	(void)control;
	xen.closed++;
}

bool xen_is_paused(struct xc_interface_core *control, uint32_t domid, uint64_t *cpu_time_nsp)
{
	(void)control;
	if (domid != DOMID || !xen.pauses)
		return false;
	*cpu_time_nsp = 1234;
	return true;
}

unsigned xen_unpause(struct xc_interface_core *control, uint32_t domid, unsigned n)
{
	(void)control;
	if (domid != DOMID || xen.refuse_unpause)
		return 0;
	xen.pauses -= n;
	return n;
}

void pause_find_records(const char *directory, const struct guest_info *info, uint64_t cpu_time_ns,
			struct pause_found *found)
{
	(void)directory, (void)info;
	*found = xen.found;
	xen.judged++;
	xen.judged_cpu_ns = cpu_time_ns;
	xen.found = (struct pause_found){ 0 }; /* as files are removed */
}

/* --- tests ------------------------------------------------------------------------------------ */

static void begin(unsigned pauses, struct pause_found found)
{
	memset(&xen, 0, sizeof(xen));
	xen.pauses = pauses;
	xen.found = found;
}

/* The note is as expected, this many pauses are left, and the handle was closed. */
static void check_undo(bool asked, const char *want, unsigned pauses)
{
	char *note;

	must(guest_undo_pause("web", asked, &note));
	check_string(note ? note : "(none)", want, "the note");
	check_u64(xen.pauses, pauses, "pauses left");
	check_u64(xen.closed, xen.opened, "handles closed");
	free(note);
}

static void test_ours(void)
{
	begin(1, (struct pause_found){ .stale = 1, .stopped = 1, .pid = 42 });
	check_undo(false,
		   "domain 'web_' stood still since an xtop (process 42) was killed: it runs again",
		   0);
	check_u64(xen.judged_cpu_ns, 1234, "records are judged by the domain's CPU time");
	begin(3, (struct pause_found){ .stale = 2, .stopped = 2, .pid = 42 });
	check_undo(true,
		   "domain 'web_': undid the pause that an xtop (process 42) left when it was "
		   "killed; somebody else's pause remains",
		   1);
	begin(1, (struct pause_found){ .stale = 1, .stopped = 1, .pid = 42 });
	xen.refuse_unpause = true;
	check_undo(true,
		   "domain 'web_' is paused, but not by xtop: nothing done; xl unpause lets it go",
		   1);
}

static void test_others(void)
{
	begin(1, (struct pause_found){ .stale = 1, .run = 1, .pid = 42 });
	check_undo(false,
		   "domain 'web_' is paused, but it has run since an xtop (process 42) was killed: "
		   "that pause is somebody else's and stays",
		   1);
	begin(1, (struct pause_found){ 0 });
	check_undo(false, "(none)", 1);
	begin(1, (struct pause_found){ 0 });
	check_undo(true,
		   "domain 'web_' is paused, but not by xtop: nothing done; xl unpause lets it go",
		   1);
}

static void test_not_paused(void)
{
	begin(0, (struct pause_found){ .stale = 1, .stopped = 1, .pid = 42 });
	check_undo(true, "domain 'web_' is not paused: nothing to do", 0);
	check_u64(xen.judged, 1, "records of dead processes are removed all the same");
	begin(0, (struct pause_found){ 0 });
	check_undo(false, "(none)", 0);
}

/* If Xen cannot be asked, this is an error. The records stay, for the next xtop. */
static void test_errors(void)
{
	const struct pause_found left = { .stale = 1, .stopped = 1, .pid = 42 };
	struct xtop_error *error;
	char *note = (char *)"";

	begin(1, left);
	xen.refuse_find = true;
	error = guest_undo_pause("web", true, &note);
	check(error && !note && !xen.judged, "no such domain: an error, and records stay");
	error_destroy(error);
	begin(1, left);
	xen.refuse_open = true;
	error = guest_undo_pause("web", true, &note);
	check(error && !note && !xen.judged, "no handle: an error, and records stay");
	error_destroy(error);
}

int main(void)
{
	test_ours();
	test_others();
	test_not_paused();
	test_errors();
	return tap_done();
}
