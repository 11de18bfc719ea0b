/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The names that a JIT compiler gives to the code that it generated: the text of /tmp/perf-PID.map.
 * Depends on nothing but the bytes. Resolver's thread.
 */
#ifndef XTOP_PROCESS_PERF_MAP_H
#define XTOP_PROCESS_PERF_MAP_H

#include "xtop/base/bytes.h"
#include "xtop/base/limit.h"
#include "xtop/symbol/symbol.h"

#define PERF_MAP_MAX_BYTES   LIMIT(16U << 20, 64U << 10) /* of the file; the rest is not read */
#define PERF_MAP_MAX_SYMBOLS (256U << 10)

/* *TABP is sealed and the caller's; NULL: no line could be used. Error: out of memory. */
struct xtop_error *perf_map_read(const struct bytes *bytes, struct symtab **tabp);

#endif
