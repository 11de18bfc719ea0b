/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The screen, as session.c sees it: hand it where snapshots come from and what it may ask for; it
 * runs until the user quits. The UI's thread is main's.
 */
#ifndef XTOP_UI_H
#define XTOP_UI_H

#include "xtop/columns.h"
#include "xtop/snapshot.h"

/* What the header says of the guest; cleaned by the UI. */
struct ui_guest {
	const char *name;
	const char *kind;   /* "dom 5 · PVH", "recording of ..." */
	const char *system; /* until a snapshot knows it: a unikernel's file, "" if not known */
	unsigned n_vcpus;
	uint32_t id; /* struct ui_domain's, another one after a reboot; of a recording not used */
};

/* One guest that is profiled; it lives until it is closed, or as long as the UI runs. */
struct ui_pipeline {
	void *context;
	struct snapshot_slot *slot;
	struct ui_guest guest;
	void (*reset)(void *context); /* forget the profile; returns at once */
	/*
	 * Why sampling failed, what is wrong with the recording that ended, or what became of the
	 * guest; "" if nothing; may be NULL. It may change GUEST, and what that points to.
	 */
	const char *(*message)(void *context);
};
#define UI_MAX_GUESTS 8

/* A line of the list of domains; strings need not be clean. */
struct ui_domain {
	char name[256];       /* as long as any is */
	uint32_t id;
	char type[8];         /* "PV", "PVH", "HVM" */
	char state[12];       /* "running", "blocked", "paused" */
	unsigned n_vcpus;
	uint64_t cpu_ns;      /* taken since it was created */
	uint64_t memory_kib;
	char inside[96];      /* what runs in it, "" if not known */
	const char *obstacle; /* why it cannot be profiled; NULL: it can */
};

/* How the UI reaches the other stages; called on its thread. */
struct ui_source {
	void *context;
	size_t n_pipelines; /* of -d and -r, at most UI_MAX_GUESTS; none: the list of domains comes first */
	const struct ui_pipeline *const *pipelines;
	/* All domains there are, malloc()ed. NULL: there is no list, nor open() and close(). */
	struct xtop_error *(*list)(void *context, struct ui_domain **domainsp, size_t *np);
	/* Starts to profile one of the list. */
	struct xtop_error *(*open)(void *context, const struct ui_domain *domain,
				   const struct ui_pipeline **pipelinep);
	/* Ends that. The UI has destroyed its snapshots. */
	void (*close)(void *context, const struct ui_pipeline *pipeline);
};

/* --- rc.c: settings that stay ------------------------------------------------------------------ */

enum ui_colors { UI_COLORS_AUTO, UI_COLORS_NONE, UI_COLORS_8, UI_COLORS_16, UI_COLORS_256 };

struct ui_rc {
	size_t n_columns; /* 0: those there is room for */
	enum column_id columns[N_COLUMNS];
	const struct column *sort; /* NULL: not given */
	double interval_s;         /* 0: not given */
	double half_life_s;        /* negative: not given */
	enum ui_colors colors;
	int fd; /* the file, for ui_rc_save(); -1: none */
};

/*
 * $XDG_CONFIG_HOME/xtop/xtoprc (doc/xtop.1), made if it is not there. One that somebody else can
 * write is refused. Before rights go; RC says nothing yet, and is to be closed.
 */
struct xtop_error *ui_rc_open(struct ui_rc *rc);
/* What it says, once rights have gone. Errors name file and line; nothing is taken then. */
struct xtop_error *ui_rc_read(struct ui_rc *rc);
void ui_rc_close(struct ui_rc *rc);
/* Writes it anew, whole; PATH: where. */
struct xtop_error *ui_rc_save(const struct ui_rc *rc, char *path, size_t capacity);

/* --- ui.c, run.c -------------------------------------------------------------------------------- */

struct ui_settings {
	double interval_s;
	double half_life_s;
	double time_s; /* quit by itself after that; 0: never */
	double budget; /* most of a guest's time to take, 0..1; 0: not known */
	const struct column *sort;
	const char *filter; /* NULL: none */
	const char *notice; /* to be told first; NULL: nothing */
	const char *host;   /* "Xen 4.17.7 · 2 CPUs", above the list of domains; may be NULL */
	bool addresses;
	struct ui_rc rc; /* what is saved again */
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
