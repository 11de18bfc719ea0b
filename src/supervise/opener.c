/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The broker's child that opens files for the user; see opener.h. */
#include "config.h"

#include "supervise/opener.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervise/helper.h"
#include "supervise/warden.h"

void opener_init(struct opener *opener, const char *const *endings)
{
	*opener = (struct opener){ .caller = caller_find(), .endings = endings };
	opener->made = mmap(NULL, (OPENER_MAX_CHILDREN + 1) * sizeof(opener->made[0]),
			    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

static struct xtop_error *opener_act(const struct opener *opener,
				     const struct broker_request *request,
				     struct broker_reply *reply, int *fdp)
{
	struct xtop_error *error;
	bool exists;

	if (request->number == OPENER_REMOVE) {
		output_remove_named(request->text, &opener->made[opener->creator]);
		return NULL;
	}
	error = output_open_named_fd(request->text, opener->endings,
				     request->number == OPENER_REPLACE, fdp, &exists);
	reply->number = exists;
	if (request->number == OPENER_CREATE)
		opener->made[opener->creator] = output_id(*fdp);
	return error;
}

/* Gives up the broker's rights, in the child of process BROKER, and forks the child proper. */
static struct xtop_error *opener_enter(const struct opener *opener, pid_t broker, int socket)
{
	struct xtop_error *error;

	if (!helper_close_others(socket)) /* the broker's socket to the starter, and its folders */
		return error_create("cannot see which files are open");
	error = caller_become(opener->caller);
	if (error)
		return error;
	/* The warden is the same user: the broker has no right to signal another one. */
	return warden_fork(broker, socket) ? NULL : error_create("cannot start a process");
}

static void opener_run(const struct opener *opener, const struct broker_request *request,
		       pid_t broker, int socket)
{
	struct broker_reply reply = { 0 };
	int fd = -1;
	struct xtop_error *error = opener_enter(opener, broker, socket);

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

/* Finds a free place for a child. OPENER_MAX_CHILDREN: there is none. */
static unsigned opener_find_place(struct opener *opener)
{
	opener_reap(opener);
	for (unsigned place = 0; place < OPENER_MAX_CHILDREN; place++)
		if (!opener->children[place])
			return place;
	return OPENER_MAX_CHILDREN;
}

/* Whether PATH is the file that was created last. */
static bool opener_has_created(const struct opener *opener, const char *path)
{
	return opener->made[opener->creator].inode && strcmp(opener->created, path) == 0;
}

struct xtop_error *opener_start(struct opener *opener, const struct broker_request *request,
				int socket)
{
	unsigned place = opener_find_place(opener);
	pid_t broker = getpid(), pid;

	if (place == OPENER_MAX_CHILDREN || opener->made == MAP_FAILED)
		return error_create("other files are still being opened");
	if (request->number == OPENER_REMOVE && !opener_has_created(opener, request->text))
		return error_create("there is no empty file of ours to remove");
	if (request->number != OPENER_REMOVE && opener->n_files++ >= OPENER_MAX_FILES)
		return error_create("xtop writes at most %d files in a run", OPENER_MAX_FILES);
	if (request->number == OPENER_CREATE) {
		memcpy(opener->created, request->text, sizeof(opener->created));
		opener->creator = place;
		opener->made[place] = (struct output_id){ 0 };
	}
	pid = fork();
	if (pid < 0)
		return error_create_errno(errno, "cannot open files");
	if (pid == 0)
		opener_run(opener, request, broker, socket);
	opener->children[place] = pid;
	if (request->number == OPENER_REMOVE)
		opener->creator = OPENER_MAX_CHILDREN;
	return NULL;
}
