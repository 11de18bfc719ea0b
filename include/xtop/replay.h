/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recording in the sampler's place: fills the ring from a file. A thread of its own. */
#ifndef XTOP_REPLAY_H
#define XTOP_REPLAY_H

#include <stdbool.h>

#include "xtop/control.h"
#include "xtop/recording.h"
#include "xtop/ring.h"

/*
 * Until the end of the recording or control_quitting(). PACED: samples come as far apart as they
 * were taken; else as fast as the resolver takes them. Waits when the ring is full: nothing of a
 * recording is lost.
 */
void replay_run(struct recording *recording, struct control *control, struct ring *ring,
		bool paced);

#endif
