/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The broker alone, with a main that an attacker controls: it sends wrong questions, wrong
 * memory and wrong packets, and does not read the answers.
 */
#include "config.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervise/host_watch.h"
#include "supervise/trace_watch.h"
#include "tests/supervise/broker_fixture.h"
#include "tests/support/emulated.h"
#include "tests/support/tap.h"
#include "xtop/sample/control.h"
#include "xtop/sample/ring.h"

/* A memory file of SIZE_BYTES with SEALS. */
static int make_memory(off_t size_bytes, int seals)
{
	int fd = memfd_create("made", MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, size_bytes) < 0 || (seals && fcntl(fd, F_ADD_SEALS, seals) < 0))
		abort();
	return fd;
}

static void refuses(int socket, int control, int ring, const char *what)
{
	const struct broker_request start = { .question = BROKER_START, .domid = 5 };
	int fds[] = { control, ring };

	check(!ask(socket, start, fds, 2), "no guard starts with %s", what);
}

/* These have the right sizes, so the size is not why the broker refuses them. */
static void test_seals(int socket, struct control *control, struct ring *ring)
{
	const int all = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	struct stat right;
	int made[5];

	if (fstat(control_fd(control), &right))
		abort();
	made[0] = make_memory(right.st_size, 0);
	made[1] = make_memory(right.st_size, F_SEAL_GROW | F_SEAL_SEAL);
	made[2] = make_memory(2 * 4096, 0);
	made[3] = make_memory(2 * 4096, F_SEAL_GROW | F_SEAL_SEAL);
	made[4] = make_memory(4 * 4096, all);
	refuses(socket, made[0], ring_fd(ring), "a control block without seals");
	refuses(socket, made[1], ring_fd(ring), "a control block that may shrink");
	refuses(socket, control_fd(control), made[2], "a ring without seals");
	refuses(socket, control_fd(control), made[3], "a ring that may shrink");
	refuses(socket, control_fd(control), made[4], "a ring of three pages");
	for (int i = 0; i < 5; i++)
		close(made[i]);
}

/* Main overwrites the position that belongs to the other side of the ring. */
static void scribble_head(struct ring *ring)
{
	uint64_t *head = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ring_fd(ring), 0);

	if (head == MAP_FAILED)
		abort();
	*head = 13;
	munmap(head, 4096);
}

/*
 * If memory could shrink while the sampler writes to it, the sampler would be killed during a stop.
 */
static void test_memory(int socket)
{
	struct broker_request start = { .question = BROKER_START, .domid = 5 };
	int plain = memfd_create("plain", MFD_ALLOW_SEALING), small, file, fds[2];
	struct control *control;
	struct ring *ring;

	if (control_create(&control) || ring_create(4096, &ring) || ftruncate(plain, 1 << 20) < 0)
		abort();
	small = memfd_create("small", MFD_ALLOW_SEALING);
	file = open("/etc/passwd", O_RDONLY);
	fcntl(small, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	check(!ask(socket, start, NULL, 0), "no guard starts without shared memory");
	fds[0] = control_fd(control);
	check(!ask(socket, start, fds, 1), "no guard starts without a ring");
	fds[1] = plain;
	check(!ask(socket, start, fds, 2),
	      "no guard starts with a memory file without seals as ring");
	fds[1] = small;
	check(!ask(socket, start, fds, 2), "no guard starts with a ring of no bytes");
	fds[1] = file;
	check(!ask(socket, start, fds, 2), "no guard starts with /etc/passwd as ring");
	fds[0] = plain;
	fds[1] = ring_fd(ring);
	check(!ask(socket, start, fds, 2),
	      "no guard starts with a memory file without seals as control block");
	fds[0] = ring_fd(ring);
	check(!ask(socket, start, fds, 2), "no guard starts with a ring as control block");
	test_seals(socket, control, ring);
	fds[0] = control_fd(control);
	scribble_head(ring);
	check(ask(socket, start, fds, 2),
	      "a guard starts with a right ring and a right control block");
	check(seen->aligned, "a record is aligned although the ring's position is 13");
	check(seen->dumpable == 0, "the broker and what it starts leave no core files");
	check(!seen->has_terminal, "the broker and what it starts have no terminal");
	check(ask(socket, (struct broker_request){ .question = BROKER_MEMORY, .domid = 5 }, fds, 2),
	      "a question with descriptors that it does not need is answered");
	ring_destroy(ring);
	control_destroy(control);
	close(plain);
	close(small);
	close(file);
}

/* A main that asks and does not read the answers. */
static void test_unread(void)
{
	const struct broker_request list = { .question = BROKER_LIST };
	struct broker_request find = { .question = BROKER_FIND, .text = "web01" },
			      start = { .question = BROKER_START, .domid = 5 };
	const struct broker_settings before = settings;
	struct control *control;
	struct ring *ring;
	int fds[2], status, socket;
	pid_t pid;

	settings.n_domains = 0;
	socket = start_bare(&pid);
	settings = before;
	if (control_create(&control) || ring_create(4096, &ring))
		abort();
	fds[0] = control_fd(control);
	fds[1] = ring_fd(ring);
	check(ask(socket, find, NULL, 0) && ask(socket, start, fds, 2),
	      "a guard starts for a main that then reads nothing");
	for (unsigned i = 0; i < 8; i++)
		check(wire_send(socket, &list, sizeof(list), NULL, 0),
		      "list %u of 300 domains is asked for", i + 1);
	usleep(200000); /* the broker waits in send() */
	close(socket);
	check(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status),
	      "a broker whose answers are not read ends when main ends");
	ring_destroy(ring);
	control_destroy(control);
}

static unsigned n_descriptors(pid_t pid)
{
	unsigned n = 0;
	char path[32];
	DIR *stream;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	stream = opendir(path);
	while (stream && readdir(stream))
		n++;
	if (stream)
		closedir(stream);
	return n;
}

/* A descriptor may be closed after the answer was sent, but before the next answer is sent. */
static void test_leaks(int socket, pid_t pid)
{
	const struct broker_request stop = { .question = BROKER_STOP, .number = 7 };
	const int fds[] = { STDOUT_FILENO, STDOUT_FILENO };
	unsigned before;

	ask(socket, stop, NULL, 0);
	before = n_descriptors(pid);
	for (unsigned i = 0; i < 10; i++)
		ask(socket, stop, fds, 2);
	ask(socket, stop, NULL, 0);
	check_u64(n_descriptors(pid), before,
		  "the broker closes descriptors that it does not need: open ones");
}

/* A wrong packet ends the broker. */
static void test_packet(size_t size_bytes, size_t n_fds, const char *what)
{
	struct broker_request packet[2] = { { .question = BROKER_FIND, .text = "web01" } };
	struct cmsghdr *control = calloc(1, CMSG_SPACE(n_fds * sizeof(int)));
	struct iovec bytes = { packet, size_bytes };
	struct msghdr message = { .msg_iov = &bytes, .msg_iovlen = 1 };
	int status;
	pid_t pid;
	int socket = start_bare(&pid);

	control->cmsg_level = SOL_SOCKET;
	control->cmsg_type = SCM_RIGHTS;
	control->cmsg_len = CMSG_LEN(n_fds * sizeof(int)); /* copies of stdin */
	if (n_fds) {
		message.msg_control = control;
		message.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
	}
	check(sendmsg(socket, &message, 0) == (ssize_t)size_bytes, "%s: sent", what);
	shutdown(socket, SHUT_WR);
	if (n_fds <= BROKER_MAX_FDS || !emulator_lacks("MSG_CTRUNC"))
		check(recv(socket, packet, sizeof(packet), 0) <= 0, "%s: no answer", what);
	check(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status),
	      "%s: the broker ends", what);
	free(control);
	close(socket);
}

/* Whether the budget of DOMID allows two pauses of 2 ms at once. */
static bool reads_twice(int socket, uint32_t domid)
{
	const struct broker_request read = { .question = BROKER_REGISTERS, .domid = domid };
	bool both;

	seen->pause_ns = 450000000; /* a start may spend 500 ms; 1.8 s earn these */
	both = ask(socket, read, NULL, 0);
	both = ask(socket, read, NULL, 0) && both;
	seen->pause_ns = 0;
	return both;
}

/* All domains are allowed. Of 300 that were found, the first ones are forgotten. */
static void test_many(void)
{
	const struct broker_settings before = settings;
	struct broker_request find = { .question = BROKER_FIND },
			      memory = { .question = BROKER_MEMORY };
	bool found = true;
	int socket;
	pid_t pid;

	settings.n_domains = 0;
	socket = start_bare(&pid);
	settings = before;
	for (unsigned i = 0; i < 300; i++) {
		snprintf(find.text, sizeof(find.text), "other%u", i);
		found &= ask(socket, find, NULL, 0);
	}
	check(found, "300 domains are found");
	memory.domid = 100 + 299;
	check(ask(socket, memory, NULL, 0), "memory of the last domain that was found is opened");
	memory.domid = 100 + 44;
	check(ask(socket, memory, NULL, 0),
	      "memory of the first of the last 256 domains is opened");
	memory.domid = 100 + 43;
	check(!ask(socket, memory, NULL, 0), "no memory of the domain found before the last 256");
	check(reads_twice(socket, 100 + 44), "a domain that was not forgotten has its advance");
	snprintf(find.text, sizeof(find.text), "other43");
	check(ask(socket, find, NULL, 0) && !reads_twice(socket, 100 + 43),
	      "a domain that is found again after it was forgotten has no advance");
	close(socket);
	waitpid(pid, NULL, 0);
}

/* Main reads a recording that an attacker has made. */
static void test_no_domains(void)
{
	struct broker_request find = { .question = BROKER_FIND, .text = "web01" };
	const struct broker_settings before = settings;
	int socket;
	pid_t pid;

	settings.n_domains = 0;
	settings.no_domains = true;
	socket = start_bare(&pid);
	settings = before;
	check(!ask(socket, find, NULL, 0), "no domain is found while a recording is played");
	check(!ask(socket, (struct broker_request){ .question = BROKER_LIST }, NULL, 0),
	      "no domains are listed while a recording is played");
	close(socket);
	waitpid(pid, NULL, 0);
}

static void test_questions(void)
{
	struct broker_request find = { .question = BROKER_FIND, .text = "web01" };
	struct broker_request full = { .question = BROKER_FIND };
	pid_t pid;
	int socket = start_bare(&pid), status;

	check(ask(socket, find, NULL, 0), "the broker answers a main that the test plays");
	memset(full.text, 'w', sizeof(full.text));
	check(!ask(socket, full, NULL, 0), "a name without a NUL is not looked for");
	for (uint32_t question = N_BROKER_QUESTIONS; question; question *= 2)
		check(!ask(socket, (struct broker_request){ .question = question }, NULL, 0),
		      "unknown question %u is refused", question);
	ask(socket, (struct broker_request){ .question = BROKER_STOP, .number = UINT32_MAX }, NULL,
	    0);
	ask(socket, (struct broker_request){ .question = BROKER_STOP, .number = 3 }, NULL, 0);
	ask(socket, (struct broker_request){ .question = BROKER_STOP, .number = 8 }, NULL, 0);
	check(!ask(socket,
		   (struct broker_request){ .question = BROKER_REMOVE, .number = UINT32_MAX }, NULL,
		   0),
	      "a file number that does not exist is refused");
	check(!ask(socket,
		   (struct broker_request){
			   .question = BROKER_REGISTERS, .domid = 5, .number = UINT32_MAX },
		   NULL, 0),
	      "a vCPU number that does not exist is refused");
	test_memory(socket);
	test_leaks(socket, pid);
	check(ask(socket, find, NULL, 0), "the broker answers after all wrong questions");
	check(wire_send(socket, "short", 5, NULL, 0), "a packet of another size is sent");
	check(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status),
	      "the broker ends after a packet of another size");
	close(socket);
}

/* --- processes that look at the host ---------------------------------------------------------- */

static void run_until_broker_ends(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		poll(NULL, 0, -1);
}

/* Replaces host_watch.c. */
void host_watch_run(void *context, int socket)
{
	(void)context, (void)socket;
	run_until_broker_ends();
}

/* Replaces trace_watch.c. */
void trace_watch_run(void *context, int socket)
{
	(void)context, (void)socket;
	run_until_broker_ends();
}

/* How many such processes start for QUESTION. */
static unsigned count_watches(int socket, uint32_t question)
{
	unsigned n = 0;

	while (n < 1000 &&
	       ask(socket, (struct broker_request){ .question = question, .domid = 5 }, NULL, 0))
		n++;
	return n;
}

static void test_watches(void)
{
	const struct broker_request find = { .question = BROKER_FIND, .text = "web01" };
	const struct broker_settings before = settings;
	unsigned takers, traces;
	int status, socket;
	pid_t pid;

	settings.has_screen = true;
	socket = start_bare(&pid);
	settings = before;
	ask(socket, find, NULL, 0);
	takers = count_watches(socket, BROKER_TAKERS);
	traces = count_watches(socket, BROKER_TRACE);
	check(takers == 64 && traces == 64,
	      "main may have 64 processes of each kind that look at the host: %u, %u", takers,
	      traces);
	check(ask(socket, find, NULL, 0), "the broker answers after all of these");
	close(socket);
	waitpid(pid, &status, 0);
}

int main(void)
{
	fixture_begin();
	test_questions();
	test_watches();
	test_unread();
	test_packet(sizeof(struct broker_request) + 1, 0, "a packet that is too long");
	test_packet(sizeof(struct broker_request), 3, "three descriptors");
	test_many();
	test_no_domains();
	return tap_done();
}
