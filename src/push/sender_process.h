/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to push/: the sender's process, and the functions of a target. One thread. */
#ifndef PUSH_SENDER_PROCESS_H
#define PUSH_SENDER_PROCESS_H

#include "push/config_file.h"
#include "push/entry.h"
#include "push/target.h"

struct sender_process {
	const struct push_settings *settings;
	struct target target;
	struct config config;
	struct push_status status;
	uint64_t unread; /* packets without a profile */
	void *state;     /* the target's state */
};

struct target_ops {
	/* Called with all rights: loads libraries. */
	struct xtop_error *(*prepare)(struct sender_process *process, void **statep);
	/*
	 * Called without rights. FOLDER, which may be -1, belongs to STATE from now on. STATE can
	 * be used after an error, too.
	 */
	struct xtop_error *(*open)(void *state, int folder);
	void (*add)(void *state, struct entry *entry); /* ENTRY then belongs to STATE */
	/* Waits at most WAIT_MS for SOCKET (-1: none) or a socket of its own, and works then. */
	void (*turn)(void *state, int socket, int wait_ms);
	/* Whether there is something to do before UNTIL_NS. */
	bool (*has_work)(void *state, uint64_t until_ns);
	void (*close)(void *state); /* saves waiting profiles if possible */
};

extern const struct target_ops files_ops, stores_ops;

/* The functions of struct sender_settings. CONTEXT is a struct sender_process. */
struct xtop_error *process_open(void *context);
void process_run(void *context, int socket, int folder);

#endif
