/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to guest/: the broker's process, between its fork and its end. */
#ifndef GUEST_BROKER_H
#define GUEST_BROKER_H

#include "xtop/broker.h"

/* Answers what comes over SOCKET until main closes its end; then all guards have ended. */
void broker_run(const struct broker_settings *settings, int socket);

#endif
