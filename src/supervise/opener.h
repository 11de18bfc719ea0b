/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to supervise/: opens the files that are named while xtop runs, in a child of the broker,
 * with the rights of the user who called sudo, or else of nobody (caller.h). Main cannot open them:
 * it has no user, and opens files to read only. The broker itself must not open them: it has all
 * rights, and an open may wait, for a file server for example, while the broker looks after guests.
 * The child is a warden and the process that opens (warden.h): none waits on when both broker and
 * main have ended.
 */
#ifndef SUPERVISE_OPENER_H
#define SUPERVISE_OPENER_H

#include <stdbool.h>
#include <sys/types.h>

#include "supervise/broker_wire.h"
#include "supervise/caller.h"
#include "xtop/base/error.h"
#include "xtop/base/output.h"

enum opener_act {
	OPENER_CREATE,  /* create a file that is not there yet */
	OPENER_REPLACE, /* open a file that may be there */
	OPENER_REMOVE,  /* remove the file created last, if it is empty; gives no descriptor */
};

/* A few children may wait for file servers. Others have answered, but have not ended yet. */
#define OPENER_MAX_CHILDREN 8

/* Files that are opened in one run. Main may be taken over, and must not fill a folder. */
#define OPENER_MAX_FILES 100

struct opener {
	struct caller caller;
	const char *const *endings;
	unsigned n_files; /* files that main asked for, whether they could be opened or not */
	pid_t children[OPENER_MAX_CHILDREN]; /* children at work, or about to end; 0: free */
	/*
	 * The file that each child has created, as it was asked to; inode 0: none, as in the
	 * last place, which is no child's. Shared: the child writes before it answers, and the
	 * broker reads when main has had the answer.
	 */
	struct output_id *made;
	/* the child that main last asked to create a file; OPENER_MAX_CHILDREN: it was removed */
	unsigned creator;
	/* the path that CREATOR was asked to create; "": none */
	char created[sizeof(((struct broker_request *)0)->text)];
};

/* ENDINGS: see output_open_named_fd(). */
void opener_init(struct opener *opener, const char *const *endings);
/*
 * Starts a child that sends the answer to REQUEST over SOCKET and ends. Also reaps children that
 * have ended. Error: there is no child, and the caller has to answer.
 */
struct xtop_error *opener_start(struct opener *opener, const struct broker_request *request,
				int socket);

#endif
