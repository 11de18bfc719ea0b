/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tells the service manager that started xtop about xtop's state, by the protocol of sd_notify(3):
 * datagrams to the socket of $NOTIFY_SOCKET. If $NOTIFY_SOCKET is not set, these functions do
 * nothing. Main's thread.
 */
#ifndef XTOP_NOTIFY_H
#define XTOP_NOTIFY_H

#include <stdint.h>

/*
 * Opens the socket. Call this function before main gives up its rights, but after the broker has
 * been started, because the broker must not inherit the socket.
 */
void notify_open(void);
/*
 * Sends NEWS: lines such as "READY=1" or "STATUS=...", at most 4 KiB. Best effort: a service
 * manager that does not read costs nothing.
 */
void notify_put(const char *news);
/*
 * Tells the watchdog that main is alive, as often as the watchdog demands. Call this function
 * regularly.
 */
void notify_beat(uint64_t now_ns);
void notify_close(void);

#endif
