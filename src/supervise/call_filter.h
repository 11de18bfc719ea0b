/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A list of the system calls that a process may make; all others fail with EPERM. They do not kill
 * the process: libraries try calls that they can do without. See seccomp(2).
 */
#ifndef SUPERVISE_CALL_FILTER_H
#define SUPERVISE_CALL_FILTER_H

#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xtop/base/error.h"

/* SCMP_SYS(), but NAME is not expanded: musl has a macro pread64. */
#define CALL(name) __SNR_##name
/* The number of elements of a list of calls or values. */
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct call_filter {
	scmp_filter_ctx context;
	bool failed;
};

/*
 * Allows CALL if N conditions hold: call_filter_add_if(FILTER, CALL, N, SCMP_A0(...), ...), as
 * seccomp_rule_add(3) takes them.
 */
#define call_filter_add_if(filter, ...)                                                            \
	((filter)->failed |= seccomp_rule_add((filter)->context, SCMP_ACT_ALLOW, __VA_ARGS__) < 0)

void call_filter_init(struct call_filter *filter);
void call_filter_add(struct call_filter *filter, const int *calls, size_t n);
/* CALL is allowed if its argument with the index ARGUMENT is one of VALUES. Compares 32 bits. */
void call_filter_add_values(struct call_filter *filter, int call, unsigned argument,
			    const uint32_t *values, size_t n);
/* CALL is allowed if its argument with the index ARGUMENT has none of BITS. */
void call_filter_add_without(struct call_filter *filter, int call, unsigned argument,
			     uint64_t bits);
/* Allows fcntl() with COMMANDS and with F_SETFL, but not O_ASYNC, which causes signals. */
void call_filter_add_fcntls(struct call_filter *filter, const uint32_t *commands, size_t n);
/* Allows memory to be mapped and protected, but not to become executable. */
void call_filter_add_memory(struct call_filter *filter);
/* Allows new threads, but no new processes. Allows signals, but only to this process. */
void call_filter_add_threads(struct call_filter *filter);
/* Allows new processes by fork(), which share no memory and have no namespace of their own. */
void call_filter_add_fork(struct call_filter *filter);
/* Makes the list hold for this process, for ever. FILTER is empty afterwards. */
struct xtop_error *call_filter_load(struct call_filter *filter);
/* Forbids CALLS to this process, for ever. */
struct xtop_error *call_filter_refuse(const int *calls, size_t n);

#endif
