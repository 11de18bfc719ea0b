/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stores that are reached by HTTP: one profile after the other, oldest first. The answer decides:
 *
 *   answer                              the profile
 *   2xx                                 sent
 *   none; 429, 502, 503, 504            is sent again later (retry.c), before younger profiles
 *   another 5xx                         is sent STORES_MAX_TRIES times at most, then refused
 *   anything else                       refused, and never sent again
 *
 * The sender's process.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "push/http.h"
#include "push/otlp.h"
#include "push/pyroscope.h"
#include "push/queue.h"
#include "push/retry.h"
#include "push/sender_process.h"
#include "xtop/base/clock.h"

#define STORES_MAX_TRIES 5

struct stores {
	struct sender_process *process;
	struct http *http;
	struct queue *queue;
	struct retry retry;
	unsigned tries; /* failed attempts for the oldest profile that were the server's fault */
	struct http_request request; /* the request that is under way */
};

/* --- life ------------------------------------------------------------------------------------- */

static struct xtop_error *stores_prepare(struct sender_process *process, void **statep)
{
	struct stores *stores = calloc(1, sizeof(*stores));
	struct xtop_error *error;

	if (!stores)
		return error_create("out of memory");
	stores->process = process;
	error = http_create(&process->config, &stores->http);
	if (error)
		free(stores);
	else
		*statep = stores;
	return error;
}

static struct xtop_error *stores_open(void *state, int folder)
{
	struct stores *stores = state;
	const struct config *config = &stores->process->config;
	struct xtop_error *warning;
	struct xtop_error *error = queue_create(folder, config->memory_bytes, config->spool_bytes,
						&stores->queue, &warning);

	if (!error && folder < 0 && config->spool_bytes)
		return error_create("no spool: its folder below XDG_CACHE_HOME cannot be made");
	return error ? error : warning;
}

static void stores_close(void *state)
{
	struct stores *stores = state;

	http_destroy(stores->http);
	if (stores->queue)
		queue_save(stores->queue);
	queue_destroy(stores->queue);
	http_request_deinit(&stores->request);
	free(stores);
}

static void stores_count(struct stores *stores)
{
	struct push_status *status = &stores->process->status;

	status->waiting = queue_count(stores->queue);
	status->waiting_bytes = queue_bytes(stores->queue);
	status->dropped = queue_dropped(stores->queue);
}

static void stores_add(void *state, struct entry *entry)
{
	struct stores *stores = state;

	if (!stores->queue) {
		free(entry);
		stores->process->status.dropped++;
		return;
	}
	queue_add(stores->queue, entry);
	stores_count(stores);
}

/* --- answers ---------------------------------------------------------------------------------- */

static double stores_chance(void)
{
	uint32_t number = 0;

	return getrandom(&number, sizeof(number), GRND_NONBLOCK) < 0 ? 0.5
								     : number / (double)UINT32_MAX;
}

static void stores_describe(struct stores *stores, const struct http_answer *answer)
{
	struct push_status *status = &stores->process->status;

	status->answer = answer->status;
	if (answer->status)
		snprintf(status->message, sizeof(status->message), "the server answers %ld: %s",
			 answer->status, answer->text);
	else
		snprintf(status->message, sizeof(status->message), "%s", answer->text);
}

static void stores_fail(struct stores *stores, const struct http_answer *answer)
{
	struct push_status *status = &stores->process->status;

	status->failures++;
	status->failing = true;
	stores_describe(stores, answer);
	queue_leave(stores->queue);
	retry_fail(&stores->retry, clock_now_ns(), answer->asked_s, stores_chance());
}

static void stores_refuse(struct stores *stores, const struct http_answer *answer)
{
	struct push_status *status = &stores->process->status;

	status->refused++;
	status->failing = true;
	stores_describe(stores, answer);
	retry_succeed(&stores->retry);
	stores->tries = 0;
	queue_pop(stores->queue);
}

static void stores_accept(struct stores *stores)
{
	struct push_status *status = &stores->process->status;

	status->sent++;
	status->sent_bytes += stores->request.size_bytes;
	status->failing = false;
	retry_succeed(&stores->retry);
	stores->tries = 0;
	queue_pop(stores->queue);
}

static void stores_take_status(struct stores *stores, const struct http_answer *answer)
{
	switch (answer->status) {
	case 200 ... 299:
		stores_accept(stores);
		break;
	case 0:
	case 429:
	case 502:
	case 503:
	case 504:
		stores_fail(stores, answer);
		break;
	case 500:
	case 501:
	case 505 ... 599:
		if (++stores->tries < STORES_MAX_TRIES)
			stores_fail(stores, answer);
		else
			stores_refuse(stores, answer);
		break;
	default:
		stores_refuse(stores, answer);
	}
}

static void stores_take_answer(struct stores *stores, struct http_answer *answer)
{
	if (stores->process->target.kind == TARGET_OTLP && otlp_read_answer(answer))
		stores_refuse(stores, answer);
	else
		stores_take_status(stores, answer);
	http_request_deinit(&stores->request);
}

/* --- a turn ----------------------------------------------------------------------------------- */

static struct xtop_error *stores_build(struct stores *stores, const struct entry *entry)
{
	const struct sender_process *process = stores->process;
	const char *base = process->target.base;

	if (process->target.kind == TARGET_OTLP)
		return otlp_request(base, process->settings, entry, &stores->request);
	return pyroscope_request(base, process->settings, entry, &stores->request);
}

/*
 * Sends the oldest profile. A profile that fits in no request is refused, or it would block all
 * others.
 */
static void stores_begin(struct stores *stores)
{
	const struct entry *entry = queue_peek(stores->queue);
	struct http_answer answer = { 0 };
	struct xtop_error *built, *error;

	if (!entry)
		return;
	built = stores_build(stores, entry);
	error = built ? built : http_post(stores->http, &stores->request);
	if (!error)
		return;
	snprintf(answer.text, sizeof(answer.text), "%s", error_message(error));
	if (built)
		stores_refuse(stores, &answer);
	else
		stores_take_answer(stores, &answer);
	error_destroy(error);
}

/* Returns WAIT_MS, or less if the next attempt is due earlier. */
static int stores_wait_ms(const struct stores *stores, int wait_ms)
{
	uint64_t now_ns = clock_now_ns();

	if (stores->retry.due_ns <= now_ns)
		return wait_ms;
	if (stores->retry.due_ns - now_ns < (uint64_t)wait_ms * 1000000)
		return (int)((stores->retry.due_ns - now_ns) / 1000000) + 1;
	return wait_ms;
}

static void stores_turn(void *state, int socket, int wait_ms)
{
	struct stores *stores = state;
	struct http_answer answer;

	if (stores->queue && !http_is_busy(stores->http) &&
	    retry_is_due(&stores->retry, clock_now_ns()))
		stores_begin(stores);
	http_wait(stores->http, socket, stores_wait_ms(stores, wait_ms));
	if (http_poll(stores->http, &answer))
		stores_take_answer(stores, &answer);
	if (stores->queue)
		stores_count(stores);
}

static bool stores_has_work(void *state, uint64_t until_ns)
{
	struct stores *stores = state;

	return stores->queue && queue_count(stores->queue) && stores->retry.due_ns < until_ns;
}

const struct target_ops stores_ops = {
	.prepare = stores_prepare,
	.open = stores_open,
	.add = stores_add,
	.turn = stores_turn,
	.has_work = stores_has_work,
	.close = stores_close,
};
