/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The made-up Xen and the made-up keeper of the tests of the broker; see broker_fixture.h. */
#include "config.h"

#include "tests/supervise/broker_fixture.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "supervise/broker.h"
#include "supervise/keeper.h"
#include "tests/support/tap.h"
#include "xtop/export/export.h"
#include "xtop/memory/memory.h"
#include "xtop/sample/control.h"
#include "xtop/sample/ring.h"
#include "xtop/xen/foreign.h"
#include "xtop/xen/xen.h"

struct seen *seen;

/* --- replaces domains.c, foreign.c, domctl.c and keeper.c ------------------------------------ */

struct xtop_error *xen_list(struct guest_listing **listp, size_t *np)
{
	while (seen->slow)
		pause();
	*listp = calloc(N_DOMAINS, sizeof(**listp));
	for (uint32_t i = 0; i < N_DOMAINS; i++)
		(*listp)[i].info.domid = i;
	*np = N_DOMAINS;
	return NULL;
}

/* web01 is domain 5. By its UUID it is domain 6, as if it had rebooted. other7 is domain 107. */
struct xtop_error *xen_find(const char *domain, struct guest_info *info)
{
	unsigned number;

	while (seen->slow)
		pause();
	if (sscanf(domain, "other%u", &number) == 1) {
		*info = (struct guest_info){ .domid = 100 + number, .n_vcpus = 1 };
		snprintf(info->uuid, sizeof(info->uuid), "u-other%u", number);
	} else if (strcmp(domain, "web01") == 0)
		*info = (struct guest_info){
			.name = "web01", .uuid = "u-web01", .domid = 5, .n_vcpus = 2
		};
	else if (strcmp(domain, "u-web01") == 0)
		*info = (struct guest_info){
			.name = "web01", .uuid = "u-web01", .domid = 6, .n_vcpus = 2
		};
	else if (strcmp(domain, "secret") == 0)
		*info = (struct guest_info){ .name = "secret", .uuid = "u-secret", .domid = 9 };
	else
		return error_create("no domain '%s' on this host", domain);
	return NULL;
}

bool xen_is_same_domain(const struct guest_info *info)
{
	return info->domid != seen->reused;
}

bool xen_get_registers(const struct guest_info *info, unsigned vcpu, struct registers *regs,
		       uint64_t *paused_nsp)
{
	seen->read++;
	*paused_nsp = seen->pause_ns;
	*regs = (struct registers){ .rip = info->domid * 100 + vcpu };
	return vcpu < info->n_vcpus;
}

struct xtop_error *guest_undo_pause(const char *domain, bool asked, char **notep)
{
	snprintf(seen->unpaused, sizeof(seen->unpaused), "%s", asked ? "" : domain);
	*notep = NULL;
	return NULL;
}

struct xtop_error *foreign_open_fd(uint32_t domid, int *fdp)
{
	seen->memory_of = domid;
	*fdp = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return NULL;
}

struct xtop_error *memory_create_live(uint32_t domid, int fd, struct memory **memoryp)
{
	(void)memoryp;
	close(fd);
	return error_create("adopted %u", domid);
}

/* Whether this process has a stream of the test's. */
static bool has_streams(void)
{
	struct stat status;
	bool has = false;

	for (int fd = STDIN_FILENO; fd <= BROKER_LAST_STREAM; fd++)
		has |= fstat(fd, &status) < 0 || status.st_rdev != makedev(1, 3); /* /dev/null */
	return has;
}

struct xtop_error *keeper_start(const struct sampling *sampling, const struct keeper_origin *origin,
				struct keeper *keeper)
{
	struct control *control = sampling->control;
	char *room = ring_reserve(sampling->ring, 8);

	if (seen->refuses)
		return error_create("no keeper");
	seen->main = origin->main;
	seen->has_run = sampling->run;
	seen->shared = origin->shared;
	seen->started++;
	seen->started_domid = sampling->info.domid;
	seen->budget = control_get_budget(control);
	seen->rate_hz = control_get_rate(control);
	seen->spent = control_is_credit_spent();
	seen->aligned = (uintptr_t)room % 8 == 0;
	seen->dumpable = prctl(PR_GET_DUMPABLE);
	seen->has_terminal = has_streams();
	if (room)
		memcpy(room, "from far", 8);
	ring_commit(sampling->ring, 8);
	*keeper = (struct keeper){ .pid = getpid(),
				   .control = control,
				   .area = (struct stop_area *)seen };
	keeper->end_fd = eventfd(0, EFD_CLOEXEC);
	return NULL;
}

void stop_area_add_pause(struct stop_area *area, uint64_t paused_ns)
{
	(void)area;
	seen->paused_ns += paused_ns;
}

void keeper_quit(const struct keeper *keeper)
{
	(void)keeper;
	seen->asked++;
}

void keeper_end(struct keeper *keeper)
{
	close(keeper->end_fd);
	if (!seen->ended++)
		seen->asked_first = seen->asked;
}

/* --- a broker --------------------------------------------------------------------------------- */

/* web01, and other1 to other64: one more than the broker samples. */
static const char *asked[65];

static void fill_asked(void)
{
	static char names[64][16];

	asked[0] = "web01";
	for (unsigned i = 1; i <= 64; i++) {
		snprintf(names[i - 1], sizeof(names[0]), "other%u", i);
		asked[i] = names[i - 1];
	}
}

struct broker_settings settings = { .domains = asked,
				    .n_domains = sizeof(asked) / sizeof(asked[0]),
				    .endings = export_endings,
				    .budget = 0.25,
				    .rate_hz = 99 };

void fixture_begin(void)
{
	fill_asked();
	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (seen == MAP_FAILED)
		abort();
}

bool says(struct xtop_error *error, const char *text)
{
	bool said = error && strstr(error_message(error), text);

	if (!said)
		printf("# \"%s\", not \"%s\"\n", error ? error_message(error) : "no error", text);
	error_destroy(error);
	return said;
}

int start_bare(pid_t *pid)
{
	int sockets[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets) < 0)
		abort();
	*pid = fork();
	if (*pid == 0) {
		close(sockets[0]);
		broker_run((void *)&settings, sockets[1]);
		_exit(0);
	}
	close(sockets[1]);
	return sockets[0];
}

bool ask(int socket, struct broker_request request, const int *fds, size_t n_fds)
{
	struct broker_reply reply;
	int got[BROKER_MAX_FDS];
	size_t n_got;

	if (!wire_send(socket, &request, sizeof(request), fds, n_fds) ||
	    !wire_receive(socket, &reply, sizeof(reply), got, &n_got))
		abort();
	for (size_t i = 0; i < n_got; i++)
		close(got[i]);
	return !reply.failed;
}
