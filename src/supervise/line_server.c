/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes that read source lines; see line_server.h. They are forked from main before main
 * opens anything, and give up their rights at once: they can open no file, and get descriptors of
 * debug files from main. Memory and time of a request are bounded.
 */
#include "config.h"

#include "supervise/line_server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervise/broker_wire.h"
#include "supervise/helper.h"
#include "supervise/line_sandbox.h"
#include "xtop/base/cleanup.h"

#define LINE_SERVER_MAX_OPEN 8  /* files that a reader has open */
#define LINE_SERVER_TRIM     16 /* answers between two times that memory is given back */
#define LINE_SERVER_NICE     10

struct line_server_file {
	uint32_t number; /* number of the file; 0: this place is free */
	uint32_t used;   /* number of the request that used the file last */
	void *file;
};

static struct {
	const struct line_reader *reader;
	int socket;
	struct line_server_file files[LINE_SERVER_MAX_OPEN];
	struct line_server_request request;
	struct line_server_reply reply;
} line_server;

/* --- answers ---------------------------------------------------------------------------------- */

static size_t line_server_pack_text(const char *text, uint8_t *to)
{
	size_t length = strnlen(text, LINE_TEXT_BYTES - 1);

	memcpy(to, text, length);
	to[length] = '\0';
	return length + 1;
}

size_t line_server_pack(const struct line_answer *answer, uint8_t *to, size_t capacity)
{
	size_t used = 1;

	if (capacity < 1 || answer->n > LINE_MAX_DEPTH)
		return 0;
	to[0] = (uint8_t)answer->n;
	for (unsigned i = 0; i < answer->n; i++) {
		const struct line_frame *frame = &answer->frames[i];
		const uint32_t numbers[2] = { frame->line, frame->column };

		if (capacity - used < sizeof(numbers) + 2 * LINE_TEXT_BYTES)
			return 0;
		memcpy(to + used, numbers, sizeof(numbers));
		used += sizeof(numbers);
		used += line_server_pack_text(frame->function, to + used);
		used += line_server_pack_text(frame->file, to + used);
	}
	return used;
}

/* Returns the text at *AT, and moves *AT after it. NULL: the text has no end. */
static const char *line_server_unpack_text(const uint8_t *bytes, size_t size_bytes, size_t *at)
{
	const char *text = (const char *)bytes + *at;
	size_t length = strnlen(text, size_bytes - *at);

	if (length == size_bytes - *at)
		return NULL;
	*at += length + 1;
	return text;
}

size_t line_server_unpack(const uint8_t *bytes, size_t size_bytes, struct line_answer *answer)
{
	size_t at = 1;

	if (size_bytes < 1 || bytes[0] > LINE_MAX_DEPTH)
		return 0;
	answer->n = bytes[0];
	for (unsigned i = 0; i < answer->n; i++) {
		struct line_frame *frame = &answer->frames[i];
		uint32_t numbers[2];

		if (size_bytes - at < sizeof(numbers))
			return 0;
		memcpy(numbers, bytes + at, sizeof(numbers));
		at += sizeof(numbers);
		*frame = (struct line_frame){ .line = numbers[0], .column = numbers[1] };
		frame->function = line_server_unpack_text(bytes, size_bytes, &at);
		frame->file =
			frame->function ? line_server_unpack_text(bytes, size_bytes, &at) : NULL;
		if (!frame->file)
			return 0;
	}
	return at;
}

/* --- the reader ------------------------------------------------------------------------------- */

static bool line_server_send(uint32_t what)
{
	struct rusage usage = { 0 };

	getrusage(RUSAGE_SELF, &usage);
	line_server.reply.what = what;
	line_server.reply.most_bytes = (uint64_t)usage.ru_maxrss * 1024;
	if (!wire_send(line_server.socket, &line_server.reply, sizeof(line_server.reply), NULL, 0))
		return false;
	line_server.reply.n_answers = line_server.reply.size_bytes = 0;
	return true;
}

static struct line_server_file *line_server_find_file(uint32_t number)
{
	for (size_t i = 0; i < LINE_SERVER_MAX_OPEN; i++)
		if (line_server.files[i].number == number)
			return &line_server.files[i];
	return NULL;
}

/* Returns a free place. If there is none, closes the file that was used longest ago. */
static struct line_server_file *line_server_make_place(void)
{
	struct line_server_file *oldest = &line_server.files[0];

	for (size_t i = 0; i < LINE_SERVER_MAX_OPEN; i++) {
		if (!line_server.files[i].number)
			return &line_server.files[i];
		if (line_server.files[i].used < oldest->used)
			oldest = &line_server.files[i];
	}
	line_server.reader->close(oldest->file);
	*oldest = (struct line_server_file){ 0 };
	return oldest;
}

static struct line_server_file *line_server_open(const int *fds)
{
	struct line_server_file *file = line_server_find_file(line_server.request.file);
	const char *why = "";

	if (!file) {
		file = line_server_make_place();
		file->file = line_server.reader->open(
			fds[0], line_server.request.has_alt ? fds[1] : -1, &why);
		if (!file->file) {
			snprintf(line_server.reply.message, sizeof(line_server.reply.message), "%s",
				 why);
			return NULL;
		}
		file->number = line_server.request.file;
	}
	file->used = line_server.request.number;
	return file;
}

/* False: main is gone. */
static bool line_server_answer(const struct line_place *place, void *file)
{
	struct line_server_reply *reply = &line_server.reply;
	struct line_answer answer = { 0 };
	size_t used;

	line_server.reader->find(file, place, &answer);
	used = line_server_pack(&answer, reply->bytes + reply->size_bytes,
				sizeof(reply->bytes) - reply->size_bytes);
	if (!used) {
		if (!line_server_send(LINE_SERVER_ANSWERS))
			return false;
		used = line_server_pack(&answer, reply->bytes, sizeof(reply->bytes));
	}
	reply->size_bytes += (uint32_t)used;
	reply->n_answers++;
	return true;
}

static bool line_server_serve(const int *fds, size_t n_fds)
{
	struct line_server_request *request = &line_server.request;
	struct line_server_file *file;

	line_server.reply.number = request->number;
	line_server.reply.n_answers = line_server.reply.size_bytes = 0;
	if (!request->n_places || request->n_places > LINE_SERVER_MAX_PLACES ||
	    n_fds < 1U + request->has_alt)
		return line_server_send(LINE_SERVER_BAD);
	alarm(LINE_SERVER_REQUEST_S);
	file = line_server_open(fds);
	if (!file)
		return line_server_send(LINE_SERVER_BAD);
	for (uint32_t i = 0; i < request->n_places; i++) {
		request->places[i].symbol[LINE_SYMBOL_BYTES - 1] = '\0';
		if (!line_server_answer(&request->places[i], file->file))
			return false;
		if (i % LINE_SERVER_TRIM == LINE_SERVER_TRIM - 1)
			line_server.reader->trim(file->file);
	}
	line_server.reader->trim(file->file);
	alarm(0);
	return line_server_send(LINE_SERVER_ANSWERS);
}

static void line_server_read(void)
{
	int fds[BROKER_MAX_FDS];
	size_t n_fds;
	bool served = true;

	while (served && wire_receive(line_server.socket, &line_server.request,
				      sizeof(line_server.request), fds, &n_fds)) {
		served = line_server_serve(fds, n_fds);
		while (n_fds > 0)
			close(fds[--n_fds]);
	}
}

/* --- the reader's parent ---------------------------------------------------------------------- */

static void line_server_send_death(int status)
{
	bool memory = WIFEXITED(status) && WEXITSTATUS(status) == ENOMEM;

	memset(&line_server.reply, 0, sizeof(line_server.reply));
	if (memory)
		snprintf(line_server.reply.message, sizeof(line_server.reply.message),
			 "its lines need more than %llu MiB of memory: "
			 "objcopy --decompress-debug-sections may help",
			 LINE_SANDBOX_MEMORY_BYTES >> 20);
	else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		snprintf(line_server.reply.message, sizeof(line_server.reply.message),
			 "its lines took longer than %d s", LINE_SERVER_REQUEST_S);
	else
		snprintf(line_server.reply.message, sizeof(line_server.reply.message),
			 "it is damaged: its reader has ended (%s %d)",
			 WIFSIGNALED(status) ? "signal" : "status",
			 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	line_server_send(LINE_SERVER_DIED);
}

static void line_server_set_up(int socket)
{
	static const int usual[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM, SIGCHLD };
	const struct sigaction action = { .sa_handler = SIG_DFL };

	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
		sigaction(usual[i], &action, NULL);
	helper_detach(socket);
	setpriority(PRIO_PROCESS, 0, LINE_SERVER_NICE); /* sampler and screen come first */
}

/* Waits until main has sent a request, so that a reader is needed. False: main is gone. */
static bool line_server_wait_for_request(void)
{
	struct pollfd ready = { .fd = line_server.socket, .events = POLLIN };

	while (poll(&ready, 1, -1) < 0)
		if (errno != EINTR)
			return false;
	return ready.revents & POLLIN && !(ready.revents & (POLLERR | POLLNVAL));
}

void line_server_run(void *context, int socket)
{
	line_server.reader = context;
	line_server.socket = socket;
	line_server_set_up(socket);
	if (!line_sandbox_enter())
		return;
	while (line_server_wait_for_request()) {
		pid_t pid = fork();
		int status = 0;

		if (pid < 0)
			return;
		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (!line_sandbox_enter_reader())
				_exit(1);
			line_server_read();
			_exit(0);
		}
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
			return;
		line_server_send_death(status);
	}
}
