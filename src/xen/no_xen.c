/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Replaces all files of xen/ for ./configure --without-xen. Such an xtop needs none of Xen's
 * libraries, and can only replay recordings.
 */
#include "config.h"

#include "xtop/xen/domctl.h"
#include "xtop/xen/foreign.h"
#include "xtop/xen/host_look.h"
#include "xtop/xen/trace_buffers.h"
#include "xtop/xen/xen.h"

static struct xtop_error *no_xen(void)
{
	return error_create("this xtop was built without Xen: it can only replay recordings (-r)");
}

struct xtop_error *xen_assume(const char *release)
{
	return release ? no_xen() : NULL;
}

void xen_load(void)
{
}

struct xtop_error *xen_find(const char *domain, struct guest_info *info)
{
	(void)domain, (void)info;
	return no_xen();
}

struct xtop_error *xen_find_unnamed(const char *domain, struct guest_info *info)
{
	(void)domain, (void)info;
	return no_xen();
}

struct xtop_error *xen_list(struct guest_listing **listp, size_t *np)
{
	(void)listp, (void)np;
	return no_xen();
}

bool xen_is_same_domain(const struct guest_info *info)
{
	(void)info;
	return false;
}

bool xen_get_registers(const struct guest_info *info, unsigned vcpu, struct registers *regs,
		       uint64_t *paused_nsp)
{
	(void)info, (void)vcpu, (void)regs;
	*paused_nsp = 0;
	return false;
}

struct xtop_error *xen_open_control(struct xen_control **controlp)
{
	(void)controlp;
	return no_xen();
}

void xen_close_control(struct xen_control *control)
{
	(void)control;
}

bool xen_is_paused(struct xen_control *control, uint32_t domid, uint64_t *cpu_time_nsp)
{
	(void)control, (void)domid, (void)cpu_time_nsp;
	return false;
}

unsigned xen_unpause(struct xen_control *control, uint32_t domid, unsigned n)
{
	(void)control, (void)domid, (void)n;
	return 0;
}

struct xtop_error *foreign_open_fd(uint32_t domid, int *fdp)
{
	(void)domid, (void)fdp;
	return no_xen();
}

struct xtop_error *foreign_create(uint32_t domid, int fd, struct foreign **foreignp)
{
	(void)domid, (void)fd, (void)foreignp;
	return no_xen();
}

void foreign_destroy(struct foreign *foreign)
{
	(void)foreign;
}

bool foreign_copy(struct foreign *foreign, const frame_t *frames, size_t n, char *pages, bool *ok)
{
	(void)foreign, (void)frames, (void)n, (void)pages, (void)ok;
	return false;
}

struct mapper foreign_mapper(struct foreign *foreign)
{
	return (struct mapper){ .context = foreign };
}

struct xtop_error *stop_area_create(const struct guest_info *info, struct stop_area **areap)
{
	(void)info, (void)areap;
	return no_xen();
}

void stop_area_destroy(struct stop_area *area)
{
	(void)area;
}

void stop_area_set_alarm(struct stop_area *area)
{
	(void)area;
}

void stop_area_clear_alarm(struct stop_area *area)
{
	(void)area;
}

int stop_area_alarm_fd(const struct stop_area *area)
{
	(void)area;
	return -1;
}

bool stop_area_is_stopped(const struct stop_area *area)
{
	(void)area;
	return false;
}

uint64_t stop_area_stops(const struct stop_area *area)
{
	(void)area;
	return 0;
}

void stop_area_add_pause(struct stop_area *area, uint64_t paused_ns)
{
	(void)area, (void)paused_ns;
}

void stop_area_set_mark(struct stop_area *area, struct pause_mark *mark)
{
	(void)area, (void)mark;
}

void stop_area_arm(struct stop_area *area)
{
	(void)area;
}

void stop_area_disarm(struct stop_area *area, enum stop_user user)
{
	(void)area, (void)user;
}

struct xtop_error *domctl_open(const struct guest_info *info, struct stop_area *area,
			       enum stop_user user, struct guest *guest)
{
	(void)info, (void)area, (void)user, (void)guest;
	return no_xen();
}

struct xtop_error *host_looker_open(struct host_looker **lookerp)
{
	(void)lookerp;
	return no_xen();
}

void host_looker_close(struct host_looker *looker)
{
	(void)looker;
}

struct xtop_error *host_looker_look(struct host_looker *looker, uint32_t always,
				    const struct host_look *last, struct host_look *look)
{
	(void)looker, (void)always, (void)last, (void)look;
	return no_xen();
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
	(void)buffersp;
	return no_xen();
}

void trace_buffers_close(struct trace_buffers *buffers)
{
	(void)buffers;
}

struct xtop_error *trace_buffers_map(struct trace_buffers *buffers, unsigned pages)
{
	(void)buffers, (void)pages;
	return no_xen();
}

struct xtop_error *trace_buffers_enable(struct trace_buffers *buffers, uint32_t events)
{
	(void)buffers, (void)events;
	return no_xen();
}

bool trace_buffers_disable(struct trace_buffers *buffers)
{
	(void)buffers;
	return false;
}

unsigned trace_buffers_cpus(const struct trace_buffers *buffers)
{
	(void)buffers;
	return 0;
}

uint64_t trace_buffers_khz(const struct trace_buffers *buffers)
{
	(void)buffers;
	return 0;
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
