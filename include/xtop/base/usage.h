/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPU time and memory that this process uses. Any thread. */
#ifndef XTOP_USAGE_H
#define XTOP_USAGE_H

#include <stdint.h>

/*
 * Reads the CPU time of all threads, and the resident memory: anonymous pages, shared pages and
 * pages of files. A value that cannot be read leaves its variable untouched. RESIDENT_BYTES may be
 * NULL.
 */
void usage_read(uint64_t *cpu_ns, uint64_t *resident_bytes);

#endif
