/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The names that a JIT compiler gives to the code that it generated: the text of /tmp/perf-PID.map.
 * Uses nothing but the bytes. Resolver's thread.
 */
#ifndef XTOP_PROCESS_PERF_MAP_H
#define XTOP_PROCESS_PERF_MAP_H

#include "xtop/base/bytes.h"
#include "xtop/base/limit.h"
#include "xtop/symbol/symbol.h"

/* limit for the file; the rest is not read */
#define PERF_MAP_MAX_BYTES   LIMIT(16U << 20, 64U << 10)
#define PERF_MAP_MAX_SYMBOLS (256U << 10)

struct work;

/*
 * *TABP is sealed and belongs to the caller; NULL if no line could be used. Error: out of memory.
 */
struct xtop_error *perf_map_read(const struct bytes *bytes, struct work *work,
				 struct symtab **tabp);

#endif
