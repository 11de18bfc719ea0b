/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exits to Xen as a profile: below each function the reasons for which it exits, "[exit CPUID leaf
 * 0xb]", with the time that Xen took, in nanoseconds. Functions stand below their process where it
 * is known. Any thread.
 */
#ifndef XTOP_EXITS_PROFILE_H
#define XTOP_EXITS_PROFILE_H

#include "xtop/base/error.h"
#include "xtop/profile/snapshot.h"

/*
 * Makes a profile of the exits in SNAPSHOT, which may be destroyed first; snapshot_destroy() frees
 * it. Error: Xen was not traced, or memory is out.
 */
struct xtop_error *exits_profile_create(const struct snapshot *snapshot, struct snapshot **top);

#endif
