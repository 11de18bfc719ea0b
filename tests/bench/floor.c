// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Measures the floor: the shortest time for which a guest has to be stopped so that dom0 can read
 * the registers of all its vCPUs. xtop's stopped time per sample is compared with it.
 *
 *   floor DOMID N [MICROSECONDS [WHAT]]
 *
 * takes N samples of `multicall[pause, every vCPU's getvcpucontext] + unpause`, raw domctls
 * through libxencall with buffers allocated beforehand, one per MICROSECONDS (default 1000), and
 * prints one line of JSON: times in ns of CLOCK_MONOTONIC, from just before the multicall to just
 * after the unpause. In the lab with --deterministic one ns is one instruction. WHAT is
 *
 *   stop    that (default)
 *   pause   the same without any context
 *   one     multicall[pause, contexts, unpause], which leaves no time to read a stack
 *   null    a hypercall that does nothing (xen_version)
 *
 * The guest always runs again: there is no exit between pause and unpause, signals only set a flag,
 * and after a multicall that has failed halfway, its results say whether to unpause.
 *
 * Sources: Xen 4.17 public/domctl.h, public/xen.h (struct multicall_entry).
 */
#define __XEN_TOOLS__		/* so that the public headers declare domctls */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <xen/xen.h>
#include <xen/domctl.h>
#include <xen/version.h>
#include <xencall.h>

#define PAGE_BYTES	4096
#define MAX_VCPUS	128
#define NOT_RUN		((xen_ulong_t)-1)	/* result of a call that was never reached */

static xencall_handle *xen;
static volatile sig_atomic_t stop_signal;

/* In hypercall buffers: locked pages that Xen can write to without a fault. */
static struct xen_domctl *pause_op, *unpause_op, *context_ops;
static struct multicall_entry *calls;		/* [0] pause, [1 + n] n-th vCPU's context, ... */
static unsigned int nr_contexts, nr_calls;

static enum what { STOP, PAUSE, ONE, NOTHING, NR_WHATS } what;
static const char *const whats[NR_WHATS] = { "stop", "pause", "one", "null" };

static void die(const char *failed)
{
	fprintf(stderr, "floor: %s: %s\n", failed, strerror(errno));
	exit(1);
}

static void on_signal(int signal)
{
	stop_signal = signal;
}

static void *buffer(size_t bytes)
{
	size_t pages = (bytes + PAGE_BYTES - 1) / PAGE_BYTES;
	void *p = xencall_alloc_buffer_pages(xen, pages);

	if (!p)
		die("cannot allocate a hypercall buffer");
	memset(p, 0, pages * PAGE_BYTES);
	return p;
}

static int domctl(struct xen_domctl *op)
{
	return xencall1(xen, __HYPERVISOR_domctl, (uintptr_t)op);
}

static void domctl_prepare(struct xen_domctl *op, uint32_t cmd, domid_t domid)
{
	op->interface_version = XEN_DOMCTL_INTERFACE_VERSION;
	op->cmd = cmd;
	op->domain = domid;
}

static unsigned int count_vcpu_ids(domid_t domid)
{
	struct xen_domctl *op = buffer(sizeof(*op));

	domctl_prepare(op, XEN_DOMCTL_getdomaininfo, domid);
	if (domctl(op) < 0)
		die("cannot ask for the domain");
	/* Xen answers with the next domain if there is none of this number. */
	if (op->domain != domid || op->u.getdomaininfo.max_vcpu_id >= MAX_VCPUS) {
		errno = ESRCH;
		die("no such domain, or too many vCPUs");
	}
	return op->u.getdomaininfo.max_vcpu_id + 1;
}

static void add_call(struct xen_domctl *op)
{
	calls[nr_calls].op = __HYPERVISOR_domctl;
	calls[nr_calls].args[0] = (uintptr_t)op;
	nr_calls++;
}

/* One call for each vCPU that was ever started. The others have no context (ENODATA). */
static void prepare(domid_t domid)
{
	unsigned int vcpu, nr_vcpus = count_vcpu_ids(domid);
	struct xen_domctl *op;
	vcpu_guest_context_t *context;

	pause_op = buffer(sizeof(*pause_op));
	unpause_op = buffer(sizeof(*unpause_op));
	context_ops = buffer(nr_vcpus * sizeof(*context_ops));
	calls = buffer((3 + nr_vcpus) * sizeof(*calls));

	domctl_prepare(pause_op, XEN_DOMCTL_pausedomain, domid);
	domctl_prepare(unpause_op, XEN_DOMCTL_unpausedomain, domid);
	add_call(pause_op);
	for (vcpu = 0; what != PAUSE && vcpu < nr_vcpus; vcpu++) {
		op = &context_ops[nr_contexts];
		domctl_prepare(op, XEN_DOMCTL_getvcpucontext, domid);
		op->u.vcpucontext.vcpu = vcpu;
		context = buffer(sizeof(*context));
		set_xen_guest_handle(op->u.vcpucontext.ctxt, context);
		if (domctl(op) < 0) {
			if (errno != ENODATA)
				die("cannot read a vCPU's context");
			continue;
		}
		nr_contexts++;
		add_call(op);
	}
	if (what == ONE)
		add_call(unpause_op);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

/* Unpauses the guest, unless the multicall has not paused it or has unpaused it itself. */
static int release(void)
{
	if (calls[0].result != 0 || (what == ONE && calls[nr_calls - 1].result == 0))
		return 0;
	return domctl(unpause_op);
}

/* Stops the guest, reads, and releases it. Returns the time that this took, or 0 and sets errno. */
static uint64_t sample(void)
{
	uint64_t begin, end;
	int status, undone;
	unsigned int i;

	for (i = 0; i < nr_calls; i++)
		calls[i].result = NOT_RUN;

	begin = now_ns();
	status = xencall2(xen, __HYPERVISOR_multicall, (uintptr_t)calls, nr_calls);
	undone = release();
	end = now_ns();

	if (status < 0 || undone < 0)
		return 0;
	for (i = 0; i < nr_calls; i++) {
		if (calls[i].result != 0) {
			errno = -(long)calls[i].result;
			return 0;
		}
	}
	return end - begin;
}

static uint64_t sample_nothing(void)
{
	uint64_t begin = now_ns();

	xencall2(xen, __HYPERVISOR_xen_version, XENVER_version, 0);
	return now_ns() - begin;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static __attribute__((noreturn)) void usage(void)
{
	fprintf(stderr, "usage: floor DOMID N [MICROSECONDS [stop|pause|one|null]]\n");
	exit(2);
}

static unsigned long number(const char *text, unsigned long max)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *end || end == text || value == 0 || value > max)
		usage();
	return value;
}

static enum what what_of(const char *text)
{
	for (int i = 0; i < NR_WHATS; i++)
		if (strcmp(text, whats[i]) == 0)
			return (enum what)i;
	usage();
}

static void handle_signals(void)
{
	static const int signals[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE };
	struct sigaction action = { .sa_handler = on_signal };
	unsigned int i;

	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &action, NULL);
}

/* The smallest value such that at least `percent` of all values are not above it. */
static uint64_t percentile(const uint64_t *sorted, unsigned long n, unsigned int percent)
{
	return sorted[(n * percent + 99) / 100 - 1];
}

int main(int argc, char **argv)
{
	unsigned long n, taken, interval_us = 1000;
	uint64_t *times;
	domid_t domid;

	if (argc < 3 || argc > 5)
		number("", 0);		/* prints the usage */
	domid = number(argv[1], DOMID_FIRST_RESERVED - 1);
	n = number(argv[2], 10000000);
	if (argc > 3)
		interval_us = number(argv[3], 1000000);
	if (argc > 4)
		what = what_of(argv[4]);

	times = malloc(n * sizeof(*times));
	if (!times)
		die("no memory");
	memset(times, 0, n * sizeof(*times));
	xen = xencall_open(NULL, 0);
	if (!xen)
		die("cannot open the hypercall device");
	handle_signals();
	prepare(domid);

	for (taken = 0; taken < n && !stop_signal; taken++) {
		struct timespec interval = { interval_us / 1000000, interval_us % 1000000 * 1000 };

		nanosleep(&interval, NULL);
		times[taken] = what == NOTHING ? sample_nothing() : sample();
		if (!times[taken])
			die("a sample failed");
	}
	if (stop_signal)
		fprintf(stderr, "floor: stopped by signal %d\n", (int)stop_signal);
	if (!taken)
		return 1;

	qsort(times, taken, sizeof(*times), compare);
	printf("{\"domid\": %u, \"what\": \"%s\", \"vcpus\": %u, \"n\": %lu, "
	       "\"min\": %llu, \"p50\": %llu, \"p90\": %llu, \"p99\": %llu, \"max\": %llu}\n",
	       domid, whats[what], nr_contexts, taken, (unsigned long long)times[0],
	       (unsigned long long)percentile(times, taken, 50),
	       (unsigned long long)percentile(times, taken, 90),
	       (unsigned long long)percentile(times, taken, 99),
	       (unsigned long long)times[taken - 1]);
	return stop_signal ? 1 : 0;
}
