/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pass-through functions: those that take no time themselves and only lead to the work, such as
 * __libc_start_main and entry_SYSCALL_64_after_hwframe. Without them the first row of a table is
 * where the time divides. Pure functions; any thread.
 *
 * A function is folded away if one of these is true, both of the live samples and of all samples
 * since start:
 *
 *   - It takes at most PASS_THROUGH_OWN of its time itself, and hands at least PASS_THROUGH_MOST to
 *     one other function.
 *   - It takes at most PASS_THROUGH_OWN itself, and at least PASS_THROUGH_MOST of its time belongs
 *     to places that at least PASS_THROUGH_MOST of the chains of their process, or named thread,
 *     go through.
 *
 * Functions without a name stay: they tell that a symbol file is missing.
 */
#ifndef XTOP_PASS_THROUGH_H
#define XTOP_PASS_THROUGH_H

#include "xtop/snapshot.h"

#define PASS_THROUGH_OWN  0.01
#define PASS_THROUGH_MOST 0.95

/*
 * *TO: FROM without pass-through functions. Their callers get what little weight they have. *NP:
 * how many functions were folded away. *TO has nodes of its own; FROM outlives *TO.
 */
struct xtop_error *pass_through_fold(const struct snapshot *from, struct snapshot *to, size_t *np);
/*
 * *TO: OTHER, a picture to compare with, without the functions that were folded away when FROM
 * became FOLDED. All have the same frames. Whether a function is pass-through in OTHER, too, does
 * not matter: the same functions must be left in both. *TO has nodes of its own.
 */
struct xtop_error *pass_through_fold_same(const struct snapshot *from,
					  const struct snapshot *folded,
					  const struct snapshot *other, struct snapshot *to);
void pass_through_deinit(struct snapshot *to);

#endif
