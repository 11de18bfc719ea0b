/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One guest on the screen: its pictures, and the views that lie over them. Sampling goes on behind
 * a frozen picture, and while another guest is on the screen: snapshots of every guest come in and
 * go into its history.
 *
 * The UI's thread. Snapshots taken from the slot are the guest screen's until it destroys them.
 */
#ifndef UI_GUEST_SCREEN_H
#define UI_GUEST_SCREEN_H

#include "ui/view_stack.h"

/*
 *   live       the newest snapshot; NULL: none came yet
 *   still      a frozen picture, or one of the history; shown instead of live; NULL: none
 *   selected   what the selection leaves of the one shown; may share the nodes of the one shown
 *   folded     selected without pass-through functions; has nodes of its own
 */
struct guest_screen {
	const struct ui_pipeline *pipeline;
	/*
	 * The screen of the same guest's tasks that wait, ours; NULL: nobody has opened it. In that
	 * screen: the one it belongs to; NULL: this is the one of the samples.
	 */
	struct guest_screen *waits, *samples;
	const struct guest_screen *against; /* its picture is the baseline; NULL: this is no pair */
	bool picked; /* from the list of domains: closed when the user leaves it */
	char name[128], kind[128], system[128]; /* clean */
	struct snapshot *live, *still, *baseline;
	struct snapshot selected, folded;
	bool has_selected, has_folded;
	struct line_expander
		*expander;     /* has the frames of all pictures; NULL: without source lines */
	struct snapshot *last; /* of a recording that ended, before it got lines; NULL: none */
	struct history *history;
	struct recent recent, still_recent; /* up to live, up to still */
	/*
	 * A range of time: sequence numbers of the snapshots that it begins and ends with; 0: not
	 * marked. Both are marked, and is_range: `still` is the range.
	 */
	uint64_t range_begin, range_end;
	bool is_range;
	/*
	 * The newest picture when the screen was frozen, by sequence number: what came later moves
	 * nothing. 0: the screen is not frozen.
	 */
	uint64_t frozen_at;
	uint32_t process;   /* the frame of the only one shown; FRAME_NONE: all are shown */
	const char *cgroup; /* of the only one shown, a frame's; NULL: all are shown */
	const char *module; /* the same */
	struct view_stack views; /* the first one: guest_screen_create() */
	uint32_t annotated; /* the function whose inside is shown; FRAME_NONE: none is */
	struct annotation *annotation; /* of it; NULL: it did not come yet */
	bool baseline_is_file;
	bool waiting;       /* a snapshot is requested and did not come yet */
	uint64_t taken_ns, still_ns, baseline_ns; /* when these pictures were the newest */
	uint64_t due_ns;    /* when to request the next snapshot */
	uint64_t wait_ns;   /* from the last request to the next; 0: there was none */
};

struct xtop_error *guest_screen_create(const struct ui_pipeline *pipeline, bool picked,
				       double half_life_s, struct guest_screen **guestp);
void guest_screen_destroy(struct guest_screen *guest); /* NULL allowed */

/* Makes guest->waits, if there is none and the guest has such a profile. */
struct xtop_error *guest_screen_open_waits(struct guest_screen *guest, double half_life_s);

/* The picture that is shown; NULL: none came yet. */
struct snapshot *guest_screen_shown(const struct guest_screen *guest);
const struct recent *guest_screen_recent(const struct guest_screen *guest);
/* What runs inside, "" if not known. Clean. */
const char *guest_screen_system(const struct guest_screen *guest);
/*
 * Chooses whether inlined functions are frames, from the next picture on. Only for a guest screen
 * with source lines.
 */
void guest_screen_set_inlined(struct guest_screen *guest, bool inlined, uint64_t now_ns);
/* Computes guest->selected from the picture shown. Without has_selected on error. */
struct xtop_error *guest_screen_select(struct guest_screen *guest,
				       const struct selection *selection);

/*
 * Computes guest->folded from guest->selected. *NP: how many functions it lacks. Without has_folded
 * on error.
 */
struct xtop_error *guest_screen_fold(struct guest_screen *guest, size_t *np);

/* SNAPSHOT is the newest, and the guest screen's. True: it is the one shown. */
bool guest_screen_set_live(struct guest_screen *guest, struct snapshot *snapshot, uint64_t now_ns);
/*
 * It is NOW_NS: takes a snapshot that has come, requests one when it is due. INTERVAL_NS: between
 * requests. True: what the guest screen shows has changed.
 */
bool guest_screen_tick(struct guest_screen *guest, uint64_t now_ns, uint64_t interval_ns);
/* How long there is nothing to do, in ns. */
uint64_t guest_screen_wait_ns(const struct guest_screen *guest, uint64_t now_ns);

/*
 * The inside of FRAME is shown, from NOW_NS on; FRAME_NONE: of none. While the picture is frozen,
 * the annotation stays that came first.
 */
void guest_screen_annotate(struct guest_screen *guest, uint32_t frame, uint64_t now_ns);

/* Freezes the picture, or goes back to the newest. There must be a picture. */
struct xtop_error *guest_screen_freeze(struct guest_screen *guest, uint64_t now_ns);
/*
 * Shows the picture of the history that is STEP (-1 or 1) behind the one shown. *NOTICEP: why there
 * is none; untouched on success.
 */
struct xtop_error *guest_screen_step(struct guest_screen *guest, int step, const char **noticep);
/*
 * Marks MOMENT of the history as the beginning of the range, or as its end. A mark on the wrong
 * side of the other one removes the other one. When both are marked, the range is shown. *NOTICEP:
 * why it is not shown yet; untouched when it is.
 */
struct xtop_error *guest_screen_mark(struct guest_screen *guest, bool begin, size_t moment,
				     const char **noticep);
/* The moment of the picture shown; history_count(): there is none yet. */
size_t guest_screen_moment(const struct guest_screen *guest);
/* Forgets the marks; after a range the newest picture is shown. False: there was no mark. */
bool guest_screen_drop_range(struct guest_screen *guest);
/* Copies the picture shown; there must be one. */
struct xtop_error *guest_screen_set_baseline(struct guest_screen *guest, uint64_t now_ns);
void guest_screen_drop_baseline(struct guest_screen *guest);

#endif
