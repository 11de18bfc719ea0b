/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to supervise/: the guard's process, from its fork to its end. See guard.c. */
#ifndef SUPERVISE_GUARD_H
#define SUPERVISE_GUARD_H

#include "supervise/watch.h"

/*
 * A sampler that hung in a stop is started again, as often as restarts.h allows. Before that the
 * guest runs for as long as the budget asks for after such a stop, but at most for
 * GUARD_REST_MAX_NS.
 */
#define GUARD_REST_MAX_NS 10000000000ULL

/*
 * Forks the sampler, which calls sampling->run, and watches the sampler. Returns when the sampler
 * has ended and no other sampler is to start. The guest runs then, and control says why sampling
 * ended. This process is asked to quit when KEEPER, its parent, dies.
 */
void guard_run(const struct sampling *sampling, pid_t keeper);

#endif
