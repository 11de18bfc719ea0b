/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Main's side of the process that reads Xen's trace buffers (trace_watch.h). Any thread; a lock
 * lets one through at a time. Xen traces from trace_source_start() to trace_source_stop().
 */
#ifndef XTOP_TRACE_SOURCE_H
#define XTOP_TRACE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xtop/base/error.h"

#define TRACE_CHUNK_BYTES 16384

/* What is sent before the first chunk. */
struct trace_hello {
	uint64_t khz;      /* frequency of the records' clock */
	bool is_vmx;       /* the host's CPUs have VMX; false: they have SVM */
	char failure[160]; /* why Xen is not traced; "": it is */
};

struct trace_chunk {
	uint32_t cpu; /* UINT32_MAX: BYTES is a struct trace_hello */
	uint32_t size_bytes;
	uint64_t cpu_ns; /* CPU time of the process that reads the buffers */
	char bytes[TRACE_CHUNK_BYTES];
};

struct trace_source;
struct trace_source *trace_source_create(void);         /* NULL: out of memory */
void trace_source_destroy(struct trace_source *source); /* NULL allowed */
/* Begins to trace for DOMID, unless that has begun. Error: no process could be started. */
struct xtop_error *trace_source_start(struct trace_source *source, uint32_t domid);
/* Ends tracing. SOURCE may be NULL. */
void trace_source_stop(struct trace_source *source);
/* Goes on with DOMID, the same guest after a reboot. SOURCE may be NULL. */
void trace_source_switch(struct trace_source *source, uint32_t domid);
/* Takes the next chunk. False: there is none now. *DOMIDP: the domain that is traced. */
bool trace_source_take(struct trace_source *source, struct trace_chunk *chunk, uint32_t *domidp);
/* Whether a process traces, as far as is known. */
bool trace_source_is_on(struct trace_source *source);

#endif
