/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The screen, as session.c sees it. session.c says where snapshots come from and how to reach the
 * other stages; the screen runs until the user quits. Its thread is main's.
 */
#ifndef XTOP_UI_H
#define XTOP_UI_H

#include "xtop/profile/snapshot.h"
#include "xtop/query/columns.h"
#include "xtop/query/history.h"
#include "xtop/query/instructions.h"
#include "xtop/query/line_expander.h"

/* What the header says of the guest. The UI cleans it. */
struct ui_guest {
	const char *name;
	const char *kind;   /* "dom 5 · PVH", "recording of ..." */
	const char *system; /* until a snapshot knows it: a unikernel's file; "": not known */
	unsigned n_vcpus;
	uint32_t id; /* as in struct ui_domain; changes with a reboot; a recording's is not used */
	const char *type; /* "PVH"; NULL: not known. A constant */
};

/* One guest that is profiled. It lives until it is closed, or as long as the UI runs. */
struct ui_pipeline {
	void *context;
	struct snapshot_slot *slot;
	struct ui_guest guest;
	const struct snapshot *baseline; /* to begin with, with the slot's frames; NULL: none */
	const struct line_expander_settings *lines; /* with source lines; NULL: without */
	void (*reset)(void *context); /* forgets the profile; returns at once */
	/*
	 * Why sampling failed, what is wrong with the recording that ended, or what became of the
	 * guest; "": nothing. It may change GUEST and the strings of GUEST. May be NULL.
	 */
	const char *(*message)(void *context);
	/*
	 * After a snapshot that is at_end: what is known of the inside of FRAME. NULL: out of
	 * memory. May be NULL: then nothing is known.
	 */
	struct annotation *(*annotate)(void *context, const struct snapshot *last, uint32_t frame);
	/*
	 * After a snapshot that is at_end: the last ten minutes of a recording, which was replayed
	 * faster than the screen asks for pictures. The UI destroys them. NULL: there are none. May
	 * be NULL.
	 */
	struct history *(*take_history)(void *context);
	/* The same guest's tasks that wait: another profile, with a slot of its own. NULL: none. */
	const struct ui_pipeline *waits;
	void (*start_waits)(void *context); /* looks at tasks from now on; may be NULL */
	bool of_waits; /* this is such a profile */
	bool of_crash; /* there is a report instead of samples */
};
#define UI_MAX_GUESTS 64

/* A line of the list of domains. Strings need not be clean. */
struct ui_domain {
	char name[256];       /* the longest name fits */
	uint32_t id;
	char type[8];         /* "PV", "PVH", "HVM" */
	char state[12];       /* "running", "blocked", "paused" */
	unsigned n_vcpus;
	uint64_t cpu_ns;      /* CPU time used since the domain was created */
	uint64_t memory_kib;
	char inside[96];      /* what runs in it; "": not known */
	const char *obstacle; /* why it cannot be profiled; NULL: it can */
};

/* How the UI reaches the other stages. Called on the UI's thread. */
struct ui_source {
	void *context;
	size_t n_pipelines; /* of -d and -r, at most UI_MAX_GUESTS; 0: begin with the list */
	const struct ui_pipeline *const *pipelines;
	/* All domains there are; *DOMAINSP is malloc()ed. NULL: no list, no open(), no close(). */
	struct xtop_error *(*list)(void *context, struct ui_domain **domainsp, size_t *np);
	/* Starts to profile a domain of the list. */
	struct xtop_error *(*open)(void *context, const struct ui_domain *domain,
				   const struct ui_pipeline **pipelinep);
	/* Ends profiling. The UI has destroyed all its snapshots of the pipeline. */
	void (*close)(void *context, const struct ui_pipeline *pipeline);
	/*
	 * All guests are profiled, without being asked for: the next one that is and that the UI
	 * does not have yet; NULL: there is none at the moment. It may start one. NULL: guests are
	 * profiled only if they are opened.
	 */
	const struct ui_pipeline *(*next)(void *context);
	/* Profiling of such a guest has ended for good. */
	bool (*is_over)(void *context, const struct ui_pipeline *pipeline);
};

/* --- rc.c: settings that are kept in a file --------------------------------------------------- */

enum ui_colors { UI_COLORS_AUTO, UI_COLORS_NONE, UI_COLORS_8, UI_COLORS_16, UI_COLORS_256 };

struct ui_rc {
	size_t n_columns; /* 0: as many as fit */
	enum column_id columns[N_COLUMNS];
	const struct column *sort; /* NULL: not given */
	double interval_s;         /* 0: not given */
	double half_life_s;        /* negative: not given */
	enum ui_colors colors;
	bool fold;                 /* pass-through functions away */
	enum code_syntax syntax;   /* of instructions */
	enum instruction_addresses addresses; /* in front of them */
	bool jumps;                /* are drawn beside instructions */
	bool no_source;            /* source lines are not drawn between instructions */
	int fd; /* the file, for ui_rc_read() and ui_rc_save(); -1: none */
};

/*
 * Opens $XDG_CONFIG_HOME/xtop/xtoprc (doc/xtop.1). SAVES: for ui_rc_save(), too; creates the file
 * if it does not exist. A file that somebody else can write is refused. To be called before root's
 * rights are given up. RC holds no settings yet; it is to be closed.
 */
struct xtop_error *ui_rc_open(struct ui_rc *rc, bool saves);
/* Reads it, after root's rights are given up. An error names file and line; RC is untouched. */
struct xtop_error *ui_rc_read(struct ui_rc *rc);
void ui_rc_close(struct ui_rc *rc);
/* Writes all settings anew. PATH: where. */
struct xtop_error *ui_rc_save(const struct ui_rc *rc, char *path, size_t capacity);

/* --- ui.c, run.c ------------------------------------------------------------------------------ */

struct ui_settings {
	double interval_s;
	double half_life_s;
	double time_s; /* quit after that time; 0: never */
	double budget; /* the largest share of a guest's time to stop it for, 0..1; 0: not known */
	const struct column *sort;
	const char *filter; /* NULL: none */
	const char *notice; /* the first message; NULL: nothing */
	const char *baseline; /* the file's name; NULL: none is given */
	const char *host;   /* "Xen 4.17.7 · 2 CPUs", above the list of domains; may be NULL */
	const char *write_folder; /* proposed for files, with its slash; NULL: where xtop started */
	const struct export_format *write_format; /* of files without an ending; NULL: folded */
	enum clock_kind clock; /* on which the time of a picture is told */
	bool tells_time;       /* whether it is */
	const struct instruction_lines *lines; /* of instructions; NULL: nobody knows any */
	bool addresses;
	bool by_cgroup; /* processes and the files written, until the user chooses */
	struct ui_rc rc; /* as read; saved again by the user */
};

/*
 * Takes over the terminal on standard input and output, and gives it back. Returns when the user
 * quits, the time is up, SIGINT, SIGTERM, SIGHUP or SIGQUIT came or the terminal was closed: all
 * of these are success.
 *
 * While it runs it owns these signals, SIGWINCH and the crash signals; before and after they are
 * the session's. Other threads must have all of these blocked: a handler must not run there while
 * this thread closes what the handler writes to.
 */
struct xtop_error *ui_run(const struct ui_settings *settings, const struct ui_source *source);

#endif
