/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The screen, as session.c sees it: hand it where snapshots come from and what it may ask for; it
 * runs until the user quits. The UI's thread is main's.
 */
#ifndef XTOP_UI_H
#define XTOP_UI_H

#include "xtop/columns.h"
#include "xtop/snapshot.h"

/* What the header says of the guest; strings live as long as the UI runs; cleaned by the UI. */
struct ui_guest {
	const char *name;
	const char *kind;   /* "dom 5 · PVH", "recording of ..." */
	const char *system; /* "Linux 6.1.0", a unikernel's file, "" if not known */
	unsigned n_vcpus;
};

struct ui_settings {
	double interval_s;
	double half_life_s;
	double time_s; /* quit by itself after that; 0: never */
	const struct column *sort;
	const char *filter; /* NULL: none */
	bool addresses;
	struct ui_guest guest;
};

/* How the UI reaches the other stages; called on its thread. */
struct ui_source {
	void *context;
	struct snapshot_slot *slot;
	void (*reset)(void *context); /* forget the profile; returns at once */
	/*
	 * Why sampling failed, or what is wrong with the recording that ended; "" if nothing; may
	 * be NULL.
	 */
	const char *(*message)(void *context);
};

/*
 * Takes over the terminal on standard input and output and gives it back. Returns when the user
 * quits, the time is up, SIGINT, SIGTERM, SIGHUP or SIGQUIT came or the terminal was closed: all
 * of these are success. While it runs it owns these signals, SIGWINCH and the crash signals;
 * before and after they are the session's. Other threads have all of them blocked: a handler must
 * not run there while this thread closes what it writes to.
 */
struct xtop_error *ui_run(const struct ui_settings *settings, const struct ui_source *source);

#endif
