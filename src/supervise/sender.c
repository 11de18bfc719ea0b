/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sender's process, its start and end, and the packets between main and it; see sender.h.
 * Main's thread, also before and after the other threads run. We start no thread in the process.
 */
#include "config.h"

#include "xtop/supervise/sender.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "supervise/broker_wire.h"
#include "supervise/caller.h"
#include "supervise/helper.h"
#include "supervise/helper_sandbox.h"
#include "xtop/base/cleanup.h"
#include "xtop/base/output.h"

#define SENDER_START_S 10
/* How long the process may take to end, because a disk may be busy. Main's end kills it. */
#define SENDER_END_MS 5000

struct sender {
	struct helper process;
};

/* The first packet: whether the process could begin its work. */
struct sender_started {
	bool failed;
	char message[256];
};

/* --- the process ------------------------------------------------------------------------------ */

/* Opens the folder PATH. Makes the folder itself if it is missing, but not the folders above it. */
static struct xtop_error *sender_open_folder(const char *path, int *fdp)
{
	struct xtop_error *error = caller_become(caller_find());
	int fd;

	if (error)
		return error;
	(void)!mkdir(path, 0700); /* the folder may be there already */
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || faccessat(fd, ".", R_OK | W_OK | X_OK, AT_EACCESS) < 0) {
		error = error_create_errno(errno, "cannot write to '%s' as user %u", path,
					   (unsigned)geteuid());
		if (fd >= 0)
			close(fd);
		return error;
	}
	*fdp = fd;
	return NULL;
}

static struct xtop_error *sender_begin(const struct sender_settings *settings, int *folderp)
{
	struct xtop_error *error = settings->open ? settings->open(settings->context) : NULL;

	if (!error && settings->folder)
		error = sender_open_folder(settings->folder, folderp);
	else if (!error && settings->cache)
		*folderp = helper_open_cache(settings->cache, settings->name);
	return error ? error : helper_sandbox_enter(*folderp, settings->connects);
}

static void sender_main(void *context, int socket)
{
	const struct sender_settings *settings = context;
	struct sender_started started = { .failed = false };
	struct xtop_error *error;
	int folder = -1;

	helper_detach(socket);
	error = sender_begin(settings, &folder);
	if (error) {
		started.failed = true;
		snprintf(started.message, sizeof(started.message), "%s", error_message(error));
	}
	if (wire_send(socket, &started, sizeof(started), NULL, 0) && !error &&
	    fcntl(socket, F_SETFL, O_NONBLOCK) == 0)
		settings->run(settings->context, socket, folder);
	error_destroy(error);
}

enum sender_turn sender_take(int socket, void *packet, size_t size_bytes, int *fdp)
{
	int fds[BROKER_MAX_FDS];
	size_t n_fds;

	errno = 0;
	if (!wire_receive(socket, packet, size_bytes, fds, &n_fds))
		return errno == EAGAIN ? SENDER_NOTHING : SENDER_END;
	while (n_fds > 1)
		close(fds[--n_fds]);
	*fdp = n_fds ? fds[0] : -1;
	return SENDER_PACKET;
}

bool sender_take_all(int socket, const struct sender_packets *packets, unsigned max)
{
	for (unsigned i = 0; i < max; i++) {
		_cleanup_close_ int fd = -1;

		switch (sender_take(socket, packets->packet, packets->size_bytes, &fd)) {
		case SENDER_NOTHING:
			return true;
		case SENDER_END:
			return false;
		case SENDER_PACKET:
			break;
		}
		if (!packets->handle(packets->context, packets->packet, fd))
			return false;
	}
	return true;
}

size_t sender_file_bytes(int fd, size_t max_bytes)
{
	struct stat status;

	if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_size <= 0 ||
	    (uint64_t)status.st_size > max_bytes)
		return 0;
	return (size_t)status.st_size;
}

bool sender_send(int socket, const void *packet, size_t size_bytes)
{
	return wire_send(socket, packet, size_bytes, NULL, 0);
}

/* --- main's side ------------------------------------------------------------------------------ */

/* Waits until the process has given up its rights, or has failed. */
static struct xtop_error *sender_wait_for_start(struct sender *sender, const char *option)
{
	const struct timeval wait = { .tv_sec = SENDER_START_S };
	struct sender_started started = { .failed = true };
	int fds[BROKER_MAX_FDS];
	size_t n_fds;

	setsockopt(sender->process.socket, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	if (!wire_receive(sender->process.socket, &started, sizeof(started), fds, &n_fds))
		return error_create("the process of %s has ended at its start", option);
	while (n_fds > 0)
		close(fds[--n_fds]);
	started.message[sizeof(started.message) - 1] = '\0';
	if (started.failed)
		return error_create("%s: %s", option, started.message);
	if (fcntl(sender->process.socket, F_SETFL, O_NONBLOCK) < 0)
		return error_create_errno(errno, "cannot talk to the process of %s", option);
	return NULL;
}

struct xtop_error *sender_start(const struct sender_settings *settings, struct sender **senderp)
{
	struct sender *sender = calloc(1, sizeof(*sender));
	struct xtop_error *error;
	char name[64];

	if (!sender)
		return error_create("out of memory");
	snprintf(name, sizeof(name), "a process for %s", settings->option);
	error = helper_start(name, sender_main, (void *)settings, &sender->process);
	if (!error)
		error = sender_wait_for_start(sender, settings->option);
	if (error)
		sender_stop(sender);
	else
		*senderp = sender;
	return error;
}

bool sender_put(const struct sender *sender, const void *packet, size_t size_bytes, int fd)
{
	return wire_send(sender->process.socket, packet, size_bytes, &fd, fd >= 0 ? 1 : 0);
}

bool sender_put_bytes(const struct sender *sender, const void *packet, size_t packet_bytes,
		      const void *bytes, size_t size_bytes)
{
	_cleanup_close_ int fd = memfd_create("packet", MFD_CLOEXEC);

	return fd >= 0 && output_write(fd, bytes, size_bytes) &&
	       sender_put(sender, packet, packet_bytes, fd);
}

/*
 * If the other end has closed the socket without reading all packets, Linux reports ECONNRESET
 * once, before the packets of that end (net/unix/af_unix.c, unix_release_sock()).
 */
static bool sender_receive(int socket, void *packet, size_t size_bytes, int *fds, size_t *n_fds)
{
	return wire_receive(socket, packet, size_bytes, fds, n_fds) ||
	       (errno == ECONNRESET && wire_receive(socket, packet, size_bytes, fds, n_fds));
}

bool sender_get(const struct sender *sender, void *packet, size_t size_bytes)
{
	int fds[BROKER_MAX_FDS];
	size_t n_fds;

	if (!sender_receive(sender->process.socket, packet, size_bytes, fds, &n_fds))
		return false;
	while (n_fds > 0)
		close(fds[--n_fds]);
	return true;
}

bool sender_wait_for_end(struct sender *sender, unsigned wait_ms)
{
	return helper_wait_for_end(&sender->process, wait_ms);
}

void sender_stop(struct sender *sender)
{
	if (!sender)
		return;
	helper_end(&sender->process, SENDER_END_MS);
	free(sender);
}
