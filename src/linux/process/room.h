/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much memory the processes of one guest may take here, all that is kept of them together: files'
 * tables (files.c), areas and spaces, names of compiled code (process.c). Each is bounded for itself,
 * but a guest can have very many of them. Counted when taken; who is about to take more looks first
 * whether it is full, so that it may be exceeded by one thing, and no more. Resolver's thread.
 */
#ifndef XTOP_PROCESS_ROOM_H
#define XTOP_PROCESS_ROOM_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

/* 400 programs and 300 libraries of Debian 12 take 38 MiB, libLLVM with 95,000 functions 9. */
#define ROOM_MAX_BYTES (128U << 20)

struct room {
	size_t max_bytes, used_bytes;
};

static inline bool room_is_full(const struct room *room)
{
	return room->used_bytes >= room->max_bytes;
}

/* *KEPTP is what one thing takes, 0 at first: NOW_BYTES from now on. */
static inline void room_take(struct room *room, size_t *keptp, size_t now_bytes)
{
	assert(room->used_bytes >= *keptp);
	room->used_bytes += now_bytes - *keptp;
	*keptp = now_bytes;
}

#endif
