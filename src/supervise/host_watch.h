/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to supervise/: the process that looks at all vCPUs of the host, and sums up who takes the
 * physical CPUs of one guest (takers.h). The broker forks it when main asks, and hands main its
 * socket. It reads no byte of a guest. It ends when main closes the socket.
 *
 *   main ── struct takers_request ─► process ── struct takers_table ─► main
 */
#ifndef SUPERVISE_HOST_WATCH_H
#define SUPERVISE_HOST_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct host_watch_settings {
	uint32_t domid;
	uint64_t half_life_ns; /* half-life of the sums; 0: they do not decay */
};

struct takers_request {
	bool reset; /* the sums begin anew before the answer */
};

/* The body of the process (helper_run_fn). CONTEXT: const struct host_watch_settings. */
void host_watch_run(void *context, int socket);

#endif
