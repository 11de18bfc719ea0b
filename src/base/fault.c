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

#include "xtop/fault.h"
#include "xtop/types.h"

static _Thread_local volatile sig_atomic_t fault_armed;
static _Thread_local volatile sig_atomic_t fault_pages;
/*
 * A mapping of /dev/xen/privcmd cannot be split (privcmd_may_split() of Linux v6.6.137 and others:
 * "xen/privcmd: fix double free via VMA splitting"), so a fault in the middle of one puts zeros in
 * the place of all of it.
 */
static _Thread_local char *volatile fault_range;
static _Thread_local volatile size_t fault_range_bytes;

static void (*volatile fault_last_words)(void);

/* What is to be replaced for a fault at ADDRESS. */
static void *fault_place(void *address, size_t *size_bytes)
{
	uintptr_t offset = (uintptr_t)address - (uintptr_t)fault_range;

	if (offset < fault_range_bytes) {
		*size_bytes = fault_range_bytes;
		return fault_range;
	}
	*size_bytes = GUEST_PAGE_SIZE;
	return (void *)((uintptr_t)address & ~(uintptr_t)GUEST_PAGE_MASK);
}

static void fault_handle(int signal_number, siginfo_t *info, void *context)
{
	size_t size_bytes;
	void *place = fault_place(info->si_addr, &size_bytes);

	(void)context;
	/*
	 * A signal that somebody sent (si_code <= 0) has no address. mmap() is async-signal-safe on
	 * Linux: a bare system call.
	 */
	if (fault_armed && info->si_code > 0 &&
	    mmap(place, size_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
		    MAP_FAILED) {
		fault_pages++;
		return;
	}
	if (fault_last_words)
		fault_last_words();
	signal(signal_number, SIG_DFL);
	raise(signal_number); /* pending until the handler returns */
}

void fault_install(void)
{
	struct sigaction action = { .sa_sigaction = fault_handle,
				    .sa_flags = SA_SIGINFO | SA_ONSTACK };

	sigaction(SIGBUS, &action, NULL);
}

void fault_on_death(void (*last_words)(void))
{
	fault_last_words = last_words;
}

void fault_arm(void)
{
	fault_arm_range(NULL, 0);
}

void fault_arm_range(void *start, size_t size_bytes)
{
	fault_pages = 0;
	fault_range = start;
	fault_range_bytes = size_bytes;
	fault_armed = 1;
}

unsigned fault_disarm(void)
{
	fault_armed = 0;
	fault_range_bytes = 0;
	return (unsigned)fault_pages;
}

unsigned fault_count(void)
{
	return (unsigned)fault_pages;
}
