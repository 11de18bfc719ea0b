/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Xen's trace buffers: one for each physical CPU. Xen fills a buffer with records, and one reader
 * empties it. One thread uses a handle. Needs dom0's privilege. Nothing here looks into records.
 */
#ifndef XTOP_TRACE_BUFFERS_H
#define XTOP_TRACE_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xtop/base/error.h"

/*
 * The events to trace: exits of HVM and PVH guests with their handlers, entries from PV guests, and
 * changes of run states. Xen 4.17 public/trace.h: classes TRC_HVM, TRC_PV, TRC_SCHED, subclasses 1
 * and 2.
 */
#define TRACE_EVENTS 0x002a3000U

struct trace_buffers;
struct xtop_error *trace_buffers_open(struct trace_buffers **buffersp);
void trace_buffers_close(struct trace_buffers *buffers); /* NULL allowed; tracing goes on */
/*
 * Maps the buffers. Fails if somebody else has Xen trace, and leaves that trace alone. The buffers,
 * PAGES for each CPU, are made once in a boot; existing ones may have another size.
 */
struct xtop_error *trace_buffers_map(struct trace_buffers *buffers, unsigned pages);
/* Begins to trace, after trace_buffers_map(). */
struct xtop_error *trace_buffers_enable(struct trace_buffers *buffers, uint32_t events);
/* Ends tracing. Does nothing if tracing has ended. */
bool trace_buffers_disable(struct trace_buffers *buffers);
unsigned trace_buffers_cpus(const struct trace_buffers *buffers);
/* Frequency of the records' clock. */
uint64_t trace_buffers_khz(const struct trace_buffers *buffers);
/*
 * Copies the oldest bytes of CPU's buffer, at most ROOM_BYTES. They are whole words, but perhaps
 * not whole records. The bytes stay in the buffer until trace_buffers_release().
 */
size_t trace_buffers_peek(const struct trace_buffers *buffers, unsigned cpu, void *bytes,
			  size_t room_bytes);
void trace_buffers_release(const struct trace_buffers *buffers, unsigned cpu, size_t size_bytes);

#endif
