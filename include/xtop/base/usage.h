/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What this process costs. Any thread. */
#ifndef XTOP_USAGE_H
#define XTOP_USAGE_H

#include <stdint.h>

/*
 * CPU time of all threads, and resident memory: of anonymous and shared pages and of files. What
 * cannot be read stays as it is. RESIDENT_BYTES NULL: nobody wants it.
 */
void usage_read(uint64_t *cpu_ns, uint64_t *resident_bytes);

#endif
