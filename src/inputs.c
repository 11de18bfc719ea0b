/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files opened at start; see xtop/inputs.h. */
#include "config.h"

#include "xtop/inputs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct input {
	struct input *next;
	const char *path; /* the command line's */
	int fd;           /* -1: open() said errno_value */
	int errno_value;
};

static struct input *inputs; /* in the order of inputs_add() */

static int inputs_open(const char *path)
{
	return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
}

struct xtop_error *inputs_add(const char *path)
{
	struct input *input = malloc(sizeof(*input)), **end = &inputs;

	if (!input)
		return error_create("out of memory");
	*input = (struct input){ .path = path, .fd = inputs_open(path) };
	if (input->fd < 0)
		input->errno_value = errno;
	while (*end)
		end = &(*end)->next;
	*end = input;
	return NULL;
}

int inputs_take(const char *path)
{
	for (struct input **at = &inputs; *at; at = &(*at)->next) {
		struct input input = **at;

		if (strcmp(input.path, path) != 0)
			continue;
		free(*at);
		*at = input.next;
		errno = input.errno_value;
		return input.fd;
	}
	return inputs_open(path);
}

void inputs_close(void)
{
	while (inputs) {
		struct input *input = inputs;

		inputs = input->next;
		if (input->fd >= 0)
			close(input->fd);
		free(input);
	}
}
