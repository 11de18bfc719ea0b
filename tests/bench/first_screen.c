/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long a program takes from exec() to the first screen that has TEXT on it: runs it on a
 * pseudo-terminal of 80x24, reads what it draws, prints one JSON line, presses q.
 *
 *   first_screen TEXT COMMAND [ARG...]
 *
 * TEXT has to come in one piece: a word the program draws in one go.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TIMEOUT_MS   30000
#define SCREEN_BYTES (1 << 20)

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int open_terminal(void)
{
	struct winsize size = { .ws_row = 24, .ws_col = 80 };
	int fd = posix_openpt(O_RDWR | O_NOCTTY);

	if (fd < 0 || grantpt(fd) < 0 || unlockpt(fd) < 0 || ioctl(fd, TIOCSWINSZ, &size) < 0) {
		perror("first_screen: no pseudo-terminal");
		exit(1);
	}
	return fd;
}

static pid_t start(int fd, char **command)
{
	pid_t child = fork();
	int slave;

	if (child)
		return child;
	setsid();
	slave = open(ptsname(fd),
		     O_RDWR); /* the first one opened becomes the controlling terminal */
	dup2(slave, 0);
	dup2(slave, 1);
	dup2(slave, 2);
	execvp(command[0], command);
	_exit(127);
}

/* Reads on until the bytes so far have TEXT. False: the end, or too late. */
static int read_until(int fd, const char *text, char *screen)
{
	struct pollfd readable = { .fd = fd, .events = POLLIN };
	size_t n = 0;

	while (n < SCREEN_BYTES - 1 && poll(&readable, 1, TIMEOUT_MS) > 0) {
		ssize_t got = read(fd, screen + n, SCREEN_BYTES - 1 - n);

		if (got <= 0)
			return 0;
		n += (size_t)got;
		screen[n] = '\0';
		if (strstr(screen, text))
			return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	static char screen[SCREEN_BYTES];
	uint64_t started_ns, seen_ns;
	pid_t child;
	int fd, seen;

	if (argc < 3) {
		fprintf(stderr, "usage: first_screen TEXT COMMAND [ARG...]\n");
		return 2;
	}
	fd = open_terminal();
	started_ns = now_ns();
	child = start(fd, argv + 2);
	seen = read_until(fd, argv[1], screen);
	seen_ns = now_ns();
	if (seen)
		printf("{\"text\": \"%s\", \"first_screen_ms\": %.1f}\n", argv[1],
		       (double)(seen_ns - started_ns) / 1e6);
	else
		printf("first_screen: no \"%s\" in what it drew\n", argv[1]);
	if (write(fd, "q", 1) != 1)
		kill(child, SIGTERM);
	close(fd);
	waitpid(child, NULL, 0);
	return !seen;
}
