/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What runs inside the guest. The resolver finds the operating system from the first registers that
 * it sees, and keeps its knowledge of the system up to date. If os.c knows the system, os.c knows
 * the code of the kernel and its modules, and for each sample the task and its address space. For
 * any other system it knows only the files of -k.
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
#include "xtop/supervise/host_files.h"
#include "xtop/symbol/image.h"

struct os_settings {
	struct memory *memory; /* NULL if there is no guest memory to look at */
	enum guest_type type;
	char uuid[OS_UUID_BYTES]; /* UUID of the domain */
	struct control *control;
	struct work *work; /* tells when to stop reading the guest; borrowed; NULL: never */
	struct symbols *symbols;       /* symbols of -k, borrowed */
	struct host_files files;       /* borrowed */
	const char *root;              /* --root, or NULL */
	const char *const *debug_dirs; /* folders of --debug-dir */
	size_t n_debug_dirs;
	/* false if debug_dirs are the default folders, which need not exist */
	bool debug_dirs_given;
	bool at_once; /* one report is made: nothing is put off to a later time */
	/* kernels seen before; borrowed; NULL if no cache is used */
	struct kernel_cache *kernel_cache;
};

struct os;

struct xtop_error *os_create(const struct os_settings *settings, struct os **osp);
void os_destroy(struct os *os); /* NULL allowed */

/* Replaces the guest by another one. Everything about its system is found again. */
void os_switch(struct os *os, struct memory *memory, enum guest_type type, const char *uuid);
/* The guest has GUEST_PAGES pages now; see memory_update_pages(). */
void os_update_pages(struct os *os, uint64_t guest_pages);
/*
 * Call this with every vCPU's sample before the sample is unwound. Finds the system if none is
 * known, and checks from time to time whether the known system still runs.
 */
void os_update(struct os *os, const struct sample_vcpu *vcpu, uint64_t now_ns);
/* The sample was taken before the sampler knew how to copy task and stacks, so it is worthless. */
bool os_is_early(const struct os *os, const struct sample_vcpu *vcpu, uint64_t now_ns);
bool os_is_known(const struct os *os); /* A known system runs. */
bool os_is_other(const struct os *os); /* A vCPU has run, and its system is not a known one. */
/* The code of a known system's kernel and modules. Never NULL. */
const struct space *os_get_kernel(const struct os *os);
struct memory *os_get_memory(const struct os *os); /* NULL if there is no guest memory */
/* The page tables that map all of a known system's kernel. Returns false if they are unknown. */
bool os_get_kernel_root(const struct os *os, struct memory_root *root);
/* The task that VCPU ran at NOW_NS. TASK is all zero if nothing is known. */
void os_find_task(struct os *os, const struct sample_vcpu *vcpu, uint64_t now_ns,
		  struct os_task *task);
/*
 * Looks for modules that came and went, and for bytes that were missing. Call this often, also
 * while the guest is idle. Returns false if it is too early to look again.
 */
bool os_poll(struct os *os, uint64_t now_ns);
/*
 * One turn of a pass over all tasks; see os_ops.read_waits(). Returns OS_WAITS_NONE also if no
 * known system runs. If the guest switches to another system, its tasks are dropped without a call
 * of sink->end().
 */
enum os_waits_turn os_read_waits(struct os *os, uint64_t now_ns, uint64_t period_ns,
				 const struct os_waits_sink *sink);
/*
 * All tasks that are on no CPU; see os_ops.read_tasks(). Returns false if the system has no task
 * list.
 */
bool os_read_tasks(struct os *os, uint64_t now_ns, const struct os_waits_sink *sink);
void os_get_waits_counts(const struct os *os, struct os_waits_counts *counts);
void os_describe(const struct os *os, struct os_description *description);
void os_get_counts(const struct os *os, struct os_counts *counts);
/* Reads the log of the guest's kernel. LOG is zeroed; the caller calls os_log_deinit(). */
void os_read_log(const struct os *os, struct os_log *log);
/*
 * The guest's clocks at Xen's system time XEN_NS, which is about now. Returns false and leaves
 * *CLOCK untouched if no known system runs or if its clocks are unknown.
 */
bool os_read_clock(struct os *os, uint64_t xen_ns, struct os_clock *clock);
/* See os_ops.read_timer(). */
bool os_read_timer(struct os *os, unsigned vcpu, uint64_t *timer_ns);
/* See os_ops.read_events(). Names are raw. */
bool os_read_events(struct os *os, struct os_events *events, unsigned n);
/* See os_ops.read_file(). 0 if no known system runs. */
size_t os_read_file(struct os *os, uint32_t tgid, const char *path, void *buffer,
		    size_t size_bytes);

#endif
