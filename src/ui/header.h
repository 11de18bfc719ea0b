/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lines above every view: which guest, what looking at it costs it, what is missing from the
 * picture and how old it is. Two or three lines, fewer words on a narrow screen.
 */
#ifndef UI_HEADER_H
#define UI_HEADER_H

#include "ui/terminal/canvas.h"
#include "xtop/snapshot.h"

struct ui;

/* Counters are since start; what is shown as "now" is the difference between two snapshots. */
struct header {
	uint64_t sequence; /* of the snapshot noted last */
	uint64_t taken, skipped,
		elapsed_ns; /* as of that: ticks taken, and passed over for the budget */
	struct snapshot_vcpu vcpus[GUEST_MAX_VCPUS];
	double rate_hz;                                /* reached between the last two */
	bool lowered;                                  /* because the budget was used up */
	struct snapshot_vcpu recent[GUEST_MAX_VCPUS]; /* ticks between the last two */
};

void header_note(struct header *header, const struct snapshot *snapshot);
/* Draws from row 0; returns the rows used. */
int header_draw(const struct ui *ui, struct canvas *canvas);
/* What is missing and what would help, in ROW; returns the rows used: 1 or 0. */
int header_draw_hint(struct ui *ui, struct canvas *canvas, int row);

/* Where WHICH vCPU's time went between the last two snapshots; 0..1. */
struct header_shares {
	double user, kernel, steal, idle;
};
struct header_shares header_shares_of(const struct snapshot_vcpu *vcpu);
/* A meter: user, kernel and steal from left to right. */
void header_draw_bar(struct canvas *canvas, int row, int column, int cells,
		     const struct header_shares *shares);

/* "21,873" */
const char *format_count(uint64_t count, char buffer[32]);
/* "11.9 µs" */
const char *format_time(double ns, char buffer[32]);
/* "3:41" */
const char *format_elapsed(uint64_t ns, char buffer[32]);
/* "31 MiB" */
const char *format_bytes(uint64_t bytes, char buffer[32]);

#endif
