/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Each limit has two values: the usual one, and a small one for the fuzzers (configure
 * --enable-fuzzers). With the small one, fuzzers reach the limit, and spend no time on clearing
 * tables of thousands of entries when an input fills only three.
 */
#ifndef XTOP_LIMIT_H
#define XTOP_LIMIT_H

#ifdef XTOP_SMALL_LIMITS
#define LIMIT(usual, small) (small)
#else
#define LIMIT(usual, small) (usual)
#endif

#endif
