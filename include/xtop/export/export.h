/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Snapshots as text: profiles in the formats of --format, the table of batch mode, statistics.
 * Main's thread. FILE stays the caller's. A failed write is not an error here: the caller finds it
 * with ferror().
 */
#ifndef XTOP_EXPORT_H
#define XTOP_EXPORT_H

#include <stdio.h>

#include "xtop/profile/snapshot.h"
#include "xtop/query/columns.h"
#include "xtop/query/diff.h"

/* --- export.c: the formats of a profile ------------------------------------------------------- */

struct sample_log;

/*
 * The compressor of pprof files. A writer of many files keeps one, because the system would clear
 * 100 pages for each. QUICK: zlib's level 1. Returns NULL if memory is out.
 */
struct gzip;
struct gzip *gzip_create(bool quick);
void gzip_destroy(struct gzip *gzip); /* NULL allowed */

/* The contents of a file besides the snapshot. Texts may have any bytes. */
struct export_settings {
	const struct filter *filter; /* NULL: all stacks */
	bool addresses;              /* unnamed functions as 0xADDR */
	bool by_cgroup;              /* folded stacks begin with their process's control group */
	/* words for the part of the guest in the snapshot; NULL: all */
	const char *part;
	const char *domain;          /* the guest's name; NULL: not known */
	const char *type;            /* "PVH"; NULL: not known */
	uint64_t wall_ns;            /* time of the first sample since 1970; 0: not known */
	bool brief;                  /* pprof leaves out where functions begin */
	struct gzip *gzip;           /* compressor of pprof; NULL: pprof creates one, not quick */
	enum clock_kind clock;       /* the clock that tells times */
	const struct sample_log *samples; /* each sample of a replay, for perf; or NULL */
	/*
	 * The format perf writes the resolver's frames, which have no lines. LINES: it asks that
	 * process for source lines; NULL: it has none. INLINED: it adds inlined functions as well.
	 */
	struct line_client *lines;
	bool inlined;
	/*
	 * The waits of this run, with the snapshot's frames, for formats that hold two profiles.
	 * All formats but folded do. NULL: one profile.
	 */
	const struct snapshot *waits;
};

typedef struct xtop_error *export_write_fn(const struct snapshot *snapshot,
					   const struct export_settings *settings, FILE *file);

struct export_format {
	const char *name;     /* the word that --format takes */
	const char *ending;   /* chooses the format by a file's name; with the dot */
	const char *proposed; /* ending of names that the screen proposes; only a profile has it */
	bool has_waits;       /* the file also holds settings->waits */
	bool lines_in_names;  /* source lines are part of functions' names */
	/* Each sample is written with its time and the resolver's frames: settings->samples. */
	bool has_samples;
	export_write_fn *write;
};

/* Returns NULL if no format has that name. */
const struct export_format *export_find_format(const char *name);
/* Endings of names on the screen: a list that NULL ends. */
extern const char *const export_endings[];
/*
 * Gives PATH the ending that names of FORMAT have on the screen: "a.svg" becomes "a.flame.svg", and
 * "a" becomes that, too.
 */
void export_complete_path(const struct export_format *format, char *path, size_t capacity);
/* The format that the ending of PATH asks for; folded stacks if it asks for none. */
const struct export_format *export_find_ending(const char *path);
/* The format that the ending of PATH asks for, or else OTHER; folded stacks if OTHER is NULL. */
const struct export_format *export_find_ending_or(const char *path,
						  const struct export_format *other);
/* Whether PATH has an ending of a format, or none: a name without a dot after its first byte. */
bool export_knows_ending(const char *path);
/*
 * settings->wall_ns by the clocks of SNAPSHOT: the guest's time of day if CLOCK asks for that one,
 * else UTC. 0 if the snapshot does not know the time.
 */
uint64_t export_wall_ns(const struct snapshot *snapshot, enum clock_kind clock);
/* "folded, pprof, ...", for messages. */
void export_list_formats(char *text, size_t capacity);

/*
 * All formats have the weights since start or reset. Folded stacks have whole ticks; lines are
 * sorted as LC_ALL=C sort does.
 */
export_write_fn export_folded;
export_write_fn export_pprof;
export_write_fn export_speedscope;
export_write_fn export_perf;
export_write_fn export_svg;
export_write_fn export_html;

/* --- table.c: what batch mode prints at each interval ----------------------------------------- */

struct table_options {
	const char *title;           /* domain, type, ...; clean */
	enum clock_kind clock;       /* the clock that tells times */
	const struct column *sort;
	const struct filter *filter; /* NULL: none */
	bool totals;                 /* percents of all samples since start, not of live weights */
	bool margins; /* a column tells how sure the shares are; JSON has it always */
	bool addresses;
	size_t max_rows;             /* 0: all */
};
/* Prints a short head, then the table of functions. */
struct xtop_error *export_table(const struct snapshot *snapshot,
				const struct table_options *options, FILE *file);

/* waits_table.c: the table of tasks that wait; SNAPSHOT is one of waits. */
struct xtop_error *export_waits_table(const struct snapshot *snapshot,
				      const struct table_options *options, FILE *file);

/* locks_table.c: the forest of locks in SNAPSHOT. Prints nothing if no tasks are known. */
struct xtop_error *export_locks_table(const struct snapshot *snapshot,
				      const struct table_options *options, FILE *file);

/* takers_table.c: who takes the physical CPUs. Prints nothing if nobody has looked. */
struct xtop_error *export_takers_table(const struct snapshot *snapshot,
				       const struct table_options *options, FILE *file);

/* exits_table.c: exits to Xen and wake-ups. Prints nothing if Xen was not traced. */
struct xtop_error *export_exits_table(const struct snapshot *snapshot,
				      const struct table_options *options, FILE *file);

/* waits_json.c: the tables of waits and locks as one JSON object on one line. */
struct xtop_error *export_waits_json(const struct snapshot *snapshot,
				     const struct table_options *options, FILE *file);

/* waits_diff.c: the waits and locks of two snapshots, side by side. Names are clean. */
struct waits_diff_options {
	const char *base_name, *now_name;
	bool all_rows; /* rows that do not differ are there, too */
	bool json;     /* the output is one JSON object on one line */
};
struct xtop_error *export_waits_diff(const struct snapshot *now, const struct snapshot *base,
				     const struct waits_diff_options *options, FILE *file);

/* table_json.c: export_table() as one JSON object on one line (doc/FORMATS). */
struct xtop_error *export_table_json(const struct snapshot *snapshot,
				     const struct table_options *options, FILE *file);

/* --- diff_table.c: the table of --diff (doc/FORMATS) ------------------------------------------ */

struct diff_table_options {
	const char *base_name, *now_name; /* clean */
	bool children; /* children were compared, not self */
	bool all_rows; /* rows that are not significant are there, too */
	bool over;     /* a function grew by more than --fail-over allows */
};
void export_diff(const struct diff_side *now, const struct diff_side *base, const struct diff *diff,
		 const struct diff_table_options *options, FILE *file);

/* diff_json.c: the table of --diff as one JSON object on one line. */
void export_diff_json(const struct diff_side *now, const struct diff_side *base,
		      const struct diff *diff, const struct diff_table_options *options,
		      FILE *file);

/* --- annotation_text.c: the instructions of one function (--annotate) ------------------------- */

/*
 * The function called NAME, or "MODULE:NAME", that samples ended in. Error: there is none, or there
 * are several.
 */
struct xtop_error *annotate_find(const struct snapshot *snapshot, const char *name,
				 uint32_t *framep);
struct instruction_lines;
struct instruction_format;
/*
 * ANNOTATION is SNAPSHOT's. Shares are of all samples since start. TITLE is clean. LINES NULL:
 * nobody knows source lines. A line's text is clean.
 */
struct xtop_error *export_annotation(const struct snapshot *snapshot,
				     const struct annotation *annotation,
				     const struct instruction_lines *lines,
				     const struct instruction_format *format, const char *title,
				     FILE *file);

/* --- crash_text.c: the report of --crash ------------------------------------------------------ */

/* SNAPSHOT has a report. TITLE is clean. */
void export_crash(const struct snapshot *snapshot, const char *title, FILE *file);

/* --- stats.c: one JSON object (doc/FORMATS) --------------------------------------------------- */

struct stats_info {
	const char *domain; /* any bytes: escaped here */
	const char *type;   /* "pv", "pvh", "hvm", "recording", "profile" */
	double wall_s;
	double ui_cpu_s;
	uint64_t rss_bytes;
	const struct snapshot *waits; /* the tasks that wait; NULL if nobody looked at them */
};
struct xtop_error *export_stats(const struct snapshot *snapshot, const struct stats_info *info,
				FILE *file);

#endif
