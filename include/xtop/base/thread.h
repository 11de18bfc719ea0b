/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How xtop starts its threads. */
#ifndef XTOP_THREAD_H
#define XTOP_THREAD_H

#include <pthread.h>

#include "xtop/base/error.h"

/*
 * Starts a thread that runs BODY(CONTEXT) and gets no signals but those of its own faults. Error:
 * out of memory or threads. The caller joins the thread.
 */
struct xtop_error *thread_start(pthread_t *thread, void *(*body)(void *), void *context);

#endif
