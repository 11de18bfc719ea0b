/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The broker's process; see xtop/broker.h and, for the requests, supervise/broker_wire.h. It reads
 * requests of fixed size, checks each of them, and reads what Xen and xenstore say. It reads
 * nothing from a guest's memory. Between requests it polls its guards. One thread; it does not
 * return to main's code.
 */
#include "config.h"

#include "xtop/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "supervise/broker.h"
#include "supervise/broker_wire.h"
#include "supervise/guard.h"
#include "supervise/opener.h"
#include "xtop/cache_folder.h"
#include "xtop/cleanup.h"
#include "xtop/control.h"
#include "xtop/foreign.h"
#include "xtop/ring.h"
#include "xtop/xen.h"

#define BROKER_MAX_GUARDS 8
#define BROKER_MAX_GRANTS 256

/* A domain that main may ask about. */
struct broker_grant {
	struct guest_info info;
	bool was_sampled; /* this domain, or the one that it was before a reboot */
};

/* One domain's sampling. */
struct broker_run {
	struct guard *guard; /* NULL: free */
	uint32_t domid;
	struct control *control;
	struct ring *ring;
};

struct broker {
	const struct broker_settings *settings;
	int socket;
	struct opener opener;
	int cache_folder; /* -1: none */
	int folders[BROKER_MAX_FILES]; /* of settings->files, opened at the start; -1: none */
	struct broker_run runs[BROKER_MAX_GUARDS];
	size_t n_grants;
	struct broker_grant grants[BROKER_MAX_GRANTS];
};

/* --- which domains are allowed ---------------------------------------------------------------- */

/*
 * Main may ask for a domain exactly as the command line names it, and for the UUID of a domain that
 * was found before: the UUID stays the same in a reboot.
 */
static bool broker_may_find(const struct broker *broker, const char *domain)
{
	if (broker->settings->no_domains)
		return false;
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
 * Replaces what was known of this domain: it may have more vCPUs now, or another name. Also
 * replaces the domain that it was before a reboot. If there are too many, the oldest is dropped.
 */
static void broker_add_grant(struct broker *broker, const struct guest_info *info)
{
	struct broker_grant grant = { .info = *info };
	size_t n = 0;

	for (size_t i = 0; i < broker->n_grants; i++) {
		const struct broker_grant *before = &broker->grants[i];

		if (before->info.domid == info->domid || strcmp(before->info.uuid, info->uuid) == 0)
			grant.was_sampled |= before->was_sampled;
		else
			broker->grants[n++] = *before;
	}
	if (n == BROKER_MAX_GRANTS)
		memmove(broker->grants, broker->grants + 1, --n * sizeof(broker->grants[0]));
	broker->grants[n++] = grant;
	broker->n_grants = n;
}

/* --- answers ---------------------------------------------------------------------------------- */

struct broker_answer {
	struct broker_reply reply;
	int fd;                     /* sent with the reply, then closed; -1: none */
	struct guest_listing *list; /* sent after the reply: reply.number of them */
};

static struct xtop_error *broker_list(struct broker_answer *answer)
{
	size_t n;
	struct xtop_error *error = xen_list(&answer->list, &n);

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
	error = xen_find(domain, &answer->reply.info);
	if (!error)
		broker_add_grant(broker, &answer->reply.info);
	return error;
}

static struct xtop_error *broker_get_registers(const struct guest_info *info, uint32_t vcpu,
					       struct broker_answer *answer)
{
	if (!xen_get_registers(info, vcpu, &answer->reply.registers))
		return error_create("Xen does not give the registers of vCPU %u", vcpu);
	return NULL;
}

/* Finds a free run. A domain has one run at most: each of two would use the whole budget. */
static struct xtop_error *broker_find_run(struct broker *broker, const struct guest_info *info,
					  struct broker_run **runp, uint32_t *number)
{
	struct broker_run *free_run = NULL;

	for (uint32_t i = BROKER_MAX_GUARDS; i-- > 0;) {
		struct broker_run *run = &broker->runs[i];

		if (run->guard && run->domid == info->domid)
			return error_create("domain '%s' is sampled already", info->name);
		if (!run->guard) {
			free_run = run;
			*number = i;
		}
	}
	if (!free_run)
		return error_create("xtop samples at most %d domains at a time", BROKER_MAX_GUARDS);
	*runp = free_run;
	return NULL;
}

/* True: there are guards. */
static bool broker_poll_guards(struct broker *broker)
{
	bool some = false;

	for (unsigned i = 0; i < BROKER_MAX_GUARDS; i++)
		some |= broker->runs[i].guard && guard_poll(broker->runs[i].guard);
	return some;
}

static void broker_poll_others(void *context)
{
	broker_poll_guards(context);
}

static void broker_stop_run(struct broker *broker, struct broker_run *run)
{
	struct guard *guard = no_cleanup_ptr(run->guard); /* broker_poll_others() leaves it out */

	if (guard)
		guard_destroy(guard, broker_poll_others, broker);
	ring_destroy(run->ring);
	control_close(run->control);
	*run = (struct broker_run){ 0 };
}

static struct xtop_error *broker_fork_run(struct broker *broker, struct broker_run *run,
					  struct broker_grant *grant, const int *fds)
{
	struct xtop_error *error = control_adopt(fds[0], &run->control);

	if (!error)
		error = ring_adopt(fds[1], &run->ring);
	run->domid = grant->info.domid;
	control_set_credit_spent(grant->was_sampled);
	grant->was_sampled |= !error;
	if (!error)
		error = guard_create(&grant->info, run->control, run->ring, broker->settings->run,
				     broker->socket, &run->guard);
	if (error)
		broker_stop_run(broker, run);
	return error;
}

static struct xtop_error *broker_start_run(struct broker *broker, struct broker_grant *grant,
					   const int *fds, size_t n_fds,
					   struct broker_answer *answer)
{
	_cleanup_free_ char *note = NULL;
	struct broker_run *run = NULL;
	struct xtop_error *error;

	if (n_fds != 2)
		return error_create("the broker needs two descriptors to start a sampler");
	error = broker_find_run(broker, &grant->info, &run, &answer->reply.number);
	if (error)
		return error;
	/* For a guest that was picked on the screen; main has done this for those of -d. */
	error_destroy(guest_undo_pause(grant->info.uuid, false, &note));
	error = broker_fork_run(broker, run, grant, fds);
	if (!error)
		answer->fd = fcntl(guard_pidfd(run->guard), F_DUPFD_CLOEXEC, 0);
	return error;
}

/* The owner of a folder may replace it later, so root keeps an O_PATH descriptor. */
static void broker_open_folders(struct broker *broker)
{
	for (size_t i = 0; i < BROKER_MAX_FILES; i++) {
		const char *path = broker->settings->files[i];
		const char *slash = path ? strrchr(path, '/') : NULL;
		_cleanup_free_ char *folder =
			slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");

		broker->folders[i] =
			path && folder ? open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	}
}

/* Removes an empty result file of ours, and no other file. */
static struct xtop_error *broker_remove_file(const struct broker *broker, uint32_t number)
{
	int folder = number < BROKER_MAX_FILES ? broker->folders[number] : -1;
	const char *path = folder >= 0 ? broker->settings->files[number] : "";
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	struct stat status;

	if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(status.st_mode) ||
	    status.st_uid != geteuid() || status.st_nlink != 1 || status.st_size)
		return error_create("there is no empty file of ours to remove");
	unlinkat(folder, name, 0);
	return NULL;
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
		return broker_get_registers(&grant->info, request->number, answer);
	if (request->question == BROKER_MEMORY)
		return foreign_open_fd(grant->info.domid, &answer->fd);
	if (request->question == BROKER_CACHE) {
		answer->fd = cache_folder_open_file(broker->cache_folder, grant->info.uuid);
		return NULL;
	}
	return broker_start_run(broker, grant, fds, n_fds, answer);
}

static struct xtop_error *broker_answer(struct broker *broker, const struct broker_request *request,
					const int *fds, size_t n_fds, struct broker_answer *answer)
{
	switch (request->question) {
	case BROKER_LIST:
		return broker->settings->no_domains ? error_create("a recording is played")
						    : broker_list(answer);
	case BROKER_FIND:
		return broker_find(broker, request->text, answer);
	case BROKER_REGISTERS:
	case BROKER_MEMORY:
	case BROKER_CACHE:
	case BROKER_START:
		return broker_answer_domid(broker, request, fds, n_fds, answer);
	case BROKER_STOP:
		if (request->number < BROKER_MAX_GUARDS)
			broker_stop_run(broker, &broker->runs[request->number]);
		return NULL;
	case BROKER_REMOVE:
		return broker_remove_file(broker, request->number);
	default:
		return error_create("the broker got an unknown question");
	}
}

/*
 * Main may be stopped (SIGSTOP), or be under an attacker's control and not read its answers. The
 * guards are polled all the same. False: main has gone.
 */
static bool broker_send_packet(struct broker *broker, const void *packet, size_t size_bytes,
			       const int *fd)
{
	while (!wire_send(broker->socket, packet, size_bytes, fd, fd ? 1 : 0)) {
		if (errno != EAGAIN)
			return false;
		broker_poll_guards(broker);
	}
	return true;
}

static bool broker_send(struct broker *broker, struct broker_answer *answer,
			struct xtop_error *error)
{
	bool sent;

	if (error) {
		answer->reply.failed = true;
		strncpy(answer->reply.message, error_message(error),
			sizeof(answer->reply.message) - 1);
		error_destroy(error);
	}
	sent = broker_send_packet(broker, &answer->reply, sizeof(answer->reply),
				  answer->fd >= 0 ? &answer->fd : NULL);
	for (uint32_t i = 0; sent && answer->list && i < answer->reply.number; i++)
		sent = broker_send_packet(broker, &answer->list[i], sizeof(answer->list[i]), NULL);
	if (answer->fd >= 0)
		close(answer->fd);
	free(answer->list);
	return sent;
}

/* False: main has gone, or sends what main never sends. */
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
	error = request.question == BROKER_OPEN
			? opener_start(&broker->opener, &request, broker->socket)
			: broker_answer(broker, &request, fds, n_fds, &answer);
	for (size_t i = 0; i < n_fds; i++)
		close(fds[i]);
	if (request.question == BROKER_OPEN && !error)
		return true; /* the opener answers */
	return broker_send(broker, &answer, error);
}

/* --- the process ------------------------------------------------------------------------------ */

static void broker_loop(struct broker *broker)
{
	const struct timespec wait = { .tv_nsec = BROKER_POLL_NS };
	struct pollfd asked = { .fd = broker->socket, .events = POLLIN };

	for (;;) {
		bool some = broker_poll_guards(broker);
		int ready;

		opener_poll(&broker->opener);
		ready = ppoll(&asked, 1, some ? &wait : NULL, NULL);

		if (ready > 0 && !broker_serve(broker))
			return;
	}
}

static void broker_ignore(int signal_number)
{
	(void)signal_number; /* ppoll() returns, and the guards are polled */
}

/* Ctrl-C and a closed terminal reach every process of the group; main decides what they mean. */
static void broker_set_signals(void)
{
	struct sigaction interrupt = { .sa_handler = broker_ignore };
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	static const int ignored[] = { SIGINT,  SIGHUP,  SIGQUIT, SIGTERM, SIGTSTP,
				       SIGTTIN, SIGTTOU, SIGPIPE, SIGWINCH };

	sigaction(SIGCHLD, &interrupt, NULL); /* the end of a guard interrupts ppoll() */
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		sigaction(ignored[i], &ignore, NULL);
}

/*
 * The broker does not use stdin and stdout. A pipe of the user must not stay open when main ends.
 */
static void broker_close_streams(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = STDIN_FILENO; null >= 0 && fd <= STDOUT_FILENO; fd++)
		dup2(null, fd);
	if (null > STDERR_FILENO)
		close(null);
}

void broker_run(const struct broker_settings *settings, int socket)
{
	const struct timeval wait = { .tv_usec = BROKER_POLL_NS / 1000 };
	static struct broker broker; /* too large for a stack */

	broker = (struct broker){ .settings = settings, .socket = socket };
	setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	broker_set_signals();
	broker_close_streams();
	broker_open_folders(&broker);
	opener_init(&broker.opener);
	broker.cache_folder = settings->cache ? cache_folder_open(settings->cache) : -1;
	control_set_budget_limit(settings->budget);
	broker_loop(&broker);
	for (unsigned i = 0; i < BROKER_MAX_GUARDS; i++)
		broker_stop_run(&broker, &broker.runs[i]);
}
