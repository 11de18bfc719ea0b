/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The opener, without a broker: how many children and files there are, what is removed, and children
 * whose answers nobody reads. Its own checks of paths are in tests/base/test_output_named.
 */
#include "config.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "supervise/opener.h"
#include "tests/support/tap.h"
#include "xtop/export/export.h"

static char folder[] = "/tmp/xtop-opener-XXXXXX";
static struct opener opener;
static int sockets[2]; /* main's, the broker's */

static struct broker_request request_for(uint32_t act, const char *name)
{
	struct broker_request request = { .question = BROKER_OPEN, .number = act };

	snprintf(request.text, sizeof(request.text), "%s/%s", folder, name);
	return request;
}

/* True: a child was started. */
static bool starts(uint32_t act, const char *name)
{
	const struct broker_request request = request_for(act, name);
	struct xtop_error *error = opener_start(&opener, &request, sockets[1]);

	error_destroy(error);
	return !error;
}

static void nap_ms(long ms)
{
	const struct timespec nap = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&nap, NULL);
}

/* Waits until no child is left. */
static bool all_end(void)
{
	for (unsigned i = 0; i < 5000; i++) {
		bool any = false;

		for (unsigned j = 0; j < OPENER_MAX_CHILDREN; j++)
			any |= opener.children[j] &&
			       waitpid(opener.children[j], NULL, WNOHANG) == 0;
		if (!any)
			break;
		nap_ms(1);
		if (i == 4999)
			return false;
	}
	memset(opener.children, 0, sizeof(opener.children));
	return true;
}

/* Waits for an answer. True: it gives a descriptor, which is closed. */
static bool answers_file(bool *failed)
{
	struct broker_reply reply = { .failed = true };
	int fds[BROKER_MAX_FDS];
	size_t n = 0;

	if (!wire_receive(sockets[0], &reply, sizeof(reply), fds, &n))
		n = 0;
	for (size_t i = 0; i < n; i++)
		close(fds[i]);
	*failed = reply.failed;
	return n;
}

static bool opens(uint32_t act, const char *name)
{
	bool failed;

	return starts(act, name) && answers_file(&failed) && !failed && all_end();
}

static bool removes(const char *name)
{
	bool failed;

	return starts(OPENER_REMOVE, name) && !answers_file(&failed) && !failed && all_end();
}

static bool there(const char *name)
{
	const struct broker_request request = request_for(0, name);

	return access(request.text, F_OK) == 0;
}

static void test_remove(void)
{
	check(!starts(OPENER_REMOVE, "a.folded"), "nothing is removed before a file was made");
	check(opens(OPENER_CREATE, "a.folded") && there("a.folded"), "a file is made");
	check(opens(OPENER_CREATE, "b.folded") && there("b.folded"), "another file is made");
	check(!starts(OPENER_REMOVE, "a.folded") && there("a.folded"),
	      "a file that is not the newest is not removed");
	check(opens(OPENER_REPLACE, "a.folded"), "a file is replaced");
	check(!starts(OPENER_REMOVE, "a.folded"), "a file that was replaced is not removed");
	check(removes("b.folded") && !there("b.folded"), "the newest file is removed");
}

/* Answers are larger than the socket's buffer: children wait until somebody reads. */
static void test_children(void)
{
	const struct timeval wait = { .tv_usec = 20000 };
	unsigned n = 0, refused = 0;
	struct pollfd others = { .fd = -1 };
	int bytes = 1, ends[2];
	bool failed;

	if (pipe2(ends, O_CLOEXEC))
		abort();
	others.fd = ends[0];
	setsockopt(sockets[1], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	setsockopt(sockets[1], SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	for (unsigned i = 0; i < 3 * OPENER_MAX_CHILDREN; i++) {
		bool started = starts(OPENER_REPLACE, "a.folded");

		n += started;
		refused += !started;
		nap_ms(20);
	}
	check(n >= OPENER_MAX_CHILDREN && refused > 0,
	      "while nobody reads, %u children are started and %u are not", n, refused);
	close(ends[1]);
	check(poll(&others, 1, 5000) == 1, "children that wait have nothing else of the broker's");
	close(ends[0]);
	nap_ms(200);
	for (unsigned i = 0; i < n; i++)
		check(answers_file(&failed) && !failed, "answer %u of %u comes late", i, n);
	check(all_end(), "children that have answered end");
	check(opens(OPENER_REPLACE, "a.folded"), "another child starts after children have ended");
}

static void test_limit(void)
{
	while (opener.n_files < OPENER_MAX_FILES && opens(OPENER_REPLACE, "a.folded"))
		;
	check(opener.n_files == OPENER_MAX_FILES, "%u files are opened", opener.n_files);
	check(!starts(OPENER_REPLACE, "a.folded"), "no file beyond the limit is opened");
	snprintf(opener.created, sizeof(opener.created), "%s/a.folded", folder);
	check(removes("a.folded") && !there("a.folded"),
	      "the newest file is removed although the limit is reached");
}

/* Main has gone: a child that cannot answer ends. */
static void test_gone(void)
{
	opener.n_files = 0;
	close(sockets[0]);
	check(starts(OPENER_CREATE, "c.folded") && all_end(), "without main a child ends");
}

int main(void)
{
	unsetenv("SUDO_UID");
	if (!mkdtemp(folder) || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		abort();
	opener_init(&opener, export_endings);
	if (geteuid() == 0 && chown(folder, opener.caller.uid, opener.caller.gid))
		abort();
	test_remove();
	test_children();
	test_limit();
	test_gone();
	unlink(request_for(0, "c.folded").text);
	rmdir(folder);
	return tap_done();
}
