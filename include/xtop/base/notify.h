/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * News for the service manager that started xtop, by the protocol of sd_notify(3): datagrams to the
 * socket of $NOTIFY_SOCKET. Without that variable nothing happens. Main's thread.
 */
#ifndef XTOP_NOTIFY_H
#define XTOP_NOTIFY_H

#include <stdint.h>

/* Before main gives up its rights; after the broker's start, which shall not have the socket. */
void notify_open(void);
/*
 * NEWS: lines such as "READY=1" or "STATUS=...", at most 4 KiB. Best effort: a service manager that
 * does not read costs nothing.
 */
void notify_put(const char *news);
/* To be called again and again: says that main is alive, as often as the watchdog asks for it. */
void notify_beat(uint64_t now_ns);
void notify_close(void);

#endif
