/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Measures the time and the CPU time that a program takes from exec() to the first screen with
 * TEXT. Runs the program on a pseudo-terminal of 80x24, reads what it draws, prints one line of
 * JSON, and presses Ctrl-C.
 *
 *   first_screen [-k KEY NEXT_TEXT] TEXT COMMAND [ARG...]
 *
 * -k: then presses KEY, and measures the time to NEXT_TEXT as well.
 *
 * Curses draws only what differs from the screen before: of "do_syscall_64" in the place of
 * "do_exit" just the end. So the whole screen is asked for again and again, by Ctrl-L. A TEXT is
 * within one colour; a single word is. The CPU time is that of all processes of the program's
 * session that have not ended by then.
 *
 * In the deterministic lab clocks count instructions, also those of guests, which share the only
 * CPU with dom0. If a guest is busy, half of each figure may belong to it. Use a guest that has
 * little to do, or that may use little CPU.
 */
#include <dirent.h>
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
#define REDRAW_MS    100 /* interval; at 20 the redraws took a fifth of the CPU time measured */
#define SHOWN_BYTES  6000
#define SCREEN_BYTES (1 << 16) /* the last half is searched; a screen has some 6,000 */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/*
 * The session of a process: the sixth field of its stat file. The name before it may hold any
 * character.
 */
static pid_t session_of(const char *pid)
{
	char path[32], stat[512] = "", *name_end;
	FILE *file;
	int session;

	snprintf(path, sizeof(path), "/proc/%.10s/stat", pid);
	file = fopen(path, "r");
	if (!file)
		return -1;
	if (!fgets(stat, sizeof(stat), file))
		stat[0] = '\0';
	fclose(file);
	name_end = strrchr(stat, ')');
	return name_end && sscanf(name_end + 1, " %*c %*d %*d %d", &session) == 1 ? session : -1;
}

/* The CPU time of all processes of SESSION. */
static uint64_t cpu_ns(pid_t session, unsigned *processesp)
{
	DIR *proc = opendir("/proc");
	uint64_t ns = 0;
	struct dirent *entry;
	struct timespec spent;
	clockid_t clock;

	*processesp = 0;
	while (proc && (entry = readdir(proc))) {
		pid_t pid = atoi(entry->d_name);

		if (pid <= 0 || session_of(entry->d_name) != session ||
		    clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &spent))
			continue;
		ns += (uint64_t)spent.tv_sec * 1000000000 + (uint64_t)spent.tv_nsec;
		++*processesp;
	}
	if (proc)
		closedir(proc);
	return ns;
}

static int open_terminal(void)
{
	struct winsize size = { .ws_row = 24, .ws_col = 80 };
	/* If a process of the program kept this side open, no hang-up would ever come. */
	int fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

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
	slave = open(ptsname(fd), O_RDWR); /* becomes the controlling terminal */
	dup2(slave, 0);
	dup2(slave, 1);
	dup2(slave, 2);
	execvp(command[0], command);
	_exit(127);
}

/* Asks for the whole screen if that was asked for at *ASKED_NS, which is some time ago. */
static int redraw(int fd, uint64_t *asked_ns)
{
	if (now_ns() - *asked_ns < REDRAW_MS * 1000000ull)
		return 1;
	*asked_ns = now_ns();
	return write(fd, "\f", 1) == 1;
}

/* Reads until TEXT has come. 0: the program has ended, or it took too long. */
static int read_until(int fd, const char *text, char *screen)
{
	struct pollfd readable = { .fd = fd, .events = POLLIN };
	uint64_t asked_ns = now_ns();
	uint64_t deadline_ns = asked_ns + TIMEOUT_MS * 1000000ull;
	size_t n = 0;

	while (now_ns() < deadline_ns && redraw(fd, &asked_ns)) {
		ssize_t got;

		if (poll(&readable, 1, REDRAW_MS) <= 0)
			continue;
		if (n > SCREEN_BYTES / 2) {
			memmove(screen, screen + n - SCREEN_BYTES / 2, SCREEN_BYTES / 2);
			n = SCREEN_BYTES / 2;
		}
		got = read(fd, screen + n, SCREEN_BYTES - 1 - n);
		if (got <= 0)
			return 0;
		n += (size_t)got;
		screen[n] = '\0';
		if (strstr(screen, text))
			return 1;
	}
	return 0;
}

/* Presses KEY. Returns the ns until TEXT has come; 0: it has not. */
static uint64_t press(int fd, const char *key, const char *text, char *screen)
{
	uint64_t pressed_ns = now_ns();

	if (write(fd, key, strlen(key)) != (ssize_t)strlen(key) || !read_until(fd, text, screen))
		return 0;
	return now_ns() - pressed_ns;
}

/* Prints the end of what was read: the text between escape sequences, with blanks for these. */
static void print_seen(const char *screen)
{
	size_t n = strlen(screen);

	printf("# seen:");
	for (const char *at = screen + (n > SHOWN_BYTES ? n - SHOWN_BYTES : 0); *at; at++) {
		if (*at == '\033') { /* CSI parameters and a letter, or "(B" */
			at += 1 + strcspn(at + 1, "ABCDGHJKLMPXdhlmr\n");
			if (!*at)
				break;
			putchar(' ');
		} else {
			putchar((unsigned char)*at < ' ' ? ' ' : *at);
		}
	}
	putchar('\n');
}

static int usage(void)
{
	fprintf(stderr, "usage: first_screen [-k KEY NEXT_TEXT] TEXT COMMAND [ARG...]\n");
	return 2;
}

int main(int argc, char **argv)
{
	static char screen[SCREEN_BYTES];
	const char *key = NULL, *next_text = NULL;
	uint64_t started_ns, seen_ns, spent_ns, key_ns = 0;
	unsigned processes;
	pid_t child;
	int fd, seen;

	if (argc > 3 && !strcmp(argv[1], "-k")) {
		key = argv[2];
		next_text = argv[3];
		argc -= 3;
		argv += 3;
	}
	if (argc < 3)
		return usage();
	fd = open_terminal();
	started_ns = now_ns();
	child = start(fd, argv + 2);
	seen = read_until(fd, argv[1], screen);
	seen_ns = now_ns();
	spent_ns = cpu_ns(child, &processes);
	if (seen && key)
		key_ns = press(fd, key, next_text, screen);
	if (!seen)
		printf("first_screen: the program has not drawn \"%s\"\n", argv[1]);
	else if (key && !key_ns)
		printf("first_screen: the program has not drawn \"%s\" for %s\n", next_text, key);
	else
		printf("{\"text\": \"%s\", \"first_screen_ms\": %.1f, \"cpu_ms\": %.1f, "
		       "\"processes\": %u, \"key_ms\": %.1f}\n",
		       argv[1], (double)(seen_ns - started_ns) / 1e6, (double)spent_ns / 1e6,
		       processes, (double)key_ns / 1e6);
	seen = seen && (!key || key_ns);
	if (!seen)
		print_seen(screen);
	if (write(fd, "\003", 1) != 1) /* Ctrl-C quits from any view; "q" closes a view */
		kill(child, SIGTERM);
	close(fd);
	waitpid(child, NULL, 0);
	return !seen;
}
