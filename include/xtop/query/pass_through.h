/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pass-through functions take no time themselves and only lead to the work, such as
 * __libc_start_main and entry_SYSCALL_64_after_hwframe. Without them the first row of a table is
 * where the time divides. Functions of their arguments alone; any thread.
 *
 * A function is folded away if one of these is true, both for the live samples and for all samples
 * since start:
 *
 *   - It takes at most PASS_THROUGH_OWN of its time itself, and hands at least PASS_THROUGH_MOST to
 *     one other function of each process.
 *   - It takes at most PASS_THROUGH_OWN of its time itself. At least PASS_THROUGH_MOST of its time
 *     is in nodes that nearly every chain of their process, or of their named thread, goes through:
 *     at least PASS_THROUGH_MOST of the chains.
 *
 * Functions without a name stay, because they tell that a symbol file is missing.
 */
#ifndef XTOP_PASS_THROUGH_H
#define XTOP_PASS_THROUGH_H

#include "xtop/profile/snapshot.h"

#define PASS_THROUGH_OWN  0.01
#define PASS_THROUGH_MOST 0.95

/*
 * *TO becomes FROM without pass-through functions. Their own weight, which is small, goes to
 * their callers. *NP: how many functions were folded away. *TO has nodes of its own; FROM outlives
 * *TO. Error: out of memory.
 */
struct xtop_error *pass_through_fold(const struct snapshot *from, struct snapshot *to, size_t *np);
/*
 * *TO becomes OTHER without the functions that were folded away when FROM became FOLDED. OTHER is a
 * snapshot to compare with. All have the same frames. It does not matter whether a function is
 * pass-through in OTHER, too: both must keep the same functions. *TO has nodes of its own. Error:
 * out of memory.
 */
struct xtop_error *pass_through_fold_same(const struct snapshot *from,
					  const struct snapshot *folded,
					  const struct snapshot *other, struct snapshot *to);
void pass_through_deinit(struct snapshot *to);

#endif
