/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packets and descriptors between main and broker; see supervise/broker_wire.h. Both processes. */
#include "config.h"

#include "supervise/broker_wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union wire_control {
	char bytes[CMSG_SPACE(BROKER_MAX_FDS * sizeof(int))];
	struct cmsghdr aligned;
};

bool wire_send(int socket, const void *packet, size_t size_bytes, const int *fds, size_t n_fds)
{
	struct iovec bytes = { .iov_base = (void *)(uintptr_t)packet, .iov_len = size_bytes };
	union wire_control control = { .bytes = { 0 } };
	struct msghdr message = { .msg_iov = &bytes, .msg_iovlen = 1 };
	ssize_t sent;

	if (n_fds) {
		control.aligned.cmsg_level = SOL_SOCKET;
		control.aligned.cmsg_type = SCM_RIGHTS;
		control.aligned.cmsg_len = CMSG_LEN(n_fds * sizeof(int));
		memcpy(CMSG_DATA(&control.aligned), fds, n_fds * sizeof(int));
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
	}
	do
		sent = sendmsg(socket, &message, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent == (ssize_t)size_bytes;
}

/* The kernel passes at most as many descriptors as there is room for. */
static size_t wire_take_fds(struct msghdr *message, int *fds)
{
	struct cmsghdr *header = CMSG_FIRSTHDR(message);
	size_t n;

	if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
		return 0;
	n = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	memcpy(fds, CMSG_DATA(header), n * sizeof(int));
	return n;
}

bool wire_receive(int socket, void *packet, size_t size_bytes, int *fds, size_t *n_fds)
{
	struct iovec bytes = { .iov_base = packet, .iov_len = size_bytes };
	union wire_control control = { .bytes = { 0 } };
	struct msghdr message = { .msg_iov = &bytes,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control.bytes) };
	ssize_t got;

	do
		got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	*n_fds = got > 0 ? wire_take_fds(&message, fds) : 0;
	if (got == (ssize_t)size_bytes && !(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		return true;
	for (size_t i = 0; i < *n_fds; i++)
		close(fds[i]);
	*n_fds = 0;
	if (got >= 0)
		errno = EPIPE;
	return false;
}
