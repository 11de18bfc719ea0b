/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to push/: the sender's process, and what it needs of a target. One thread. */
#ifndef PUSH_SENDER_PROCESS_H
#define PUSH_SENDER_PROCESS_H

#include "push/config_file.h"
#include "push/target.h"
#include "xtop/push/push.h"

/* A profile with its bytes. */
struct entry {
	struct push_profile profile;
	uint64_t sequence; /* rises in the order in which profiles came */
	size_t size_bytes;
	unsigned char bytes[];
};

struct sender_process {
	const struct push_settings *settings;
	struct target target;
	struct config config;
	struct push_status status;
	uint64_t unread; /* packets without a profile */
	void *state;     /* the target's state */
};

struct target_ops {
	/* With all rights: what must be loaded. */
	struct xtop_error *(*prepare)(struct sender_process *process, void **statep);
	/*
	 * Without rights. FOLDER, which is the state's from now on, may be -1. STATE can be used
	 * after an error, too.
	 */
	struct xtop_error *(*open)(void *state, int folder);
	void (*add)(void *state, struct entry *entry); /* which the state then owns */
	/* Works; before that, waits for SOCKET (-1: none) or its own, for WAIT_MS at most. */
	void (*turn)(void *state, int socket, int wait_ms);
	/* Whether something can be done before UNTIL_NS. */
	bool (*has_work)(void *state, uint64_t until_ns);
	void (*close)(void *state); /* keeps what can be kept */
};

extern const struct target_ops files_ops, stores_ops;

/* What the process is started with: its context is a struct sender_process. */
struct xtop_error *process_open(void *context);
void process_run(void *context, int socket, int folder);
/* Ends the texts of a PROFILE that somebody else has written. */
void process_terminate(struct push_profile *profile);

#endif
