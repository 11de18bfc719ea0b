/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * In place of everything that needs Xen's libraries, for ./configure --without-xen: only
 * recordings.
 */
#include "config.h"

#include "xtop/guest.h"
#include "xtop/memory.h"

static struct xtop_error *no_xen(void)
{
	return error_create("this xtop was built without Xen: it can only replay recordings (-r)");
}

struct xtop_error *guest_find(const char *domain, struct guest_info *info)
{
	(void)domain, (void)info;
	return no_xen();
}

struct xtop_error *guest_list(struct guest_listing **listp, size_t *np)
{
	(void)listp, (void)np;
	return no_xen();
}

bool guest_registers(const struct guest_info *info, unsigned vcpu, struct registers *regs)
{
	(void)info, (void)vcpu, (void)regs;
	return false;
}

struct xtop_error *foreign_open(uint32_t domid, struct memory **memoryp)
{
	(void)domid, (void)memoryp;
	return no_xen();
}

struct xtop_error *
guard_start(const struct guest_info *info, struct control *control, struct ring *ring,
	    void (*run)(struct guest *guest, struct control *control, struct ring *ring),
	    struct guest_process *process)
{
	(void)info, (void)control, (void)ring, (void)run, (void)process;
	return no_xen();
}

bool guard_is_alive(const struct guest_process *process)
{
	(void)process;
	return false;
}

void guard_stop(struct guest_process *process, struct control *control)
{
	(void)process, (void)control;
}
