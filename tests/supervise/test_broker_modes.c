/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which questions the broker answers depends on the command line: it knows what main needs. Each
 * question is asked in each mode. And the files that main may ask for in a run have a limit.
 */
#include "config.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervise/opener.h"
#include "tests/supervise/broker_fixture.h"
#include "tests/support/tap.h"

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

int main(void)
{
	fixture_begin();
	test_modes();
	test_limit();
	return tap_done();
}
