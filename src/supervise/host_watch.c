/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process that looks at the host; see host_watch.h. It looks ten times a second, at random
 * moments, so that work that repeats is not always seen in the same place. Where looking is costly,
 * because the host has many vCPUs, it looks less often, and takes HOST_WATCH_SHARE of a CPU.
 * Names, affinities and pools are asked for only with an answer.
 */
#include "config.h"

#include "supervise/host_watch.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "supervise/broker_wire.h"
#include "supervise/helper.h"
#include "supervise/root_sandbox.h"
#include "xtop/base/clock.h"
#include "xtop/sample/takers.h"
#include "xtop/xen/xen.h"

#define HOST_WATCH_NS       100000000ULL   /* mean time between two looks */
#define HOST_WATCH_SHARE    0.004          /* share of a CPU that looks may take */
#define HOST_WATCH_NAMES_NS 10000000000ULL /* time between two looks at names */
#define HOST_WATCH_IDLE     0.1            /* a CPU that is used less than this counts as idle */

struct host_watch {
	const struct host_watch_settings *settings;
	int socket;
	struct host_looker *looker;
	struct takers *takers;
	struct host_look last, look;
	uint64_t next_ns, refused, cost_ns; /* cost_ns: mean CPU time of a look */
	uint64_t names_ns;                  /* time when names were read; 0: never */
	size_t n_names;
	struct guest_listing *names;
	struct takers_table table;
};

/* --- looks ------------------------------------------------------------------------------------ */

static uint64_t host_watch_pause_ns(const struct host_watch *watch)
{
	double mean_ns = (double)watch->cost_ns / HOST_WATCH_SHARE;

	if (mean_ns < HOST_WATCH_NS)
		mean_ns = HOST_WATCH_NS;
	return (uint64_t)(mean_ns * (0.5 + drand48()));
}

static void host_watch_look(struct host_watch *watch)
{
	uint64_t begin_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID), cost_ns;
	const struct host_look spare = watch->last;
	struct xtop_error *error;

	watch->last = watch->look;
	watch->look = spare;
	error = host_looker_look(watch->looker, watch->settings->domid, &watch->last, &watch->look);
	if (error)
		watch->refused++;
	else if (watch->last.time_ns)
		takers_add(watch->takers, &watch->last, &watch->look);
	error_destroy(error);
	cost_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin_ns;
	watch->cost_ns = (7 * watch->cost_ns + cost_ns) / 8;
	watch->next_ns = clock_now_ns() + host_watch_pause_ns(watch);
}

/* --- what an answer has besides --------------------------------------------------------------- */

/*
 * Reads the domains' names from xenstore, which may be slow. Only this process waits for xenstore.
 */
static void host_watch_read_names(struct host_watch *watch)
{
	uint64_t now_ns = clock_now_ns();
	struct guest_listing *names;
	struct xtop_error *error;
	size_t n;

	if (watch->names_ns && now_ns - watch->names_ns < HOST_WATCH_NAMES_NS)
		return;
	watch->names_ns = now_ns;
	error = xen_list(&names, &n);
	if (error) {
		error_destroy(error); /* if names are missing, the domains have numbers */
		return;
	}
	free(watch->names);
	watch->names = names;
	watch->n_names = n;
}

static const char *host_watch_name(const struct host_watch *watch, uint32_t domid)
{
	for (size_t i = 0; i < watch->n_names; i++)
		if (watch->names[i].info.domid == domid)
			return watch->names[i].info.name;
	return "";
}

/* Writes the CPUs of the pool that CPUS has, "0-3,8"; "" if CPUS has all of them. */
static void host_watch_format_cpus(const struct host_cpus *cpus, const struct host_cpus *pool,
				   char text[TAKERS_CPUS_BYTES])
{
	size_t used = 0;
	bool all = true;

	text[0] = '\0';
	for (unsigned i = 0; i < HOST_MAX_CPUS; i++) {
		unsigned first = i;

		all &= host_cpus_has(cpus, i) || !host_cpus_has(pool, i);
		while (host_cpus_has(cpus, i) && host_cpus_has(pool, i))
			i++;
		if (i == first || used + 12 > TAKERS_CPUS_BYTES)
			continue;
		used += (size_t)snprintf(text + used, TAKERS_CPUS_BYTES - used,
					 i - first > 1 ? "%s%u-%u" : "%s%u", used ? "," : "", first,
					 i - 1);
		i--;
	}
	if (all)
		text[0] = '\0';
}

static void host_watch_describe_pool(struct host_watch *watch, struct takers_table *table)
{
	const struct host_domain *domain = host_look_find(&watch->look, table->domid);
	struct host_cpus pool, cpus;
	uint32_t scheduler;

	if (!domain || !host_looker_get_pool(watch->looker, domain->pool, &scheduler, &pool))
		return;
	table->pool.id = domain->pool;
	for (unsigned i = 0; i < HOST_MAX_CPUS; i++) {
		table->pool.n_cpus += host_cpus_has(&pool, i);
		table->pool.n_idle += host_cpus_has(&pool, i) &&
				      takers_get_use(watch->takers, i) < HOST_WATCH_IDLE;
	}
	for (unsigned i = 0; i < table->n_vcpus; i++)
		if (host_looker_get_affinity(watch->looker, table->domid, i, &cpus))
			host_watch_format_cpus(&cpus, &pool, table->vcpus[i].affinity);
	host_looker_get_schedule(watch->looker, table->domid, scheduler, &table->schedule);
}

static void host_watch_describe_taker(struct host_watch *watch, struct taker *taker)
{
	struct host_schedule schedule = { 0 };
	struct host_cpus cpus;
	uint32_t scheduler;

	if (!taker_is_domain(taker->domid))
		return;
	snprintf(taker->name, sizeof(taker->name), "%.*s", (int)sizeof(taker->name) - 1,
		 host_watch_name(watch, taker->domid));
	if (host_looker_get_pool(watch->looker, taker->pool, &scheduler, &cpus) &&
	    host_looker_get_schedule(watch->looker, taker->domid, scheduler, &schedule)) {
		taker->weight = schedule.weight;
		taker->cap = schedule.cap;
	}
}

/* Answers one request. False: main has closed the socket. */
static bool host_watch_answer(struct host_watch *watch)
{
	struct takers_table *table = &watch->table;
	struct takers_request request;
	int fds[BROKER_MAX_FDS];
	size_t n_fds;

	if (!wire_receive(watch->socket, &request, sizeof(request), fds, &n_fds))
		return false;
	if (request.reset)
		takers_reset(watch->takers);
	host_watch_read_names(watch);
	takers_get(watch->takers, table);
	host_watch_describe_pool(watch, table);
	for (uint32_t i = 0; i < table->n_takers; i++)
		host_watch_describe_taker(watch, &table->takers[i]);
	table->refused = watch->refused;
	table->cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	return wire_send(watch->socket, table, sizeof(*table), NULL, 0);
}

/* --- the process ------------------------------------------------------------------------------ */

static void host_watch_loop(struct host_watch *watch)
{
	struct pollfd asked = { .fd = watch->socket, .events = POLLIN };

	for (;;) {
		uint64_t now_ns = clock_now_ns();
		int wait_ms = 0;

		if (now_ns >= watch->next_ns)
			host_watch_look(watch);
		else
			wait_ms = (int)((watch->next_ns - now_ns) / 1000000) + 1;
		if (poll(&asked, 1, wait_ms) > 0 && !host_watch_answer(watch))
			return;
	}
}

/* Answers the first request with the reason why there are no looks. */
static void host_watch_fail(const struct host_watch *watch, struct xtop_error *error)
{
	static struct takers_table table;
	struct takers_request request;
	int fds[BROKER_MAX_FDS];
	size_t n_fds;

	snprintf(table.failure, sizeof(table.failure), "%s", error_message(error));
	error_destroy(error);
	if (wire_receive(watch->socket, &request, sizeof(request), fds, &n_fds))
		wire_send(watch->socket, &table, sizeof(table), NULL, 0);
}

void host_watch_run(void *context, int socket)
{
	static struct host_watch watch; /* the table is too large for a stack */
	const struct host_watch_settings *settings = context;
	struct xtop_error *error;

	watch = (struct host_watch){ .settings = settings, .socket = socket };
	helper_detach(socket);
	srand48((long)clock_now_ns());
	error = root_sandbox_enter(ROOT_LOOKER);
	if (!error)
		error = host_looker_open(&watch.looker);
	if (!error)
		error = takers_create(settings->domid, settings->half_life_ns, &watch.takers);
	if (!error)
		host_watch_loop(&watch);
	else
		host_watch_fail(&watch, error);
}
