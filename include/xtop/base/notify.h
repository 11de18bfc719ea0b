/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tells the service manager that started xtop about xtop's state, by the protocol of sd_notify(3):
 * datagrams to the socket of $NOTIFY_SOCKET. If $NOTIFY_SOCKET is not set, these functions do
 * nothing. The broker has the socket: whoever has it can send datagrams, and descriptors, to any
 * local socket. Main chooses what is said.
 */
#ifndef XTOP_NOTIFY_H
#define XTOP_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

enum notify_state {
	NOTIFY_READY,
	NOTIFY_STOPPING,
	NOTIFY_ALIVE,  /* the watchdog's sign of life */
	NOTIFY_STATUS, /* the numbers, as `systemctl status` shows them */
};

struct notify_news {
	uint32_t state; /* enum notify_state; others say nothing */
	uint32_t guests;
	double hz, full_hz; /* the rate, and the one that the user asked for; 0: as asked for */
	uint64_t sent, waiting, refused, dropped; /* profiles */
};

/* --- calls of the broker's process ------------------------------------------------------------ */

/* Opens the socket. Processes that the broker forks later inherit it. */
void notify_open(void);
/* Sends NEWS. Best effort: a service manager that does not read costs nothing. */
void notify_put(const struct notify_news *news);

/* --- calls of main's process ------------------------------------------------------------------ */

/*
 * Whether it is time to send NOTIFY_ALIVE: as often as the watchdog demands. Call it regularly.
 * *LAST_NS is when it was time last; 0: never.
 */
bool notify_is_due(uint64_t now_ns, uint64_t *last_ns);

#endif
