/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Main's side of the broker: implements broker.h by questions over the socket. Without a broker
 * (xtop -l, benchmarks) the process asks Xen itself. Any thread; a lock lets one question through
 * at a time.
 */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "supervise/ask.h"
#include "supervise/broker.h"
#include "supervise/broker_wire.h"
#include "supervise/helper.h"
#include "supervise/opener.h"
#include "xtop/base/cleanup.h"
#include "xtop/base/output.h"
#include "xtop/memory/memory.h"
#include "xtop/sample/control.h"
#include "xtop/sample/ring.h"
#include "xtop/xen/foreign.h"
#include "xtop/xen/xen.h"

#define CLIENT_WAIT_S   10    /* longest wait for an answer; xenstore takes less */
#define CLIENT_LOOK_MS  100   /* how often to look, meanwhile, whether the broker has ended */
#define CLIENT_WAIT_MS  5000  /* longest wait for the end of the broker, or of a keeper */
#define CLIENT_MAX_LIST 32768 /* most domains: Xen has no more numbers */
/*
 * The time between two questions for a vCPU's registers, and how many questions to ask. Together
 * they take 2 s, in which the smallest budget, 0.01 %, pays for 0.2 ms.
 */
#define CLIENT_LATER_NS    20000000
#define CLIENT_LATER_TRIES 100
#define CLIENT_MAX_NAME 256 /* bytes of a domain's name or UUID */

/* The process has one broker for its whole life: main cannot start another without rights. */
static struct {
	struct helper process;
	const struct broker_settings *settings;
	/*
	 * Why the broker is not asked any more; NULL while it is asked. After a question without an
	 * answer nothing more is asked: a late answer would be taken for the answer to the next
	 * question.
	 */
	const char *gone;
	pthread_mutex_t lock;
	uint64_t cpu_ns; /* the broker's CPU time at its last answer */
} client = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* --- start and end ---------------------------------------------------------------------------- */

struct xtop_error *broker_start(const struct broker_settings *settings)
{
	const struct timeval wait = { .tv_sec = CLIENT_WAIT_S };
	struct xtop_error *error = helper_start("the broker", broker_run, (void *)settings,
						&client.process);

	if (error)
		return error;
	setsockopt(client.process.socket, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	client.gone = NULL;
	client.settings = settings;
	return NULL;
}

void broker_stop(void)
{
	/* The broker may be stopped (SIGSTOP), and main may not be allowed to continue it. */
	helper_end(&client.process, CLIENT_WAIT_MS);
}

bool broker_is_alive(void)
{
	bool there;

	pthread_mutex_lock(&client.lock);
	there = client.process.socket && !client.gone;
	pthread_mutex_unlock(&client.lock);
	return there;
}

/* --- questions -------------------------------------------------------------------------------- */

/*
 * Says why a question failed with ERRNO_VALUE: the broker did not answer in time, or was killed.
 */
static struct xtop_error *client_report_gone(int errno_value)
{
	if (!client.gone)
		client.gone = errno_value == EAGAIN
				      ? "xtop's broker does not answer (is it stopped?)"
				      : "xtop's broker was killed; the guest runs";
	return error_create("%s", client.gone);
}

/*
 * Waits until there is an answer. False: there is none, and errno says why. A killed broker does
 * not end the socket while a child of the broker has it, which opens a file and waits for a file
 * server.
 */
static bool client_wait(void)
{
	struct pollfd answer = { .fd = client.process.socket, .events = POLLIN };

	for (unsigned ms = 0; ms < CLIENT_WAIT_S * 1000; ms += CLIENT_LOOK_MS) {
		if (poll(&answer, 1, CLIENT_LOOK_MS) > 0)
			return true;
		if (helper_wait_for_end(&client.process, 0)) {
			errno = EPIPE;
			return poll(&answer, 1, 0) > 0; /* the broker may have answered before */
		}
	}
	errno = EAGAIN;
	return false;
}

/*
 * Sends REQUEST and waits for its answer. The caller holds the lock. *FDP becomes the descriptor
 * that came with the answer, or -1; FDP NULL: no descriptor is wanted.
 */
static struct xtop_error *client_exchange(const struct broker_request *request, const int *fds,
					  size_t n_fds, struct broker_reply *reply, int *fdp)
{
	const int socket = client.process.socket;
	int got[BROKER_MAX_FDS];
	size_t n_got;

	if (client.gone || !wire_send(socket, request, sizeof(*request), fds, n_fds) ||
	    !client_wait() || !wire_receive(socket, reply, sizeof(*reply), got, &n_got))
		return client_report_gone(errno);
	for (size_t i = fdp ? 1 : 0; i < n_got; i++)
		close(got[i]);
	if (fdp)
		*fdp = n_got ? got[0] : -1;
	reply->message[sizeof(reply->message) - 1] = '\0';
	client.cpu_ns = reply->cpu_ns;
	return reply->failed ? error_create("%s", reply->message) : NULL;
}

static struct xtop_error *client_ask(const struct broker_request *request, const int *fds,
				     size_t n_fds, struct broker_reply *reply, int *fdp)
{
	struct xtop_error *error;

	pthread_mutex_lock(&client.lock);
	error = client_exchange(request, fds, n_fds, reply, fdp);
	pthread_mutex_unlock(&client.lock);
	return error;
}

void broker_put_news(const struct notify_news *news)
{
	const struct broker_request request = { .question = BROKER_NEWS, .news = *news };
	struct broker_reply reply;

	if (client.process.socket)
		error_destroy(client_ask(&request, NULL, 0, &reply, NULL));
}

uint64_t broker_cpu_ns(void)
{
	uint64_t cpu_ns;

	pthread_mutex_lock(&client.lock);
	cpu_ns = client.cpu_ns;
	pthread_mutex_unlock(&client.lock);
	return cpu_ns;
}

static struct xtop_error *client_receive_list(struct guest_listing *list, size_t n)
{
	int fds[BROKER_MAX_FDS];
	size_t n_fds;

	for (size_t i = 0; i < n; i++)
		if (!wire_receive(client.process.socket, &list[i], sizeof(list[i]), fds, &n_fds))
			return client_report_gone(errno);
	return NULL;
}

static struct xtop_error *client_list(struct guest_listing **listp, size_t *np)
{
	const struct broker_request request = { .question = BROKER_LIST };
	_cleanup_free_ struct guest_listing *list = NULL;
	struct broker_reply reply;
	struct xtop_error *error;

	error = client_exchange(&request, NULL, 0, &reply, NULL);
	if (error)
		return error;
	if (reply.number > CLIENT_MAX_LIST)
		return client_report_gone(EPIPE);
	list = calloc(reply.number + 1, sizeof(*list));
	if (!list)
		return error_create("out of memory");
	error = client_receive_list(list, reply.number);
	if (error)
		return error;
	*listp = no_cleanup_ptr(list);
	*np = reply.number;
	return NULL;
}

struct xtop_error *guest_list(struct guest_listing **listp, size_t *np)
{
	struct xtop_error *error;

	if (!client.process.socket)
		return ask_list(-1, NULL, listp, np);
	pthread_mutex_lock(&client.lock);
	error = client_list(listp, np);
	pthread_mutex_unlock(&client.lock);
	return error;
}

struct xtop_error *guest_find(const char *domain, struct guest_info *info)
{
	struct broker_request request = { .question = BROKER_FIND };
	struct broker_reply reply;
	struct xtop_error *error;

	if (!client.process.socket)
		return ask_find(-1, domain, NULL, info);
	if (strlen(domain) >= CLIENT_MAX_NAME)
		return error_create("no domain '%s' on this host: xtop -l lists them", domain);
	memcpy(request.text, domain, strlen(domain));
	error = client_ask(&request, NULL, 0, &reply, NULL);
	if (!error)
		*info = reply.info;
	return error;
}

bool guest_get_registers(const struct guest_info *info, unsigned vcpu, struct registers *regs)
{
	const struct broker_request request = { .question = BROKER_REGISTERS,
						.domid = info->domid,
						.number = vcpu };
	const struct timespec nap = { .tv_nsec = CLIENT_LATER_NS };
	struct broker_reply reply = { .failed = false };
	struct xtop_error *error;
	uint64_t paused_ns;

	if (!client.process.socket)
		return xen_get_registers(info, vcpu, regs, &paused_ns);
	error = client_ask(&request, NULL, 0, &reply, NULL);
	for (unsigned i = 0; error && reply.later && i < CLIENT_LATER_TRIES; i++) {
		error_destroy(error);
		nanosleep(&nap, NULL);
		reply.later = false;
		error = client_ask(&request, NULL, 0, &reply, NULL);
	}
	if (!error)
		*regs = reply.registers;
	error_destroy(error);
	return !error;
}

struct xtop_error *guest_open_memory(uint32_t domid, struct memory **memoryp)
{
	const struct broker_request request = { .question = BROKER_MEMORY, .domid = domid };
	struct broker_reply reply;
	struct xtop_error *error;
	int fd = -1;

	error = client.process.socket ? client_ask(&request, NULL, 0, &reply, &fd)
			      : foreign_open_fd(domid, &fd);
	return error ? error : memory_create_live(domid, fd, memoryp);
}

int guest_open_cache(uint32_t domid)
{
	const struct broker_request request = { .question = BROKER_CACHE, .domid = domid };
	struct broker_reply reply;
	int fd = -1;

	if (client.process.socket)
		error_destroy(client_ask(&request, NULL, 0, &reply, &fd));
	return fd;
}

/*
 * Asks the broker to start the process that REQUEST names. *SOCKETP becomes the socket to that
 * process.
 */
static struct xtop_error *client_start_watch(const struct broker_request *request, int *socketp)
{
	struct broker_reply reply;
	struct xtop_error *error;
	int fd = -1;

	if (!client.process.socket)
		return error_create("the host is looked at through a broker only");
	error = client_ask(request, NULL, 0, &reply, &fd);
	if (error)
		return error;
	if (fd < 0)
		return error_create("no descriptor came");
	*socketp = fd;
	return NULL;
}

struct xtop_error *guest_watch_takers(uint32_t domid, uint64_t half_life_ns, int *socketp)
{
	const struct broker_request request = { .question = BROKER_TAKERS,
						.domid = domid,
						.number = (uint32_t)(half_life_ns / 1000000) };

	return client_start_watch(&request, socketp);
}

struct xtop_error *guest_trace(uint32_t domid, int *socketp)
{
	const struct broker_request request = { .question = BROKER_TRACE, .domid = domid };

	return client_start_watch(&request, socketp);
}

struct xtop_error *guard_start(const struct guest_info *info, struct control *control,
			       struct ring *ring, struct guest_process *process)
{
	const struct broker_request request = { .question = BROKER_START, .domid = info->domid };
	const int fds[] = { control_fd(control), ring_fd(ring) };
	struct broker_reply reply;
	struct xtop_error *error;

	if (!client.process.socket)
		return error_create("a guest is sampled through a broker only");
	error = client_ask(&request, fds, 2, &reply, &process->end_fd);
	if (!error)
		process->id = reply.number;
	return error;
}

bool guard_is_alive(const struct guest_process *process)
{
	struct pollfd ended = { .fd = process->end_fd, .events = POLLIN };

	return poll(&ended, 1, 0) <= 0; /* a signal that interrupts poll() also means alive */
}

void guard_stop(struct guest_process *process, struct control *control)
{
	const struct broker_request request = { .question = BROKER_STOP, .number = process->id };
	struct pollfd ended = { .fd = process->end_fd, .events = POLLIN };
	struct broker_reply reply;
	struct xtop_error *error;

	control_quit(control);
	error = client_ask(&request, NULL, 0, &reply, NULL);
	if (error && process->end_fd >= 0)
		poll(&ended, 1, CLIENT_WAIT_MS);
	error_destroy(error);
	if (process->end_fd >= 0)
		close(process->end_fd);
	process->end_fd = -1;
}

/* Asks the broker to ACT on the file PATH. *FDP becomes the open file, or -1 if none came. */
static struct xtop_error *client_open(const char *path, enum opener_act act,
				      struct broker_reply *reply, int *fdp)
{
	struct broker_request request = { .question = BROKER_OPEN, .number = act };

	if (strlen(path) >= sizeof(request.text))
		return error_create("cannot write '%s': the path is too long", path);
	memcpy(request.text, path, strlen(path));
	return client_ask(&request, NULL, 0, reply, fdp);
}

static struct xtop_error *client_open_output(const char *path, bool replace, int *fdp,
					     bool *existsp)
{
	struct broker_reply reply = { 0 };
	struct xtop_error *error;
	int fd = -1;

	error = client_open(path, replace ? OPENER_REPLACE : OPENER_CREATE, &reply, &fd);
	*existsp = error && reply.number;
	if (error)
		return error;
	if (fd < 0)
		return error_create("cannot write '%s': no descriptor came", path);
	*fdp = fd;
	return NULL;
}

static void client_remove(const char *path, int fd)
{
	struct broker_request request = { .question = BROKER_REMOVE };
	struct broker_reply reply;

	if (!client.process.socket)
		return;
	for (uint32_t i = 0; i < BROKER_MAX_FILES; i++) {
		request.number = i;
		if (client.settings->files[i] && strcmp(path, client.settings->files[i]) == 0) {
			error_destroy(client_ask(&request, &fd, 1, &reply, NULL));
			return;
		}
	}
	error_destroy(client_open(path, OPENER_REMOVE, &reply, NULL));
}

const struct output_opener broker_opener = { client_open_output, client_remove };
