/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The interface of the screen. The session says where snapshots come from and how to reach the
 * other stages. The screen runs until the user quits. Main's thread.
 */
#ifndef XTOP_UI_H
#define XTOP_UI_H

#include "xtop/profile/snapshot.h"
#include "xtop/query/columns.h"
#include "xtop/query/history.h"
#include "xtop/query/instructions.h"
#include "xtop/query/line_expander.h"

/* The guest, for the header. Strings need not be clean. */
struct ui_guest {
	const char *name;
	const char *kind;   /* "dom 5 · PVH", "recording of ..." */
	const char *system; /* the system inside, until a snapshot names it; "" if unknown */
	unsigned n_vcpus;
	uint32_t id;      /* domain id; changes with a reboot; unused for a recording */
	const char *type; /* "PVH", a constant; NULL if unknown */
};

/* One guest that is profiled. It outlives the UI, unless the UI closes it. */
struct ui_pipeline {
	void *context;
	struct snapshot_slot *slot;
	struct ui_guest guest;
	/* the first baseline, with the slot's frames; may be NULL */
	const struct snapshot *baseline;
	const struct line_expander_settings *lines; /* NULL: no source lines are shown */
	void (*reset)(void *context); /* makes the profile start again; returns at once */
	/*
	 * Returns why sampling failed, what is wrong with the recording that ended, or what became
	 * of the guest; "" if there is nothing to say. May change GUEST and its strings. May be
	 * NULL.
	 */
	const char *(*message)(void *context);
	/*
	 * Called after a snapshot that is at_end: returns the instructions of FRAME. NULL if memory
	 * is out. May be NULL if nothing is known about instructions.
	 */
	struct annotation *(*annotate)(void *context, const struct snapshot *last, uint32_t frame);
	/*
	 * Called after a snapshot that is at_end: returns the last ten minutes of a recording that
	 * was replayed faster than the screen asks for pictures. The UI destroys the history. NULL
	 * if there is none. May be NULL.
	 */
	struct history *(*take_history)(void *context);
	/* The guest's waiting tasks: another profile with another slot. NULL if unknown. */
	const struct ui_pipeline *waits;
	void (*start_waits)(void *context); /* starts to look at tasks; may be NULL */
	/* Starts to measure who takes the guest's physical CPUs; NULL: that cannot be known. */
	struct xtop_error *(*start_takers)(void *context);
	/* Starts or ends Xen's trace of the guest's exits; NULL: Xen cannot trace them. */
	struct xtop_error *(*trace)(void *context, bool on);
	/*
	 * Puts a snapshot of the profile file's next values into SLOT; NULL: this is no profile
	 * file.
	 */
	struct xtop_error *(*read_next_value)(void *context);
	/*
	 * Switches the next samples between the interpreters' own functions and those of their
	 * programs. Returns true for the former. NULL: nothing can be switched.
	 */
	bool (*toggle_interpreters)(void *context);
	bool of_waits; /* the profile has waiting tasks */
	bool of_crash; /* there is a crash report instead of samples */
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
	char inside[96];      /* the system inside; "" if unknown */
	const char *obstacle; /* why the domain cannot be profiled; NULL if it can be */
};

/* How the UI reaches the other stages. Functions are called on the UI's thread. */
struct ui_source {
	void *context;
	size_t n_pipelines; /* guests of -d and -r, at most UI_MAX_GUESTS; 0: start with the list */
	const struct ui_pipeline *const *pipelines;
	/* Lists all domains; *DOMAINSP is malloc()ed. NULL: there is no list, open() or close(). */
	struct xtop_error *(*list)(void *context, struct ui_domain **domainsp, size_t *np);
	/* Starts to profile a domain of the list. */
	struct xtop_error *(*open)(void *context, const struct ui_domain *domain,
				   const struct ui_pipeline **pipelinep);
	/* Ends profiling. The UI has destroyed all snapshots of the pipeline before. */
	void (*close)(void *context, const struct ui_pipeline *pipeline);
	/*
	 * If all guests are profiled: returns the next guest that the UI does not have yet; NULL if
	 * there is none now. May start to profile it. If next is NULL, only guests that the user
	 * opens are profiled.
	 */
	const struct ui_pipeline *(*next)(void *context);
	/* Whether profiling a guest of next() has ended for good. */
	bool (*is_over)(void *context, const struct ui_pipeline *pipeline);
};

/* --- rc.c: settings that are kept in a file --------------------------------------------------- */

enum ui_colors { UI_COLORS_AUTO, UI_COLORS_NONE, UI_COLORS_8, UI_COLORS_16, UI_COLORS_256 };

struct ui_rc {
	size_t n_columns; /* 0: as many columns as fit */
	enum column_id columns[N_COLUMNS];
	const struct column *sort; /* NULL if not given */
	double interval_s;         /* 0 if not given */
	double half_life_s;        /* negative if not given */
	enum ui_colors colors;
	bool fold;                 /* pass-through functions are folded away */
	enum code_syntax syntax;   /* syntax of instructions */
	enum instruction_addresses addresses; /* addresses in front of instructions */
	bool jumps;                /* jumps are drawn beside instructions */
	bool no_source;            /* source lines are not drawn between instructions */
	int fd; /* the file, for ui_rc_read() and ui_rc_save(); -1 if there is none */
};

/*
 * Opens $XDG_CONFIG_HOME/xtop/xtoprc (doc/xtop.1) without reading it. SAVES: opens the file for
 * ui_rc_save(), too, and creates it if it does not exist. Refuses a file that others can write.
 * Must be called before root's rights are given up. RC must be closed.
 */
struct xtop_error *ui_rc_open(struct ui_rc *rc, bool saves);
/* Reads the settings without root's rights. An error names file and line; RC is then unchanged. */
struct xtop_error *ui_rc_read(struct ui_rc *rc);
void ui_rc_close(struct ui_rc *rc);
/* Writes all settings. PATH: set to the file's name. */
struct xtop_error *ui_rc_save(const struct ui_rc *rc, char *path, size_t capacity);

/* --- ui.c, run.c ------------------------------------------------------------------------------ */

struct ui_settings {
	double interval_s;
	double half_life_s;
	double time_s; /* time after which to quit; 0: never */
	double budget; /* largest share of a guest's time to stop it for, 0..1; 0 if unknown */
	const struct column *sort;
	const char *filter; /* regex; NULL: all stacks */
	const char *notice; /* the first message; NULL if there is none */
	const char *baseline; /* name of the baseline's file; NULL if there is none */
	const char *host;   /* "Xen 4.17.7 · 2 CPUs", above the list of domains; may be NULL */
	const struct output_opener *opener; /* opens files that the user names */
	const char *write_folder; /* proposed for files, with a slash; NULL: working directory */
	/* format of files without an ending; NULL: folded */
	const struct export_format *write_format;
	enum clock_kind clock; /* the clock that tells the time of a picture */
	bool shows_time;       /* the header shows the time */
	const struct instruction_lines *lines; /* source lines of instructions; NULL: unknown */
	bool margins;                          /* a column tells how sure the shares are */
	bool addresses; /* functions without a name are 0xADDR */
	bool by_cgroup; /* processes are shown and written below control groups at first */
	struct ui_rc rc; /* settings as read; the user may save them again */
};

/*
 * Shows the screen on standard input and output. Returns NULL when the user quits, when the time is
 * up, after SIGINT, SIGTERM, SIGHUP or SIGQUIT, and when the terminal was closed.
 *
 * Meanwhile the screen owns these signals, SIGWINCH and the crash signals; otherwise they belong to
 * the session. Other threads must block them: a handler must not run on another thread while this
 * thread closes the pipe that the handler writes to.
 */
struct xtop_error *ui_run(const struct ui_settings *settings, const struct ui_source *source);

#endif
