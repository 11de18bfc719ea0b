/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A foreign page that the guest has given back since it was mapped answers a read with SIGBUS.
 * While armed, the handler puts a page of zeros in its place, counts, and lets the read go on: no
 * jump out of the stopped window, and the same page cannot fault twice. Unarmed, SIGBUS is what it
 * always was.
 */
#include "config.h"

#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>

#include "xtop/guest.h"

static _Thread_local volatile sig_atomic_t fault_armed;
static _Thread_local volatile sig_atomic_t fault_pages;

static void fault_handle(int signal_number, siginfo_t *info, void *context)
{
	void *page = (void *)((uintptr_t)info->si_addr & ~(uintptr_t)GUEST_PAGE_MASK);

	(void)context;
	/*
	 * A signal that somebody sent (si_code <= 0) has no address. mmap() is async-signal-safe on
	 * Linux: a bare system call.
	 */
	if (fault_armed && info->si_code > 0 &&
	    mmap(page, GUEST_PAGE_SIZE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		 0) != MAP_FAILED) {
		fault_pages++;
		return;
	}
	signal(signal_number, SIG_DFL);
	raise(signal_number); /* pending until the handler returns */
}

void fault_install(void)
{
	struct sigaction action = { .sa_sigaction = fault_handle, .sa_flags = SA_SIGINFO };

	sigaction(SIGBUS, &action, NULL);
}

void fault_arm(void)
{
	fault_pages = 0;
	fault_armed = 1;
}

unsigned fault_disarm(void)
{
	fault_armed = 0;
	return (unsigned)fault_pages;
}

unsigned fault_count(void)
{
	return (unsigned)fault_pages;
}
