/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why Xen does not trace, as xtop says it: each hypercall for a trace fails in turn. */
#include "config.h"

#include <errno.h>

#include "tests/support/tap.h"
#include "xen/domctl_abi.h"
#include "xtop/xen/trace_buffers.h"

#include "tests/xen/xen_libraries.h"

#define NEVER UINT32_MAX

/* The call that fails: command of sysctl, and of XEN_SYSCTL_tbuf_op; and how. */
static uint32_t refused_command, refused_op;
static int refusal;

struct xtop_error *domctl_abi_find(const struct domctl_abi **abip)
{
	static const struct domctl_abi abi = { .release = "4.17" };

	*abip = &abi;
	return NULL;
}

int xencall1(xencall_handle *call, unsigned op, uint64_t argument)
{
	struct xen_sysctl *sysctl = (struct xen_sysctl *)(uintptr_t)argument;

	(void)call, (void)op;
	if (sysctl->cmd == refused_command &&
	    (sysctl->cmd != XEN_SYSCTL_tbuf_op || sysctl->u.tbuf_op.cmd == refused_op)) {
		errno = refusal;
		return -1;
	}
	if (sysctl->cmd == XEN_SYSCTL_tbuf_op) {
		sysctl->u.tbuf_op.buffer_mfn = 0; /* there are no buffers yet */
		sysctl->u.tbuf_op.size = 0;
	}
	return 0;
}

void *xenforeignmemory_map(xenforeignmemory_handle *memory, uint32_t domid, int protection,
			   size_t n, const xen_pfn_t *frames, int *errors)
{
	(void)memory, (void)domid, (void)protection, (void)n, (void)frames, (void)errors;
	return NULL;
}

int xenforeignmemory_unmap(xenforeignmemory_handle *memory, void *pages, size_t n)
{
	(void)memory, (void)pages, (void)n;
	return 0;
}

static const char *refuse(uint32_t command, uint32_t op, int errno_value)
{
	static char message[256];
	struct trace_buffers *buffers = NULL;
	struct xtop_error *error;

	refused_command = command;
	refused_op = op;
	refusal = errno_value;
	error = trace_buffers_open(&buffers);
	if (!error && op != XEN_SYSCTL_TBUFOP_enable && op != XEN_SYSCTL_TBUFOP_set_cpu_mask)
		error = trace_buffers_map(buffers, 32);
	if (!error)
		error = trace_buffers_enable(buffers, TRACE_EVENTS);
	trace_buffers_close(buffers);
	snprintf(message, sizeof(message), "%s", error ? error_message(error) : "none");
	error_destroy(error);
	return message;
}

static const char *refuse_op(uint32_t op, int errno_value)
{
	return refuse(XEN_SYSCTL_tbuf_op, op, errno_value);
}

int main(void)
{
	static const char memory[] = "Xen has no memory for its trace buffers";

	check_string(refuse_op(XEN_SYSCTL_TBUFOP_get_info, ENOSYS),
		     "this Xen has no trace buffers (CONFIG_TRACEBUFFER)",
		     "a Xen without trace buffers");
	check_string(refuse_op(XEN_SYSCTL_TBUFOP_get_info, EPERM),
		     "Xen's policy (XSM) forbids tracing", "a policy against it");
	check(!strncmp(refuse_op(XEN_SYSCTL_TBUFOP_set_size, EINVAL), memory, sizeof(memory) - 1),
	      "buffers that cannot be made: no memory");
	check(!strncmp(refuse_op(XEN_SYSCTL_TBUFOP_set_size, ENOMEM), memory, sizeof(memory) - 1),
	      "buffers for which there is no memory");
	check(!strncmp(refuse_op(XEN_SYSCTL_TBUFOP_enable, EINVAL), memory, sizeof(memory) - 1),
	      "a trace without buffers: no memory");
	check_string(refuse(XEN_SYSCTL_physinfo, NEVER, EINVAL),
		     "Xen does not trace: Invalid argument",
		     "a question for the CPUs that Xen does not understand is no lack of memory");
	check_string(refuse_op(XEN_SYSCTL_TBUFOP_set_cpu_mask, EINVAL),
		     "Xen does not trace: Invalid argument",
		     "a set of CPUs that Xen does not understand is none either");
	check_string(refuse_op(NEVER, 0), "Xen does not let dom0 map its trace buffers",
		     "buffers that cannot be mapped");
	return tap_done();
}
