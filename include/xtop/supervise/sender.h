/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A sender is a process that hands on what main has found: profiles to a store (src/push/ has its
 * body), metrics to Prometheus (src/metrics/). It is forked first of all, and has no right on any
 * guest: no descriptor but its socket, its folder and what it has opened itself. Main and the
 * sender exchange packets of fixed size. Main never waits for the sender: main drops a packet for
 * which the socket has no room.
 */
#ifndef XTOP_SENDER_H
#define XTOP_SENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "xtop/base/error.h"

struct sender;

struct sender_settings {
	const char *option; /* name of the option for messages, such as "--push" */
	bool connects;      /* the process connects to servers */
	/*
	 * Reads the user's files, opens sockets and loads libraries, in the process while it has
	 * all rights. Main reports the error.
	 */
	struct xtop_error *(*open)(void *context);
	/*
	 * The folder to which the process may write. FOLDER is a folder that the user names, and
	 * needs no more than the user's rights. If FOLDER is NULL, it is the folder NAME below
	 * CACHE. If CACHE is NULL as well, or cannot be used, the process has no folder.
	 */
	const char *folder, *cache, *name;
	/* Works in the process, without rights. Returns when main has ended. FOLDER -1: none. */
	void (*run)(void *context, int socket, int folder);
	void *context;
};

/* --- main's side ------------------------------------------------------------------------------ */

/*
 * Starts the process. Call it before other threads and processes start. Returns when the process
 * has no rights left.
 */
struct xtop_error *sender_start(const struct sender_settings *settings, struct sender **senderp);
/*
 * Sends a packet with the descriptor FD (-1: none), which still belongs to the caller. False: there
 * is no room, or the process is gone.
 */
bool sender_put(const struct sender *sender, const void *packet, size_t size_bytes, int fd);
/*
 * Sends a packet and BYTES, which go through a file in memory: its descriptor is passed on. So the
 * packet is small, and the socket bounds how many files are on their way. False: see sender_put().
 */
bool sender_put_bytes(const struct sender *sender, const void *packet, size_t packet_bytes,
		      const void *bytes, size_t size_bytes);
/* Gets the next packet of the process. False: there is none now. */
bool sender_get(const struct sender *sender, void *packet, size_t size_bytes);
/* Waits up to WAIT_MS. True: the process has ended; its last packets can still be got. */
bool sender_wait_for_end(struct sender *sender, unsigned wait_ms);
/* Ends the process and frees SENDER, which may be NULL. */
void sender_stop(struct sender *sender);

/* --- the sender's process --------------------------------------------------------------------- */

enum sender_turn { SENDER_PACKET, SENDER_NOTHING, SENDER_END };

/*
 * Takes a packet, without waiting. After SENDER_PACKET the descriptor *FDP belongs to the caller.
 */
enum sender_turn sender_take(int socket, void *packet, size_t size_bytes, int *fdp);

/* The packets that a process takes. */
struct sender_packets {
	void *packet; /* room for one packet */
	size_t size_bytes;
	bool (*handle)(void *context, const void *packet, int fd);
	void *context;
};
/*
 * Takes packets until there is none, MAX at most, and calls handle() for each. FD is the descriptor
 * that came with the packet, or -1; sender_take_all() closes it. False: main has ended, or handle()
 * has returned false.
 */
bool sender_take_all(int socket, const struct sender_packets *packets, unsigned max);
/*
 * Returns the size of the file FD, which came with a packet. 0: the file is empty, has more than
 * MAX_BYTES, or is no regular file.
 */
size_t sender_file_bytes(int fd, size_t max_bytes);
/* Sends a packet to main. False: main reads too slowly, or is gone. */
bool sender_send(int socket, const void *packet, size_t size_bytes);

#endif
