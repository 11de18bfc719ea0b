/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tasks of a Linux guest that are on no CPU: where each one sleeps, how, and since when. They
 * are read while the guest runs. Resolver's thread.
 *
 * Everything read is hostile. Tasks come out of the tree of pids, whose depth is bounded, in
 * ascending order, so a pass ends whatever the tree says. A turn makes a bounded number of steps.
 */
#ifndef XTOP_LINUX_SLEEPERS_H
#define XTOP_LINUX_SLEEPERS_H

#include "linux/kernel/modules.h"
#include "linux/process/processes.h"
#include "linux/process/tasks.h"
#include "xtop/base/limit.h"
#include "xtop/os/os_waits.h"

/* tasks kept; further tasks are read again in each pass */
#define SLEEPERS_MAX       LIMIT(32768, 64)
#define SLEEPERS_TURN      LIMIT(64, 16)    /* tasks that a turn looks at */
#define SLEEPERS_FEW       LIMIT(512, 16)   /* tasks that stay mapped, 2 to 3 pages each */
#define SLEEPERS_TURN_READ LIMIT(64, 8)     /* nodes of the tree of pids that a turn reads */
#define SLEEPERS_TRIES     3                /* attempts to read the stack of a task that moves */

struct sleepers;

/* Whether the layout of GUEST's kernel is known well enough. */
bool sleepers_can_read(const struct linux_guest *guest);
/* GUEST, TASKS and PROCESSES outlive the sleepers. Error: out of memory. */
struct xtop_error *sleepers_create(const struct linux_guest *guest, struct tasks *tasks,
				   struct processes *processes, struct sleepers **sleepersp);
/* Locks in the static data of MODULES get names, too. MODULES outlive the sleepers. */
void sleepers_set_modules(struct sleepers *sleepers, struct modules *modules);
void sleepers_destroy(struct sleepers *sleepers); /* NULL allowed */

/* Runs one turn; see os_ops.read_waits(). */
enum os_waits_turn sleepers_read(struct sleepers *sleepers, uint64_t now_ns, uint64_t period_ns,
				 const struct os_waits_sink *sink);
struct os_waits_counts sleepers_counts(const struct sleepers *sleepers);

#endif
