/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to supervise/: the packets between main and broker. They have fixed sizes, each question
 * has one answer, and descriptors are sent along with packets (SCM_RIGHTS).
 *
 *   question       with                     answer                         descriptors
 *   LIST                                    number, that many listings     -
 *   FIND           text: domain             info                           -
 *   REGISTERS      domid, number: vCPU      registers                      -
 *   MEMORY         domid                    -                              ◄ the domain's memory
 *   CACHE          domid                    -                              ◄ cached kernel, if any
 *   START          domid                    number: the run                ► control, ring; ◄ end
 *   STOP           number: the run          -                              -
 *   REMOVE         number: the result file  -                              -
 *   OPEN           text: path, number       number: 1 if it existed        ◄ the file
 *   TAKERS         domid, number: half-life -                              ◄ host_watch.h's socket
 *   TRACE          domid                    -                              ◄ trace_watch.h's socket
 *   NEWS           news                     -                              -
 *
 * OPEN's number is an enum opener_act (opener.h). The half-life of TAKERS is in milliseconds. A run
 * is one domain's keeper, guard and sampler (starter.h).
 */
#ifndef SUPERVISE_BROKER_WIRE_H
#define SUPERVISE_BROKER_WIRE_H

#include "xtop/base/notify.h"
#include "xtop/xen/guest.h"

enum broker_question {
	BROKER_LIST,
	BROKER_FIND,
	BROKER_REGISTERS,
	BROKER_MEMORY,
	BROKER_START,
	BROKER_STOP,
	BROKER_REMOVE,
	BROKER_OPEN,
	BROKER_CACHE,
	BROKER_TAKERS,
	BROKER_TRACE,
	BROKER_NEWS,
};
#define N_BROKER_QUESTIONS 12

struct broker_request {
	uint32_t question, domid, number;
	char text[1024]; /* the reader terminates the text */
	struct notify_news news;
};

struct broker_reply {
	bool failed;
	bool later;        /* failed, but the same question may succeed later */
	char message[512]; /* why the question failed */
	uint32_t number;
	uint64_t cpu_ns;   /* CPU time of the broker and of its children that ask Xen */
	struct guest_info info;
	struct registers registers;
};

#define BROKER_MAX_FDS 2

/*
 * Send and receive one packet of SIZE_BYTES with N_FDS descriptors. False: the other side is gone,
 * or the packet has another size. Both wait as long as the socket's time limits say; without a
 * limit they wait without end. errno is EAGAIN if and only if that time is over. wire_receive()
 * owns no descriptor after it fails.
 */
bool wire_send(int socket, const void *packet, size_t size_bytes, const int *fds, size_t n_fds);
bool wire_receive(int socket, void *packet, size_t size_bytes, int *fds, size_t *n_fds);

#endif
