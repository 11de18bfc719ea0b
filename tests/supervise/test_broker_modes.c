/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which questions the broker answers depends on the command line: it knows what main needs. Each
 * question is asked in each mode. And the files that main may ask for in a run have a limit.
 */
#include "config.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervise/opener.h"
#include "tests/supervise/broker_fixture.h"
#include "tests/support/tap.h"
#include "xtop/base/notify.h"

#define Q(question) (1U << BROKER_##question)
#define OF_GUESTS   (Q(FIND) | Q(REGISTERS) | Q(MEMORY) | Q(START) | Q(STOP))

/* Asks QUESTION, and tells whether the broker refuses it because of the mode. */
static bool is_off(int socket, uint32_t question)
{
	const struct broker_request request = { .question = question,
						.number = question == BROKER_OPEN ? OPENER_REMOVE
										  : 63 };
	struct broker_reply reply = { 0 };
	struct guest_listing listing;
	int fds[BROKER_MAX_FDS];
	size_t n_fds;

	if (!wire_send(socket, &request, sizeof(request), NULL, 0) ||
	    !wire_receive(socket, &reply, sizeof(reply), fds, &n_fds))
		abort();
	while (n_fds > 0)
		close(fds[--n_fds]);
	for (uint32_t i = 0; question == BROKER_LIST && !reply.failed && i < reply.number; i++)
		if (!wire_receive(socket, &listing, sizeof(listing), fds, &n_fds))
			abort();
	return reply.failed && strstr(reply.message, "in this run");
}

static void test_mode(const char *what, struct broker_settings mode, unsigned answered)
{
	const struct broker_settings before = settings;
	int socket;
	pid_t pid;

	settings = mode;
	socket = start_bare(&pid);
	settings = before;
	for (uint32_t question = 0; question < N_BROKER_QUESTIONS; question++)
		check(is_off(socket, question) == !(answered & 1U << question),
		      "%s: question %u is %s", what, question,
		      answered & 1U << question ? "answered" : "refused");
	check(is_off(socket, N_BROKER_QUESTIONS) && is_off(socket, UINT32_MAX),
	      "%s: unknown questions are refused", what);
	close(socket);
	waitpid(pid, NULL, 0);
}

static void test_modes(void)
{
	struct broker_settings mode = settings;

	test_mode("-b -d web01", mode, OF_GUESTS);
	mode.cache = "/tmp/xtop-none/none";
	test_mode("-b -d web01, with a cache", mode, OF_GUESTS | Q(CACHE));
	mode.neighbours = true;
	test_mode("-b -d web01 --neighbours", mode, OF_GUESTS | Q(CACHE) | Q(TAKERS));
	mode.neighbours = false;
	mode.exits = true;
	test_mode("-b -d web01 --exits", mode, OF_GUESTS | Q(CACHE) | Q(TRACE));
	mode.exits = false;
	mode.news = true;
	test_mode("-b -d web01 --push", mode, OF_GUESTS | Q(CACHE) | Q(NEWS));
	mode.news = false;
	mode.has_screen = true;
	test_mode("-d web01", mode, OF_GUESTS | Q(CACHE) | Q(OPEN) | Q(TAKERS) | Q(TRACE));
	mode.files[2] = "/tmp/xtop-none/record";
	test_mode("-d web01 -w", mode,
		  OF_GUESTS | Q(CACHE) | Q(OPEN) | Q(REMOVE) | Q(TAKERS) | Q(TRACE));
	mode.n_domains = 0;
	test_mode("-w", mode,
		  OF_GUESTS | Q(CACHE) | Q(OPEN) | Q(REMOVE) | Q(LIST) | Q(TAKERS) | Q(TRACE));
	mode.no_domains = true;
	test_mode("-r -w", mode, Q(OPEN) | Q(REMOVE));
	mode.has_screen = false;
	test_mode("-r -b -w", mode, Q(REMOVE));
	mode.files[2] = NULL;
	test_mode("-r -b", mode, 0);
}

/* A main that was taken over asks for as many files as it likes. */
static void test_limit(void)
{
	struct broker_request open = { .question = BROKER_OPEN, .number = OPENER_CREATE };
	char folder[] = "/tmp/xtop-modes-XXXXXX";
	unsigned made = 0;
	int socket;
	pid_t pid;

	if (!mkdtemp(folder) || (geteuid() == 0 && chown(folder, 65534, 65534)))
		abort();
	unsetenv("SUDO_UID");
	settings.has_screen = true;
	socket = start_bare(&pid);
	for (unsigned i = 0; i < OPENER_MAX_FILES + 10; i++) {
		snprintf(open.text, sizeof(open.text), "%s/%u.folded", folder, i);
		ask(socket, open, NULL, 0);
		made += unlink(open.text) == 0;
	}
	check(made == OPENER_MAX_FILES, "main gets %u files in a run (expected %d)", made,
	      OPENER_MAX_FILES);
	close(socket);
	waitpid(pid, NULL, 0);
	rmdir(folder);
}

/* --- the service manager ---------------------------------------------------------------------- */

/* What the manager hears when main has NEWS told. */
static void test_news(int socket, int manager, struct notify_news news, const char *expected)
{
	const struct broker_request request = { .question = BROKER_NEWS, .news = news };
	char heard[512] = "";

	check(ask(socket, request, NULL, 0), "the broker takes the news %u", news.state);
	if (recv(manager, heard, sizeof(heard) - 1, MSG_DONTWAIT) < 0)
		heard[0] = '\0';
	check(!strcmp(heard, expected), "the manager hears \"%s\": \"%s\"", expected, heard);
}

static void test_manager(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int manager = socket(AF_UNIX, SOCK_DGRAM, 0), broker;
	socklen_t bytes;
	pid_t pid;

	/* An abstract socket: no file is left. */
	bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			    (size_t)sprintf(address.sun_path + 1, "xtop-test-%d", getpid()));
	if (manager < 0 || bind(manager, (struct sockaddr *)&address, bytes))
		abort();
	address.sun_path[0] = '@';
	setenv("NOTIFY_SOCKET", address.sun_path, 1);
	settings.news = true;
	broker = start_bare(&pid);
	test_news(broker, manager, (struct notify_news){ .state = NOTIFY_READY }, "READY=1");
	test_news(broker, manager, (struct notify_news){ .state = NOTIFY_ALIVE }, "WATCHDOG=1");
	test_news(broker, manager, (struct notify_news){ .state = NOTIFY_STOPPING }, "STOPPING=1");
	test_news(broker, manager,
		  (struct notify_news){ .state = NOTIFY_STATUS, .guests = 2, .sent = 3 },
		  "STATUS=2 guests; profiles: 3 delivered, 0 wait, 0 refused, 0 dropped");
	test_news(broker, manager,
		  (struct notify_news){ .state = NOTIFY_STATUS,
					.hz = 49.5,
					.full_hz = 99,
					.waiting = UINT64_MAX,
					.refused = 1,
					.dropped = 2 },
		  "STATUS=0 guests at 49.5 of 99 Hz; profiles: 0 delivered, 18446744073709551615 "
		  "wait, 1 refused, 2 dropped");
	test_news(broker, manager, (struct notify_news){ .state = NOTIFY_STATUS + 1 }, "");
	test_news(broker, manager, (struct notify_news){ .state = UINT32_MAX }, "");
	close(broker);
	close(manager);
	waitpid(pid, NULL, 0);
	settings.news = false;
}

int main(void)
{
	fixture_begin();
	test_modes();
	test_manager();
	test_limit();
	return tap_done();
}
