/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Asks the process that looks at the host; see takers_source.h. An answer that comes too late is
 * taken for the answer to the next question.
 */
#include "config.h"

#include "xtop/supervise/takers_source.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervise/broker_wire.h"
#include "supervise/host_watch.h"
#include "xtop/supervise/broker.h"

#define TAKERS_WAIT_MS 50

struct takers_source {
	pthread_mutex_t lock;
	uint64_t half_life_ns;
	int socket;     /* -1: there is no process */
	uint32_t domid; /* the process looks at this domain */
	bool asked;     /* an answer is on its way */
	bool reset;     /* the next question asks to begin anew */
	bool ended;     /* the process has ended by itself */
};

struct takers_source *takers_source_create(uint64_t half_life_ns)
{
	struct takers_source *source = calloc(1, sizeof(*source));

	if (!source)
		return NULL;
	pthread_mutex_init(&source->lock, NULL);
	source->half_life_ns = half_life_ns;
	source->socket = -1;
	return source;
}

static void takers_source_close(struct takers_source *source)
{
	if (source->socket >= 0)
		close(source->socket);
	source->socket = -1;
	source->asked = false;
}

void takers_source_destroy(struct takers_source *source)
{
	if (!source)
		return;
	takers_source_close(source);
	pthread_mutex_destroy(&source->lock);
	free(source);
}

static struct xtop_error *takers_source_open(struct takers_source *source, uint32_t domid)
{
	struct xtop_error *error;

	if (source->socket >= 0 && source->domid == domid)
		return NULL;
	takers_source_close(source);
	error = guest_watch_takers(domid, source->half_life_ns, &source->socket);
	source->domid = domid;
	source->ended = false;
	return error;
}

struct xtop_error *takers_source_start(struct takers_source *source, uint32_t domid)
{
	struct xtop_error *error;

	pthread_mutex_lock(&source->lock);
	error = takers_source_open(source, domid);
	pthread_mutex_unlock(&source->lock);
	return error;
}

void takers_source_switch(struct takers_source *source, uint32_t domid)
{
	if (!source)
		return;
	pthread_mutex_lock(&source->lock);
	if (source->socket >= 0)
		error_destroy(takers_source_open(source, domid));
	pthread_mutex_unlock(&source->lock);
}

void takers_source_reset(struct takers_source *source)
{
	pthread_mutex_lock(&source->lock);
	source->reset = true;
	pthread_mutex_unlock(&source->lock);
}

static bool takers_source_receive(struct takers_source *source, struct takers_table *table)
{
	struct pollfd answered = { .fd = source->socket, .events = POLLIN };
	int fds[BROKER_MAX_FDS];
	size_t n_fds;

	if (poll(&answered, 1, TAKERS_WAIT_MS) <= 0)
		return false;
	source->asked = false;
	if (!wire_receive(source->socket, table, sizeof(*table), fds, &n_fds)) {
		takers_source_close(source);
		source->ended = true;
		return false;
	}
	table->failure[sizeof(table->failure) - 1] = '\0';
	return true;
}

static bool takers_source_ask(struct takers_source *source, struct takers_table *table)
{
	const struct takers_request request = { .reset = source->reset };

	if (source->socket < 0)
		return false;
	if (!source->asked)
		source->asked = wire_send(source->socket, &request, sizeof(request), NULL, 0);
	source->reset = false;
	return takers_source_receive(source, table);
}

struct takers_table *takers_source_get(struct takers_source *source)
{
	struct takers_table *table = calloc(1, sizeof(*table));
	bool answered;

	if (!table)
		return NULL;
	pthread_mutex_lock(&source->lock);
	answered = takers_source_ask(source, table);
	if (!answered && source->ended) {
		strcpy(table->failure, "the process that looks at the host has ended");
		answered = true;
	}
	pthread_mutex_unlock(&source->lock);
	if (answered)
		return table;
	free(table);
	return NULL;
}
