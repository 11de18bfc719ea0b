/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process that sends profiles: what it cannot do, packets both ways, its end and ours. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/by_force.h"
#include "tests/support/children.h"
#include "tests/support/emulated.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/supervise/sender.h"

static struct sender *sender;
static char folder[] = "/tmp/xtop-sender-XXXXXX";

struct packet {
	char text[96];
};

static void nap(void)
{
	const struct timespec ms = { .tv_nsec = 1000000 };

	nanosleep(&ms, NULL);
}

static bool get(struct packet *packet)
{
	for (unsigned i = 0; i < 20000; i++, nap())
		if (sender_get(sender, packet, sizeof(*packet)))
			return true;
	return false;
}

/* --- walls ------------------------------------------------------------------------------------ */

/* Writes what it was able to do, of what it must not do. */
static void run_by_force(void *context, int socket, int fd)
{
	struct packet packet = { 0 };

	(void)context;
	try_by_force(packet.text);
	for (int i = 3; i < 1024; i++) {
		struct stat status;

		if (i != fd && fstat(i, &status) == 0 && !S_ISSOCK(status.st_mode))
			snprintf(packet.text, 96, "descriptor %d is open", i);
	}
	if (openat(fd, "made", O_CREAT | O_WRONLY, 0600) < 0)
		snprintf(packet.text, 96, "no file in the folder: %s", strerror(errno));
	sender_send(socket, &packet, sizeof(packet));
}

static void test_walls(void)
{
	const struct sender_settings settings = { .option = "--push", .run = run_by_force, .folder = folder };
	int secret = memfd_create("secret", 0);
	struct packet packet = { "" };

	by_force_has_landlock = landlock_is_there();
	must(sender_start(&settings, &sender));
	check(get(&packet), "the process behind walls has made its attempts");
	check_string(packet.text, "none", "attempts that worked behind walls");
	check(sender_wait_for_end(sender, 20000), "the process behind walls has ended");
	sender_stop(sender);
	close(secret);
}

/* --- packets ---------------------------------------------------------------------------------- */

/* Sends back what main sends: the text, and the bytes of the file that comes along. */
static void run_echo(void *context, int socket, int fd)
{
	enum sender_turn turn;
	struct packet packet;
	int file;

	(void)context, (void)fd;
	while ((turn = sender_take(socket, &packet, sizeof(packet), &file)) != SENDER_END) {
		if (turn == SENDER_NOTHING) {
			nap();
			continue;
		}
		if (file >= 0 && pread(file, packet.text + 4, 4, 0) == 4)
			close(file);
		sender_send(socket, &packet, sizeof(packet));
	}
}

static void run_deaf(void *context, int socket, int fd)
{
	const pid_t parent = getppid();

	(void)context, (void)socket, (void)fd;
	while (getppid() == parent) /* sender_stop() does not wait for long */
		nap();
}

/* A disk may be busy: the process still writes when main has closed the socket. */
static void run_slow_end(void *context, int socket, int fd)
{
	struct packet packet;
	int file;

	(void)context;
	while (sender_take(socket, &packet, sizeof(packet), &file) != SENDER_END)
		nap();
	for (unsigned i = 0; i < 100; i++)
		nap();
	close(openat(fd, "late", O_CREAT | O_WRONLY, 0600));
}

static void test_slow_end(void)
{
	const struct sender_settings settings = { .option = "--push",
						  .run = run_slow_end,
						  .folder = folder };
	char path[64];

	snprintf(path, sizeof(path), "%s/late", folder);
	must(sender_start(&settings, &sender));
	sender_stop(sender);
	check(access(path, F_OK) == 0, "the process has time to write when main stops it");
}

/* A process that is started later has copies of all that main has open. */
static pid_t start_other(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			nap();
	}
	if (pid < 0)
		abort();
	return pid;
}

static void test_packets(void)
{
	const struct sender_settings echo = { .option = "--push", .run = run_echo }, deaf = { .option = "--push", .run = run_deaf };
	struct packet packet = { "one ....  " };
	int fd = memfd_create("file", 0);
	struct timespec before, after;
	unsigned n = 0;
	pid_t other;

	if (write(fd, "two!", 4) != 4)
		exit(99);
	must(sender_start(&echo, &sender));
	check(sender_put(sender, &packet, sizeof(packet), fd) && get(&packet),
	      "a packet goes to the process and comes back");
	check_string(packet.text, "one two!  ", "the answer has the packet and its file");
	check(!sender_get(sender, &packet, sizeof(packet)), "no second answer comes");
	sender_stop(sender);
	check(waitpid(-1, NULL, WNOHANG) < 0, "the process has ended with its sender");
	must(sender_start(&echo, &sender));
	other = start_other();
	sender_stop(sender);
	check(waitpid(other, NULL, WNOHANG) == 0 && waitpid(-1, NULL, WNOHANG) == 0,
	      "the process ends with its sender while another one has a copy of the socket");
	kill_process(other, SIGKILL);
	waitpid(other, NULL, 0);
	must(sender_start(&deaf, &sender));
	clock_gettime(CLOCK_MONOTONIC, &before);
	while (n < 1000000 && sender_put(sender, &packet, sizeof(packet), -1))
		n++;
	clock_gettime(CLOCK_MONOTONIC, &after);
	check(n > 10 && n < 1000000 && after.tv_sec - before.tv_sec < 10,
	      "a process that does not listen has room for %u packets, and does not stop us", n);
	sender_stop(sender);
	close(fd);
}

/* --- main dies -------------------------------------------------------------------------------- */

static void run_for_ever(void *context, int socket, int fd)
{
	pid_t *pid = context;

	(void)socket, (void)fd;
	*pid = getpid();
	for (;;)
		nap();
}

/* Whether PID, which this process inherits, was killed. In the emulator it is init's: it is gone then. */
static bool was_killed(pid_t pid)
{
	int status;

	if (is_emulated())
		return kill(pid, 0) < 0 && errno == ESRCH;
	return waitpid(pid, &status, WNOHANG) == pid && WIFSIGNALED(status);
}

/* A process with a folder is another user's, if the test is root's. It hears of nothing. */
static void test_death(void)
{
	volatile pid_t *pid = mmap(NULL, sizeof(*pid), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const struct sender_settings settings = { .option = "--push", .run = run_for_ever,
						  .folder = folder, .context = (void *)pid };
	pid_t main_pid;
	bool killed = false;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	main_pid = fork();
	if (main_pid == 0) {
		must(sender_start(&settings, &sender));
		while (!*pid)
			nap();
		kill(getpid(), SIGKILL);
	}
	waitpid(main_pid, NULL, 0);
	for (unsigned i = 0; *pid && i < 5000 && !killed; i++, nap())
		killed = was_killed(*pid);
	check(killed, "the process ends with main, although it is another user's");
	if (*pid && !killed)
		kill_process(*pid, SIGKILL);
}

static struct xtop_error *open_nothing(void *context)
{
	(void)context;
	return error_create("no such thing");
}

static void run_nothing(void *context, int socket, int fd)
{
	(void)context, (void)socket, (void)fd;
}

static void test_failures(void)
{
	const struct sender_settings settings = { .option = "--push", .open = open_nothing, .run = run_nothing };
	struct xtop_error *error = sender_start(&settings, &sender);

	check(error && strstr(error_message(error), "no such thing"), "%s",
	      error ? error_message(error) : "it started");
	error_destroy(error);
}

int main(void)
{
	char command[64];

	if (!mkdtemp(folder) || chmod(folder, 0777))
		return 99;
	unsetenv("SUDO_UID");
	if (!emulator_lacks("walls"))
		test_walls();
	test_packets();
	test_slow_end();
	test_death();
	test_failures();
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command) || tap_done();
}
