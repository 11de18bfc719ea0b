/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One guest on the screen: its pictures and its views. While a picture is frozen, or another guest
 * is on the screen, snapshots of every guest still come in and go into its history.
 *
 * The UI's thread. Snapshots taken from the slot belong to the guest screen.
 */
#ifndef UI_GUEST_SCREEN_H
#define UI_GUEST_SCREEN_H

#include "ui/view_stack.h"

/*
 * A range of time in the history: sequence numbers of its first and last snapshot; 0: not marked.
 */
struct guest_range {
	uint64_t begin, end;
};

/* Each picture below belongs to the guest screen; NULL if there is none. */
struct guest_screen {
	const struct ui_pipeline *pipeline;
	/*
	 * The screen of the guest's waiting tasks; NULL until the user opens it. Belongs to this
	 * screen. In the screen of waiting tasks, SAMPLES is the screen that opened it.
	 */
	struct guest_screen *waits, *samples;
	bool traces;                        /* Xen traces for a view of this guest */
	const struct guest_screen *against; /* guest whose picture is the baseline; NULL: no pair */
	bool picked; /* picked from the list of domains: closed when the user leaves the guest */
	char name[128], kind[128], system[128]; /* clean */
	struct snapshot *live;     /* the newest snapshot */
	struct snapshot *frozen;   /* shown instead of LIVE: frozen, from the history, or a range */
	struct snapshot *baseline; /* the picture to compare with */
	/* What the selection leaves of the picture shown; may share the nodes of that picture. */
	struct snapshot selected;
	struct snapshot folded; /* SELECTED without pass-through functions; has its own nodes */
	bool has_selected, has_folded;
	/* Has the frames of all pictures if source lines are shown; else NULL. */
	struct line_expander *expander;
	struct snapshot *last; /* last snapshot of a finished recording, without source lines */
	struct history *history;
	struct recent recent, frozen_recent; /* rates and vCPU time up to LIVE, up to FROZEN */
	struct guest_range range;
	bool is_range; /* FROZEN is the range */
	/*
	 * Sequence number of the newest picture when the screen was frozen; 0 if it is not frozen.
	 * The header's minutes do not move on to later pictures.
	 */
	uint64_t frozen_at;
	uint32_t process;   /* frame of the only process shown; FRAME_NONE if all are shown */
	const char *cgroup; /* the only control group shown, a frame's; NULL if all are shown */
	const char *module; /* the only module shown, a frame's; NULL if all are shown */
	struct view_stack views;
	uint32_t annotated; /* function whose instructions are shown; FRAME_NONE if none are */
	struct annotation *annotation; /* the instructions; NULL until they come */
	bool baseline_is_file;
	bool waiting; /* a requested snapshot has not come yet */
	uint64_t message_hash; /* hash of the pipeline's message when it was last read */
	uint64_t taken_ns, frozen_ns, baseline_ns; /* times of the newest LIVE, FROZEN, BASELINE */
	uint64_t due_ns;  /* time to request the next snapshot */
	uint64_t wait_ns; /* time between the last request and the next one; 0: none was made */
};

/* The first view is that of samples, waiting tasks or a crash, as PIPELINE has them. */
struct xtop_error *guest_screen_create(const struct ui_pipeline *pipeline, bool picked,
				       double half_life_s, struct guest_screen **guestp);
void guest_screen_destroy(struct guest_screen *guest); /* NULL allowed */

/* Creates guest->waits if the pipeline can look at waiting tasks. Does nothing if it exists. */
struct xtop_error *guest_screen_open_waits(struct guest_screen *guest, double half_life_s);

/* The picture that is shown; NULL before the first one. */
struct snapshot *guest_screen_shown(const struct guest_screen *guest);
/* The rates that belong to the picture shown. */
const struct recent *guest_screen_recent(const struct guest_screen *guest);
/* The system inside the guest, clean; "" if unknown. */
const char *guest_screen_system(const struct guest_screen *guest);
/*
 * Chooses whether inlined functions are frames, from the next picture on. Only for a guest screen
 * with source lines.
 */
void guest_screen_set_inlined(struct guest_screen *guest, bool inlined, uint64_t now_ns);
/* Computes guest->selected from the picture shown. On error has_selected is false. */
struct xtop_error *guest_screen_select(struct guest_screen *guest,
				       const struct selection *selection);

/*
 * Computes guest->folded from guest->selected. *NP: number of functions folded away. On error
 * has_folded is false.
 */
struct xtop_error *guest_screen_fold(struct guest_screen *guest, size_t *np);

/*
 * Makes SNAPSHOT the newest picture; the guest screen takes it over. Returns true if the screen
 * shows something new.
 */
bool guest_screen_set_live(struct guest_screen *guest, struct snapshot *snapshot, uint64_t now_ns);
/*
 * Takes a snapshot that has come, and requests the next one when it is due. INTERVAL_NS: time
 * between requests. Returns true if the guest screen shows something new.
 */
bool guest_screen_tick(struct guest_screen *guest, uint64_t now_ns, uint64_t interval_ns);
/* Time until guest_screen_tick() has something to do, in ns. */
uint64_t guest_screen_wait_ns(const struct guest_screen *guest, uint64_t now_ns);

/*
 * Asks for the instructions of FRAME; FRAME_NONE: for none any more. While the picture is frozen,
 * the first annotation that came stays.
 */
void guest_screen_annotate(struct guest_screen *guest, uint32_t frame, uint64_t now_ns);

/* Freezes the picture, or goes back to the newest. There must be a picture. */
struct xtop_error *guest_screen_freeze(struct guest_screen *guest, uint64_t now_ns);
/*
 * Shows the previous picture of the history (STEP is -1) or the next one (1). *NOTICEP: why there
 * is no such picture; untouched on success.
 */
struct xtop_error *guest_screen_step(struct guest_screen *guest, int step, const char **noticep);
/*
 * Marks MOMENT of the history as the beginning of the range, or as the end. If the end would come
 * before the beginning, the older mark is removed. Shows the range when both ends are marked.
 * *NOTICEP: why the range is not shown yet; untouched when it is shown.
 */
struct xtop_error *guest_screen_mark(struct guest_screen *guest, bool begin, size_t moment,
				     const char **noticep);
/* The history's moment of the picture shown; history_count() before the first one. */
size_t guest_screen_moment(const struct guest_screen *guest);
/* Forgets the marks; after a range the newest picture is shown. Returns false without a mark. */
bool guest_screen_drop_range(struct guest_screen *guest);
/* Makes a copy of the picture shown the baseline. There must be a picture. */
struct xtop_error *guest_screen_set_baseline(struct guest_screen *guest, uint64_t now_ns);
void guest_screen_drop_baseline(struct guest_screen *guest);

#endif
