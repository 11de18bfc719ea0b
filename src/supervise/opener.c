/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The broker's child that opens files for the user; see opener.h. */
#include "config.h"

#include "supervise/opener.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervise/helper.h"
#include "xtop/base/output.h"

void opener_init(struct opener *opener, const char *const *endings)
{
	*opener = (struct opener){ .caller = caller_find(), .endings = endings };
}

static struct xtop_error *opener_act(const struct opener *opener,
				     const struct broker_request *request,
				     struct broker_reply *reply, int *fdp)
{
	struct xtop_error *error;
	bool exists;

	if (request->number == OPENER_REMOVE) {
		output_remove_named(request->text);
		return NULL;
	}
	error = output_open_named_fd(request->text, opener->endings,
				     request->number == OPENER_REPLACE, fdp, &exists);
	reply->number = exists;
	return error;
}

static void opener_run(const struct opener *opener, const struct broker_request *request,
		       int socket)
{
	struct broker_reply reply = { 0 };
	struct xtop_error *error = NULL;
	int fd = -1;

	if (!helper_close_others(socket)) /* the broker's socket to the starter, and its folders */
		error = error_create("cannot see which files are open");
	if (!error)
		error = caller_become(opener->caller);
	if (!error)
		error = opener_act(opener, request, &reply, &fd);
	if (error) {
		reply.failed = true;
		strncpy(reply.message, error_message(error), sizeof(reply.message) - 1);
	}
	/* Main may be stopped. EAGAIN: a time limit of the socket is over; try again. */
	while (!wire_send(socket, &reply, sizeof(reply), &fd, fd >= 0 ? 1 : 0) && errno == EAGAIN)
		;
	_exit(0);
}

/* Reaps children that have ended. */
static void opener_reap(struct opener *opener)
{
	for (unsigned i = 0; i < OPENER_MAX_CHILDREN; i++)
		if (opener->children[i] && waitpid(opener->children[i], NULL, WNOHANG) != 0)
			opener->children[i] = 0;
}

/* Finds a free place for a child. NULL: there is none. */
static pid_t *opener_find_place(struct opener *opener)
{
	opener_reap(opener);
	for (unsigned i = 0; i < OPENER_MAX_CHILDREN; i++)
		if (!opener->children[i])
			return &opener->children[i];
	return NULL;
}

struct xtop_error *opener_start(struct opener *opener, const struct broker_request *request,
				int socket)
{
	pid_t *place = opener_find_place(opener), pid;

	if (!place)
		return error_create("other files are still being opened");
	if (request->number == OPENER_REMOVE && strcmp(opener->created, request->text) != 0)
		return error_create("there is no empty file of ours to remove");
	if (request->number != OPENER_REMOVE && opener->n_files++ >= OPENER_MAX_FILES)
		return error_create("xtop writes at most %d files in a run", OPENER_MAX_FILES);
	if (request->number == OPENER_CREATE)
		memcpy(opener->created, request->text, sizeof(opener->created));
	pid = fork();
	if (pid < 0)
		return error_create_errno(errno, "cannot open files");
	if (pid == 0)
		opener_run(opener, request, socket);
	*place = pid;
	return NULL;
}
