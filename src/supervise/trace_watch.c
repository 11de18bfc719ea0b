/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes that have Xen trace; see trace_watch.h. The reader copies Xen's buffers to main,
 * which alone looks into the records. Xen goes on tracing when a reader dies, so the watcher waits
 * for the reader's end, however it comes, and ends tracing.
 *
 *   dies      what happens
 *   reader    its socket tells the watcher, which ends tracing
 *   watcher   the kernel sends the reader SIGTERM, and the reader ends tracing
 *   broker    the kernel sends the watcher SIGTERM, which kills the reader
 *   main      the reader sees the end of its socket, and ends tracing
 *
 * While main does not read, the reader leaves the records in Xen's buffers, and Xen counts what it
 * has no room for.
 */
#include "config.h"

#include "supervise/trace_watch.h"

#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "supervise/helper.h"
#include "supervise/root_sandbox.h"
#include "xtop/base/cleanup.h"
#include "xtop/base/clock.h"
#include "xtop/supervise/trace_source.h"
#include "xtop/xen/host_look.h"
#include "xtop/xen/trace_buffers.h"

#define TRACE_PAGES    32 /* pages of each CPU's buffer; xentrace's default */
#define TRACE_NAP_MS   10 /* time between two reads of the buffers */
#define TRACE_WATCH_MS 50
#define TRACE_DEATH_MS 50 /* how long a reader that was killed may take to end */

static struct trace_chunk chunk; /* too large for a stack */
static volatile sig_atomic_t trace_quit;

static void trace_on_signal(int number)
{
	(void)number;
	trace_quit = 1;
}

/* From now on SIGTERM, which comes when the parent dies, makes this process end. */
static void trace_follow_parent(pid_t parent)
{
	const struct sigaction action = { .sa_handler = trace_on_signal };

	sigaction(SIGTERM, &action, NULL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		trace_quit = 1;
}

/* --- the reader ------------------------------------------------------------------------------- */

/* False: main does not read now, or has gone. */
static bool trace_send(int socket)
{
	size_t size_bytes = offsetof(struct trace_chunk, bytes) + chunk.size_bytes;

	chunk.cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	return send(socket, &chunk, size_bytes, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)size_bytes;
}

/* Whether the CPUs have VMX, as those of Intel, Centaur and Zhaoxin do. All others have SVM. */
static bool trace_is_vmx(void)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/cpuinfo", "re");
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, "vendor_id", 9) == 0)
			return strstr(line, "GenuineIntel") || strstr(line, "CentaurHauls") ||
			       strstr(line, "Shanghai");
	return false;
}

static void trace_send_hello(int socket, const struct trace_buffers *buffers,
			     const struct xtop_error *error)
{
	struct trace_hello hello = { .khz = buffers ? trace_buffers_khz(buffers) : 0,
				     .is_vmx = trace_is_vmx() };

	if (error)
		snprintf(hello.failure, sizeof(hello.failure), "%s", error_message(error));
	chunk.cpu = UINT32_MAX;
	chunk.size_bytes = sizeof(hello);
	memcpy(chunk.bytes, &hello, sizeof(hello));
	trace_send(socket);
}

/*
 * Sends, for each CPU, the record that Xen would write if its vCPU began to run now, but without a
 * time. A vCPU that goes on running has no such record, and would stay unknown.
 */
static void trace_send_running(int socket)
{
	/* From runnable to running; one word follows. */
	static const uint32_t begins = 0x21001 | 1 << 8 | 1 << 28;
	struct host_look last = { 0 }, look = { 0 };
	struct host_looker *looker;
	struct xtop_error *error = host_looker_open(&looker);

	if (!error)
		error = host_looker_look(looker, 0, &last, &look);
	for (size_t i = 0; !error && i < look.n_vcpus; i++) {
		const struct host_vcpu *vcpu = &look.vcpus[i];
		uint32_t words[2] = { begins, vcpu->domid << 16 | vcpu->number };

		if (vcpu->state != VCPU_RUNNING)
			continue;
		chunk.cpu = vcpu->cpu;
		chunk.size_bytes = sizeof(words);
		memcpy(chunk.bytes, words, sizeof(words));
		trace_send(socket);
	}
	error_destroy(error);
}

/* Sends the records in CPU's buffer. False: main does not read now. */
static bool trace_read_cpu(const struct trace_buffers *buffers, unsigned cpu, int socket)
{
	size_t n;

	do {
		n = trace_buffers_peek(buffers, cpu, chunk.bytes, sizeof(chunk.bytes));
		chunk.cpu = cpu;
		chunk.size_bytes = (uint32_t)n;
		if (n && !trace_send(socket))
			return false;
		if (n)
			trace_buffers_release(buffers, cpu, n);
	} while (n == sizeof(chunk.bytes) && !trace_quit);
	return true;
}

static void trace_read(const struct trace_buffers *buffers, int socket)
{
	struct pollfd main_end = { .fd = socket, .events = 0 }; /* POLLHUP only */

	trace_send_hello(socket, buffers, NULL);
	trace_send_running(socket);
	while (!trace_quit && poll(&main_end, 1, TRACE_NAP_MS) <= 0)
		for (unsigned i = 0; i < trace_buffers_cpus(buffers); i++)
			if (!trace_read_cpu(buffers, i, socket))
				break;
}

/* What the reader gets from the watcher. */
struct trace_reading {
	int socket; /* leads to main */
	pid_t watcher;
};

/*
 * The body of the reader (helper_run_fn). A byte to the WATCHER, before tracing begins, says that
 * tracing is ours. The reader opens buffers of its own: hypercall memory does not outlive a fork.
 */
static void trace_run_reader(void *context, int watcher)
{
	const struct trace_reading *reading = context;
	struct trace_buffers *buffers = NULL;
	struct xtop_error *error;

	trace_follow_parent(reading->watcher);
	error = root_sandbox_enter(ROOT_LOOKER);
	if (!error)
		error = trace_buffers_open(&buffers);
	if (!error)
		error = trace_buffers_map(buffers, TRACE_PAGES);
	if (!error && send(watcher, "", 1, MSG_NOSIGNAL) != 1)
		error = error_create("xtop's process that watches the trace has ended");
	if (!error)
		error = trace_buffers_enable(buffers, TRACE_EVENTS);
	if (error) {
		trace_send_hello(reading->socket, buffers, error);
		error_destroy(error);
		return; /* somebody else's trace goes on */
	}
	trace_read(buffers, reading->socket);
	trace_buffers_disable(buffers);
}

/* --- the watcher ------------------------------------------------------------------------------ */

/* Waits for the reader's end. Returns whether the reader has begun to trace. */
static bool trace_watch(struct helper *reader)
{
	struct pollfd heard = { .fd = reader->socket, .events = POLLIN };
	bool began = false;
	char byte;

	while (!trace_quit) {
		if (poll(&heard, 1, TRACE_WATCH_MS) <= 0)
			continue;
		if (recv(reader->socket, &byte, 1, MSG_DONTWAIT) != 1)
			break; /* the reader's end of the socket is closed: the reader has ended */
		began = true;
	}
	if (trace_quit) {
		kill(reader->pid, SIGKILL);
		helper_wait_for_end(reader, TRACE_DEATH_MS);
		began |= recv(reader->socket, &byte, 1, MSG_DONTWAIT) == 1; /* sent just before */
	}
	helper_end(reader, TRACE_DEATH_MS);
	return began;
}

/*
 * helper_detach() forks. So getpid() and getppid() give the lasting processes only after
 * helper_detach().
 */
void trace_watch_run(void *context, int socket)
{
	struct trace_reading reading = { .socket = socket };
	struct trace_buffers *buffers = NULL;
	struct xtop_error *error;
	struct helper reader;

	(void)context;
	helper_detach(socket);
	trace_follow_parent(getppid());
	reading.watcher = getpid();
	error = root_sandbox_enter(ROOT_GUARD);
	if (!error)
		error = trace_buffers_open(&buffers);
	if (!error)
		error = helper_start("the process that reads Xen's trace", trace_run_reader,
				     &reading, &reader);
	if (error) {
		trace_send_hello(socket, buffers, error);
		error_destroy(error);
		return;
	}
	close(socket);
	if (trace_watch(&reader))
		trace_buffers_disable(buffers);
}
