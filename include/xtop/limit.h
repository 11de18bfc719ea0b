/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Limits of what is kept and looked at have two values: what xtop has, and a small one in the fuzzers
 * (configure --enable-fuzzers), which thereby reach them, and do not spend their time on clearing
 * tables of thousands of which an input fills three.
 */
#ifndef XTOP_LIMIT_H
#define XTOP_LIMIT_H

#ifdef XTOP_SMALL_LIMITS
#define LIMIT(usual, small) (small)
#else
#define LIMIT(usual, small) (usual)
#endif

#endif
