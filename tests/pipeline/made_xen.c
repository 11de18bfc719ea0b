/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See made_xen.h. */
#include "config.h"

#include "tests/pipeline/made_xen.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/made_stops.h"
#include "xtop/memory/memory.h"
#include "xtop/sample/control.h"
#include "xtop/sample/sampler.h"
#include "xtop/xen/foreign.h"
#include "xtop/xen/host_look.h"
#include "xtop/xen/trace_buffers.h"
#include "xtop/xen/xen.h"

static struct shared {
	struct xen xen;
	struct made_stops made;
} * shared;
struct xen *xen;

/* --- stand-ins for domains.c, domctl.c, foreign.c --------------------------------------------- */

/* xenstore never answers. */
struct xtop_error *xen_list(struct guest_listing **listp, size_t *np)
{
	(void)listp, (void)np;
	return error_create("no list");
}

struct xtop_error *xen_find_unnamed(const char *domain, struct guest_info *info)
{
	(void)info;
	return error_create("no domain '%s'", domain);
}

struct xtop_error *xen_find(const char *domain, struct guest_info *info)
{
	if (!strcmp(domain, "slow")) {
		xen->slow++;
		for (;;)
			pause();
	}
	if (!xen->domid || (strcmp(domain, "web01") != 0 && strcmp(domain, "u-web01") != 0))
		return error_create("no domain '%s'", domain);
	*info = (struct guest_info){
		.name = "web01",
		.uuid = "u-web01",
		.domid = (uint32_t)xen->domid,
		.type = GUEST_PVH,
		.n_vcpus = (unsigned)xen->n_vcpus,
	};
	return NULL;
}

bool xen_get_registers(const struct guest_info *info, unsigned vcpu, struct registers *regs,
		       uint64_t *paused_nsp)
{
	(void)info, (void)vcpu, (void)regs;
	*paused_nsp = 0;
	return false;
}

struct xtop_error *guest_undo_pause(const char *domain, bool asked, char **notep)
{
	(void)domain, (void)asked;
	*notep = NULL;
	return NULL;
}

bool xen_is_same_domain(const struct guest_info *info)
{
	return info->domid == (uint32_t)xen->domid;
}

struct xtop_error *foreign_open_fd(uint32_t domid, int *fdp)
{
	xen->memory_of = (int)domid;
	*fdp = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return NULL;
}

static void no_pages(void *context, const frame_t *frames, size_t n, void *pages, bool *ok)
{
	(void)context, (void)frames, (void)pages;
	memset(ok, 0, n * sizeof(ok[0]));
}

static void close_memory(void *context)
{
	close(*(int *)context);
	free(context);
}

struct xtop_error *memory_create_live(uint32_t domid, int fd, struct memory **memoryp)
{
	static const struct memory_ops ops = { .read = no_pages, .close = close_memory };
	int *context = malloc(sizeof(*context));

	(void)domid;
	*context = fd;
	return memory_create(&ops, context, memoryp);
}

struct xtop_error *stop_area_create(const struct guest_info *info, struct stop_area **areap)
{
	(void)info;
	made_open_alarm();
	stop_area_arm(&made_area);
	*areap = &made_area;
	return NULL;
}

static bool xen_look(void *context, struct guest_look *look)
{
	const int *domid = context; /* the first member of struct opened */

	xen->looks++;
	*look = (struct guest_look){ .life = GUEST_RUNS };
	if (xen->domid != *domid) {
		look->life = GUEST_GONE;
		look->end = (enum guest_end)xen->end;
	}
	for (int i = 0; i < xen->n_vcpus; i++)
		look->states[i] = VCPU_RUNNING;
	return true;
}

static bool xen_stop(void *context, uint64_t begin_ns, struct guest_vcpu *vcpus, unsigned n)
{
	(void)context, (void)begin_ns;
	for (unsigned i = 0; i < n; i++)
		vcpus[i] = (struct guest_vcpu){ .number = vcpus[i].number };
	if (!made_stop())
		return false;
	if (xen->hangs) {
		xen->hangs--;
		raise(SIGSTOP);
	}
	if (xen->longer_us)
		usleep((useconds_t)xen->longer_us);
	return true;
}

/* A guest as domctl_open() gives it. */
struct opened {
	int domid;
	enum stop_user user;
};

static void xen_release(void *context)
{
	made_release(((struct opened *)context)->user);
}

static void xen_close(void *context)
{
	free(context);
}

static void *xen_map(void *context, frame_t frame)
{
	(void)context, (void)frame;
	return NULL;
}

static const struct guest_ops xen_ops = { .expect_stops = made_expect_stops,
					  .end_stops = made_end_stops,
					  .look = xen_look,
					  .look_life = xen_look,
					  .stop = xen_stop,
					  .release = xen_release,
					  .close = xen_close };

struct xtop_error *domctl_open(const struct guest_info *info, struct stop_area *area,
			       enum stop_user user, struct guest *guest)
{
	struct opened *opened = malloc(sizeof(*opened));

	(void)area;
	if (user == STOP_KEEPER)
		xen->keeper = getpid();
	else if (user == STOP_GUARD)
		xen->guard = getpid();
	else
		xen->sampler = getpid();
	*opened = (struct opened){ .domid = (int)info->domid, .user = user };
	*guest = (struct guest){
		.ops = &xen_ops, .context = opened, .mapper = { .map = xen_map }, .info = *info
	};
	return NULL;
}

/* --- stand-ins for host_look.c, trace_buffers.c ----------------------------------------------- */

/* A host on which nothing runs, and a trace without records. */
struct host_looker {
	char unused;
};
struct trace_buffers {
	char unused;
};
static struct host_looker made_looker;
static struct trace_buffers made_buffers;

struct xtop_error *host_looker_open(struct host_looker **lookerp)
{
	*lookerp = &made_looker;
	return NULL;
}

void host_looker_close(struct host_looker *looker)
{
	(void)looker;
}

struct xtop_error *host_looker_look(struct host_looker *looker, uint32_t always,
				    const struct host_look *last, struct host_look *look)
{
	(void)looker, (void)always, (void)last, (void)look;
	return error_create("no look");
}

bool host_looker_get_pool(struct host_looker *looker, uint32_t pool, uint32_t *schedulerp,
			  struct host_cpus *cpus)
{
	(void)looker, (void)pool, (void)schedulerp, (void)cpus;
	return false;
}

bool host_looker_get_schedule(struct host_looker *looker, uint32_t domid, uint32_t scheduler,
			      struct host_schedule *schedule)
{
	(void)looker, (void)domid, (void)scheduler, (void)schedule;
	return false;
}

bool host_looker_get_affinity(struct host_looker *looker, uint32_t domid, unsigned vcpu,
			      struct host_cpus *cpus)
{
	(void)looker, (void)domid, (void)vcpu, (void)cpus;
	return false;
}

struct xtop_error *trace_buffers_open(struct trace_buffers **buffersp)
{
	*buffersp = &made_buffers;
	return NULL;
}

void trace_buffers_close(struct trace_buffers *buffers)
{
	(void)buffers;
}

struct xtop_error *trace_buffers_map(struct trace_buffers *buffers, unsigned pages)
{
	(void)buffers, (void)pages;
	return NULL;
}

struct xtop_error *trace_buffers_enable(struct trace_buffers *buffers, uint32_t events)
{
	(void)buffers, (void)events;
	atomic_store(&xen->traces, true);
	return NULL;
}

bool trace_buffers_disable(struct trace_buffers *buffers)
{
	(void)buffers;
	atomic_store(&xen->traces, false);
	return true;
}

unsigned trace_buffers_cpus(const struct trace_buffers *buffers)
{
	(void)buffers;
	return 1;
}

uint64_t trace_buffers_khz(const struct trace_buffers *buffers)
{
	(void)buffers;
	return 1000000;
}

size_t trace_buffers_peek(const struct trace_buffers *buffers, unsigned cpu, void *bytes,
			  size_t room_bytes)
{
	(void)buffers, (void)cpu, (void)bytes, (void)room_bytes;
	return 0;
}

void trace_buffers_release(const struct trace_buffers *buffers, unsigned cpu, size_t size_bytes)
{
	(void)buffers, (void)cpu, (void)size_bytes;
}

/* --- the guest of a test ---------------------------------------------------------------------- */

void made_xen_run(struct guest *guest, struct control *control, struct ring *ring)
{
	sampler_run(guest, control, ring);
}

/* --- calls for tests -------------------------------------------------------------------------- */

void made_xen_init(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		abort();
	xen = &shared->xen;
	made_stops = &shared->made;
}

void made_xen_begin(void)
{
	memset(shared, 0, sizeof(*shared));
	xen->domid = 5;
	xen->n_vcpus = 2;
	made_begin(0);
}

int made_xen_pauses(void)
{
	return made_state().pauses;
}

unsigned long long made_xen_stops(void)
{
	return made_stops->stops;
}

bool made_xen_is_stopped(void)
{
	return stop_area_is_stopped(NULL);
}

void made_xen_release(void)
{
	made_release(STOP_KEEPER);
}
