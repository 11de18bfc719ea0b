/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of owners: the processes and threads that code runs for. A stack begins with the frame
 * of its process, if that is known, and with the frame of its thread, if the thread has another
 * name than its process. These frames (frames.h) have nothing but a name and the id of their owner.
 *
 * frames.c has the table and keeps its strings. An entry is never changed or moved, so any thread
 * may read the owners of the frames that a snapshot names.
 */
#ifndef XTOP_OWNERS_H
#define XTOP_OWNERS_H

#include <stdbool.h>
#include <stdint.h>

#include "xtop/base/hash.h"

#define OWNERS_MAX   (1U << 18) /* equals FRAMES_MAX */
#define OWNERS_CHUNK 1024
#define OWNER_NONE   0 /* the id of no owner */

enum owner_kind { OWNER_PROCESS, OWNER_THREAD };

struct owner {
	enum owner_kind kind;
	uint32_t frame;     /* id of the owner's frame */
	uint32_t process;   /* owner id of a thread's process; OWNER_NONE: not known */
	const char *name;   /* clean; "": it has none */
	const char *cgroup; /* a process's control group, clean; "": not known */
};

/* Owners lie in chunks: neither a chunk nor an entry moves. */
struct owners {
	struct owner *chunks[OWNERS_MAX / OWNERS_CHUNK];
	uint32_t n; /* the last id */
	struct hash_table index;
	uint64_t seed; /* random, so that a guest cannot aim at one slot of the index */
	/* Threads are equal if the names of their processes are; control groups do not matter. */
	bool by_name;
};

void owners_deinit(struct owners *owners);
/* The owner ID, which is not OWNER_NONE. */
const struct owner *owners_get(const struct owners *owners, uint32_t id);
/* The entry that equals KEY; the frames do not matter. NULL: there is none. */
const struct owner *owners_find(const struct owners *owners, const struct owner *key);
/* Adds a copy of OWNER and returns its id. OWNER_NONE: no room. */
uint32_t owners_add(struct owners *owners, const struct owner *owner);
size_t owners_memory_bytes(const struct owners *owners);

#endif
