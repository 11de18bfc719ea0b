/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A server for tests; see http_server.h. */
#include "config.h"

#include "tests/support/children.h"
#include "tests/support/http_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define HEAD_BYTES 65536
#define HUGE_BYTES (1ULL << 30)

struct work {
	const char *folder;
	const char *script;
	unsigned n; /* requests so far */
	char head[HEAD_BYTES];
	size_t head_bytes;
};

static void path_of(char path[512], const char *folder, unsigned n, const char *ending)
{
	snprintf(path, 512, "%s/%u.%s", folder, n, ending);
}

/* Writes the file under another name first, so that a test that counts files finds whole ones. */
static void keep(const struct work *work, const char *ending, const void *bytes, size_t n)
{
	char path[512], part[516];
	FILE *file;

	path_of(path, work->folder, work->n, ending);
	snprintf(part, sizeof(part), "%s-", path);
	file = fopen(part, "w");
	if (!file || fwrite(bytes, 1, n, file) != n || fclose(file) || rename(part, path))
		_exit(1);
}

/* Where the header ends within HEAD, of which N bytes have come; 0: its end has not come yet. */
static size_t end_of(const char *head, size_t n)
{
	const char *end = memmem(head, n, "\r\n\r\n", 4);

	return end ? (size_t)(end - head) + 4 : 0;
}

static bool read_request(struct work *work, int fd)
{
	size_t got = 0, end = 0, length = 0, have;
	const char *field;
	char *body;
	ssize_t n;

	while (!end) {
		n = read(fd, work->head + got, sizeof(work->head) - 1 - got);
		if (n <= 0)
			return false;
		got += (size_t)n;
		work->head[got] = '\0';
		end = end_of(work->head, got);
	}
	field = strcasestr(work->head, "\r\nContent-Length: ");
	if (field)
		length = strtoull(field + 18, NULL, 10);
	body = malloc(length + HEAD_BYTES);
	have = got - end;
	memcpy(body, work->head + end, have);
	while (have < length && (n = read(fd, body + have, length - have)) > 0)
		have += (size_t)n;
	work->n++;
	keep(work, "body", body, have);
	keep(work, "head", work->head, end);
	free(body);
	return have == length;
}

/* Sets WORD to the script's word for the request that has just come. */
static void word_of(const struct work *work, char word[32])
{
	const char *at = work->script, *next;

	for (unsigned i = 1; i < work->n && (next = strchr(at, ' ')); i++)
		at = next + 1;
	snprintf(word, 32, "%.*s", (int)strcspn(at, " "), at);
}

static void say(int fd, const char *text)
{
	(void)!write(fd, text, strlen(text));
}

static void say_much(int fd, char letter)
{
	static char block[65536];
	uint64_t left = HUGE_BYTES;

	memset(block, letter, sizeof(block));
	while (left && write(fd, block, sizeof(block)) > 0)
		left -= sizeof(block);
}

/* Does what WORD says. Returns whether the connection stays open. */
static bool answer(int fd, const char *word)
{
	const char *after = strchr(word, ':');
	char text[256], field[64] = "";

	if (word[0] >= '0' && word[0] <= '9') {
		if (after)
			snprintf(field, sizeof(field), "Retry-After: %s\r\n", after + 1);
		snprintf(text, sizeof(text),
			 "HTTP/1.1 %.3s Test\r\nContent-Length: 9\r\n%s\r\nas told:\n", word,
			 field);
		say(fd, text);
		return true;
	}
	if (strcmp(word, "partial") == 0 || strcmp(word, "version") == 0) {
		say(fd, word[0] == 'p' ? "HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n"
					 "\x0a\x0b\x08\x01\x12\x07too old"
				       : "HTTP/1.1 400 Bad\r\nContent-Length: 18\r\n\r\n"
					 "\x08\x03\x12\x0eversion 2 only");
		return true;
	}
	if (strcmp(word, "hang") == 0)
		while (read(fd, text, 1) > 0)
			;
	else if (strcmp(word, "half") == 0)
		say(fd, "HTTP/1.1 200 OK\r\nContent-Le");
	else if (strcmp(word, "cut") == 0)
		say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
	else if (strcmp(word, "garbage") == 0)
		say(fd, "\x16\x03\x01 no HTTP at all \xff\xfe\r\n\r\n\r\n");
	else if (strcmp(word, "huge") == 0) {
		say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n");
		say_much(fd, 'x');
	} else if (strcmp(word, "header") == 0) {
		say(fd, "HTTP/1.1 200 OK\r\nX-Long: ");
		say_much(fd, 'y');
	}
	return false;
}

static void serve(struct work *work, int listener)
{
	for (;;) {
		int fd = accept(listener, NULL, NULL);
		bool more = fd >= 0;

		while (more && read_request(work, fd)) {
			char word[32];

			word_of(work, word);
			more = answer(fd, word);
		}
		close(fd);
	}
}

void http_server_start(struct http_server *server, const char *folder, const char *script)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons((uint16_t)server->port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
	static struct work work;
	socklen_t size = sizeof(address);

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) || listen(fd, 16) ||
	    getsockname(fd, (struct sockaddr *)&address, &size))
		exit(99);
	server->port = ntohs(address.sin_port);
	server->pid = fork();
	if (server->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGPIPE, SIG_IGN);
		work.folder = folder;
		work.script = script;
		work.n = http_server_count(folder);
		serve(&work, fd);
	}
	close(fd);
}

void http_server_stop(struct http_server *server)
{
	kill_process(server->pid, SIGKILL);
	waitpid(server->pid, NULL, 0);
	server->pid = 0;
}

unsigned http_server_count(const char *folder)
{
	struct stat status;
	char path[512];
	unsigned n = 0;

	do
		path_of(path, folder, n + 1, "head");
	while (stat(path, &status) == 0 && ++n);
	return n;
}

char *http_server_read(const char *folder, unsigned n, const char *ending, size_t *size_bytesp)
{
	char path[512], *bytes;
	struct stat status;
	FILE *file;

	path_of(path, folder, n, ending);
	file = fopen(path, "r");
	if (!file || fstat(fileno(file), &status))
		return NULL;
	bytes = calloc(1, (size_t)status.st_size + 1);
	if (!bytes || fread(bytes, 1, (size_t)status.st_size, file) != (size_t)status.st_size)
		exit(99);
	fclose(file);
	*size_bytesp = (size_t)status.st_size;
	return bytes;
}
