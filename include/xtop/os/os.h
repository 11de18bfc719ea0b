/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What runs inside the guest. The resolver finds the operating system by the first registers it
 * sees, and keeps what is known of it up to date. If os.c knows the system, it knows the code of
 * the kernel and its modules, and for each sample the task and its address space. For any other
 * system it knows only the files of -k.
 *
 *   os_update() ─► a known system? ─► kernel's code, stack layout for the sampler ─► os_find_task()
 *
 * Resolver's thread. Nothing here fails: os_describe() tells what could not be found.
 */
#ifndef XTOP_OS_H
#define XTOP_OS_H

#include <stdbool.h>

#include "xtop/memory/memory.h"
#include "xtop/os/os_ops.h"
#include "xtop/sample/control.h"
#include "xtop/sample/sample.h"
#include "xtop/symbol/image.h"

struct os_settings {
	struct memory *memory;      /* borrowed; NULL: there is nothing to look at */
	enum guest_type type;
	char uuid[OS_UUID_BYTES];   /* of the domain */
	struct control *control;
	struct symbols *symbols;    /* of -k; borrowed */
	const char *root;           /* --root, or NULL */
	const char *const *debug_dirs; /* --debug-dir */
	size_t n_debug_dirs;
	bool debug_dirs_given;      /* else they are the default, and need not exist */
	bool at_once;               /* one report: nothing is put off to a later time */
	struct kernel_cache *kernel_cache; /* of kernels seen before; borrowed; NULL: none */
};

struct os;

struct xtop_error *os_create(const struct os_settings *settings, struct os **osp);
void os_destroy(struct os *os); /* NULL allowed */

/* Another guest takes the place of this one. Everything about its system is found anew. */
void os_switch(struct os *os, struct memory *memory, enum guest_type type, const char *uuid);
/* The guest has GUEST_PAGES pages now; see memory_update_pages(). */
void os_update_pages(struct os *os, uint64_t guest_pages);
/*
 * To be called with every vCPU's sample before it is unwound. Finds the system if none is known,
 * and checks from time to time whether the known one still runs.
 */
void os_update(struct os *os, const struct sample_vcpu *vcpu, uint64_t now_ns);
/* The sample was taken before the sampler knew how to copy task and stacks: it is worth nothing. */
bool os_is_early(const struct os *os, const struct sample_vcpu *vcpu, uint64_t now_ns);
bool os_is_known(const struct os *os); /* a known system runs */
bool os_is_other(const struct os *os); /* a vCPU ran, and it was no known system */
/* The code of a known system's kernel and modules. Never NULL. */
const struct space *os_get_kernel(const struct os *os);
struct memory *os_get_memory(const struct os *os); /* NULL: there is none */
/* The page tables that map all of a known system's kernel. False: nobody knows them. */
bool os_get_kernel_root(const struct os *os, struct memory_root *root);
/* The task of VCPU, which ran at NOW_NS. All zero when nothing is known. */
void os_find_task(struct os *os, const struct sample_vcpu *vcpu, uint64_t now_ns,
		  struct os_task *task);
/*
 * To be called often, also when the guest is idle: looks for modules that came and went, and for
 * bytes that were missing. False: it is too early to look again.
 */
bool os_poll(struct os *os, uint64_t now_ns);
/*
 * A turn of a pass over all tasks; see os_ops.read_waits(). OS_WAITS_NONE also when no known system
 * runs. The tasks of a guest that gets another system are dropped without an end.
 */
enum os_waits_turn os_read_waits(struct os *os, uint64_t now_ns, uint64_t period_ns,
				 const struct os_waits_sink *sink);
/* All tasks that are on no CPU; see os_ops.read_tasks(). False: nobody knows them. */
bool os_read_tasks(struct os *os, uint64_t now_ns, const struct os_waits_sink *sink);
void os_get_waits_counts(const struct os *os, struct os_waits_counts *counts);
void os_describe(const struct os *os, struct os_description *description);
void os_get_counts(const struct os *os, struct os_counts *counts);
/* What the guest's kernel has logged. LOG is zeroed; the caller calls os_log_deinit(). */
void os_read_log(const struct os *os, struct os_log *log);
/*
 * What the guest's clocks showed at Xen's system time XEN_NS, which is about now. False: no known
 * system runs, or it does not tell; *CLOCK is untouched.
 */
bool os_read_clock(struct os *os, uint64_t xen_ns, struct os_clock *clock);
/* As read_timer() of struct os_ops. */
bool os_read_timer(struct os *os, unsigned vcpu, uint64_t *timer_ns);
/* As read_events() of struct os_ops. Names are raw. */
bool os_read_events(struct os *os, struct os_events *events, unsigned n);

#endif
