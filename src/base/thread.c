/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads; see thread.h. The only file that creates threads. */
#include "config.h"

#include "xtop/base/thread.h"

#include <signal.h>

#define THREAD_STACK_BYTES (8U << 20) /* glibc's default; musl's is 128 KiB */

/*
 * The main thread decides what signals mean, so other threads block them. They do not block the
 * signals of faults: in a thread that blocks those, a fault ends the process whatever the handler
 * is (Linux force_sig_info_to_task()). The resolver reads pages that may go away (fault.c), and the
 * handler of a crash restores the terminal.
 */
struct xtop_error *thread_start(pthread_t *thread, void *(*body)(void *), void *context)
{
	static const int faults[] = { SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP };
	sigset_t others, before;
	pthread_attr_t attributes;
	int errno_value;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, THREAD_STACK_BYTES);
	sigfillset(&others);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigdelset(&others, faults[i]);
	pthread_sigmask(SIG_SETMASK, &others, &before);
	errno_value = pthread_create(thread, &attributes, body, context);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return errno_value ? error_create_errno(errno_value, "cannot start a thread") : NULL;
}
