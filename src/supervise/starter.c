/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process that forks keepers, and the broker's side of it; see starter.h. Each packet from the
 * broker has an answer, over a socket like main's (broker_wire.h).
 *
 * If the broker dies, the kernel kills the starter. If the starter dies, the kernel sends SIGTERM
 * to the keepers; the broker goes on, and says that nothing can be started.
 */
#include "config.h"

#include "supervise/starter.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "supervise/broker_wire.h"
#include "supervise/keeper.h"
#include "supervise/root_sandbox.h"
#include "xtop/base/cleanup.h"
#include "xtop/base/usage.h"
#include "xtop/sample/control.h"
#include "xtop/sample/ring.h"

#define STARTER_END_MS 1000 /* how long the starter may take to end once all runs have ended */
/*
 * How long the broker waits for an answer: a run takes 4 s to end at most, and main waits for the
 * broker for 10 s.
 */
#define STARTER_WAIT_S 8

enum starter_act { STARTER_START, STARTER_STOP, STARTER_STOP_ALL, STARTER_ADD_PAUSE };

struct starter_request {
	enum starter_act act;
	uint32_t number;            /* STARTER_STOP: the number of the run that ends */
	struct starter_order order; /* STARTER_ADD_PAUSE needs only its domid and pause */
};

struct starter_reply {
	bool failed;
	char message[512]; /* why the request failed */
	uint32_t number;   /* STARTER_START: the number of the run that has begun */
	uint64_t cpu_ns;
};

/* --- the starter's process -------------------------------------------------------------------- */

/* One domain's sampling. */
struct starter_run {
	struct keeper keeper; /* pid 0: this run is free */
	uint32_t domid;
	struct control *control;
	struct ring *ring;
};

static struct starter_process {
	const struct broker_settings *settings;
	pid_t main;
	int broker_socket, socket;
	struct starter_run runs[STARTER_MAX_RUNS];
} starter_process; /* too large for a stack */

static struct starter_run *starter_find_domain(struct starter_process *process, uint32_t domid)
{
	for (unsigned i = 0; i < STARTER_MAX_RUNS; i++)
		if (process->runs[i].keeper.pid && process->runs[i].domid == domid)
			return &process->runs[i];
	return NULL;
}

/* Finds a free run. A domain has one run at most: each of two would use the whole budget. */
static struct xtop_error *starter_find_run(struct starter_process *process,
					   const struct guest_info *info, struct starter_run **runp)
{
	if (starter_find_domain(process, info->domid))
		return error_create("domain '%s' is sampled already", info->name);
	for (unsigned i = 0; i < STARTER_MAX_RUNS; i++) {
		if (!process->runs[i].keeper.pid) {
			*runp = &process->runs[i];
			return NULL;
		}
	}
	return error_create("xtop samples at most %d domains at a time", STARTER_MAX_RUNS);
}

static void starter_stop_run(struct starter_run *run)
{
	if (run->keeper.pid) {
		keeper_quit(&run->keeper);
		keeper_end(&run->keeper);
	}
	ring_destroy(run->ring);
	control_close(run->control);
	*run = (struct starter_run){ 0 };
}

/* Stops all runs, which quit at the same time. */
static void starter_stop_runs(struct starter_process *process)
{
	for (unsigned i = 0; i < STARTER_MAX_RUNS; i++)
		if (process->runs[i].keeper.pid)
			keeper_quit(&process->runs[i].keeper);
	for (unsigned i = 0; i < STARTER_MAX_RUNS; i++)
		starter_stop_run(&process->runs[i]);
}

static struct xtop_error *starter_fork_run(const struct starter_process *process,
					   const struct starter_order *order, const int *fds,
					   struct starter_run *run)
{
	struct sampling sampling = { .info = order->info, .run = process->settings->run };
	const struct keeper_origin origin = { process->main, process->socket,
					      process->settings->shared };
	struct xtop_error *error = control_adopt(fds[0], &run->control);

	if (!error)
		error = ring_adopt(fds[1], &run->ring);
	run->domid = order->info.domid;
	control_set_credit_spent(order->spent);
	sampling.control = run->control;
	sampling.ring = run->ring;
	if (!error)
		error = keeper_start(&sampling, &origin, &run->keeper);
	if (error)
		starter_stop_run(run);
	else
		stop_area_add_pause(run->keeper.area, order->paused_ns);
	return error;
}

static struct xtop_error *starter_begin(struct starter_process *process,
					const struct starter_order *order, const int *fds,
					struct starter_run **runp)
{
	_cleanup_free_ char *note = NULL;
	struct xtop_error *error = starter_find_run(process, &order->info, runp);

	if (error)
		return error;
	/* Main has undone old pauses of guests of -d; a guest picked on the screen may have one. */
	error_destroy(guest_undo_pause(order->info.uuid, false, &note));
	return starter_fork_run(process, order, fds, *runp);
}

/* Does what REQUEST says. *END_FD becomes a descriptor that tells the new run's end. */
static struct xtop_error *starter_act(struct starter_process *process,
				      const struct starter_request *request, const int *fds,
				      struct starter_reply *reply, int *end_fd)
{
	struct starter_run *run = NULL;
	struct xtop_error *error = NULL;

	switch (request->act) {
	case STARTER_START:
		error = starter_begin(process, &request->order, fds, &run);
		if (error)
			return error;
		reply->number = (uint32_t)(run - process->runs);
		*end_fd = run->keeper.end_fd;
		return NULL;
	case STARTER_STOP:
		if (request->number < STARTER_MAX_RUNS)
			starter_stop_run(&process->runs[request->number]);
		return NULL;
	case STARTER_STOP_ALL:
		starter_stop_runs(process);
		return NULL;
	case STARTER_ADD_PAUSE:
		run = starter_find_domain(process, request->order.info.domid);
		if (!run)
			return error_create("the domain is not sampled");
		stop_area_add_pause(run->keeper.area, request->order.paused_ns);
		return NULL;
	}
	return error_create("the starter got an unknown question");
}

/* False: the broker has gone. */
static bool starter_serve(struct starter_process *process)
{
	struct starter_reply reply = { 0 };
	struct starter_request request;
	int fds[BROKER_MAX_FDS] = { -1, -1 }, end_fd = -1;
	struct xtop_error *error;
	size_t n_fds;

	if (!wire_receive(process->socket, &request, sizeof(request), fds, &n_fds))
		return false;
	error = starter_act(process, &request, fds, &reply, &end_fd);
	for (size_t i = 0; i < n_fds; i++)
		close(fds[i]);
	if (error) {
		reply.failed = true;
		strncpy(reply.message, error_message(error), sizeof(reply.message) - 1);
		error_destroy(error);
	}
	usage_read(&reply.cpu_ns, NULL);
	return wire_send(process->socket, &reply, sizeof(reply), &end_fd, end_fd >= 0);
}

/*
 * The body of the process (helper_run_fn). It ignores the signals that the broker ignores. If the
 * broker was killed, the socket ends, and this process must end at once: the keepers report what
 * has happened only if their parent is dead.
 */
static void starter_run(void *context, int socket)
{
	struct starter_process *process = context;

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* if the broker has ended before, the socket has ended */
	close(process->broker_socket); /* main must see the socket's end when the broker dies */
	process->socket = socket;
	root_sandbox_drop(ROOT_GUARD);
	while (starter_serve(process))
		;
}

/* --- the broker's side ------------------------------------------------------------------------ */

struct xtop_error *starter_open(const struct broker_settings *settings, int broker_socket,
				struct starter *starter)
{
	const struct timeval wait = { .tv_sec = STARTER_WAIT_S };
	struct xtop_error *error;

	starter_process = (struct starter_process){ .settings = settings,
						    .main = getppid(),
						    .broker_socket = broker_socket };
	error = helper_start("the starter", starter_run, &starter_process, &starter->process);
	if (!error)
		setsockopt(starter->process.socket, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	return error;
}

/*
 * Asks the starter. Kills a starter that does not answer in time: its late answer would be taken
 * for the answer to the next request.
 */
static struct xtop_error *starter_ask(struct starter *starter,
				      const struct starter_request *request, const int *fds,
				      struct starter_reply *reply, int *end_fd)
{
	int got[BROKER_MAX_FDS];
	size_t n_got;

	if (!starter->process.socket ||
	    !wire_send(starter->process.socket, request, sizeof(*request), fds, fds ? 2 : 0) ||
	    !wire_receive(starter->process.socket, reply, sizeof(*reply), got, &n_got)) {
		if (starter->process.pid)
			kill(starter->process.pid, SIGKILL);
		return error_create("xtop's starter was killed; the guest runs");
	}
	if (end_fd)
		*end_fd = n_got ? got[0] : -1;
	starter->cpu_ns = reply->cpu_ns;
	return reply->failed ? error_create("%s", reply->message) : NULL;
}

struct xtop_error *starter_start(struct starter *starter, const struct starter_order *order,
				 const int fds[2], uint32_t *number, int *end_fd)
{
	const struct starter_request request = { .act = STARTER_START, .order = *order };
	struct starter_reply reply;
	struct xtop_error *error = starter_ask(starter, &request, fds, &reply, end_fd);

	if (!error)
		*number = reply.number;
	return error;
}

void starter_stop(struct starter *starter, uint32_t number)
{
	const struct starter_request request = { .act = STARTER_STOP, .number = number };
	struct starter_reply reply;

	error_destroy(starter_ask(starter, &request, NULL, &reply, NULL));
}

bool starter_add_pause(struct starter *starter, uint32_t domid, uint64_t paused_ns)
{
	const struct starter_request request = { .act = STARTER_ADD_PAUSE,
						 .order = { .info = { .domid = domid },
							    .paused_ns = paused_ns } };
	struct starter_reply reply;
	struct xtop_error *error = starter_ask(starter, &request, NULL, &reply, NULL);
	bool counted = !error;

	error_destroy(error);
	return counted;
}

void starter_end(struct starter *starter)
{
	const struct starter_request request = { .act = STARTER_STOP_ALL };
	struct starter_reply reply;

	error_destroy(starter_ask(starter, &request, NULL, &reply, NULL));
	helper_end(&starter->process, STARTER_END_MS);
}
