/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading a foreign page raises SIGBUS if the guest has given the page back since it was mapped.
 * While armed, the handler maps a page of zeros in its place, counts the fault, and lets the read
 * go on. So no code jumps out of the scope in which the guest is stopped, and the same page cannot
 * fault twice. While not armed, SIGBUS ends the process as usual.
 */
#include "config.h"

#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "xtop/base/fault.h"
#include "xtop/base/types.h"

static _Thread_local volatile sig_atomic_t fault_armed;
static _Thread_local volatile sig_atomic_t fault_pages;
/*
 * A mapping of /dev/xen/privcmd cannot be split (privcmd_may_split() of Linux v6.6.137 and others:
 * "xen/privcmd: fix double free via VMA splitting"). So a fault in the middle of a mapping replaces
 * all of it by zeros.
 */
static _Thread_local char *volatile fault_range;
static _Thread_local volatile size_t fault_range_bytes;

static void (*volatile fault_last_words)(void);

/* Returns the start of the *SIZE_BYTES that zeros replace after a fault at ADDRESS. */
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

void fault_raise(int signal_number)
{
	syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), signal_number);
}

static void fault_handle(int signal_number, siginfo_t *info, void *context)
{
	size_t size_bytes;
	void *place = fault_place(info->si_addr, &size_bytes);

	(void)context;
	/*
	 * A signal that another process has sent (si_code <= 0) has no address. On Linux mmap() is
	 * async-signal-safe, because it is just a system call.
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
	fault_raise(signal_number); /* is delivered when this handler returns */
}

void fault_install(void)
{
	struct sigaction action = { .sa_sigaction = fault_handle,
				    .sa_flags = SA_SIGINFO | SA_ONSTACK };

	sigaction(SIGBUS, &action, NULL);
}

void fault_set_last_words(void (*last_words)(void))
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
