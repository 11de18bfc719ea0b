/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Main's side of --push; see push.h. */
#include "config.h"

#include "xtop/push/push.h"

#include <stdlib.h>
#include <string.h>

#include "push/labels.h"
#include "push/sender_process.h"
#include "xtop/supervise/sender.h"

#define PUSH_END_MS 7000 /* more than the process takes for what waits */
#define PUSH_SPOOL  "push"

struct push {
	struct sender *sender;
	struct sender_process process; /* the other process's state; here only its target is set */
	struct push_status status;
	uint64_t dropped; /* profiles that main has dropped */
};

struct xtop_error *push_check(const struct push_settings *settings)
{
	struct target target;
	struct xtop_error *error = target_parse(settings->url, &target);

	return error ? error : labels_check(settings);
}

struct xtop_error *push_check_config(const char *path)
{
	struct config config;
	struct xtop_error *error;

	config_init(&config);
	error = config_read(path, &config);
	config_deinit(&config);
	explicit_bzero(&config, sizeof(config));
	return error;
}

struct xtop_error *push_start(const struct push_settings *settings, struct push **pushp)
{
	struct push *push = calloc(1, sizeof(*push));
	struct sender_settings sender = {
		.option = "--push",
		.open = process_open,
		.run = process_run,
		.name = PUSH_SPOOL,
	};
	struct xtop_error *error;

	if (!push)
		return error_create("out of memory");
	sender.context = &push->process;
	push->process.settings = settings;
	error = target_parse(settings->url, &push->process.target);
	sender.connects = push->process.target.kind != TARGET_FILES;
	if (sender.connects)
		sender.cache = settings->cache;
	else
		sender.folder = push->process.target.path;
	if (!error)
		error = sender_start(&sender, &push->sender);
	if (error)
		push_stop(push);
	else
		*pushp = push;
	return error;
}

void push_add(struct push *push, const struct push_profile *profile, const void *bytes,
	      size_t size_bytes)
{
	if (size_bytes > PUSH_MAX_PROFILE_BYTES ||
	    !sender_put_bytes(push->sender, profile, sizeof(*profile), bytes, size_bytes))
		push->dropped++;
}

void push_get_status(struct push *push, struct push_status *status)
{
	struct push_status news;

	while (sender_get(push->sender, &news, sizeof(news)))
		push->status = news;
	*status = push->status;
	status->message[sizeof(status->message) - 1] = '\0';
	status->dropped += push->dropped;
}

bool push_is_alive(const struct push *push)
{
	return !sender_wait_for_end(push->sender, 0);
}

void push_finish(struct push *push)
{
	const struct push_profile last = { .last = true };

	if (sender_put(push->sender, &last, sizeof(last), -1))
		sender_wait_for_end(push->sender, PUSH_END_MS);
}

void push_stop(struct push *push)
{
	if (!push)
		return;
	sender_stop(push->sender);
	free(push);
}
