/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * In place of everything that needs Xen's libraries, for ./configure --without-xen: only
 * recordings.
 */
#include "config.h"

#include "guest/guard.h"
#include "guest/xen.h"
#include "xtop/memory.h"

static struct xtop_error *no_xen(void)
{
	return error_create("this xtop was built without Xen: it can only replay recordings (-r)");
}

struct xtop_error *xen_find(const char *domain, struct guest_info *info)
{
	(void)domain, (void)info;
	return no_xen();
}

struct xtop_error *xen_list(struct guest_listing **listp, size_t *np)
{
	(void)listp, (void)np;
	return no_xen();
}

bool xen_is_still(const struct guest_info *info)
{
	(void)info;
	return false;
}

bool xen_registers(const struct guest_info *info, unsigned vcpu, struct registers *regs)
{
	(void)info, (void)vcpu, (void)regs;
	return false;
}

struct xtop_error *guest_repair(const char *domain, bool asked, char **notep)
{
	(void)domain, (void)asked, (void)notep;
	return no_xen();
}

struct xtop_error *foreign_open_fd(uint32_t domid, int *fdp)
{
	(void)domid, (void)fdp;
	return no_xen();
}

struct xtop_error *foreign_adopt(uint32_t domid, int fd, struct memory **memoryp)
{
	(void)domid, (void)fd, (void)memoryp;
	return no_xen();
}

struct xtop_error *guard_create(const struct guest_info *info, struct control *control,
				struct ring *ring, sampler_run_fn *run, int socket,
				struct guard **guardp)
{
	(void)info, (void)control, (void)ring, (void)run, (void)socket, (void)guardp;
	return no_xen();
}

int guard_pidfd(const struct guard *guard)
{
	(void)guard;
	return -1;
}

bool guard_tend(struct guard *guard)
{
	(void)guard;
	return false;
}

void guard_destroy(struct guard *guard, void (*meanwhile)(void *context), void *context)
{
	(void)guard, (void)meanwhile, (void)context;
}
