/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Undoing the pause that a killed xtop has left. A made-up Xen and made-up records replace
 * domains.c and pause_record.c. An administrator's pause must stay, and no record may be lost.
 */
#include "config.h"

#include <stdlib.h>

#include "supervise/ask.h"
#include "supervise/pause_record.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/supervise/broker.h"
#include "xtop/xen/xen.h"

#define DOMID 7

/* The domain as Xen sees it, what a test makes fail, and what was called. */
static struct {
	unsigned pauses, begun; /* now, and at the start */
	bool refuse_find, refuse_open, refuse_unpause, refuse_name;
	struct pause_found found;
	unsigned opened, closed, judged;
	uint64_t judged_cpu_ns; /* the CPU time with which records were judged */
	unsigned asked_xenstore;
	bool early; /* a record was removed while the guest was still stopped */
	bool removed, kept;
} xen;

static struct xtop_error *find(const char *domain, struct guest_info *info)
{
	if (xen.refuse_find)
		return error_create("no domain '%s'", domain);
	*info = (struct guest_info){ .domid = DOMID };
	return NULL;
}

struct xtop_error *xen_find_unnamed(const char *domain, struct guest_info *info)
{
	return xen.refuse_name ? error_create("no domain '%s'", domain) : find(domain, info);
}

/* Replaces ask.c. */
struct xtop_error *ask_find(int socket, const char *domain, uint64_t *cpu_ns,
			    struct guest_info *info)
{
	(void)socket;
	(void)cpu_ns;
	xen.asked_xenstore++;
	return find(domain, info);
}

struct xtop_error *xen_open_control(struct xen_control **controlp)
{
	if (xen.refuse_open)
		return error_create("cannot open Xen's control interface");
	*controlp = (struct xen_control *)(void *)&xen;
	xen.opened++;
	return NULL;
}

void xen_close_control(struct xen_control *control)
{
	(void)control;
	xen.closed++;
}

bool xen_is_paused(struct xen_control *control, uint32_t domid, uint64_t *cpu_time_nsp)
{
	(void)control;
	if (domid != DOMID || !xen.pauses)
		return false;
	*cpu_time_nsp = 1234;
	return true;
}

unsigned xen_unpause(struct xen_control *control, uint32_t domid, unsigned n)
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
}

void pause_close_records(struct pause_found *found, bool remove)
{
	xen.removed |= remove;
	xen.kept |= !remove;
	xen.early |= remove && found->stopped && xen.pauses >= xen.begun;
}

/* --- tests ------------------------------------------------------------------------------------ */

static void begin(unsigned pauses, struct pause_found found)
{
	memset(&xen, 0, sizeof(xen));
	xen.pauses = xen.begun = pauses;
	xen.found = found;
}

/* The note is as expected, this many pauses are left, and the handle was closed. */
static void check_undo(bool asked, const char *want, unsigned pauses)
{
	char *note;

	must(guest_undo_pause("web\x1b", asked, &note));
	check_string(note ? note : "(none)", want, "the note says what was done");
	check_u64(xen.pauses, pauses, "pauses that are left");
	check_u64(xen.closed, xen.opened, "handles that were closed, of all opened");
	check(!xen.asked_xenstore || xen.refuse_name, "xenstore is not asked without need");
	check(!xen.early || !pauses, "no record is removed before its pause is undone");
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
		   "domain 'web_' stands still since an xtop (process 42) was killed, but Xen "
		   "refuses to release it",
		   1);
	check(xen.kept && !xen.removed, "the record of the pause stays, for the next xtop");
}

/* By its name the domain is not known without xenstore. */
static void test_by_name(void)
{
	begin(1, (struct pause_found){ .stale = 1, .stopped = 1, .pid = 42 });
	xen.refuse_name = true;
	check_undo(false,
		   "domain 'web_' stood still since an xtop (process 42) was killed: it runs again",
		   0);
	check_u64(xen.asked_xenstore, 1, "questions to xenstore for the name");
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
	check(xen.judged == 1 && xen.removed, "records of dead processes are removed all the same");
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
	check(error && !note && !xen.judged,
	      "a domain that does not exist is an error, and records stay");
	error_destroy(error);
	begin(1, left);
	xen.refuse_open = true;
	error = guest_undo_pause("web", true, &note);
	check(error && !note && !xen.judged,
	      "a handle that cannot be opened is an error, and records stay");
	error_destroy(error);
}

int main(void)
{
	test_ours();
	test_by_name();
	test_others();
	test_not_paused();
	test_errors();
	return tap_done();
}
