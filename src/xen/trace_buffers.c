/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Xen's trace buffers; see trace_buffers.h. Xen tells the frame of struct t_info, which has the
 * frames of each CPU's buffer; all are mapped from DOMID_XEN. A buffer begins with struct t_buf:
 * Xen writes prod, the reader writes cons, both modulo twice the size of the data that follows. A
 * record never wraps: Xen puts padding before the end.
 *
 * Sources: Xen 4.17 public/trace.h, public/sysctl.h, xen/common/trace.c. No hypercall tells whether
 * Xen traces. If prod moves before we begin, somebody else has Xen trace.
 */
#include "config.h"

#include "xtop/xen/trace_buffers.h"

#include "xen/domctl_abi.h"

#include <xen/trace.h>
#include <xencall.h>
#include <xenforeignmemory.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "xen/xen_log.h"
#include "xtop/base/cleanup.h"
#include "xtop/xen/host_look.h"

#define TRACE_WATCH_NS  20000000 /* time in which prod moves if Xen traces */
#define TRACE_WATCHES   10       /* how often to look whether prod moves */
#define TRACE_MAX_PAGES 4096     /* most pages of a CPU's buffer; Xen allows more */

SAME_NUMBER(XEN_SYSCTL_tbuf_op, 2);
SAME_NUMBER(XEN_SYSCTL_physinfo, 3);
SAME_SIZE(xen_sysctl_tbuf_op, 48);
SAME_OFFSET(xen_sysctl_tbuf_op, cpu_mask, 8);
SAME_OFFSET(xen_sysctl_tbuf_op, evt_mask, 24);
SAME_OFFSET(xen_sysctl_tbuf_op, buffer_mfn, 32);
SAME_OFFSET(xen_sysctl_physinfo, max_cpu_id, 12);
SAME_OFFSET(xen_sysctl_physinfo, cpu_khz, 24);

/* Hypercall memory, which Xen reads and writes. */
struct trace_area {
	struct xen_sysctl sysctl;
	struct host_cpus cpus;
};

struct trace_buffers {
	xencall_handle *call;
	xenforeignmemory_handle *memory;
	const struct domctl_abi *abi;
	struct trace_area *area;
	unsigned n_cpus;
	uint64_t khz;
	size_t pages;                         /* pages of each CPU's buffer; 0: not mapped */
	struct t_buf *buffers[HOST_MAX_CPUS]; /* NULL: the CPU is offline */
};

/* Makes the hypercall that buffers->area describes. Returns 0 or an errno. */
static int trace_call(struct trace_buffers *buffers, uint32_t command)
{
	struct xen_sysctl *sysctl = &buffers->area->sysctl;

	sysctl->cmd = command;
	sysctl->interface_version = buffers->abi->sysctl;
	return xencall1(buffers->call, __HYPERVISOR_sysctl, (unsigned long)sysctl) < 0 ? errno : 0;
}

static int trace_control(struct trace_buffers *buffers, struct xen_sysctl_tbuf_op op)
{
	buffers->area->sysctl = (struct xen_sysctl){ .u.tbuf_op = op };
	return trace_call(buffers, XEN_SYSCTL_tbuf_op);
}

static struct xtop_error *trace_refused(int errno_value)
{
	if (errno_value == ENOSYS)
		return error_create("this Xen has no trace buffers (CONFIG_TRACEBUFFER)");
	if (errno_value == EPERM || errno_value == EACCES)
		return error_create("Xen's policy (XSM) forbids tracing");
	if (errno_value == ENOMEM)
		return error_create("Xen has no memory for its trace buffers: give dom0 less (xl "
				    "mem-set 0), or boot Xen with tbuf_size=32");
	return error_create_errno(errno_value, "Xen does not trace");
}

/*
 * Makes or switches on buffers. There, EINVAL says that there is no memory (Xen 4.17
 * xen/common/trace.c: tb_set_size(), and enabling without buffers).
 */
static int trace_control_memory(struct trace_buffers *buffers, struct xen_sysctl_tbuf_op op)
{
	int result = trace_control(buffers, op);

	return result == EINVAL ? ENOMEM : result;
}

/* --- life ------------------------------------------------------------------------------------- */

static struct xtop_error *trace_connect(struct trace_buffers *buffers)
{
	struct xtop_error *error = domctl_abi_find(&buffers->abi);
	int result;

	if (error)
		return error;
	buffers->call = xencall_open(xen_log_quiet(), 0);
	buffers->memory = xenforeignmemory_open(xen_log_quiet(), 0);
	if (buffers->call && buffers->memory)
		buffers->area = xencall_alloc_buffer_pages(buffers->call, 1);
	if (!buffers->area)
		return error_create("cannot open Xen's privileged interface");
	buffers->area->sysctl = (struct xen_sysctl){ 0 };
	result = trace_call(buffers, XEN_SYSCTL_physinfo);
	if (result)
		return trace_refused(result);
	buffers->n_cpus = buffers->area->sysctl.u.physinfo.max_cpu_id + 1;
	if (buffers->n_cpus > HOST_MAX_CPUS)
		buffers->n_cpus = HOST_MAX_CPUS;
	buffers->khz = buffers->area->sysctl.u.physinfo.cpu_khz;
	return NULL;
}

struct xtop_error *trace_buffers_open(struct trace_buffers **buffersp)
{
	struct trace_buffers *buffers = calloc(1, sizeof(*buffers));
	struct xtop_error *error;

	if (!buffers)
		return error_create("out of memory");
	error = trace_connect(buffers);
	if (error) {
		trace_buffers_close(buffers);
		return error;
	}
	*buffersp = buffers;
	return NULL;
}

void trace_buffers_close(struct trace_buffers *buffers)
{
	if (!buffers)
		return;
	for (unsigned i = 0; i < buffers->n_cpus; i++)
		if (buffers->buffers[i])
			xenforeignmemory_unmap(buffers->memory, buffers->buffers[i],
					       buffers->pages);
	if (buffers->area)
		xencall_free_buffer_pages(buffers->call, buffers->area, 1);
	if (buffers->memory)
		xenforeignmemory_close(buffers->memory);
	if (buffers->call)
		xencall_close(buffers->call);
	free(buffers);
}

unsigned trace_buffers_cpus(const struct trace_buffers *buffers)
{
	return buffers->n_cpus;
}

uint64_t trace_buffers_khz(const struct trace_buffers *buffers)
{
	return buffers->khz;
}

/* --- mapping ---------------------------------------------------------------------------------- */

/* Maps N frames of Xen. FRAMES are numbers as struct t_info has them. NULL: Xen refuses. */
static void *trace_map(const struct trace_buffers *buffers, int protection, size_t n,
		       const xen_pfn_t *frames)
{
	_cleanup_free_ int *errors = calloc(n, sizeof(*errors));
	void *pages = errors ? xenforeignmemory_map(buffers->memory, DOMID_XEN, protection, n,
						    frames, errors)
			     : NULL;

	for (size_t i = 0; pages && i < n; i++) {
		if (!errors[i])
			continue;
		xenforeignmemory_unmap(buffers->memory, pages, n);
		return NULL;
	}
	return pages;
}

/* Maps CPU's buffer by INFO, which has N_WORDS words. */
static bool trace_map_cpu(struct trace_buffers *buffers, unsigned cpu, const struct t_info *info,
			  size_t n_words)
{
	const uint32_t *words = (const uint32_t *)info;
	size_t at = info->mfn_offset[cpu];
	_cleanup_free_ xen_pfn_t *frames = calloc(buffers->pages, sizeof(*frames));

	if (!at)
		return true; /* offline */
	if (!frames || at + buffers->pages > n_words)
		return false;
	for (size_t i = 0; i < buffers->pages; i++)
		frames[i] = words[at + i];
	buffers->buffers[cpu] = trace_map(buffers, PROT_READ | PROT_WRITE, buffers->pages, frames);
	return buffers->buffers[cpu];
}

static bool trace_map_all(struct trace_buffers *buffers, uint64_t frame, size_t size_bytes)
{
	size_t n = (size_bytes + GUEST_PAGE_SIZE - 1) / GUEST_PAGE_SIZE;
	_cleanup_free_ xen_pfn_t *frames = calloc(n + 1, sizeof(*frames));
	const struct t_info *info;
	bool done;

	for (size_t i = 0; frames && i < n; i++)
		frames[i] = frame + i;
	info = frames && n ? trace_map(buffers, PROT_READ, n, frames) : NULL;
	if (!info)
		return false;
	buffers->pages = info->tbuf_size;
	done = buffers->pages && buffers->pages <= TRACE_MAX_PAGES;
	for (unsigned i = 0; done && i < buffers->n_cpus; i++)
		done = trace_map_cpu(buffers, i, info, n * GUEST_PAGE_SIZE / 4);
	xenforeignmemory_unmap(buffers->memory, (void *)(uintptr_t)info, n);
	return done;
}

/* --- switching on and off --------------------------------------------------------------------- */

static uint32_t trace_load(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* Whether Xen writes records now. */
static bool trace_is_on(const struct trace_buffers *buffers)
{
	const struct timespec nap = { .tv_nsec = TRACE_WATCH_NS };
	uint64_t sum, first = 0;

	for (unsigned watch = 0; watch < TRACE_WATCHES; watch++) {
		sum = 0;
		for (unsigned i = 0; i < buffers->n_cpus; i++)
			sum += buffers->buffers[i] ? trace_load(&buffers->buffers[i]->prod) : 0;
		if (watch && sum != first)
			return true;
		first = sum;
		nanosleep(&nap, NULL);
	}
	return false;
}

/*
 * Makes the buffers if there are none, PAGES for each CPU, and asks for the frame of struct t_info.
 * *EXISTED: there were buffers before this call.
 */
static int trace_make(struct trace_buffers *buffers, unsigned pages, bool *existed)
{
	const struct xen_sysctl_tbuf_op *op = &buffers->area->sysctl.u.tbuf_op;
	int result = trace_control(
		buffers, (struct xen_sysctl_tbuf_op){ .cmd = XEN_SYSCTL_TBUFOP_get_info });

	*existed = !result && op->buffer_mfn;
	if (result || *existed)
		return result;
	/* Xen traces as soon as there are buffers. With an empty mask it writes no record. */
	trace_control(buffers,
		      (struct xen_sysctl_tbuf_op){ .cmd = XEN_SYSCTL_TBUFOP_set_evt_mask });
	result = trace_control_memory(
		buffers, (struct xen_sysctl_tbuf_op){ .cmd = XEN_SYSCTL_TBUFOP_set_size,
						      .size = pages });
	return result ? result
		      : trace_control(buffers, (struct xen_sysctl_tbuf_op){
						       .cmd = XEN_SYSCTL_TBUFOP_get_info });
}

static int trace_switch_on(struct trace_buffers *buffers, uint32_t events)
{
	struct xen_sysctl_tbuf_op op = { .cmd = XEN_SYSCTL_TBUFOP_set_cpu_mask };
	int result;

	memset(&buffers->area->cpus, 0xff, sizeof(buffers->area->cpus));
	op.cpu_mask.nr_bits = HOST_MAX_CPUS;
	set_xen_guest_handle_raw(op.cpu_mask.bitmap, buffers->area->cpus.bits);
	result = trace_control(buffers, op);
	if (!result)
		result = trace_control(
			buffers, (struct xen_sysctl_tbuf_op){ .cmd = XEN_SYSCTL_TBUFOP_set_evt_mask,
							      .evt_mask = events });
	for (unsigned i = 0; i < buffers->n_cpus; i++)
		if (buffers->buffers[i])
			__atomic_store_n(&buffers->buffers[i]->cons,
					 trace_load(&buffers->buffers[i]->prod), __ATOMIC_RELEASE);
	return result ? result
		      : trace_control_memory(buffers, (struct xen_sysctl_tbuf_op){
							      .cmd = XEN_SYSCTL_TBUFOP_enable });
}

struct xtop_error *trace_buffers_map(struct trace_buffers *buffers, unsigned pages)
{
	const struct xen_sysctl_tbuf_op *op = &buffers->area->sysctl.u.tbuf_op;
	bool existed;
	int result = trace_make(buffers, pages, &existed);

	if (result)
		return trace_refused(result);
	if (!trace_map_all(buffers, op->buffer_mfn, op->size))
		return error_create("Xen does not let dom0 map its trace buffers");
	if (existed && trace_is_on(buffers))
		return error_create("another program traces Xen already, and is left alone: end "
				    "xentrace first");
	return NULL;
}

struct xtop_error *trace_buffers_enable(struct trace_buffers *buffers, uint32_t events)
{
	int result = trace_switch_on(buffers, events);

	return result ? trace_refused(result) : NULL;
}

bool trace_buffers_disable(struct trace_buffers *buffers)
{
	return !trace_control(buffers,
			      (struct xen_sysctl_tbuf_op){ .cmd = XEN_SYSCTL_TBUFOP_disable });
}

/* --- reading ---------------------------------------------------------------------------------- */

static uint32_t trace_data_bytes(const struct trace_buffers *buffers)
{
	return (uint32_t)(buffers->pages * GUEST_PAGE_SIZE - sizeof(struct t_buf));
}

size_t trace_buffers_peek(const struct trace_buffers *buffers, unsigned cpu, void *bytes,
			  size_t room_bytes)
{
	const struct t_buf *buffer = cpu < buffers->n_cpus ? buffers->buffers[cpu] : NULL;
	uint32_t size = buffer ? trace_data_bytes(buffers) : 0, prod, cons, n, at, first;

	if (!buffer)
		return 0;
	prod = trace_load(&buffer->prod);
	cons = trace_load(&buffer->cons);
	n = (prod + 2 * size - cons) % (2 * size);
	if (prod >= 2 * size || cons >= 2 * size || n > size)
		return 0;
	n = n < room_bytes ? n : (uint32_t)room_bytes & ~3U;
	at = cons % size;
	first = n < size - at ? n : size - at;
	memcpy(bytes, (const char *)(buffer + 1) + at, first);
	memcpy((char *)bytes + first, buffer + 1, n - first);
	return n;
}

void trace_buffers_release(const struct trace_buffers *buffers, unsigned cpu, size_t size_bytes)
{
	struct t_buf *buffer = buffers->buffers[cpu];
	uint32_t size = trace_data_bytes(buffers);

	__atomic_store_n(&buffer->cons, (buffer->cons + (uint32_t)size_bytes) % (2 * size),
			 __ATOMIC_RELEASE);
}
