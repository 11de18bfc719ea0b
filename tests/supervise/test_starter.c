/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The starter, asked as the broker asks it: this process is the broker, and its parent main. Keepers are
 * made up (broker_fixture.h).
 */
#include "config.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervise/starter.h"
#include "tests/supervise/broker_fixture.h"
#include "tests/support/children.h"
#include "tests/support/emulated.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/base/clock.h"
#include "xtop/sample/control.h"
#include "xtop/sample/ring.h"

#define NEVER UINT32_MAX

#ifdef SANITIZED
static const bool is_sanitized = true; /* a sanitized build has no walls */
static unsigned forks_left;
#else
static const bool is_sanitized = false;

#include "tests/support/failing_fork.h"
#endif

static struct starter starter;
/* What keepers are given. */
static struct {
	struct control *control;
	struct ring *ring;
} given;

static void run_sampler(struct guest *guest, struct control *of_sampler, struct ring *to_main)
{
	(void)guest, (void)of_sampler, (void)to_main;
}

static struct starter_order order_of(uint32_t domid)
{
	struct starter_order order = { .info = { .domid = domid, .n_vcpus = 1 } };

	snprintf(order.info.uuid, sizeof(order.info.uuid), "u-%u", (unsigned)domid);
	return order;
}

/* Starts with the descriptors FIRST and SECOND. The error's words, or "". */
static const char *start_with(const struct starter_order *order, int first, int second,
			      uint32_t *number)
{
	const int fds[] = { first, second };
	static char words[256];
	int end_fd = -1;
	struct xtop_error *error = starter_start(&starter, order, fds, number, &end_fd);

	snprintf(words, sizeof(words), "%s",
		 error ? error_message(error) : end_fd < 0 ? "no end" : "");
	error_destroy(error);
	if (end_fd >= 0)
		close(end_fd);
	return words;
}

static const char *start(uint32_t domid, uint32_t *number)
{
	const struct starter_order order = order_of(domid);

	return start_with(&order, control_fd(given.control), ring_fd(given.ring), number);
}

static void open_starter(int broker_socket)
{
	memset(seen, 0, sizeof(*seen));
	must(starter_open(&settings, broker_socket, &starter));
}

/* --- what it starts --------------------------------------------------------------------------- */

static void test_order(void)
{
	struct starter_order order = order_of(5);
	uint32_t number = NEVER;
	const char *record;
	size_t size;

	order.spent = true;
	order.paused_ns = 7;
	check_string(start_with(&order, control_fd(given.control), ring_fd(given.ring), &number),
		     "", "a keeper is started");
	check(number == 0, "the first run is number 0: %u", (unsigned)number);
	check_string(seen->unpaused, "u-5", "a pause that was left is undone before");
	check(seen->started_domid == 5 && seen->spent && seen->paused_ns == 7,
	      "the keeper has its domain, no credit, and the pauses so far");
	check(seen->has_run && seen->main == getppid(), "it knows its sampler, and main");
	record = ring_peek(given.ring, &size);
	check(record && size == 8 && memcmp(record, "from far", 8) == 0,
	      "it has main's ring");
	check(starter.cpu_ns > 0, "the starter tells its CPU time");
}

static void test_runs(void)
{
	uint32_t number = NEVER;
	unsigned n = 1;

	check(strstr(start(5, &number), "is sampled already") && number == NEVER,
	      "a domain is sampled once");
	while (n < STARTER_MAX_RUNS && !*start(100 + n, &number) && number == n)
		n++;
	check_u64(n, STARTER_MAX_RUNS, "runs are numbered");
	check(strstr(start(99, &number), "at most 64"), "there are 64 runs at most");
	starter_stop(&starter, 3);
	check(seen->asked == 1 && seen->ended == 1, "a keeper is asked to quit, and ended");
	starter_stop(&starter, 3);
	starter_stop(&starter, 1U << 30);
	check(seen->asked == 1 && seen->ended == 1, "a run that is not there is not ended");
	check(strstr(start(5, &number), "is sampled already"), "the first run goes on");
	check_string(start(103, &number), "", "the domain of the run that ended is sampled again");
	check(number == 3, "its number is used again: %u", (unsigned)number);
}

static void test_pauses(void)
{
	uint32_t number;

	seen->paused_ns = 0;
	check(starter_add_pause(&starter, 103, 9) && seen->paused_ns == 9, "a pause is counted");
	check(!starter_add_pause(&starter, 99, 9) && seen->paused_ns == 9,
	      "a pause of a domain that is not sampled is not");
	starter_stop(&starter, 3);
	check(!starter_add_pause(&starter, 0, 9) && seen->paused_ns == 9,
	      "nor is one of domain 0, whose number a free run has");
	check(!*start(103, &number) && number == 3, "the free run is used again");
}

/* --- what fails, and what is left ------------------------------------------------------------- */

/* Descriptors of process PID, and memory that it shares. */
static unsigned count_held(pid_t pid)
{
	char path[64], line[256];
	unsigned n = 0;
	FILE *maps;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	folder = opendir(path);
	while (folder && readdir(folder))
		n++;
	if (folder)
		closedir(folder);
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "r");
	while (maps && fgets(line, sizeof(line), maps))
		n += strstr(line, "memfd:") != NULL;
	if (maps)
		fclose(maps);
	return n;
}

static void test_failures(void)
{
	const struct starter_order order = order_of(99);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	unsigned before, asked = seen->asked;
	uint32_t number = NEVER;

	starter_stop(&starter, 2);
	before = count_held(starter.process.pid);
	check(*start_with(&order, null, ring_fd(given.ring), &number) && number == NEVER,
	      "no keeper starts without a control block");
	check(*start_with(&order, control_fd(given.control), null, &number) && number == NEVER,
	      "no keeper starts without a ring");
	seen->refuses = true;
	check_string(start(99, &number), "no keeper", "why no keeper starts is told");
	seen->refuses = false;
	check(seen->asked == asked + 1, "a keeper that has not started is not ended");
	check_u64(count_held(starter.process.pid), before, "failures leave no descriptor and no memory");
	check_string(start(99, &number), "", "a keeper starts after failures");
	starter_stop(&starter, number);
	check_u64(count_held(starter.process.pid), before, "a run leaves no descriptor and no memory");
	close(null);
}

/* Bytes of the heap of process PID; 0: it has none. */
static unsigned long heap_bytes(pid_t pid)
{
	unsigned long first, end, bytes = 0;
	char path[64], line[256];
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "r");
	while (maps && fgets(line, sizeof(line), maps))
		if (strstr(line, "[heap]") && sscanf(line, "%lx-%lx", &first, &end) == 2)
			bytes += end - first;
	if (maps)
		fclose(maps);
	return bytes;
}

/* A main that was taken over may be refused as often as it likes. */
static void test_refused_often(void)
{
	const unsigned long starters = heap_bytes(starter.process.pid), ours = heap_bytes(getpid());

	for (unsigned i = 0; i < 10000; i++)
		starter_add_pause(&starter, 99, 9);
	check_u64(heap_bytes(starter.process.pid), starters,
		  "10,000 refusals take no memory of the starter");
	check_u64(heap_bytes(getpid()), ours, "nor of the broker");
}

static bool has_no_new_rights(pid_t pid)
{
	char path[64], line[256];
	bool has = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file))
		has |= !strcmp(line, "NoNewPrivs:\t1\n");
	if (file)
		fclose(file);
	return has;
}

/* Whether PID ends within 5 s: a child, or an orphan that this process inherits. */
static bool ends(pid_t pid)
{
	for (unsigned i = 0; i < 5000; i++) {
		if (waitpid(pid, NULL, WNOHANG) == pid || kill(pid, 0) < 0)
			return true;
		usleep(1000);
	}
	return false;
}

/* --- the starter's end ------------------------------------------------------------------------ */

static void test_end(void)
{
	pid_t pid = starter.process.pid;
	uint32_t number;

	seen->asked = seen->ended = 0;
	for (unsigned i = 3; i < STARTER_MAX_RUNS; i++)
		starter_stop(&starter, i);
	check(!*start(99, &number) && seen->ended == STARTER_MAX_RUNS - 3, "three runs are left");
	seen->asked = seen->ended = 0;
	starter_end(&starter);
	check(seen->ended == 3, "all runs end with the starter: %u", seen->ended);
	check(seen->asked_first >= 3 && seen->asked <= 6,
	      "all are asked before the first one ends, and no other: %u, %u", seen->asked_first,
	      seen->asked);
	check(kill(pid, 0) < 0, "the starter has ended");
}

/* The broker's socket ends: nothing more is done. */
static void test_socket_end(void)
{
	uint32_t number;
	pid_t pid;

	open_starter(-1);
	pid = starter.process.pid;
	check(!*start(5, &number) && starter_add_pause(&starter, 5, 1), "a run begins");
	shutdown(starter.process.socket, SHUT_RDWR);
	close(starter.process.socket);
	check(ends(pid) && seen->paused_ns == 1, "the starter ends with the broker's socket");
}

/* It must end at once, also if a child of the broker's has the socket. */
static void test_killed_broker(void)
{
	struct {
		_Atomic pid_t starter, child;
	} *shared = (void *)(seen + 1);
	pid_t broker = fork(), child;

	if (broker == 0) {
		open_starter(-1);
		child = fork();
		while (child == 0)
			pause();
		shared->child = child;
		shared->starter = starter.process.pid;
		for (;;)
			pause();
	}
	for (unsigned i = 0; i < 5000 && !shared->starter; i++)
		usleep(1000);
	usleep(100000);
	kill_process(broker, SIGKILL);
	waitpid(broker, NULL, 0);
	check(shared->starter && ends(shared->starter), "the starter ends when the broker is killed");
	kill_process(shared->child, SIGKILL);
}

/* --- a starter that does not answer ----------------------------------------------------------- */

/* It cannot be forked; stdin is a socket. */
static void test_no_fork(void)
{
	struct timeval wait = { .tv_sec = 1 };
	socklen_t size = sizeof(wait);
	struct xtop_error *error;

	forks_left = 0;
	error = starter_open(&settings, -1, &starter);
	forks_left = 1000;
	check(error && !starter.process.pid, "a starter that cannot be forked is told");
	error_destroy(error);
	getsockopt(STDIN_FILENO, SOL_SOCKET, SO_RCVTIMEO, &wait, &size);
	check(!wait.tv_sec, "and a stream waits as it did");
}

/* Its number is that of a stream. */
static void test_none(void)
{
	int saved = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3), sockets[2];
	struct pollfd heard = { .events = POLLIN };
	uint32_t number;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		abort();
	shutdown(sockets[0], SHUT_WR);
	dup2(sockets[1], STDIN_FILENO);
	heard.fd = sockets[0];
	starter = (struct starter){ 0 };
	if (!is_sanitized)
		test_no_fork();
	check(strstr(start(5, &number), "starter was killed"), "without a starter nothing starts");
	check(poll(&heard, 1, 0) == 0, "and nothing is asked of a stream");
	dup2(saved, STDIN_FILENO);
	close(sockets[0]), close(sockets[1]), close(saved);
}

static void test_no_answer(void)
{
	uint64_t begin_ns = clock_now_ns();
	const struct starter_order order = order_of(5);
	uint32_t number;
	pid_t pid;

	open_starter(-1);
	check(strstr(start_with(&order, 9999, 9999, &number), "starter was killed") &&
		      clock_now_ns() - begin_ns < 5000000000ULL,
	      "an order that cannot be sent fails at once");
	check(ends(starter.process.pid), "the starter ends with it");
	open_starter(-1);
	pid = starter.process.pid;
	kill_process(pid, SIGSTOP);
	check(strstr(start(5, &number), "starter was killed"), "a stopped starter is given up");
	check(ends(pid), "and killed, since its answer would come late");
}

static void test_begin(void)
{
	struct pollfd closed = { .events = POLLIN };
	int sockets[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		abort();
	open_starter(sockets[1]);
	close(sockets[1]);
	closed.fd = sockets[0];
	check(poll(&closed, 1, 5000) == 1, "the starter has closed the broker's socket");
	close(sockets[0]);
	test_order();
	check(is_sanitized || is_emulated() || has_no_new_rights(starter.process.pid), "it gets no new rights");
}

int main(void)
{
	fixture_begin();
	settings.run = run_sampler;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	must(control_create(&given.control));
	must(ring_create(4096, &given.ring));
	test_begin();
	test_runs();
	test_pauses();
	test_failures();
	if (!is_sanitized && !is_emulated())
		test_refused_often();
	test_end();
	test_socket_end();
	test_none();
	if (!emulator_lacks("subreapers"))
		test_killed_broker();
	test_no_answer();
	return tap_done();
}
