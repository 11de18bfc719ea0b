/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to supervise/: the broker's process, from its fork to its end. */
#ifndef SUPERVISE_BROKER_H
#define SUPERVISE_BROKER_H

#include <unistd.h>

#include "xtop/supervise/broker.h"

/*
 * The body of the process (helper_run_fn). CONTEXT is a const struct broker_settings. Answers the
 * requests that come over SOCKET. Returns when main has closed its end and all samplers have ended.
 */
void broker_run(void *context, int socket);

/*
 * The last of the three streams that the broker replaces by /dev/null. Sanitizers write to stderr,
 * so their builds keep stderr.
 */
#ifdef SANITIZED
#define BROKER_LAST_STREAM STDOUT_FILENO
#else
#define BROKER_LAST_STREAM STDERR_FILENO
#endif

#endif
