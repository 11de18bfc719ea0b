/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of the calls that stop a guest; see stop_area.h.
 *
 * Every call is a multicall, even the single release, because then Xen itself stores the result, in
 * multicall_entry.result. A process can be killed only between hypercalls, so these results are
 * true at whatever instruction the process dies. They say: xtop has stopped the guest if and only
 * if the pause has succeeded and no release has a result yet.
 *
 * Sampler, guard and keeper have a release each. Before the guard releases the guest in the place
 * of a sampler that it has killed, it disarms the sampler's calls. Xen compares the version of the
 * interface in a domctl with its own before it does anything else, and refuses a domctl with
 * another version (NO_VERSION). So a hypercall that the killed process makes as late as it likes (a
 * freezer or a debugger may hold the process in the kernel) neither stops nor releases the guest.
 *
 * domctl_abi.c finds out which version of the interface Xen has.
 *
 * Sources: Xen 4.17 public/domctl.h, public/xen.h (multicall), xen/common/multicall.c.
 */
#include "config.h"

#include "xen/stop_area.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "xtop/base/cleanup.h"

/* the result of a domctl with another interface version */
#define RESULT_REFUSED ((xen_ulong_t)-EACCES)
/*
 * An interface version that no Xen has. 0 is no such version: stable calls, so far
 * get_domain_state, have version 0.
 */
#define NO_VERSION UINT32_MAX

/*
 * Maps pages that Xen can read and write at any time, and that fork() shares. /dev/xen/hypercall
 * gives kernel pages, which never move (Linux commit c51b3c639e01 ("xen: add new hypercall buffer
 * mapping device") (in v4.18)). Older kernels do not have this device; there the pages are locked
 * shared memory.
 */
static void *area_map(size_t size_bytes)
{
	_cleanup_close_ int fd = open("/dev/xen/hypercall", O_RDWR | O_CLOEXEC);
	void *memory = MAP_FAILED;

	if (fd >= 0)
		memory = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		memory = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS | MAP_LOCKED | MAP_POPULATE, -1, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

static size_t area_batch_bytes(unsigned n)
{
	return n * (sizeof(multicall_entry_t) + sizeof(struct xen_domctl));
}

/* Takes a batch of N calls from the memory at *NEXT. */
static struct domctl_batch area_carve_batch(char **next, unsigned n)
{
	struct domctl_batch batch = { .entries = (void *)*next };

	*next += n * sizeof(multicall_entry_t);
	batch.domctls = (void *)*next;
	*next += n * sizeof(struct xen_domctl);
	return batch;
}

/* Fills in call I of BATCH from BLANK, which has the domain and the version. */
static void batch_set(struct domctl_batch *batch, unsigned i, uint32_t command,
		      const struct xen_domctl *blank)
{
	batch->domctls[i] = *blank;
	batch->domctls[i].cmd = command;
	batch->entries[i] = (multicall_entry_t){
		.op = __HYPERVISOR_domctl,
		.args[0] = (unsigned long)&batch->domctls[i],
	};
}

/*
 * Sets the version by one store: if Xen serves another process at this moment, Xen reads either the
 * old version or the new one.
 */
static void batch_set_version(struct domctl_batch *batch, uint32_t version)
{
	atomic_store_explicit((_Atomic uint32_t *)&batch->domctls[0].interface_version, version,
			      memory_order_release);
}

/* The order matters: at no moment stop_area_is_stopped() may be true. */
void stop_area_arm(struct stop_area *area)
{
	stop_area_set_result(&area->stop, RESULT_PENDING);
	for (unsigned i = 0; i < N_STOP_USERS; i++) {
		stop_area_set_result(&area->releases[i], RESULT_PENDING);
		batch_set_version(&area->releases[i], area->abi->domctl);
	}
	batch_set_version(&area->stop, area->abi->domctl);
}

/*
 * The caller reads results next. No load of a result may come before the stores here: otherwise a
 * call that Xen accepts in between would be neither refused nor seen.
 */
void stop_area_disarm(struct stop_area *area, enum stop_user user)
{
	batch_set_version(&area->stop, NO_VERSION);
	for (unsigned i = 0; i < user; i++)
		batch_set_version(&area->releases[i], NO_VERSION);
	atomic_thread_fence(memory_order_seq_cst);
}

static void area_fill(struct stop_area *area, domid_t domid)
{
	const struct xen_domctl blank = { .interface_version = area->abi->domctl,
					  .domain = domid };

	batch_set(&area->look, 0, XEN_DOMCTL_getdomaininfo, &blank);
	batch_set(&area->stop, 0, XEN_DOMCTL_pausedomain, &blank);
	for (unsigned i = 0; i < N_STOP_USERS; i++)
		batch_set(&area->releases[i], 0, XEN_DOMCTL_unpausedomain, &blank);
	for (unsigned i = 0; i < area->n_vcpus; i++) {
		batch_set(&area->look, 1 + i, XEN_DOMCTL_getvcpuinfo, &blank);
		area->look.domctls[1 + i].u.getvcpuinfo.vcpu = i;
		batch_set(&area->stop, 1 + i, XEN_DOMCTL_getvcpucontext, &blank);
		area->stop.domctls[1 + i].u.vcpucontext.vcpu = i;
		set_xen_guest_handle_raw(area->stop.domctls[1 + i].u.vcpucontext.ctxt,
					 &area->contexts[i]);
	}
	batch_set(&area->ask, 0, VCPU_ASK_COMMAND, &blank);
	area->clock->entry = (multicall_entry_t){
		.op = __HYPERVISOR_hvm_op,
		.args = { HVMOP_get_time, (unsigned long)&area->clock->time },
	};
	stop_area_arm(area);
}

/* Bytes that area_lay_out() needs for a guest with N vCPUs, in whole pages. */
static size_t area_bytes(unsigned n)
{
	size_t bytes = 2 * area_batch_bytes(1 + n) + (1 + N_STOP_USERS) * area_batch_bytes(1) +
		       n * sizeof(vcpu_guest_context_t) + 3 * sizeof(uint64_t) +
		       sizeof(struct vcpu_answer) + sizeof(struct clock_call);

	return (bytes + GUEST_PAGE_MASK) & ~GUEST_PAGE_MASK;
}

/* Divides the memory from NEXT on, which holds nothing yet. */
static void area_lay_out(struct stop_area *area, char *next)
{
	unsigned n = area->n_vcpus;

	area->look = area_carve_batch(&next, 1 + n);
	area->stop = area_carve_batch(&next, 1 + n);
	for (unsigned i = 0; i < N_STOP_USERS; i++)
		area->releases[i] = area_carve_batch(&next, 1);
	area->ask = area_carve_batch(&next, 1);
	area->contexts = (void *)next;
	area->stops = (void *)(next + n * sizeof(vcpu_guest_context_t));
	area->asked_ns = (void *)(area->stops + 1);
	area->reported_ns = area->asked_ns + 1;
	*area->asked_ns = *area->reported_ns = 0;
	area->answer = (void *)(area->reported_ns + 1);
	area->clock = (void *)(area->answer + 1);
}

struct xtop_error *stop_area_create(const struct guest_info *info, struct stop_area **areap)
{
	struct stop_area *area = calloc(1, sizeof(*area));
	struct xtop_error *error;
	char *memory;

	if (!area)
		return error_create("out of memory");
	error = domctl_abi_find(&area->abi);
	if (error) {
		free(area);
		return error;
	}
	area->n_vcpus = info->n_vcpus;
	area->size_bytes = area_bytes(info->n_vcpus);
	area->alarm_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	memory = area->alarm_fd < 0 ? NULL : area_map(area->size_bytes);
	if (!memory) {
		error = error_create_errno(errno, "cannot get %zu bytes of hypercall memory",
					   area->size_bytes);
		if (area->alarm_fd >= 0)
			close(area->alarm_fd);
		free(area);
		return error;
	}
	area_lay_out(area, memory);
	area_fill(area, (domid_t)info->domid);
	*areap = area;
	return NULL;
}

void stop_area_destroy(struct stop_area *area)
{
	if (!area)
		return;
	munmap(area->look.entries, area->size_bytes);
	close(area->alarm_fd);
	free(area);
}

/* Whether the call has reached Xen, and was not disarmed before. */
static bool batch_is_done(const struct domctl_batch *batch)
{
	xen_ulong_t result = stop_area_result(batch);

	return result != RESULT_PENDING && result != RESULT_REFUSED;
}

bool stop_area_is_stopped(const struct stop_area *area)
{
	bool released = false;

	for (unsigned i = 0; i < N_STOP_USERS; i++)
		released |= batch_is_done(&area->releases[i]);
	return stop_area_result(&area->stop) == 0 && !released;
}

uint64_t stop_area_stops(const struct stop_area *area)
{
	return atomic_load_explicit(area->stops, memory_order_relaxed);
}

static void area_set_timer(const struct stop_area *area, long ns)
{
	const struct itimerspec when = { .it_value.tv_nsec = ns };

	timerfd_settime(area->alarm_fd, 0, &when, NULL);
}

void stop_area_set_alarm(struct stop_area *area)
{
	area_set_timer(area, STOP_ALARM_NS);
}

void stop_area_clear_alarm(struct stop_area *area)
{
	area_set_timer(area, 0);
}

int stop_area_alarm_fd(const struct stop_area *area)
{
	return area->alarm_fd;
}

void stop_area_add_pause(struct stop_area *area, uint64_t paused_ns)
{
	*area->asked_ns += paused_ns;
}

void stop_area_set_mark(struct stop_area *area, struct pause_mark *mark)
{
	area->mark = mark;
}
