/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The broker's process; see broker.h and, for the requests, supervise/broker_wire.h. It reads
 * requests of fixed size, checks each of them, and reads what Xen and xenstore say. It reads
 * nothing from a guest's memory. It runs at normal priority. It asks the starter for keepers,
 * which watch guests; the broker itself watches none. One thread, which does not return to main's
 * code.
 */
#include "config.h"

#include "xtop/supervise/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "supervise/ask.h"
#include "supervise/broker.h"
#include "supervise/broker_wire.h"
#include "supervise/helper.h"
#include "supervise/host_watch.h"
#include "supervise/trace_watch.h"
#include "supervise/opener.h"
#include "supervise/root_sandbox.h"
#include "supervise/starter.h"
#include "xtop/base/cache_folder.h"
#include "xtop/base/cleanup.h"
#include "xtop/base/clock.h"
#include "xtop/base/output.h"
#include "xtop/base/usage.h"
#include "xtop/sample/budget.h"
#include "xtop/sample/control.h"
#include "xtop/xen/foreign.h"
#include "xtop/xen/xen.h"

#define BROKER_MAX_GRANTS 256

/* A domain about which main may ask. */
struct broker_grant {
	struct guest_info info;
	bool was_sampled; /* this domain was sampled, or its predecessor before a reboot */
	/*
	 * The budget for reading registers, which pauses a vCPU. The sampler counts these pauses in
	 * its own budget as well, and stops the guest less for them. This budget bounds a main that
	 * asks again and again, or while there is no sampler.
	 */
	struct budget budget;
	uint64_t paused_ns; /* pauses that no sampler has counted yet */
};

struct broker {
	const struct broker_settings *settings;
	int socket;
	struct opener opener;
	int cache_folder; /* -1: there is no cache */
	int folders[BROKER_MAX_FILES]; /* folders of settings->files, opened at start; -1: none */
	struct starter starter;
	uint64_t asked_cpu_ns; /* CPU time of the processes that asked Xen and xenstore */
	/* processes that look at the host, and those that have Xen trace */
	struct helper watches[STARTER_MAX_RUNS], traces[STARTER_MAX_RUNS];
	struct xtop_error *no_walls; /* the answer to all questions if there are no walls */
	size_t n_grants;
	bool dropped; /* a grant was dropped, and what its domain had used is unknown */
	struct broker_grant grants[BROKER_MAX_GRANTS];
};

/* --- which questions are allowed -------------------------------------------------------------- */

/* What the command line must ask for, so that main may have the answer to a question. */
enum broker_need {
	BROKER_NEEDS_GUESTS = 1 << 0,     /* live guests, not a recording */
	BROKER_NEEDS_CHOICE = 1 << 1,     /* guests that are chosen while xtop runs */
	BROKER_NEEDS_CACHE = 1 << 2,      /* a folder for kernels */
	BROKER_NEEDS_RESULTS = 1 << 3,    /* files of results */
	BROKER_NEEDS_SCREEN = 1 << 4,     /* somebody who names files */
	BROKER_NEEDS_NEIGHBOURS = 1 << 5, /* --neighbours, or a screen that may show them */
	BROKER_NEEDS_EXITS = 1 << 6,      /* --exits, or a screen that may show them */
	BROKER_NEEDS_MANAGER = 1 << 7,    /* --push or --metrics, which a service has */
	BROKER_NEEDS_NEVER = 1 << 8,      /* nothing fulfils this need: the question is unknown */
};

static unsigned broker_find_needs(uint32_t question)
{
	static const unsigned needs[N_BROKER_QUESTIONS] = {
		[BROKER_LIST] = BROKER_NEEDS_GUESTS | BROKER_NEEDS_CHOICE,
		[BROKER_FIND] = BROKER_NEEDS_GUESTS,
		[BROKER_REGISTERS] = BROKER_NEEDS_GUESTS,
		[BROKER_MEMORY] = BROKER_NEEDS_GUESTS,
		[BROKER_START] = BROKER_NEEDS_GUESTS,
		[BROKER_STOP] = BROKER_NEEDS_GUESTS,
		[BROKER_REMOVE] = BROKER_NEEDS_RESULTS,
		[BROKER_OPEN] = BROKER_NEEDS_SCREEN,
		[BROKER_CACHE] = BROKER_NEEDS_GUESTS | BROKER_NEEDS_CACHE,
		[BROKER_TAKERS] = BROKER_NEEDS_GUESTS | BROKER_NEEDS_NEIGHBOURS,
		[BROKER_TRACE] = BROKER_NEEDS_GUESTS | BROKER_NEEDS_EXITS,
		[BROKER_NEWS] = BROKER_NEEDS_MANAGER,
	};

	return question < N_BROKER_QUESTIONS ? needs[question] : BROKER_NEEDS_NEVER;
}

static bool broker_may_answer(const struct broker *broker, uint32_t question)
{
	const struct broker_settings *settings = broker->settings;
	unsigned has = settings->no_domains ? 0 : BROKER_NEEDS_GUESTS;

	if (!settings->n_domains)
		has |= BROKER_NEEDS_CHOICE;
	if (settings->cache)
		has |= BROKER_NEEDS_CACHE;
	for (size_t i = 0; i < BROKER_MAX_FILES; i++)
		if (settings->files[i])
			has |= BROKER_NEEDS_RESULTS;
	if (settings->has_screen)
		has |= BROKER_NEEDS_SCREEN | BROKER_NEEDS_NEIGHBOURS | BROKER_NEEDS_EXITS;
	if (settings->exits)
		has |= BROKER_NEEDS_EXITS;
	if (settings->neighbours)
		has |= BROKER_NEEDS_NEIGHBOURS;
	if (settings->news)
		has |= BROKER_NEEDS_MANAGER;
	return !(broker_find_needs(question) & ~has);
}

/* --- which domains are allowed ---------------------------------------------------------------- */

/*
 * Main may ask for a domain exactly as the command line names it, and for the UUID of a domain that
 * was found before: the UUID stays the same in a reboot.
 */
static bool broker_may_find(const struct broker *broker, const char *domain)
{
	if (!broker->settings->n_domains)
		return true;
	for (size_t i = 0; i < broker->settings->n_domains; i++)
		if (strcmp(domain, broker->settings->domains[i]) == 0)
			return true;
	for (size_t i = 0; i < broker->n_grants; i++)
		if (strcmp(domain, broker->grants[i].info.uuid) == 0)
			return true;
	return false;
}

static struct broker_grant *broker_find_grant(struct broker *broker, uint32_t domid)
{
	for (size_t i = 0; i < broker->n_grants; i++)
		if (broker->grants[i].info.domid == domid)
			return &broker->grants[i];
	return NULL;
}

/*
 * Adds a grant for the domain of INFO. The new grant replaces the domain's old one, because the
 * domain may have more vCPUs now, or another name. It also replaces the grant of the domain's
 * predecessor before a reboot. If there are too many grants, the oldest is dropped. From then on
 * each new domain may be a dropped one, and begins with an empty budget.
 */
static void broker_add_grant(struct broker *broker, const struct guest_info *info)
{
	struct broker_grant grant = { .info = *info, .was_sampled = broker->dropped };
	size_t n = 0;

	budget_init(&grant.budget, clock_now_ns());
	if (broker->dropped)
		budget_empty(&grant.budget, clock_now_ns());
	for (size_t i = 0; i < broker->n_grants; i++) {
		const struct broker_grant *before = &broker->grants[i];

		if (before->info.domid != info->domid &&
		    strcmp(before->info.uuid, info->uuid) != 0) {
			broker->grants[n++] = *before;
			continue;
		}
		grant.was_sampled |= before->was_sampled;
		grant.budget = before->budget;
		grant.paused_ns = before->paused_ns;
	}
	broker->dropped |= n == BROKER_MAX_GRANTS;
	if (n == BROKER_MAX_GRANTS)
		memmove(broker->grants, broker->grants + 1, --n * sizeof(broker->grants[0]));
	broker->grants[n++] = grant;
	broker->n_grants = n;
}

/* --- answers ---------------------------------------------------------------------------------- */

struct broker_answer {
	struct broker_reply reply;
	int fd;                     /* sent with the reply, then closed; -1: none */
	struct guest_listing *list; /* reply.number listings, sent after the reply; NULL: none */
};

static struct xtop_error *broker_list(struct broker *broker, struct broker_answer *answer)
{
	size_t n;
	struct xtop_error *error =
		ask_list(broker->socket, &broker->asked_cpu_ns, &answer->list, &n);

	if (!error)
		answer->reply.number = (uint32_t)n;
	return error;
}

static struct xtop_error *broker_find(struct broker *broker, const char *domain,
				      struct broker_answer *answer)
{
	struct xtop_error *error;

	if (!broker_may_find(broker, domain))
		return error_create("domain '%s' was not asked for when xtop was started", domain);
	error = ask_find(broker->socket, domain, &broker->asked_cpu_ns, &answer->reply.info);
	if (!error)
		broker_add_grant(broker, &answer->reply.info);
	return error;
}

static void broker_count_pause(struct broker *broker, struct broker_grant *grant,
			       uint64_t paused_ns)
{
	budget_spend(&grant->budget, paused_ns);
	if (!starter_add_pause(&broker->starter, grant->info.domid, paused_ns))
		grant->paused_ns += paused_ns;
}

static struct xtop_error *broker_get_registers(struct broker *broker, struct broker_grant *grant,
					       uint32_t vcpu, struct broker_answer *answer)
{
	uint64_t paused_ns = 0;
	bool done;

	if (!budget_allows(&grant->budget, broker->settings->budget, 0, clock_now_ns())) {
		answer->reply.later = true;
		return error_create("the budget allows no read of registers now");
	}
	done = xen_get_registers(&grant->info, vcpu, &answer->reply.registers, &paused_ns);
	broker_count_pause(broker, grant, paused_ns);
	return done ? NULL : error_create("Xen does not give the registers of vCPU %u", vcpu);
}

static struct xtop_error *broker_start_run(struct broker *broker, struct broker_grant *grant,
					   const int *fds, size_t n_fds,
					   struct broker_answer *answer)
{
	struct starter_order order = { .info = grant->info,
				       .spent = grant->was_sampled,
				       .paused_ns = grant->paused_ns };
	struct xtop_error *error;

	if (n_fds != 2)
		return error_create("the broker needs two descriptors to start a sampler");
	error = starter_start(&broker->starter, &order, fds, &answer->reply.number, &answer->fd);
	if (error)
		return error;
	grant->was_sampled = true;
	grant->paused_ns = 0;
	return NULL;
}

/*
 * Starts the process that REQUEST asks for. The process ends when main closes its end of the
 * socket. Main asks for at most one such process of each kind for a guest, and one kind takes no
 * room from the other.
 */
static struct xtop_error *broker_start_watch(struct broker *broker, uint32_t domid,
					     const struct broker_request *request,
					     struct broker_answer *answer)
{
	struct host_watch_settings settings = { domid, request->number * 1000000ULL };
	const bool traces = request->question == BROKER_TRACE;
	struct helper *all = traces ? broker->traces : broker->watches, *watch = NULL;
	struct xtop_error *error;

	for (unsigned i = 0; i < STARTER_MAX_RUNS; i++)
		if (helper_wait_for_end(&all[i], 0))
			watch = &all[i];
	if (!watch)
		return error_create("xtop looks at the host for at most %d domains",
				    STARTER_MAX_RUNS);
	if (traces)
		error = helper_start("the process that traces Xen", trace_watch_run, NULL, watch);
	else
		error = helper_start("the process that looks at the host", host_watch_run,
				     &settings, watch);
	if (!error)
		answer->fd = watch->socket; /* broker_send() sends the socket, and closes it here */
	watch->socket = 0;
	return error;
}

/*
 * Opens the folders of the result files. A folder's owner may replace the folder later, so root
 * keeps an O_PATH descriptor.
 */
static void broker_open_folders(struct broker *broker)
{
	for (size_t i = 0; i < BROKER_MAX_FILES; i++) {
		const char *path = broker->settings->files[i], *name;

		broker->folders[i] = path ? output_folder_open(path, &name) : -1;
	}
}

/*
 * Removes the empty result that main has open in FD, and no other file. Behind its walls main opens
 * nothing for writing: this run has opened FD before.
 */
static struct xtop_error *broker_remove_file(const struct broker *broker, uint32_t number, int fd)
{
	bool writes = (fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY;
	const struct output_id made = writes ? output_id(fd) : (struct output_id){ 0 };
	int folder = number < BROKER_MAX_FILES ? broker->folders[number] : -1;
	const char *path = folder >= 0 ? broker->settings->files[number] : "";
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	if (writes && output_remove_at(folder, name, &made))
		return NULL;
	return error_create("there is no empty file of ours to remove");
}

static struct xtop_error *broker_answer_domid(struct broker *broker,
					      const struct broker_request *request, const int *fds,
					      size_t n_fds, struct broker_answer *answer)
{
	struct broker_grant *grant = broker_find_grant(broker, request->domid);

	if (!grant)
		return error_create("domain %u was not asked for when xtop was started",
				    request->domid);
	if (!xen_is_same_domain(&grant->info)) /* Xen uses numbers again after a while */
		return error_create("domain %u is no longer the one that was asked for",
				    request->domid);
	if (request->question == BROKER_REGISTERS)
		return broker_get_registers(broker, grant, request->number, answer);
	if (request->question == BROKER_MEMORY)
		return foreign_open_fd(grant->info.domid, &answer->fd);
	if (request->question == BROKER_CACHE) {
		answer->fd = cache_folder_open_file(broker->cache_folder, grant->info.uuid);
		return NULL;
	}
	if (request->question == BROKER_TAKERS || request->question == BROKER_TRACE)
		return broker_start_watch(broker, grant->info.domid, request, answer);
	return broker_start_run(broker, grant, fds, n_fds, answer);
}

static struct xtop_error *broker_answer(struct broker *broker, const struct broker_request *request,
					const int *fds, size_t n_fds, struct broker_answer *answer)
{
	switch (request->question) {
	case BROKER_LIST:
		return broker_list(broker, answer);
	case BROKER_FIND:
		return broker_find(broker, request->text, answer);
	case BROKER_REGISTERS:
	case BROKER_MEMORY:
	case BROKER_CACHE:
	case BROKER_START:
	case BROKER_TAKERS:
	case BROKER_TRACE:
		return broker_answer_domid(broker, request, fds, n_fds, answer);
	case BROKER_STOP:
		starter_stop(&broker->starter, request->number);
		return NULL;
	case BROKER_REMOVE:
		return broker_remove_file(broker, request->number, n_fds ? fds[0] : -1);
	case BROKER_NEWS:
		notify_put(&request->news);
		return NULL;
	default:
		return error_create("the broker got an unknown question");
	}
}

/* Sends ANSWER, or ERROR. Waits while main does not read its answers. False: main has gone. */
static bool broker_send(const struct broker *broker, struct broker_answer *answer,
			struct xtop_error *error)
{
	bool sent;

	if (error) {
		answer->reply.failed = true;
		strncpy(answer->reply.message, error_message(error),
			sizeof(answer->reply.message) - 1);
		error_destroy(error);
	}
	usage_read(&answer->reply.cpu_ns, NULL);
	answer->reply.cpu_ns += broker->asked_cpu_ns + broker->starter.cpu_ns;
	sent = wire_send(broker->socket, &answer->reply, sizeof(answer->reply), &answer->fd,
			 answer->fd >= 0 ? 1 : 0);
	for (uint32_t i = 0; sent && answer->list && i < answer->reply.number; i++)
		sent = wire_send(broker->socket, &answer->list[i], sizeof(answer->list[i]), NULL,
				 0);
	if (answer->fd >= 0)
		close(answer->fd);
	free(answer->list);
	return sent;
}

/* Answers one request. False: main has gone, or has sent what main never sends. */
static bool broker_serve(struct broker *broker)
{
	struct broker_answer answer = { .fd = -1 };
	struct broker_request request;
	struct xtop_error *error;
	int fds[BROKER_MAX_FDS];
	size_t n_fds;

	if (!wire_receive(broker->socket, &request, sizeof(request), fds, &n_fds))
		return false;
	request.text[sizeof(request.text) - 1] = '\0';
	if (broker->no_walls)
		error = error_create("%s", error_message(broker->no_walls));
	else if (!broker_may_answer(broker, request.question))
		error = error_create("the broker does not answer this question in this run");
	else if (request.question == BROKER_OPEN)
		error = opener_start(&broker->opener, &request, broker->socket);
	else
		error = broker_answer(broker, &request, fds, n_fds, &answer);
	for (size_t i = 0; i < n_fds; i++)
		close(fds[i]);
	if (request.question == BROKER_OPEN && !error)
		return true; /* the opener answers */
	return broker_send(broker, &answer, error);
}

/* --- the process ------------------------------------------------------------------------------ */

/* Ctrl-C and a closed terminal reach every process of the group; main decides what they mean. */
static void broker_set_signals(void)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	static const int ignored[] = { SIGINT,  SIGHUP,  SIGQUIT, SIGTERM, SIGTSTP,
				       SIGTTIN, SIGTTOU, SIGPIPE, SIGWINCH };

	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		sigaction(ignored[i], &ignore, NULL);
}

/*
 * Prevents core files of the broker. Keeper, guard and sampler inherit this; a sampler has the
 * stacks of a guest. A limit on core files is not enough, because the limit does not hold for core
 * files that the kernel writes to a program (core(5)).
 */
static void broker_refuse_core_files(void)
{
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/*
 * Replaces the three streams by /dev/null, because the broker does not use them. A pipe of the
 * user's must not stay open when main ends. Neither the broker nor what it starts has a terminal
 * then.
 */
static void broker_close_streams(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = STDIN_FILENO; null >= 0 && fd <= BROKER_LAST_STREAM; fd++)
		dup2(null, fd);
	if (null > STDERR_FILENO)
		close(null);
}

void broker_run(void *context, int socket)
{
	const struct broker_settings *settings = context;
	static struct broker broker; /* too large for a stack */

	broker = (struct broker){ .settings = settings, .socket = socket };
	broker_refuse_core_files();
	broker_set_signals();
	broker_close_streams();
	helper_close_others(socket); /* main's sockets to its helpers, which must see main's end */
	broker_open_folders(&broker);
	opener_init(&broker.opener, settings->endings);
	broker.cache_folder = settings->cache ? cache_folder_open(settings->cache) : -1;
	control_set_budget_limit(settings->budget);
	if (settings->rate_hz > 0)
		control_set_rate_limit(settings->rate_hz);
	xen_load();
	/* Without a starter each order fails, and says so. */
	if (!settings->no_domains)
		error_destroy(starter_open(settings, socket, &broker.starter));
	if (settings->news)
		notify_open();
	broker.no_walls = root_sandbox_enter(ROOT_BROKER);
	while (broker_serve(&broker))
		;
	starter_end(&broker.starter);
}
