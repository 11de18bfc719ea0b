/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to push/: one profile in the sender's process. */
#ifndef PUSH_ENTRY_H
#define PUSH_ENTRY_H

#include "xtop/push/push.h"

/* A profile with its bytes. */
struct entry {
	struct push_profile profile;
	uint64_t sequence; /* rises in the order in which profiles came */
	size_t size_bytes;
	unsigned char bytes[];
};

/* Puts a NUL at the end of each text of ENTRY, which another process has written. */
void entry_terminate(struct entry *entry);

#endif
