/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Takes chunks from the process that reads Xen's trace buffers; see trace_source.h. */
#include "config.h"

#include "xtop/supervise/trace_source.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "xtop/supervise/broker.h"

struct trace_source {
	pthread_mutex_t lock;
	int socket; /* -1: Xen is not traced */
	uint32_t domid;
};

struct trace_source *trace_source_create(void)
{
	struct trace_source *source = calloc(1, sizeof(*source));

	if (!source)
		return NULL;
	pthread_mutex_init(&source->lock, NULL);
	source->socket = -1;
	return source;
}

/* The process ends when its socket is closed, and tracing with it. */
static void trace_source_close(struct trace_source *source)
{
	if (source->socket >= 0) {
		shutdown(source->socket, SHUT_RDWR);
		close(source->socket);
	}
	source->socket = -1;
}

void trace_source_destroy(struct trace_source *source)
{
	if (!source)
		return;
	trace_source_close(source);
	pthread_mutex_destroy(&source->lock);
	free(source);
}

struct xtop_error *trace_source_start(struct trace_source *source, uint32_t domid)
{
	struct xtop_error *error = NULL;

	pthread_mutex_lock(&source->lock);
	if (source->socket < 0)
		error = guest_trace(domid, &source->socket);
	source->domid = domid;
	pthread_mutex_unlock(&source->lock);
	return error;
}

void trace_source_stop(struct trace_source *source)
{
	if (!source)
		return;
	pthread_mutex_lock(&source->lock);
	trace_source_close(source);
	pthread_mutex_unlock(&source->lock);
}

void trace_source_switch(struct trace_source *source, uint32_t domid)
{
	if (!source)
		return;
	pthread_mutex_lock(&source->lock);
	source->domid = domid;
	pthread_mutex_unlock(&source->lock);
}

bool trace_source_take(struct trace_source *source, struct trace_chunk *chunk, uint32_t *domidp)
{
	const size_t head_bytes = offsetof(struct trace_chunk, bytes);
	struct iovec bytes = { .iov_base = chunk, .iov_len = sizeof(*chunk) };
	struct msghdr message = { .msg_iov = &bytes, .msg_iovlen = 1 };
	ssize_t got = -1;

	pthread_mutex_lock(&source->lock);
	if (source->socket >= 0)
		got = recvmsg(source->socket, &message, MSG_DONTWAIT);
	if (got == 0)
		trace_source_close(source); /* the process has ended */
	*domidp = source->domid;
	pthread_mutex_unlock(&source->lock);
	return got >= (ssize_t)head_bytes && chunk->size_bytes == (size_t)got - head_bytes;
}

bool trace_source_is_on(struct trace_source *source)
{
	bool is_on;

	pthread_mutex_lock(&source->lock);
	is_on = source->socket >= 0;
	pthread_mutex_unlock(&source->lock);
	return is_on;
}
