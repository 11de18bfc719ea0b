/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replay: fills the ring from a recording, in the sampler's place. Runs in its own thread. */
#ifndef XTOP_REPLAY_H
#define XTOP_REPLAY_H

#include <stdbool.h>

#include "xtop/recording/recording.h"
#include "xtop/sample/control.h"
#include "xtop/sample/ring.h"

/*
 * Returns at the end of the recording or when control_is_quitting(). PACED: samples come at the
 * distances at which they were recorded; otherwise as fast as the resolver reads them. Waits while
 * the ring is full, so nothing of a recording is lost.
 */
void replay_run(struct recording_reader *reader, struct control *control, struct ring *ring,
		bool paced);

#endif
